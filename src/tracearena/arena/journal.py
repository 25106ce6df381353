"""The finished rows of a sweep that is still running, so that a killed one can go on."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tracearena import __version__
from tracearena.files.atomic import name_in_errors
from tracearena.files.io import replacing
from tracearena.traces import Traces

_FORMAT = "tracearena-sweep-3"
_PLACE_COLUMNS = ("latitude", "longitude", "ids", "sensitive", "categories")


class Journal:
    """A file beside the table with one line a finished row, each on disk before the next begins.

    The first line says what the rows depend on. A file that depends on anything else (other traces,
    another seed, another attack, changed code of a user's own class) is begun anew.

    Parameters
    ----------
    path
        The file; gone when the sweep is done.
    depends_on
        A digest of what every row depends on (see `digest`).
    seed
        The seed, if it is a number: a sweep that was begun without one goes on with it.
    """

    def __init__(self, path: Path, depends_on: str, seed: int | None = None) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        self._header = {"format": _FORMAT, "depends_on": depends_on, "seed": seed}
        kept = _read_lines(path)
        if kept and kept[0] == self._header:
            self.rows = {line["key"]: line["row"] for line in kept[1:] if {"key", "row"} <= set(line)}
        # Written anew as far as it is whole: the end of a killed run may be half a line.
        self._write()

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Put a finished row on disk."""
        with name_in_errors(self.path), open(self.path, "ab") as file:
            file.write(_encode_line({"key": key, "row": row}))
            file.flush()
            os.fsync(file.fileno())

    def sort_rows(self) -> None:
        """Sort the rows by their keys."""
        ordered = dict(sorted(self.rows.items()))
        if list(ordered) != list(self.rows):
            self.rows = ordered
            self._write()

    def _write(self) -> None:
        with replacing(self.path) as file:
            file.write(_encode_line(self._header))
            for key, row in self.rows.items():
                file.write(_encode_line({"key": key, "row": row}))


def sweep_checkpoint_path(table: Path) -> Path:
    """Return the name of the file with the finished rows of a table that is not finished."""
    return table.with_name(f"{table.name}.unfinished")


def read_sweep_seed(path: Path) -> int | None:
    """Return the seed that an unfinished sweep was begun with, if there is one."""
    kept = _read_lines(path)
    seed = kept[0].get("seed") if kept and kept[0].get("format") == _FORMAT else None
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def digest(traces: Iterable[Traces], *others: object) -> str:
    """Return a digest of traces, of settings by their text, and of this package's version."""
    total = hashlib.sha256(f"{_FORMAT} {__version__} {others!r}".encode())
    for one in traces:
        places = one.places
        arrays = [one.user_ids, one.offsets, one.instants, one.place_index, one.timestamps]
        arrays += [getattr(places, name) for name in _PLACE_COLUMNS]
        total.update(f"{one.span} {one.clock!r} {places.grid!r} {places.km_per_degree!r}".encode())
        for array in arrays:
            total.update(b"none" if array is None else f"{array.dtype} {array.shape}".encode())
            if array is not None:
                total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def digest_code(algorithms: Sequence[object]) -> str:
    """Return a digest of the modules of classes from elsewhere, which change without a new version."""
    total = hashlib.sha256()
    for name in sorted({type(one).__module__ for one in algorithms}):
        file = getattr(sys.modules.get(name), "__file__", None)
        if name.partition(".")[0] != "tracearena" and file and Path(file).is_file():
            total.update(Path(file).read_bytes())
    return total.hexdigest()


def _encode_line(line: dict[str, Any]) -> bytes:
    return json.dumps(line).encode() + b"\n"


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a file, up to the first that is none."""
    found: list[dict[str, Any]] = []
    if not path.is_file():
        return found
    for text in path.read_bytes().splitlines():
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            break
        if not isinstance(line, dict):
            break
        found.append(line)
    return found
