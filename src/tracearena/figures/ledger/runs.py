"""What a command printed and wrote, kept so that nobody need run it to read it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from tracearena.errors import DataError
from tracearena.files import replacing

_MOST_CHARACTERS = 40_000
_LONGEST_NAME = 60


@dataclass(frozen=True)
class Run:
    """A command that was run.

    Attributes
    ----------
    command
        As it is typed after ``tracearena``, in a folder where the published data lies; several commands are
        joined by ``&&``.
    version, seed, seconds
        Of the program; of all randomness; how long it took.
    result
        What the last command printed with ``--json``.
    tables
        The CSV files that were written, as text, those of up to 40,000 characters.
    """

    command: str
    version: str
    seed: int
    seconds: float
    result: Any
    tables: dict[str, str]

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """What a figure says holds, or does not."""
        return list(self.result.get("findings", ())) if isinstance(self.result, dict) else []

    def rows(self, table: str) -> list[dict[str, str]]:
        """Return the rows of a table that was written."""
        if table not in self.tables:
            raise DataError(f"{self.command} wrote no {table}: there are {', '.join(self.tables) or 'none'}")
        return list(csv.DictReader(io.StringIO(self.tables[table])))


def file_name(command: str) -> str:
    """Return the name of the file that keeps a run.

    >>> file_name("figure ppmtf-7 --data ppmtf-tokyo")
    'figure-ppmtf-7-data-ppmtf-tokyo.json'
    """
    words = re.sub(r"[^a-z0-9]+", "-", command.lower()).strip("-")
    if len(words) > _LONGEST_NAME:
        words = f"{words[:_LONGEST_NAME].strip('-')}-{hashlib.sha256(command.encode()).hexdigest()[:8]}"
    return f"{words}.json"


def measure(command: str, data: Path | None = None) -> Run:
    """Run a command in a folder of its own, with the published data beside it."""
    from tracearena import __version__

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in sorted(data.resolve().iterdir()) if data is not None else ():
            (folder / path.name).symlink_to(path)
        begin, printed = time.perf_counter(), ""
        parts = [shlex.split(part) for part in command.split("&&")]
        for number, words in enumerate(parts):
            words = [*words, "--json"] if number == len(parts) - 1 else words
            printed = _printed(words, folder)
        seconds = time.perf_counter() - begin
        texts = {path.name: path.read_text() for path in sorted(folder.glob("figures/*.csv"))}
    tables = {table: text for table, text in texts.items() if len(text) <= _MOST_CHARACTERS}
    seed = re.search(r"--seed (\d+)", command)
    chosen = int(seed[1]) if seed else 1
    return Run(command, __version__, chosen, round(seconds, 1), json.loads(printed), tables)


def _printed(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tracearena", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DataError(f"tracearena {shlex.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def keep(run: Run, folder: Path) -> Path:
    """Write a run into a folder of runs."""
    path = folder / file_name(run.command)
    with replacing(path) as file:
        file.write((json.dumps(asdict(run), ensure_ascii=False, indent=1) + "\n").encode())
    return path


def kept(command: str, folder: Path | None = None) -> Run | None:
    """Return a run from a folder, that of the package by default; None if there is none."""
    shelf = resources.files("tracearena.figures.ledger") / "measured" if folder is None else folder
    found = shelf / file_name(command)
    return Run(**json.loads(found.read_text("utf-8"))) if found.is_file() else None
