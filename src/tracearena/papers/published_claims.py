"""The table of the papers' claims: one `ClaimRow` per figure, table or statement, and how it is tried.

`tracearena.arena.claims` states and tests a single claim on data; this module runs the commands that print
such claims, keeps what they printed (``measured/``), and compares it with what is published.
"""

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
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from tracearena.errors import DataError
from tracearena.files import replacing

FOURSQUARE = "the Foursquare check-ins of six cities (WWW 2019)"
"""Data that several papers use and that is not published here."""
HOLDS, HOLDS_NOT, SHOWN = "holds", "does not hold", "shown, not tested"
UNTRIED, UNMEASURED = "cannot be tried here", "not measured"


class CheckResult(NamedTuple):
    """Our number in words, and whether it is as the paper says; None if it is only shown."""

    words: str
    holds: bool | None


class ClaimCheck(Protocol):
    """One number that a row looks at."""

    def check_run(self, run: CommandRun) -> CheckResult:
        """Look at what a command printed."""


@dataclass(frozen=True)
class ClaimRow:
    """A figure, table or stated finding of a paper.

    Attributes
    ----------
    item
        Where it stands: "Figure 7", "section 4.4".
    states
        What the paper says there, in a sentence without its full stop.
    command
        What tries it, as typed after ``tracearena`` in a folder of the published data; None if nothing can.
    checks
        What is looked at in the command's output. The row holds if every check that tests something does; if
        none tests anything, it is only shown.
    published
        The paper's number, in words.
    missing
        The data without which it cannot be tried; for rows without a command.
    note
        Why it does not hold, or holds in another way; a sentence.

    Examples
    --------
    >>> ClaimRow("Figure 9", "six hours in all of Istanbul", missing="the Foursquare check-ins").verdict(None)
    'cannot be tried here'
    """

    item: str
    states: str
    command: str | None = None
    checks: tuple[ClaimCheck, ...] = ()
    published: str = ""
    missing: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if (self.command is None) != bool(self.missing) or bool(self.checks) == bool(self.missing):
            raise DataError(f"{self.item}: a row has a command with checks, or names the missing data")

    def verdict(self, run: CommandRun | None) -> str:
        """Return whether it holds, given what the command printed."""
        if self.command is None:
            return UNTRIED
        if run is None:
            return UNMEASURED
        found = [check.check_run(run).holds for check in self.checks]
        tested = [holds for holds in found if holds is not None]
        if not tested:
            return SHOWN
        return HOLDS if all(tested) else HOLDS_NOT

    def ours(self, run: CommandRun | None) -> str:
        """Return our numbers in words."""
        return "" if run is None else "; ".join(check.check_run(run).words for check in self.checks)


# Where a number stands


@dataclass(frozen=True)
class TableNumber:
    """A number in a table that a figure writes: the mean of a column over the rows with these values."""

    table: str
    column: str
    where: Mapping[str, str] = field(default_factory=dict)

    def of(self, run: CommandRun) -> float:
        """Return the number."""
        found = [
            float(row[self.column])
            for row in run.rows(self.table)
            if row.get(self.column) and all(row.get(name) == value for name, value in self.where.items())
        ]
        if not found:
            raise DataError(
                f"{run.command}: {self.table} has no {self.column} in a row with {dict(self.where)}"
            )
        return sum(found) / len(found)


@dataclass(frozen=True)
class JsonNumber:
    """A number that a command prints with ``--json``: the names on the way to it, joined by dots.

    Of a list, an element by its number, or as ``name=SGD`` by one of its values.
    """

    path: str

    def of(self, run: CommandRun) -> float:
        """Return the number."""
        found: Any = run.result
        for name in self.path.split("."):
            if isinstance(found, list) and "=" in name:
                key, _, value = name.partition("=")
                found = next(one for one in found if str(one[key]) == value)
            else:
                found = found[int(name) if isinstance(found, list) else name]
        return float(found)


@dataclass(frozen=True)
class NumberGap:
    """How much larger one number of a run is than another."""

    one: TableNumber | JsonNumber
    other: TableNumber | JsonNumber

    def of(self, run: CommandRun) -> float:
        """Return the difference."""
        return self.one.of(run) - self.other.of(run)


@dataclass(frozen=True)
class NumberRatio:
    """How many times larger one number of a run is than another."""

    one: TableNumber | JsonNumber
    other: TableNumber | JsonNumber

    def of(self, run: CommandRun) -> float:
        """Return the ratio."""
        return self.one.of(run) / self.other.of(run)


Number: TypeAlias = TableNumber | JsonNumber | NumberGap | NumberRatio


def table_number(table: str, column: str, /, **where: str) -> TableNumber:
    """Return the place of a number in a table."""
    return TableNumber(table, column, where)


# What is asked of it


@dataclass(frozen=True)
class StatementCheck:
    """A finding that a figure states itself, by the beginning of its statement, or by the whole of it.

    Its number is only shown, not tested, if the limit is ours and the paper has none, or if the statement
    cannot fail.
    """

    statement: str
    whole: bool = False
    tested: bool = True

    def check_run(self, run: CommandRun) -> CheckResult:
        """Return what the figure says."""
        found = [
            one
            for one in run.findings
            if one["statement"].startswith(self.statement)
            and (not self.whole or one["statement"] == self.statement)
        ]
        if not found:
            raise DataError(f"{run.command} has no statement that begins with {self.statement!r}")
        words = "; ".join(one["measured"] for one in found)
        return CheckResult(words, all(one["holds"] for one in found) if self.tested else None)


@dataclass(frozen=True)
class PictureCheck:
    """A picture that only shows what something looks like, by the beginning of its name."""

    name: str

    def check_run(self, run: CommandRun) -> CheckResult:
        """Return what was drawn; that there is a file tests nothing."""
        pictures = [name for name in map(Path, run.result["files"]) if name.suffix in {".svg", ".png"}]
        mine = [picture.name for picture in pictures if picture.name.startswith(self.name)]
        return CheckResult(", ".join(mine) or "nothing drawn", None)


@dataclass(frozen=True)
class RoundedCheck:
    """A number that rounds to the published one, which is written with all its digits."""

    label: str
    at: Number
    published: str

    @property
    def within(self) -> float:
        """Half a unit of the last digit."""
        return 0.5 * 10.0 ** -len(self.published.partition(".")[2])

    def check_run(self, run: CommandRun) -> CheckResult:
        """Compare."""
        value = self.at.of(run)
        words = f"{self.label} {format_short(value)} (required: rounds to {self.published})"
        return CheckResult(words, abs(value - float(self.published)) <= self.within)


@dataclass(frozen=True)
class NearCheck:
    """A number within a distance of the published one; the distance follows from a spread."""

    label: str
    at: Number
    published: float
    within: float

    def check_run(self, run: CommandRun) -> CheckResult:
        """Compare."""
        value = self.at.of(run)
        words = f"{self.label} {format_short(value)} (± {self.within:.2g})"
        return CheckResult(words, abs(value - self.published) <= self.within)


@dataclass(frozen=True)
class RangeCheck:
    """A number that is neither too small nor too large; a limit may be another number of the run.

    Without a limit the number is only shown.
    """

    label: str
    at: Number
    least: float | Number | None = None
    most: float | Number | None = None

    def check_run(self, run: CommandRun) -> CheckResult:
        """Compare, and name the limits next to the number."""
        value, words, holds = self.at.of(run), [], []
        for name, limit, sign in (("at least", self.least, 1), ("at most", self.most, -1)):
            if limit is not None:
                bound = limit if isinstance(limit, float | int) else limit.of(run)
                holds.append(sign * value >= sign * bound)
                words.append(f"{name} {format_short(bound)}")
        limits = f" (required: {', '.join(words)})" if words else ""
        return CheckResult(f"{self.label} {format_short(value)}{limits}", all(holds) if holds else None)


def format_short(value: float) -> str:
    """Return three digits that tell, or the whole number.

    >>> format_short(0.42736), format_short(0.9995), format_short(12345.6), format_short(40.0)
    ('0.427', '0.9995', '12,346', '40')
    """
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if f"{value:.3g}" != "1" else f"{value:.4g}"


# What a command printed and wrote, kept so that nobody need run it to read it.


_MOST_CHARACTERS = 40_000
_LONGEST_NAME = 60


@dataclass(frozen=True)
class CommandRun:
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


def run_command(command: str, data: Path | None = None) -> CommandRun:
    """Run a command in a folder of its own, with the published data next to it."""
    from tracearena import __version__

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in sorted(data.resolve().iterdir()) if data is not None else ():
            (folder / path.name).symlink_to(path)
        begin, printed = time.perf_counter(), ""
        parts = [shlex.split(part) for part in command.split("&&")]
        for number, words in enumerate(parts):
            words = [*words, "--json"] if number == len(parts) - 1 else words
            done = subprocess.run(
                [sys.executable, "-m", "tracearena", *words],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise DataError(f"tracearena {shlex.join(words)}: {done.stderr.strip() or done.returncode}")
            printed = done.stdout
        seconds = time.perf_counter() - begin
        texts = {path.name: path.read_text() for path in sorted(folder.glob("figures/*.csv"))}
    tables = {table: text for table, text in texts.items() if len(text) <= _MOST_CHARACTERS}
    seed = re.search(r"--seed (\d+)", command)
    chosen = int(seed[1]) if seed else 1
    return CommandRun(command, __version__, chosen, round(seconds, 1), json.loads(printed), tables)


def write_run(run: CommandRun, folder: Path) -> Path:
    """Write a run into a folder of runs."""
    path = folder / file_name(run.command)
    with replacing(path) as file:
        file.write((json.dumps(asdict(run), ensure_ascii=False, indent=1) + "\n").encode())
    return path


def read_run(command: str, folder: Path | None = None) -> CommandRun | None:
    """Return a run from a folder, that of the package by default; None if there is none."""
    shelf = resources.files("tracearena.papers") / "measured" if folder is None else folder
    found = shelf / file_name(command)
    return CommandRun(**json.loads(found.read_text("utf-8"))) if found.is_file() else None
