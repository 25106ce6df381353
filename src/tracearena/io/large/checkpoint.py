"""A folder of parts that is still being written, so that an interrupted run can be resumed.

The parts are in ``OUT.unfinished`` next to a journal with one line per finished part. When the last part is
there, the folder gets its name and the journal is removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.engine.seeding import SecretRoot
from tracearena.errors import ParameterError
from tracearena.files.atomic import name_in_errors
from tracearena.files.io import replacing, require_new

_PARTS_JOURNAL = "journal.jsonl"
_PARTS_KEY = "secret-root"
_PARTS_FORMAT = "tracearena-parts-1"
JOURNAL_NAMES = ("part", "bytes")
"""What a line of the journal says of a part, next to what was counted in it."""


class PartsCheckpoint:
    """The folder of a run that has not ended.

    Attributes
    ----------
    folder
        Where the parts go until all are there.
    done
        What is known of each finished part, by its number.
    """

    def __init__(self, out: Path, depends_on: str) -> None:
        self.out = out
        self.folder = _find_checkpoint_folder(out)
        self.done: dict[int, dict[str, Any]] = {}
        self._header = {"format": _PARTS_FORMAT, "depends_on": depends_on}

    def begin(self, *, resume: bool) -> None:
        """Make the folder, or resume an interrupted run."""
        require_new(self.out)
        if not self.folder.exists():
            if resume:
                raise ParameterError(f"{self.out}: there is no stopped run to go on with ({self.folder})")
            with name_in_errors(self.folder):
                self.folder.mkdir(mode=0o700)
            self._write([])
            return
        lines = self._lines()
        if not resume:
            raise ParameterError(
                f"{self.folder}: holds {len(lines[1:])} finished parts of a run that was stopped; --resume "
                "goes on with them, or remove the folder to begin anew"
            )
        if not lines or lines[0] != self._header:
            raise ParameterError(
                f"{self.folder}: is of another run: other files, options or seed, or another version; remove "
                "it and begin anew"
            )
        for line in lines[1:]:
            part = self.part(line["part"])
            if part.is_file() and part.stat().st_size == line["bytes"]:
                self.done[line["part"]] = line
        self._write(list(self.done.values()))

    def part(self, number: int) -> Path:
        """Return the name of a part while it is not finished."""
        return self.folder / f"part-{number:05}.parquet"

    def add(self, number: int, known: dict[str, Any]) -> None:
        """Note that a part is on disk."""
        line = {"part": number, "bytes": self.part(number).stat().st_size, **known}
        self.done[number] = line
        with name_in_errors(self.folder), open(self.folder / _PARTS_JOURNAL, "ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def root(self, root: np.random.SeedSequence, parts: int | None) -> np.random.SeedSequence:
        """Return the root of a run's draws: a secret one is kept here, for its owner alone, until the end.

        Parameters
        ----------
        parts
            How many there are to be; nothing is drawn any more if all are finished. None if draws are needed
            in any case.
        """
        if not isinstance(root, SecretRoot):
            return root
        file = self.folder / _PARTS_KEY
        if file.is_file():
            return SecretRoot.of(bytes.fromhex(file.read_text()))
        if self.done and (parts is None or len(self.done) < parts):
            raise ParameterError(
                f"{self.folder}: the secret root of its finished parts is gone; remove the folder and begin "
                "anew"
            )
        _, (key, *_) = root.__reduce__()
        with replacing(file, private=True) as out:
            out.write(key.hex().encode())
        return root

    def discard(self) -> None:
        """Remove the folder, in which nothing is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def finish(self) -> None:
        """Give the folder its name; the secret root never goes with it."""
        with name_in_errors(self.out):
            if self.out.is_dir():
                self.out.rmdir()
            (self.folder / _PARTS_KEY).unlink(missing_ok=True)
            os.replace(self.folder, self.out)
        (self.out / _PARTS_JOURNAL).unlink(missing_ok=True)
        mask = os.umask(0)
        os.umask(mask)
        self.out.chmod(0o777 & ~mask)

    def _lines(self) -> list[dict[str, Any]]:
        """Return the whole lines of the journal; the end of a killed run may be half a line."""
        found: list[dict[str, Any]] = []
        file = self.folder / _PARTS_JOURNAL
        for text in file.read_bytes().splitlines() if file.is_file() else ():
            try:
                line = json.loads(text)
            except ValueError:
                break
            if not isinstance(line, dict):
                break
            found.append(line)
        return found

    def _write(self, lines: list[dict[str, Any]]) -> None:
        with replacing(self.folder / _PARTS_JOURNAL) as file:
            for line in (self._header, *lines):
                file.write(json.dumps(line).encode() + b"\n")


def check_parts_checkpoint(out: Path, *, resume: bool) -> None:
    """Say at once that a stopped run is there, or that none is, before anything is read."""
    folder = _find_checkpoint_folder(out)
    if resume and not folder.is_dir():
        raise ParameterError(f"{out}: there is no stopped run to go on with ({folder})")
    if not resume and folder.exists():
        raise ParameterError(
            f"{folder}: is what a stopped run has finished; --resume goes on with it, or remove the folder "
            "to begin anew"
        )


@contextmanager
def make_scratch_folder(out: Path) -> Iterator[Path]:
    """Give a folder for what is needed for the time being, where the outputs go; it is removed at the end."""
    from tracearena.files.atomic import clear_leftovers, new_folder

    target = out.with_name(f"{out.name}.scratch")
    clear_leftovers(target)
    with name_in_errors(out):
        made = new_folder(target)
        try:
            yield made.temporary
        finally:
            shutil.rmtree(made.temporary, ignore_errors=True)
            made.close()


def _find_checkpoint_folder(out: Path) -> Path:
    return out.with_name(f"{out.name}.unfinished")
