"""A folder of parts that is still being written, so that an interrupted run can be resumed.

The parts are in ``OUT.unfinished`` next to a journal with one line per finished part. When the last part is
there, the folder gets its name and the journal is removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.engine import Checkpoint, SecretRoot, check_resume, get_checkpoint_path
from tracearena.errors import ParameterError
from tracearena.files.atomic import name_in_errors
from tracearena.files.io import replacing, require_new

_PARTS_JOURNAL = "journal.jsonl"
_PARTS_KEY = "secret-root"


class PartsCheckpoint:
    """The folder of a run that is not finished.

    Attributes
    ----------
    folder
        Folder of the finished parts until the run ends.
    done
        The counts of each finished part, by its number.
    """

    def __init__(self, out: Path, depends_on: str) -> None:
        self.out = out
        self.folder = get_checkpoint_path(out)
        self.done: dict[int, dict[str, Any]] = {}
        self._depends_on = depends_on

    def begin(self, *, resume: bool) -> None:
        """Create the folder, or resume an interrupted run."""
        require_new(self.out)
        check_resume(self.out, resume=resume)
        if not resume:
            with name_in_errors(self.folder):
                self.folder.mkdir(mode=0o700)
        self._journal = Checkpoint(
            self.folder / _PARTS_JOURNAL, self._depends_on, refuse_as=self.folder if resume else None
        )
        for key, row in self._journal.rows.items():
            part = self.part(int(key))
            if part.is_file() and part.stat().st_size == row["bytes"]:
                self.done[int(key)] = row["counts"]
        self._journal.replace_rows({str(number): self._journal.rows[str(number)] for number in self.done})

    def part(self, number: int) -> Path:
        """Return the path of a part that is not finished."""
        return self.folder / f"part-{number:05}.parquet"

    def add(self, number: int, counts: dict[str, Any]) -> None:
        """Record that a part is on disk."""
        self.done[number] = counts
        self._journal.add(str(number), {"bytes": self.part(number).stat().st_size, "counts": counts})

    def root(self, root: np.random.SeedSequence, parts: int | None) -> np.random.SeedSequence:
        """Return the random root of the run; a secret one is stored here until the end, for the owner only.

        Parameters
        ----------
        parts
            Number of all parts; if they are all finished, nothing is drawn any more. None if random numbers
            are needed in any case.
        """
        if not isinstance(root, SecretRoot):
            return root
        file = self.folder / _PARTS_KEY
        if file.is_file():
            return SecretRoot.of(bytes.fromhex(file.read_text()))
        if self.done and (parts is None or len(self.done) < parts):
            raise ParameterError(
                f"{self.folder}: the secret seed of its finished parts is lost; "
                "remove the folder and start again"
            )
        _, (key, *_) = root.__reduce__()
        with replacing(file, private=True) as out:
            out.write(key.hex().encode())
        return root

    def discard(self) -> None:
        """Remove the folder, in which nothing is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def finish(self) -> None:
        """Rename the folder to its final name, without the secret root."""
        with name_in_errors(self.out):
            if self.out.is_dir():
                self.out.rmdir()
            (self.folder / _PARTS_KEY).unlink(missing_ok=True)
            os.replace(self.folder, self.out)
        (self.out / _PARTS_JOURNAL).unlink(missing_ok=True)
        mask = os.umask(0)
        os.umask(mask)
        self.out.chmod(0o777 & ~mask)


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
