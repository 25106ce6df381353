"""Problems of an archive: differences between two results, and uploads without a receipt or a result.

Tables and JSON are compared cell by cell, numbers up to rounding.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tracearena.contest.archive import RESULTS, Archive
from tracearena.contest.commitments import (
    LISTS,
    RECEIPTS,
    ListedReceipt,
    OpenedReceipt,
    read_receipt_list,
    read_receipts,
    read_signer,
)
from tracearena.contest.data import EVERYBODY, HANDED_IN, MANIFEST, SUBMISSIONS
from tracearena.contest.submissions import ARRIVALS, Arrival, read_arrivals
from tracearena.errors import FileError, shorten
from tracearena.files import digest_file, read_bytes

_NUMBER = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]{1,3})?", re.ASCII)
_LISTED = 10
ROUNDING = 1e-12
"""Numbers closer than this are equal: the same sum, rounded on another machine."""


@dataclass(frozen=True)
class Discrepancy:
    """One difference between an archive and what a check expects.

    Attributes
    ----------
    what
        A fixed word: ``hash``, ``commitment``, ``release``, ``copy``, ``score``, ``unreadable``, …
    where
        The file and, if there is one, the row and the column, or the place in a JSON file.
    expected, found
        The value from the check, and the value in the archive.
    """

    what: str
    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: {self.where}: got {self.found}; expected {self.expected}"

    def to_dict(self) -> dict[str, str]:
        """Return the finding as plain values for JSON."""
        return asdict(self)


def compare_tables(what: str, name: str, expected: str, found: str) -> Iterator[Discrepancy]:
    """Compare two CSV files; the rows count from 1 below the header."""
    try:
        wanted, got = (list(csv.reader(io.StringIO(text, newline=""))) for text in (expected, found))
    except csv.Error as error:
        yield Discrepancy("unreadable", name, "a table", str(error))
        return
    if len(wanted) != len(got):
        yield Discrepancy(what, name, f"{len(wanted) - 1} rows", f"{len(got) - 1} rows")
    header = wanted[0]
    for row, (mine, theirs) in enumerate(zip(wanted, got, strict=False)):
        if len(mine) != len(theirs):
            yield Discrepancy(what, f"{name}, row {row}", f"{len(mine)} cells", f"{len(theirs)} cells")
            continue
        for column, cell, other in zip(header, mine, theirs, strict=True):
            if not is_same_value(_parse_cell(cell), _parse_cell(other)):
                place = f"{name}, row {row} ({mine[0]}), column {column}" if row else f"{name}, header"
                shown = [
                    text if _NUMBER.fullmatch(text) else format_plain_value(text) for text in (cell, other)
                ]
                yield Discrepancy(what, place, *shown)


def compare_values(what: str, where: str, expected: Any, found: Any) -> Iterator[Discrepancy]:
    """Compare two plain values of JSON, and name the place of every difference."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key in expected and key in found:
                yield from compare_values(what, f"{where}, {key}", expected[key], found[key])
            else:
                mine, theirs = (
                    format_plain_value(one[key]) if key in one else "no such key" for one in (expected, found)
                )
                yield Discrepancy(what, f"{where}, {key}", mine, theirs)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (mine, theirs) in enumerate(zip(expected, found, strict=True), 1):
            yield from compare_values(what, f"{where}, row {number}", mine, theirs)
    elif not is_same_value(expected, found):
        yield Discrepancy(what, where, format_plain_value(expected), format_plain_value(found))


def format_plain_value(value: Any) -> str:
    """Return a plain value as a reader of a finding understands it, on one line.

    >>> [format_plain_value(value) for value in (0.5, "001", "", None, True)]
    ['0.5', "'001'", 'nothing', 'nothing', 'true']
    >>> [format_plain_value(value) for value in (["001", "002"], [], [{}, {}], {})]
    ["'001' and '002'", 'nothing', '2 rows', '0 keys']
    """
    if isinstance(value, dict):
        return f"{len(value)} keys"
    if isinstance(value, list):
        simple = not any(isinstance(one, dict | list) for one in value) and len(value) <= _LISTED
        return (" and ".join(map(format_plain_value, value)) or "nothing") if simple else f"{len(value)} rows"
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else shorten(str(value))


def is_same_value(expected: Any, found: Any) -> bool:
    """Whether two values are equal, numbers up to `ROUNDING`.

    >>> is_same_value(0.1 + 0.2, 0.3), is_same_value(1.0, True), is_same_value("1", 1.0)
    (True, False, False)
    """
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (expected, found)]
    if all(numbers):
        try:
            return math.isclose(expected, found, rel_tol=0, abs_tol=ROUNDING)
        except OverflowError:  # a whole number beyond all decimals
            return bool(expected == found)
    return type(expected) is type(found) and bool(expected == found)


def _parse_cell(cell: str) -> str | float:
    """Return a cell as a number, if it is written as one; 001 is a team."""
    return float(cell) if _NUMBER.fullmatch(cell) else cell


# Whether every upload is accounted for: listed, signed, and either judged or refused.

REFUSED = "refused.csv"
LATE = "late"
_NONE = "none"


@dataclass(frozen=True)
class Completeness:
    """What an archive must have of every upload.

    Parameters
    ----------
    archive
        The archive, unpacked.
    key
        The contest's public key, if the reader knows it: then everything must be signed by it.
    """

    archive: Archive
    key: str | None = None

    @property
    def has_receipts(self) -> bool:
        """Whether the contest was held on a server, which numbers and signs its receipts."""
        numbered = any(one.receipt for one in (self.arrivals or {}).values())
        return self.key is not None or numbered or (self.submissions / RECEIPTS).is_file()

    @property
    def submissions(self) -> Path:
        """Where the files lie that were handed in."""
        return self.archive.folder / SUBMISSIONS

    @cached_property
    def arrivals(self) -> dict[str, Arrival] | None:
        """When files came."""
        return read_arrivals(self.submissions / ARRIVALS)

    @cached_property
    def receipts(self) -> dict[int, OpenedReceipt]:
        """Every receipt of the contest."""
        return read_receipts(self.submissions / RECEIPTS)

    @cached_property
    def refusal_rows(self) -> list[list[str]]:
        """The rows of the table of what was refused."""
        return read_small_table(self.archive.folder / RESULTS / REFUSED)[1:]

    def files(self) -> set[str]:
        """Return what was handed in and is in the archive."""
        found = (path for path in self.submissions.rglob("*") if path.is_file())
        names = (path.relative_to(self.submissions).as_posix() for path in found)
        return {name for name in names if name not in (ARRIVALS, RECEIPTS)}

    def find_signer(self) -> str | None:
        """Return by whom the manifest is signed; None if it is not."""
        try:
            return read_signer(self.archive.folder / MANIFEST)
        except FileError:
            return None

    def find_bad_signatures(self) -> Iterator[Discrepancy]:
        """Yield what is not signed by the contest's key."""
        wanted = self.key or self.find_signer()
        for name in (MANIFEST, *(f"{EVERYBODY}/{name}" for name in LISTS.values())):
            path = self.archive.folder / name
            if not path.is_file():
                yield Discrepancy("receipt", name, "the list that was published", _NONE)
                continue
            try:
                found = read_signer(path)
            except FileError as error:
                yield Discrepancy("signature", name, "a signature of the contest's key", str(error.faults[0]))
                continue
            wanted = wanted or found
            if found != wanted:
                yield Discrepancy("signature", name, f"a signature of {wanted}", f"one of {found}")

    def find_unlisted_files(self) -> Iterator[Discrepancy]:
        """Yield files without an arrival, and arrivals without a file."""
        if self.arrivals is None:
            return
        there = self.files()
        for name in sorted(there - self.arrivals.keys()):
            yield Discrepancy("arrival", f"{SUBMISSIONS}/{name}", f"a line in {ARRIVALS}", _NONE)
        for name in sorted(self.arrivals.keys() - there):
            if not self._may_be_left_out(name):
                yield Discrepancy("arrival", f"{SUBMISSIONS}/{name}", f"the file of {ARRIVALS}", _NONE)

    def find_wrong_receipts(self) -> Iterator[Discrepancy]:
        """Yield receipts that contradict the published lists, the files, or what became of them."""
        where = f"{SUBMISSIONS}/{RECEIPTS}"
        listed: dict[int, ListedReceipt] = {}
        for name in LISTS.values():
            if (path := self.archive.folder / EVERYBODY / name).is_file():
                listed |= read_receipt_list(path)
        for number in sorted(listed.keys() - self.receipts.keys()):
            yield Discrepancy(
                "receipt", f"{where}, receipt {number}", "the receipt of a published list", _NONE
            )
        for number, one in self.receipts.items():
            place = f"{where}, receipt {number}"
            if number in listed:
                yield from compare_values("receipt", place, asdict(listed[number]), asdict(one.list_entry))
            elif one.state != LATE:
                yield Discrepancy("receipt", place, "a line in a published list", _NONE)
        taken = {one.receipt: (name, one) for name, one in (self.arrivals or {}).items()}
        refused = {row[0] for row in self.refusal_rows if row}
        for number in sorted(taken.keys() - self.receipts.keys()):
            yield Discrepancy("receipt", f"{SUBMISSIONS}/{taken[number][0]}", f"a line in {RECEIPTS}", _NONE)
        for number, one in self.receipts.items():
            if number not in taken:
                if refusal_label(one.team, number) not in refused:
                    expected = f"its file, or a row in {RESULTS}/{REFUSED}"
                    yield Discrepancy("receipt", f"{where}, receipt {number}", expected, _NONE)
                continue
            name, arrival = taken[number]
            if arrival.at.isoformat() != one.received:
                found = arrival.at.isoformat()
                yield Discrepancy("receipt", f"{SUBMISSIONS}/{ARRIVALS}, {name}", one.received, found)
            path = self.submissions / name
            if path.is_file() and (digest := digest_file(path)) != one.sha256:
                yield Discrepancy("receipt", f"{SUBMISSIONS}/{name}", one.sha256, digest)

    def find_wrong_refusals(self, again: list[list[str]]) -> Iterator[Discrepancy]:
        """Yield refusals that are missing, or that the second judgement does not make.

        Parameters
        ----------
        again
            The rows of the table that the second judgement writes.
        """
        where = f"{RESULTS}/{REFUSED}"
        for row in again:
            if row not in self.refusal_rows:
                yield Discrepancy("refusal", where, ", ".join(row), "no such row")
        # Refused uploads, and files that are not given away, are not in the archive.
        own: set[str] = set()
        if self.has_receipts:
            taken = {one.receipt for one in (self.arrivals or {}).values()}
            own = {refusal_label(one.team, n) for n, one in self.receipts.items() if n not in taken}
        there = self.files()
        for row in self.refusal_rows:
            label = row[0] if row else ""
            name = label.removeprefix(f"{SUBMISSIONS}/")
            is_left_out = self._may_be_left_out(name) and name not in there
            if row not in again and label not in own and not is_left_out:
                yield Discrepancy("refusal", where, "no such row", ", ".join(row) or "an empty row")

    def _may_be_left_out(self, name: str) -> bool:
        """Whether a file holds obfuscated traces that are given away with the originals only."""
        return not self.archive.manifest.get("originals") and name.rpartition("/")[2].startswith(HANDED_IN[0])


def refusal_label(team: str, receipt: int) -> str:
    """Return how the table of what was refused calls an upload on a server.

    >>> refusal_label("001", 17)
    'team001/000017'
    """
    return f"team{team}/{receipt:06d}"


def read_small_table(path: Path) -> list[list[str]]:
    """Return the rows of a small table, its header first."""
    return list(csv.reader(io.StringIO(read_bytes(path).decode("utf-8", "replace"), newline="")))
