"""One look at all rows of a table: who is in it, how often, in which order, and what cannot be used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import Fault
from tracearena.intake.ids import array_of
from tracearena.intake.positions import unsorted
from tracearena.intake.report import Report
from tracearena.intake.rows import refuse_unread_times
from tracearena.streams.point_files import PointFiles
from tracearena.streams.table_files import Chunk

_MERGED_AT = 1 << 20
_NO_ZONE = "no zone"
NO_POINT = ("holds no point", "no-points")
"""What is said of a table without points, and the code of that fault."""


@dataclass(frozen=True)
class Survey:
    """What is known of a table after one look at its rows.

    Attributes
    ----------
    users, counts
        Ids of all users, ascending, and how many points or events each has.
    kept
        How many rows of each chunk can be used.
    is_sorted
        Whether the rows are sorted by user and time already, as `users` are.
    other_ids
        Type of the ids beside those of users, of trajectories or places; None where there are none.
    whole_seconds
        Whether no time has a fraction of a second.
    report
        What was dropped and noticed.
    outside
        Ids of further users, ascending, all of whose points lie outside the bounds.
    """

    users: pl.Series
    counts: NDArray[np.int64]
    kept: NDArray[np.int64]
    is_sorted: bool
    other_ids: Any
    whole_seconds: bool
    report: Report
    outside: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.Int64), kw_only=True)

    @property
    def n_users(self) -> int:
        """All users, also those of whom no point lies within the bounds."""
        return len(self.users) + len(self.outside)

    @property
    def points_of_users(self) -> NDArray[np.int64]:
        """How many points each of all users has, in no order."""
        return np.append(self.counts, np.zeros(len(self.outside), np.int64))

    @property
    def user_ids(self) -> NDArray[Any]:
        """Ids of all users as an array."""
        return array_of(self.users)

    @property
    def n_points(self) -> int:
        """Points that can be used."""
        return int(self.counts.sum())


@dataclass
class Seen:
    """What one chunk holds."""

    users: pl.DataFrame | None
    kept: int
    is_sorted: bool
    ends: tuple[tuple[Any, int, int], tuple[Any, int, int]] | None
    kinds: tuple[Any, Any]
    whole_seconds: bool
    timed: int
    report: Report
    outside: pl.Series | None = field(default=None, kw_only=True)


@dataclass
class Gathering(ABC):
    """Rows of a small table about the chunks that have been seen so far, in any order."""

    waiting: list[pl.DataFrame] = field(default_factory=list)
    rows: int = 0

    def put(self, frame: pl.DataFrame | None) -> None:
        """Take what one chunk adds; merge when much has come together."""
        if frame is not None and frame.height:
            self.waiting.append(frame)
            self.rows += frame.height
        if self.rows > _MERGED_AT and self.rows > self.waiting[0].height:
            self.waiting, self.rows = [self.merged()], 0

    def join(self, other: Gathering) -> None:
        """Add what others have gathered."""
        self.waiting += other.waiting
        self.rows += other.rows

    def _parts(self, column: str, are_text: bool) -> pl.DataFrame:
        """Return all that was put in; numbers are text where some ids are."""
        are_text = are_text or any(part.schema[column] == pl.String for part in self.waiting)
        return pl.concat([part.cast({column: pl.String}) if are_text else part for part in self.waiting])

    @abstractmethod
    def merged(self, are_text: bool = False) -> pl.DataFrame:
        """Return one row for each id, ascending; ids are text if that is asked for, or if some are."""


class Counts(Gathering):
    """How many points or events each user has."""

    def take(self, number: int, block: Sequence[Seen]) -> None:
        """Take the counts out of what was seen."""
        for seen in block:
            self.put(seen.users)
            seen.users = None

    def merged(self, are_text: bool = False) -> pl.DataFrame:
        """Return the counts by user."""
        return self._parts("user", are_text).group_by("user").agg(pl.col("len").sum()).sort("user")


def survey(files: PointFiles, report: Report, chunks: list[Chunk]) -> Survey:
    """Look at all rows once; `report` is told what was found."""
    counts = Counts()

    def work(block: int, first: int, stop: int) -> list[Seen]:
        return [seen_of(*files.points(chunk)) for chunk in chunks[first:stop]]

    blocks = run_blocks(work, block_ranges(len(chunks), 1), anywhere=True, report=True, finished=counts.take)
    seen = [one for block in blocks for one in block]
    return summed_up(seen, counts, report, files.table.roles["time"], files.table.layout.time_format)


def summed_up(
    seen: Sequence[Seen],
    counts: Counts,
    report: Report,
    times: str,
    time_format: str | None,
    nothing: tuple[str, str] = NO_POINT,
) -> Survey:
    """Return what is known of a table when all chunks have been seen, in their order.

    Parameters
    ----------
    times, time_format
        The column of times, and how they are said to be written.
    nothing
        What is said of a table without rows, and the code of that fault.
    """
    _add_reports(report, seen)
    report.doubts.refuse()
    refuse_unread_times(report, times, time_format)
    report.refuse_if_nothing_is_left(sum(one.kept for one in seen), *nothing)
    users = counts.merged(are_text=any(one.kinds[0] == pl.String for one in seen))
    kinds = {one.kinds[1] for one in seen if one.kinds[1] is not None}
    return Survey(
        users=users["user"],
        counts=users["len"].cast(pl.Int64).to_numpy(),
        kept=np.array([one.kept for one in seen], np.int64),
        is_sorted=_is_sorted(seen, report),
        other_ids=None if not kinds else pl.String() if pl.String() in kinds else pl.Int64(),
        whole_seconds=all(one.whole_seconds for one in seen),
        report=report,
        outside=_outside(seen, users["user"]),
    )


def _outside(seen: Sequence[Seen], users: pl.Series) -> pl.Series:
    """Return who has no point within the bounds, ascending."""
    found = [one.outside.cast(users.dtype) for one in seen if one.outside is not None and len(one.outside)]
    if not found:
        return users.clear()
    everybody = pl.concat(found).unique()
    return everybody.filter(~everybody.is_in(users.implode())).sort()


def seen_of(frame: pl.DataFrame, report: Report, outside: pl.Series | None = None) -> Seen:
    """Return what the usable points of a chunk are, and the report of the others.

    Parameters
    ----------
    outside
        Who has points outside the bounds.
    """
    report.noticed.pop(_NO_ZONE, None)
    kind = frame.schema.get("trajectory")
    timed = report.rows - report.dropped.get("unparsable time", 0)
    if not frame.height:
        return Seen(None, 0, True, None, (frame.schema["user"], kind), True, timed, report, outside=outside)
    runs = frame.select(pl.col("user").rle()).unnest("user")
    ids, users, rises = runs["value"], *counted(runs)
    at, row = frame["at"].to_numpy(), frame["row"].to_numpy()
    in_time = _report_falls(at, row, np.cumsum(runs["len"].to_numpy())[:-1], report)
    ends = ((ids[0], int(at[0]), int(row[0])), (ids[-1], int(at[-1]), int(row[-1])))
    whole = bool((at % 1000 == 0).all())
    is_sorted, kinds = rises and in_time, (ids.dtype, kind)
    return Seen(users, frame.height, is_sorted, ends, kinds, whole, timed, report, outside=outside)


def counted(runs: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """Return how many rows each user has, of runs of rows, and whether the users ascend."""
    ids = runs["value"]
    rises = runs.height < 2 or bool((ids.slice(1) > ids.slice(0, runs.height - 1)).all())
    users = runs.select(user="value", len="len")
    return users if rises else users.group_by("user").agg(pl.col("len").sum()), rises


def _report_falls(
    at: NDArray[np.int64], row: NDArray[np.int64], begins: NDArray[Any], report: Report
) -> bool:
    """Report times that fall within the consecutive rows of a user; return whether none does."""
    falls = at[1:] < at[:-1]
    if falls.any():
        falls[begins.astype(np.int64) - 1] = False
    where = np.flatnonzero(falls)
    if len(where):
        pair = slice(where[0], where[0] + 2)
        unsorted(report.path, at[pair], row[pair], report, report.header_lines)
        report.notice("unsorted", len(where) - 1)
    return not len(where)


def _is_sorted(seen: Sequence[Seen], report: Report) -> bool:
    """Whether all chunks are sorted, and each goes on where the one before ended."""
    known = [(one, one.ends) for one in seen if one.ends is not None]
    if len({one.kinds[0] for one in seen}) > 1:  # numbers here, text there: ordered as text
        return False
    is_sorted = all(one.is_sorted for one, _ in known)
    for (_, (_, (last, at, _))), (one, ((first, then, row), _)) in pairwise(known):
        if last == first and then < at:
            pair = np.array([at, then]), np.array([row - 1, row])
            unsorted(one.report.path, *pair, report, report.header_lines)
        is_sorted = is_sorted and (last < first or (last == first and at <= then))
    return is_sorted


def _add_reports(report: Report, seen: Sequence[Seen]) -> None:
    timed = 0
    for one in seen:
        report.add(one.report)
        report.rows += one.report.rows
        report.unzoned += one.report.unzoned
        timed += one.timed
    report.all_unzoned = 0 < report.unzoned == timed
    if report.unzoned and report.timezone is None and not report.all_unzoned:
        problem = "some times name no zone; these are taken as UTC"
        report.notice_fault(Fault(None, "time", None, problem, "no-zone"), report.unzoned)
