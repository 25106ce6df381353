"""One look at all rows of a table of events: who, from when to when, and at which places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import pairwise
from operator import add
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, run_blocks
from tracearena.intake import times
from tracearena.intake.checkins import Hours, ZonesNamed, settled
from tracearena.intake.choices import Choices
from tracearena.intake.columns import names_utc
from tracearena.intake.discretise import APART, APART_DEGREES, places_of
from tracearena.intake.extents import HOUR_S, Extent
from tracearena.intake.ids import array_of
from tracearena.intake.local_time import UNKNOWN, LocalTime, by_guess, guessed
from tracearena.intake.report import Report
from tracearena.streams.event_files import FORMAT, EventFiles, parsed
from tracearena.streams.survey import Counts, Gathering, Seen, Survey, counted, summed_up
from tracearena.streams.table_files import Chunk, TableFiles
from tracearena.traces import Clock, Places
from tracearena.traces.time import joined_cells, zone_cells, zone_of_cells

NO_EVENT = ("holds no rows", "empty")
"""What is said of a table without events, and the code of that fault."""


@dataclass(frozen=True)
class EventSurvey(Survey):
    """What is known of a table of events after one look at its rows.

    Attributes
    ----------
    places, clock
        What all events share.
    extent
        From when to when they are.
    is_stamped
        Whether times tell more than instants.
    """

    places: Places
    clock: Clock
    extent: Extent
    is_stamped: bool

    @property
    def n_events(self) -> int:
        """Events that can be used."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Glance:
    """What some rows say about the hours of all: the zones that times name, and where events are."""

    named: ZonesNamed
    cells: NDArray[np.float64]

    def __add__(self, other: Glance) -> Glance:
        return Glance(self.named + other.named, joined_cells(self.cells, other.cells))


def hours_of(table: TableFiles, choices: Choices, places: Places | None, chunks: Sequence[Chunk]) -> Hours:
    """Settle how the times of a table become local ones; rows are looked at where columns do not tell.

    Parameters
    ----------
    places
        Where events can be, if that is given.
    """
    are_utc = names_utc(table.roles["time"])
    first = times.parse(table.first_times, style=table.layout.time_format, are_utc=are_utc)
    roles, is_text = table.roles, table.schema[table.roles["time"]] == pl.String

    @cache
    def looked() -> Glance:
        def work(block: int, begin: int, stop: int) -> Glance:
            return reduce(add, (_glance(table, chunk) for chunk in chunks[begin:stop]))

        return fold_blocks(work, block_ranges(len(chunks), 1), anywhere=True, report=True)

    def guess() -> LocalTime:
        if places is not None:
            return guessed(places.latitude, places.longitude, "places")
        if not {"lat", "lon"} <= set(roles):
            return UNKNOWN
        return by_guess(zone_of_cells(looked().cells), "events")

    if first.are_instants or not is_text or choices.timezone is not None:
        known = first.offset_s.filter(first.at.is_not_null())
        named = ZonesNamed(len(known), known.null_count(), bool((known != 0).any()))
        kind = table.schema[roles["time"]]
        if not len(known) and isinstance(kind, pl.Datetime):  # the first rows have none, and the type tells
            named = ZonesNamed(1, int(kind.time_zone is None and not are_utc), False)
    else:
        named = looked().named
    return settled(
        named,
        choices,
        table.path,
        are_instants=first.are_instants,
        has_offsets="offset_min" in roles,
        guess=guess,
    )


def _glance(table: TableFiles, chunk: Chunk) -> Glance:
    rows = parsed(table, chunk, table.empty_report(chunk, FORMAT))
    cells = np.zeros((0, 4))
    if "_lat" in rows.frame.columns:
        degrees = rows.frame.select("_lat", "_lon").drop_nulls()
        cells = zone_cells(degrees["_lat"].to_numpy(), degrees["_lon"].to_numpy())
    return Glance(ZonesNamed.of(rows), cells)


@dataclass
class SeenEvents(Seen):
    """What one chunk holds.

    Attributes
    ----------
    venues
        Its places, by the first event at each; None where places are known already.
    extent
        From when to when its events are.
    rises
        Whether the users ascend, and both local time and UTC within each.
    edges
        User, local time and UTC of its first and last event.
    """

    venues: pl.DataFrame | None = None
    extent: Extent | None = None
    rises: bool = True
    edges: tuple[tuple[Any, int, int], tuple[Any, int, int]] | None = None


class HasVenues(Protocol):
    """What was seen of a chunk, its places among it."""

    venues: pl.DataFrame | None


class Venues(Gathering):
    """The places of the events, with the position of the first event at each and the reach of all."""

    def take(self, block: Sequence[HasVenues]) -> None:
        """Take the places out of what was seen."""
        for seen in block:
            self.put(seen.venues)
            seen.venues = None

    def merged(self, are_text: bool = False) -> pl.DataFrame:
        """Return the places by id."""
        rows = self._parts("venue", are_text).sort("first")
        kept = [name for name in ("first", "lat", "lon", "category") if name in rows.columns]
        ends = [pl.col("south", "west").min(), pl.col("north", "east").max()]
        return rows.group_by("venue").agg(pl.col(kept).first(), *ends).sort("venue")


def survey_events(files: EventFiles, report: Report, chunks: list[Chunk]) -> EventSurvey:
    """Look at all rows once; `report` is told what was found."""
    counts, venues = Counts(), Venues()
    is_numbered = files.hours.way == "numbers"
    unit = 1 if is_numbered else files.choices.interval_s or HOUR_S

    def work(block: int, first: int, stop: int) -> list[SeenEvents]:
        return [
            _seen(*files.events(chunk), number, unit, files.hours.zone)
            for number, chunk in enumerate(chunks[first:stop], start=first)
        ]

    def finished(block: int, seen: list[SeenEvents]) -> None:
        counts.take(block, seen)
        venues.take(seen)

    blocks = run_blocks(work, block_ranges(len(chunks), 1), anywhere=True, report=True, finished=finished)
    seen = [one for block in blocks for one in block]
    table = files.table
    found = summed_up(seen, counts, report, table.roles["time"], table.layout.time_format, NO_EVENT)
    report.clock = files.hours.clock
    extent = reduce(add, (one.extent for one in seen if one.extent is not None))
    clock = extent.clock(files.choices, are_numbered=is_numbered)
    places = files.places
    if places is None:
        places = _places(venues.merged(are_text=found.other_ids == pl.String), report)
    exactly = not is_numbered and clock.interval_s != unit
    own = {"is_sorted": found.is_sorted and _are_sorted(seen, unit, exactly=exactly)}
    return EventSurvey(
        **vars(found) | own,
        places=places,
        clock=clock,
        extent=extent,
        is_stamped=not extent.says_all(clock, are_local=files.hours.are_local),
    )


def _seen(frame: pl.DataFrame, report: Report, number: int, unit: int, zone: str | None) -> SeenEvents:
    """Return what the usable events of a chunk are, and the report of the others."""
    timed = report.rows - report.dropped.get("unparsable time", 0)
    kinds = frame.schema["user"], frame.schema.get("venue")
    if not frame.height:
        return SeenEvents(None, 0, True, None, kinds, True, timed, report)
    runs = frame.select(pl.col("user").rle()).unnest("user")
    users, ascend = counted(runs)
    at = frame["at"].to_numpy()
    local = frame["local"].to_numpy() if "local" in frame.columns else at
    instant = local // unit
    within = np.ones(len(at) - 1, bool)
    within[np.cumsum(runs["len"].to_numpy().astype(np.int64))[:-1] - 1] = False
    falls = (instant[1:] < instant[:-1]) | ((instant[1:] == instant[:-1]) & (at[1:] < at[:-1]))
    sinks = (local[1:] < local[:-1]) | (at[1:] < at[:-1])
    ids = runs["value"]
    edges = ((ids[0], int(local[0]), int(at[0])), (ids[-1], int(local[-1]), int(at[-1])))
    return SeenEvents(
        users,
        frame.height,
        ascend and not (falls & within).any(),
        None,
        kinds,
        True,
        timed,
        report,
        venues=None if "place" in frame.columns else venues_of(frame, number),
        extent=Extent.of(local, frame["at"], zone),
        rises=ascend and not (sinks & within).any(),
        edges=edges,
    )


def _are_sorted(seen: Sequence[SeenEvents], unit: int, *, exactly: bool) -> bool:
    """Whether all chunks are sorted by user, instant and UTC, and each goes on where the one before ended.

    Where instants are shorter than the unit by which they were looked at, both times must rise `exactly`.
    """
    if not all(one.rises if exactly else one.is_sorted for one in seen):
        return False
    edges = [one.edges for one in seen if one.edges is not None]
    for (_, (last, local, at)), ((first, then_local, then), _) in pairwise(edges):
        if last == first and exactly and (then_local < local or then < at):
            return False
        if (last, local // unit, at) > (first, then_local // unit, then) and not exactly:
            return False
        if last > first:
            return False
    return True


def venues_of(frame: pl.DataFrame, number: int) -> pl.DataFrame:
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


def _places(venues: pl.DataFrame, report: Report) -> Places:
    """Return the places by their ids, each where its first event is; report those of several positions."""
    lat, lon = pl.col("lat"), pl.col("lon")
    away = pl.max_horizontal(
        pl.col("north") - lat, lat - pl.col("south"), pl.col("east") - lon, lon - pl.col("west")
    )
    report.notice(APART, int(venues.select((away > APART_DEGREES).sum()).item()))
    return places_of(array_of(venues["venue"]), venues)
