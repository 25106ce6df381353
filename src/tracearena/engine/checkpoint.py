"""Checkpoints: the finished pieces of a run, on disk, so that an interrupted run can be resumed.

Until an output is complete, its checkpoint stands next to it as ``OUT.unfinished``, a file or a folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tracearena.errors import ParameterError
from tracearena.files.atomic import name_in_errors
from tracearena.files.io import replacing

_FORMAT = "tracearena-checkpoint-1"
"""The format that every checkpoint names; contests keep such files as their cache of scores."""


class Checkpoint:
    """A file with one line per finished piece, each on disk before the next begins.

    The first line records what the pieces depend on. A file that depends on anything else (other traces,
    another seed, another attack, changed code of your own class) is overwritten or refused.

    Parameters
    ----------
    path
        The file.
    depends_on
        A digest of what every piece depends on.
    seed
        The seed, if it is a number; a run that was started without one resumes with the stored seed.
    refuse_as
        Refuse a file of another run, with this name in the error. Without it, such a file is overwritten.

    Attributes
    ----------
    rows
        The result of each finished piece, by its key.
    """

    def __init__(
        self, path: Path, depends_on: str, seed: int | None = None, *, refuse_as: Path | None = None
    ) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        self._header = {"format": _FORMAT, "depends_on": depends_on, "seed": seed}
        kept = _read_lines(path)
        if kept and kept[0] == self._header:
            self.rows = {line["key"]: line["row"] for line in kept[1:] if {"key", "row"} <= set(line)}
        elif refuse_as is not None:
            raise ParameterError(
                f"{refuse_as}: belongs to a run with other files, options, seed or "
                "version; remove it and start again"
            )
        # Rewritten as far as it is intact: the end of a killed run may be half a line.
        self._rewrite()

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Store a finished piece in memory and on disk, and replace an earlier one with the same key."""
        is_new = key not in self.rows
        self.rows[key] = row
        if not is_new:
            self._rewrite()
            return
        with name_in_errors(self.path), open(self.path, "ab") as file:
            file.write(_encode_line({"key": key, "row": row}))
            file.flush()
            os.fsync(file.fileno())

    def replace_rows(self, rows: dict[str, dict[str, Any]]) -> None:
        """Replace all pieces by these, in this order."""
        if list(rows.items()) != list(self.rows.items()):
            self.rows = rows
            self._rewrite()

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def _rewrite(self) -> None:
        with replacing(self.path) as file:
            file.write(_encode_line(self._header))
            for key, row in self.rows.items():
                file.write(_encode_line({"key": key, "row": row}))


def get_checkpoint_path(out: Path) -> Path:
    """Return the path of the checkpoint of an output.

    >>> get_checkpoint_path(Path("table.csv")).name
    'table.csv.unfinished'
    """
    return out.with_name(f"{out.name}.unfinished")


def check_resume(out: Path, *, resume: bool) -> None:
    """Raise an error if there is an interrupted run that is not resumed, or none to resume."""
    path = get_checkpoint_path(out)
    if resume and not path.exists():
        raise ParameterError(f"{out}: there is no interrupted run to resume ({path})")
    if not resume and path.exists():
        kind = "folder" if path.is_dir() else "file"
        raise ParameterError(
            f"{path}: belongs to an interrupted run; resume it with --resume, or "
            f"remove the {kind} to start again"
        )


def read_checkpoint_seed(path: Path) -> int | None:
    """Return the seed of an interrupted run, or None."""
    kept = _read_lines(path)
    seed = kept[0].get("seed") if kept and kept[0].get("format") == _FORMAT else None
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


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
