"""From check-ins to traces: places from a grid, the most visited or all places; instants of a clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import DataError, Fault, ParameterError
from tracearena.io.fields.columns import convert_ids, convert_ids_to_array, number_ids
from tracearena.io.options import Choices, Extent
from tracearena.io.report import DropRule, Report
from tracearena.io.rows import CheckIns, sort_rows
from tracearena.traces import Box, Clock, Grid, Places, Traces

DEFAULT_GRID = (32, 32)
APART_DEGREES = 0.01
"""About a kilometre: events of one place do not lie so far apart."""

APART = "places of one name at several positions"
"""What a report calls places whose events lie so far apart."""

ODDITIES = (
    "same second twice for a user",
    "same instant twice for a user",
    "same event twice",
    "users with one event",
)
"""What a report calls what is odd about events and kept."""


def build_traces(
    checkins: CheckIns, report: Report, choices: Choices, *, places: Places | None = None
) -> Traces:
    """Build traces; every event that finds no place is dropped and counted.

    With `places`, events are matched to them by id, or by their grid where they have no id.
    Otherwise places are the cells of a grid, the most visited venues, or all venues; points
    without venues are put on a grid of 32 × 32 unless another is chosen.
    """
    frame = checkins.frame
    if choices.bounds is not None:
        frame = keep_inside_box(frame, choices.bounds, report)
        report.refuse_if_nothing_is_left(frame.height)
    if places is not None:
        check_no_place_choices(choices)
    elif choices.grid is not None or "venue" not in frame.columns:
        if choices.top is not None:
            raise ParameterError("top needs a column of places, and the file has only coordinates")
        if "lat" not in frame.columns:
            raise ParameterError("a grid needs coordinates, and the file has none")
        box = choices.bounds or compute_robust_box(frame["lat"], frame["lon"])
        places = Places.of_grid(Grid.over(box, *(choices.grid or DEFAULT_GRID)))
    else:
        require_coordinates(frame.columns, report.path)
    frame = find_places(frame, places, choices, report)
    report.refuse_if_nothing_is_left(frame.height)
    if places is None:
        places, frame = _rank_venues(frame, choices.top, report)
    local = frame["at" if checkins.are_numbered else "local"].to_numpy()
    extent = Extent.of(local, frame["at"], checkins.zone)
    clock = extent.clock(choices, are_numbered=checkins.are_numbered)
    is_stamped = not extent.says_all(clock, are_local=checkins.times_are_local)
    made = TraceBuilder(places, clock, extent, is_stamped)
    needed = frame.drop("row", "lat", "lon", "venue", "category", strict=False)
    traces = made(sort_rows(needed, made.order))
    report_oddities(traces, report)
    return traces


@dataclass(frozen=True)
class TraceBuilder:
    """Makes traces of the events of some users: what those of all users share.

    Attributes
    ----------
    places, clock
        The places of all events, and their instants. Without a first day the instants of the clock are
        those of the events.
    extent
        From when to when all events are.
    is_stamped
        Whether times tell more than instants.
    names
        The ids of the places, ascending; None where events have the places' numbers.
    """

    places: Places
    clock: Clock
    extent: Extent
    is_stamped: bool
    names: pl.Series | None = None

    @property
    def order(self) -> tuple[str | pl.Expr, ...]:
        """What events are sorted by."""
        if self.clock.first_day is None:
            return "user", "at"
        return "user", pl.col("local") // self.clock.interval_s, "at"

    def __call__(self, frame: pl.DataFrame, portion: object = None) -> Traces:
        """Make traces of sorted events."""
        users = frame.select(pl.col("user").rle()).unnest("user")
        at, origin = frame["at"].to_numpy(), self.extent.origin(self.clock)
        if self.clock.first_day is None:
            instants = at - origin
        else:
            instants = (frame["local"].to_numpy() - origin) // self.clock.interval_s
        if self.names is None:
            index = frame["place"].to_numpy()
        elif self.names.dtype == pl.String:
            index = frame["venue"].cast(pl.Enum(self.names)).to_physical().to_numpy().astype(np.int32)
        else:
            index = np.searchsorted(self.names.to_numpy(), frame["venue"].to_numpy()).astype(np.int32)
        return Traces(
            self.places,
            self.clock,
            user_ids=convert_ids_to_array(users["value"]),
            offsets=np.concatenate([[0], np.cumsum(users["len"].to_numpy().astype(np.int64))]),
            instants=instants,
            place_index=index,
            timestamps=at if self.is_stamped else None,
            span=self.extent.span(self.clock),
        )


def compute_robust_box(latitude: pl.Series, longitude: pl.Series) -> Box:
    """Return a box around nearly all points: the middle 99 % and a tenth more on each side.

    It never reaches beyond the points themselves, and its corners are rounded outwards to 0.0001°.
    """
    south, north = _compute_robust_range(latitude)
    west, east = _compute_robust_range(longitude)
    return Box(max(south, -90.0), max(west, -180.0), min(north, 90.0), min(east, 180.0))


def _compute_robust_range(values: pl.Series) -> tuple[float, float]:
    low, high = float(values.quantile(0.005) or 0), float(values.quantile(0.995) or 0)
    rim = (high - low) / 10
    low, high = max(low - rim, float(values.min())), min(high + rim, float(values.max()))  # type: ignore[arg-type]
    low, high = math.floor(low * 1e4) / 1e4, math.ceil(high * 1e4) / 1e4
    return (low, high) if high > low else (low - 0.005, high + 0.005)


def check_no_place_choices(choices: Choices) -> None:
    """Refuse to choose places where they are given."""
    if choices.grid is not None or choices.top is not None:
        raise ParameterError("grid and top cannot be combined with given places")


def keep_inside_box(frame: pl.DataFrame, box: Box, report: Report) -> pl.DataFrame:
    """Return the events within a box; the others are reported."""
    if "lat" not in frame.columns:
        raise ParameterError("bounds need coordinates, and the file has none")
    within = pl.col("lat").is_between(box.south, box.north) & pl.col("lon").is_between(box.west, box.east)
    return report.sift(frame, [DropRule(reason="outside the bounds", bad=~within, column="lat, lon")])


def find_places(frame: pl.DataFrame, places: Places | None, choices: Choices, report: Report) -> pl.DataFrame:
    """Return the events that are at a place, by its id or by its cell; the others are reported.

    Parameters
    ----------
    places
        Where events can be: ``place`` is added, the number of one of them. Otherwise they are where the
        file says, and ``venue`` stays.
    """
    if places is None:
        rule = DropRule(reason="no place", bad=pl.col("venue").is_null(), column="row")
        frame = report.sift(frame, [rule])
        return frame.with_columns(venue=convert_ids(frame["venue"]))
    if "venue" in frame.columns and (choices.grid is None or places.grid is None):
        ids = pl.DataFrame({"venue": places.ids.tolist()}).with_columns(
            pl.col("venue").cast(pl.String), place=pl.int_range(pl.len(), dtype=pl.Int32)
        )
        frame = frame.with_columns(pl.col("venue").cast(pl.String))
        frame = frame.join(ids, on="venue", how="left", maintain_order="left")
        rule = DropRule(reason="not in the file of places", bad=pl.col("place").is_null(), column="venue")
        return report.sift(frame, [rule])
    if places.grid is None:
        raise ParameterError("the events name no places, so the given places must form a grid")
    cell = places.grid.cell_of(frame["lat"].to_numpy(), frame["lon"].to_numpy())
    rule = DropRule(reason="outside the bounds", bad=pl.col("place") < 0, column="lat, lon")
    return report.sift(frame.with_columns(place=pl.Series(cell)), [rule])


def _rank_venues(frame: pl.DataFrame, top: int | None, report: Report) -> tuple[Places, pl.DataFrame]:
    """All venues by id, or the most visited in descending order, ties in order of appearance ([ppmtf])."""
    venue, ids = number_ids(frame["venue"])
    first = np.empty(len(ids), np.int64)
    first[venue[::-1]] = np.arange(len(venue))[::-1]  # the last to be written is the first event
    # Places of one name at several positions: two people's homes, or the shops of a chain.
    away = np.zeros(frame.height, bool)
    for name in ("lat", "lon"):
        degrees = frame[name].to_numpy()
        away |= np.abs(degrees - degrees[first[venue]]) > APART_DEGREES
    if away.any():
        row = frame[int(np.argmax(away))]
        value = f"{row['venue'][0]} at {row['lat'][0]:.4f}, {row['lon'][0]:.4f}"
        problem = "an event of this place lies a kilometre or more from its first, where the place is put"
        fault = Fault(row["row"][0], "place", value, problem, "place-apart", report.header_lines)
        report.notice(APART, len(np.unique(first[venue][away])), fault)
    kept = np.arange(len(ids))
    if top is not None:
        kept = np.lexsort((first, -np.bincount(venue)))[:top]
    place = np.full(len(ids), -1, np.int32)
    place[kept] = np.arange(len(kept))
    places = build_venue_places(ids[kept], frame[first[kept]])
    frame = frame.with_columns(place=pl.Series(place[venue]))
    if top is not None:
        reason = f"not among the {top:,} most visited places"
        frame = report.sift(frame, [DropRule(reason=reason, bad=pl.col("place") < 0, column="venue")])
    return places, frame


def require_coordinates(columns: Sequence[str], path: str) -> None:
    """Refuse places of which nothing says where they lie."""
    if "lat" not in columns:
        raise DataError.about(path, "has places without coordinates; give their file with --places")


def build_venue_places(ids: NDArray[Any], about: pl.DataFrame) -> Places:
    """Return places with the coordinates and the category that an event at each has."""
    categories = about["category"].fill_null("").to_list() if "category" in about.columns else None
    return Places(about["lat"].to_numpy(), about["lon"].to_numpy(), ids=ids, categories=categories)


def report_oddities(traces: Traces, report: Report) -> None:
    """Report what is odd and kept."""
    for reason, count in count_oddities(traces).items():
        report.notice(reason, count)


def count_oddities(traces: Traces) -> dict[str, int]:
    """Count what is odd and kept: the same second twice for a user, repeated events, lone events."""
    exact = traces.instants if traces.timestamps is None else traces.timestamps
    same_user = np.diff(traces.user_index) == 0
    same_time = same_user & (np.diff(exact) == 0)
    same_second, same_instant, same_event, lone = ODDITIES
    return {
        same_instant if traces.timestamps is None else same_second: int(same_time.sum()),
        same_event: int((same_time & (np.diff(traces.place_index) == 0)).sum()),
        lone: int((np.diff(traces.offsets) == 1).sum()),
    }


# Traces that already have places, onto a grid or onto the most visited of their places.


def regrid_traces(traces: Traces, choices: Choices, report: Report) -> Traces:
    """Move every event with its place: into the cell that holds its point, or out.

    Events of places outside the bounds, or not among the most visited, are dropped and counted.
    """
    old = traces.places
    if choices.grid is not None:
        box = choices.bounds or compute_robust_box(pl.Series(old.latitude), pl.Series(old.longitude))
        grid = Grid.over(box, *choices.grid)
        cell = grid.cell_of(old.latitude, old.longitude)
        return _move_events(traces, cell, Places.of_grid(grid), "outside the bounds", report)
    if choices.bounds is not None:
        inside = np.flatnonzero(choices.bounds.contains(old.latitude, old.longitude))
        traces = _keep_places(traces, inside, "outside the bounds", report)
    if choices.top is not None:
        reason = f"not among the {choices.top:,} most visited places"
        visited, first, counts = np.unique(traces.place_index, return_index=True, return_counts=True)
        # In descending order of their events, ties in order of appearance.
        ranked = visited[np.lexsort([first, -counts])[: choices.top]]
        traces = _keep_places(traces, np.asarray(ranked, np.int64), reason, report)
    return traces


def _keep_places(traces: Traces, chosen: NDArray[np.int64], reason: str, report: Report) -> Traces:
    new = np.full(len(traces.places), -1, np.int32)
    new[chosen] = np.arange(len(chosen))
    return _move_events(traces, new, traces.places.take(chosen), reason, report)


def _move_events(traces: Traces, new: NDArray[Any], places: Places, reason: str, report: Report) -> Traces:
    found = new[traces.place_index] >= 0
    if not found.any():
        raise DataError.about(report.path, f"no event is left: all are {reason}")
    if not found.all():
        report.drop(reason, int((~found).sum()))
        traces = traces.keep(found)
    return traces.onto(places, new)
