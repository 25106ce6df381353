"""A first pass over all rows of a table: its users, their numbers of rows, the order, and unusable rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import pairwise
from operator import add
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, run_blocks
from tracearena.io.discretisation import APART, APART_DEGREES, build_venue_places
from tracearena.io.fields import times
from tracearena.io.fields.columns import convert_ids_to_array, is_utc_name
from tracearena.io.fields.coordinates import report_unsorted_times
from tracearena.io.large.sources import FORMAT, EventFiles, PointFiles
from tracearena.io.large.table_files import RowChunk, TableFiles
from tracearena.io.options import Choices, Extent
from tracearena.io.points import report_bare_times, report_falls
from tracearena.io.report import Report
from tracearena.io.rows import (
    NO_EVENT,
    NO_POINT,
    TimeConversion,
    ZoneEvidence,
    choose_time_conversion,
    refuse_unread_times,
)
from tracearena.traces import Clock, Places
from tracearena.traces.time import (
    UNKNOWN,
    LocalTime,
    build_guessed_local_time,
    count_zone_cells,
    find_zone_of_cells,
    guess_local_time,
)

_MERGE_ROWS = 1 << 20


@dataclass(frozen=True)
class FirstPass:
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
        Type of the ids next to those of users, of trajectories or places; None if there are none.
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
        """All users, also those of whom no point is within the bounds."""
        return len(self.users) + len(self.outside)

    @property
    def points_of_users(self) -> NDArray[np.int64]:
        """How many points each of all users has, in no order."""
        return np.append(self.counts, np.zeros(len(self.outside), np.int64))

    @property
    def user_ids(self) -> NDArray[Any]:
        """Ids of all users as an array."""
        return convert_ids_to_array(self.users)

    @property
    def n_points(self) -> int:
        """Points that can be used."""
        return int(self.counts.sum())


@dataclass
class PointChunkSummary:
    """What one chunk holds.

    Attributes
    ----------
    ends
        User, time and row of its first and last point; None of events.
    kinds
        Types of the ids of users, and of trajectories or places.
    timed
        Rows whose times can be read.
    outside
        Who has points outside the bounds.
    venues
        Its places, by the first event at each; None where places are known already.
    """

    users: pl.DataFrame | None
    kept: int
    is_sorted: bool
    ends: tuple[tuple[Any, int, int], tuple[Any, int, int]] | None
    kinds: tuple[Any, Any]
    whole_seconds: bool
    timed: int
    report: Report
    outside: pl.Series | None = field(default=None, kw_only=True)
    venues: pl.DataFrame | None = field(default=None, kw_only=True)


Seen = TypeVar("Seen", bound=PointChunkSummary)


@dataclass
class RowCollector(ABC):
    """Rows of a small table about the chunks that have been seen so far, in any order."""

    waiting: list[pl.DataFrame] = field(default_factory=list)
    rows: int = 0

    def put(self, frame: pl.DataFrame | None) -> None:
        """Take what one chunk adds; merge when much has come together."""
        if frame is not None and frame.height:
            self.waiting.append(frame)
            self.rows += frame.height
        if self.rows > _MERGE_ROWS and self.rows > self.waiting[0].height:
            self.waiting, self.rows = [self.merge_rows()], 0

    def _parts(self, column: str, are_text: bool) -> pl.DataFrame:
        """Return all that was put in; numbers are text where some ids are."""
        are_text = are_text or any(part.schema[column] == pl.String for part in self.waiting)
        return pl.concat([part.cast({column: pl.String}) if are_text else part for part in self.waiting])

    @abstractmethod
    def merge_rows(self, are_text: bool = False) -> pl.DataFrame:
        """Return one row for each id, ascending; ids are text if that is asked for, or if some are."""


class UserCountCollector(RowCollector):
    """How many points or events each user has."""

    def take(self, number: int, block: Sequence[PointChunkSummary]) -> None:
        """Take the counts out of what was seen."""
        for seen in block:
            self.put(seen.users)
            seen.users = None

    def merge_rows(self, are_text: bool = False) -> pl.DataFrame:
        """Return the counts by user."""
        return self._parts("user", are_text).group_by("user").agg(pl.col("len").sum()).sort("user")


class VenueCollector(RowCollector):
    """The places of the events, with the position of the first event at each and the reach of all."""

    def take(self, block: Sequence[PointChunkSummary]) -> None:
        """Take the places out of what was seen."""
        for seen in block:
            self.put(seen.venues)
            seen.venues = None

    def merge_rows(self, are_text: bool = False) -> pl.DataFrame:
        """Return the places by id."""
        rows = self._parts("venue", are_text).sort("first")
        kept = [name for name in ("first", "lat", "lon", "category") if name in rows.columns]
        ends = [pl.col("south", "west").min(), pl.col("north", "east").max()]
        return rows.group_by("venue").agg(pl.col(kept).first(), *ends).sort("venue")


def scan_chunks(
    summarise: Callable[[int], Seen], chunks: int
) -> tuple[list[Seen], UserCountCollector, VenueCollector]:
    """Look at all chunks once, by their numbers, here or in a cluster; users and places are taken out."""
    counts, venues = UserCountCollector(), VenueCollector()

    def work(block: int, first: int, stop: int) -> list[Seen]:
        return [summarise(number) for number in range(first, stop)]

    def finished(block: int, seen: list[Seen]) -> None:
        counts.take(block, seen)
        venues.take(seen)

    blocks = run_blocks(work, block_ranges(chunks, 1), anywhere=True, report=True, finished=finished)
    return [one for block in blocks for one in block], counts, venues


def scan_point_table(files: PointFiles, report: Report, chunks: list[RowChunk]) -> FirstPass:
    """Look at all rows once; what was found goes to `report`."""
    seen, counts, _ = scan_chunks(lambda n: _summarise_point_chunk(*files.points(chunks[n])), len(chunks))
    return build_first_pass(seen, counts, report, files.table.roles["time"], files.table.layout.time_format)


def build_first_pass(
    seen: Sequence[PointChunkSummary],
    counts: UserCountCollector,
    report: Report,
    times: str,
    time_format: str | None,
    nothing: tuple[str, str] = NO_POINT,
) -> FirstPass:
    """Return what is known of a table when all chunks have been seen, in their order.

    Parameters
    ----------
    times, time_format
        The column of times, and how they are said to be written.
    nothing
        What is said of a table without rows, and the code of that fault.
    """
    timed = 0
    for one in seen:
        report.add(one.report)
        report.rows += one.report.rows
        report.unzoned += one.report.unzoned
        timed += one.timed
    report_bare_times(report, times, timed)
    report.doubts.refuse()
    refuse_unread_times(report, times, time_format)
    report.refuse_if_nothing_is_left(sum(one.kept for one in seen), *nothing)
    users = counts.merge_rows(are_text=any(one.kinds[0] == pl.String for one in seen))
    kinds = {one.kinds[1] for one in seen if one.kinds[1] is not None}
    ids = users["user"]
    others = [one.outside.cast(ids.dtype) for one in seen if one.outside is not None]
    outside = pl.concat([ids.clear(), *others]).unique()
    return FirstPass(
        users=ids,
        counts=users["len"].cast(pl.Int64).to_numpy(),
        kept=np.array([one.kept for one in seen], np.int64),
        is_sorted=_are_chunks_sorted(seen, report),
        other_ids=None if not kinds else pl.String() if pl.String() in kinds else pl.Int64(),
        whole_seconds=all(one.whole_seconds for one in seen),
        report=report,
        outside=outside.filter(~outside.is_in(ids.implode())).sort(),
    )


def _summarise_point_chunk(
    frame: pl.DataFrame, report: Report, outside: pl.Series | None = None
) -> PointChunkSummary:
    """Return what the usable points of a chunk are, and the report of the others."""
    kind = frame.schema.get("trajectory")
    timed = report.rows - report.dropped.get("unparsable time", 0)
    if not frame.height:
        return PointChunkSummary(
            None, 0, True, None, (frame.schema["user"], kind), True, timed, report, outside=outside
        )
    runs = frame.select(pl.col("user").rle()).unnest("user")
    ids, users, rises = runs["value"], *count_user_runs(runs)
    falls = report_falls(frame, runs, report)
    at, row = frame["at"], frame["row"]
    ends = ((ids[0], at[0], row[0]), (ids[-1], at[-1], row[-1]))
    whole, kinds = bool((at.to_numpy() % 1000 == 0).all()), (ids.dtype, kind)
    return PointChunkSummary(
        users, frame.height, rises and not falls, ends, kinds, whole, timed, report, outside=outside
    )


def count_user_runs(runs: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """Return how many rows each user has, of runs of rows, and whether the users ascend."""
    ids = runs["value"]
    rises = runs.height < 2 or bool((ids.slice(1) > ids.slice(0, runs.height - 1)).all())
    users = runs.select(user="value", len="len")
    return users if rises else users.group_by("user").agg(pl.col("len").sum()), rises


def _are_chunks_sorted(seen: Sequence[PointChunkSummary], report: Report) -> bool:
    """Whether all chunks are sorted, and each continues where the one before ended."""
    known = [(one, one.ends) for one in seen if one.ends is not None]
    if len({one.kinds[0] for one in seen}) > 1:  # numbers here, text there: ordered as text
        return False
    is_sorted = all(one.is_sorted for one in seen)
    for (_, (_, (last, at, _))), (one, ((first, then, row), _)) in pairwise(known):
        if last == first and then < at:
            pair = np.array([at, then]), np.array([row - 1, row])
            report_unsorted_times(one.report.path, *pair, report, report.header_lines)
        is_sorted = is_sorted and (last < first or (last == first and at <= then))
    return is_sorted


# The same for a table of events: who, from when to when, and at which places.


@dataclass(frozen=True)
class EventFirstPass(FirstPass):
    """Places, clock and extent of a table of events, after one pass over its rows.

    Attributes
    ----------
    places, clock
        The places and the clock of all events.
    extent
        First and last time of the events.
    is_stamped
        Whether times are more precise than instants.
    """

    places: Places
    clock: Clock
    extent: Extent
    is_stamped: bool

    @property
    def n_events(self) -> int:
        """Number of usable events."""
        return int(self.counts.sum())


def find_time_conversion(
    table: TableFiles, choices: Choices, places: Places | None, chunks: Sequence[RowChunk]
) -> TimeConversion:
    """Choose how the times of a table become local ones; rows are looked at where columns do not tell.

    Parameters
    ----------
    places
        Where events can be, if that is given.
    """
    are_utc = is_utc_name(table.roles["time"])
    first = times.parse_times(table.first_times, style=table.layout.time_format, are_utc=are_utc)
    roles, is_text = table.roles, table.schema[table.roles["time"]] == pl.String

    @cache
    def look_at_all_times() -> ZoneEvidence:
        def work(block: int, begin: int, stop: int) -> ZoneEvidence:
            frame = table.parse(chunks[begin], table.empty_report(chunks[begin], FORMAT)).frame
            found = ZoneEvidence.of(frame["_at"], frame["_offset"])
            if "_lat" not in frame.columns:
                return found
            degrees = frame.select("_lat", "_lon").drop_nulls()
            cells = count_zone_cells(degrees["_lat"].to_numpy(), degrees["_lon"].to_numpy())
            return replace(found, cells=cells)

        return fold_blocks(work, block_ranges(len(chunks), 1), anywhere=True, report=True)

    def guess() -> LocalTime:
        if places is not None:
            return guess_local_time(places.latitude, places.longitude, "places")
        if not {"lat", "lon"} <= set(roles):
            return UNKNOWN
        return build_guessed_local_time(find_zone_of_cells(look_at_all_times().cells), "events")

    if first.are_instants or not is_text or choices.timezone is not None:
        named, kind = ZoneEvidence.of(first.at, first.offset_s), table.schema[roles["time"]]
        if not named.times and isinstance(kind, pl.Datetime):  # the first rows have none, and the type tells
            named = ZoneEvidence(1, int(kind.time_zone is None and not are_utc), False)
    else:
        named = look_at_all_times()
    return choose_time_conversion(
        named,
        choices,
        table.path,
        are_instants=first.are_instants,
        has_offsets="offset_min" in roles,
        guess=guess,
    )


@dataclass
class EventChunkSummary(PointChunkSummary):
    """What one chunk holds.

    Attributes
    ----------
    extent
        From when to when its events are.
    edges
        User, local time and UTC of its first and last event.
    """

    extent: Extent | None = None
    edges: tuple[tuple[Any, int, int], tuple[Any, int, int]] | None = None


def scan_event_table(files: EventFiles, report: Report, chunks: list[RowChunk]) -> EventFirstPass:
    """Look at all rows once; what was found goes to `report`."""
    seen, counts, venues = scan_chunks(
        lambda n: _summarise_event_chunk(*files.events(chunks[n]), n, files.hours.zone), len(chunks)
    )
    table = files.table
    found = build_first_pass(seen, counts, report, table.roles["time"], table.layout.time_format, NO_EVENT)
    report.clock = files.hours.clock
    extent = reduce(add, (one.extent for one in seen if one.extent is not None))
    clock = extent.clock(files.choices, are_numbered=files.hours.way == "numbers")
    places = files.places
    if places is None:
        # Each place is where its first event is; those of several positions are reported.
        rows = venues.merge_rows(are_text=found.other_ids == pl.String)
        lat, lon = pl.col("lat"), pl.col("lon")
        away = pl.max_horizontal(
            pl.col("north") - lat, lat - pl.col("south"), pl.col("east") - lon, lon - pl.col("west")
        )
        report.notice(APART, int(rows.select((away > APART_DEGREES).sum()).item()))
        places = build_venue_places(convert_ids_to_array(rows["venue"]), rows)
    # Local time and UTC must both rise: then instants do, however long they are.
    edges = pairwise(one.edges for one in seen if one.edges is not None)
    is_sorted = found.is_sorted and all(
        last < first or (last == first and local <= then_local and at <= then)
        for (_, (last, local, at)), ((first, then_local, then), _) in edges
    )
    return EventFirstPass(
        **vars(found) | {"is_sorted": is_sorted},
        places=places,
        clock=clock,
        extent=extent,
        is_stamped=not extent.says_all(clock, are_local=files.hours.are_local),
    )


def _summarise_event_chunk(
    frame: pl.DataFrame, report: Report, number: int, zone: str | None
) -> EventChunkSummary:
    """Return what the usable events of a chunk are, and the report of the others."""
    timed = report.rows - report.dropped.get("unparsable time", 0)
    kinds = frame.schema["user"], frame.schema.get("venue")
    if not frame.height:
        return EventChunkSummary(None, 0, True, None, kinds, True, timed, report)
    runs = frame.select(pl.col("user").rle()).unnest("user")
    users, ascend = count_user_runs(runs)
    at = frame["at"].to_numpy()
    local = frame["local"].to_numpy() if "local" in frame.columns else at
    falls = (local[1:] < local[:-1]) | (at[1:] < at[:-1])
    falls[np.cumsum(runs["len"].to_numpy().astype(np.int64))[:-1] - 1] = False
    ids = runs["value"]
    return EventChunkSummary(
        users,
        frame.height,
        ascend and not falls.any(),
        None,
        kinds,
        True,
        timed,
        report,
        venues=None if "place" in frame.columns else collect_venues(frame, number),
        extent=Extent.of(local, frame["at"], zone),
        edges=((ids[0], int(local[0]), int(at[0])), (ids[-1], int(local[-1]), int(at[-1]))),
    )


def collect_venues(frame: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return the places of a chunk, numbered by their first events among all chunks."""
    lat, lon = pl.col("lat"), pl.col("lon")
    kept = ["lat", "lon", *(["category"] if "category" in frame.columns else [])]
    return (
        frame.with_columns(first=pl.int_range(pl.len(), dtype=pl.Int64) + (number << 32))
        .group_by("venue")
        .agg(
            pl.col("first").min(),
            pl.col(kept).first(),
            south=lat.min(),
            north=lat.max(),
            west=lon.min(),
            east=lon.max(),
        )
    )
