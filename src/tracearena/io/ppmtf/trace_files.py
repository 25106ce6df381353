"""Files of the PPMTF tools with traces, training, testing or synthetic, their users and their places.

Two layouts are told apart by the column ``distance``. With it the file is people flow: one event
every 20 minutes from 9:00 to 18:40, each its own slot. Without it the file holds check-ins at any
time: an instant is an hour of the day, a slot two hours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, FileError, ParameterError
from tracearena.io.ppmtf._columns import UNKNOWN, CellTable, read_table, write_table
from tracearena.traces import Box, Clock, Grid, Places, Traces
from tracearena.traces.clock import DAY_S

_CHECK_INS = ("user_index", "poi_index", "category", "unixtime", "dow", "hour", "min")
_PEOPLE_FLOW = (*_CHECK_INS, "distance")
_USERS = ("user_id", "user_index")
_WEEKDAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
_EPOCH = date(1970, 1, 1).toordinal()


def people_flow_clock(interval_s: int = 1200, slot_s: int | None = None) -> Clock:
    """Return the clock of the people-flow layout: ten hours from 9:00, by default 30 instants.

    >>> people_flow_clock().slots_per_day
    30
    """
    return _build_clock(9 * 3600, 10 * 3600, interval_s, interval_s if slot_s is None else slot_s)


def check_in_clock(interval_s: int = 3600, slot_s: int | None = None) -> Clock:
    """Return the clock of the check-in layout: the whole day, by default 24 instants in 12 slots.

    >>> check_in_clock().slots_per_day
    12
    """
    return _build_clock(0, DAY_S, interval_s, 2 * interval_s if slot_s is None else slot_s)


def _build_clock(start_s: int, length_s: int, interval_s: int, slot_s: int) -> Clock:
    if interval_s < 1 or length_s % interval_s:
        raise ParameterError.of("interval", f"{interval_s} s", f"a divisor of {length_s} s")
    if slot_s < 1 or slot_s % interval_s:
        raise ParameterError.of("slot", f"{slot_s} s", f"a multiple of the interval, {interval_s} s")
    return Clock(
        instants_per_day=length_s // interval_s,
        start_s=start_s,
        interval_s=interval_s,
        instants_per_slot=slot_s // interval_s,
    )


def is_people_flow(clock: Clock) -> bool:
    """Whether a clock runs through the hours of the people-flow layout."""
    return clock.start_s == 9 * 3600 and clock.instants_per_day * clock.interval_s == 10 * 3600


def read_traces(
    path: str | PathLike[str], places: Places, *, interval_s: int | None = None, slot_s: int | None = None
) -> Traces:
    """Read ``traintraces_<city>.csv`` or ``testtraces_<city>.csv``.

    Parameters
    ----------
    places
        Their order is what ``poi_index`` means.
    interval_s, slot_s
        Seconds of an instant and of a slot; those of the layout by default.

    Notes
    -----
    In the people-flow layout, a trace is one day, whatever the dates of its events, because the authors
    joined events only by their time of day. The next day of a user begins where the time of day decreases. In
    the check-in layout, days are dates, which follow from ``unixtime`` and the time of day, whatever the time
    zone between them.
    """
    table = read_table(path, _CHECK_INS, _PEOPLE_FLOW)
    make_clock = people_flow_clock if "distance" in table else check_in_clock
    given = {} if interval_s is None else {"interval_s": interval_s}
    clock = make_clock(**given, slot_s=slot_s)
    users = table.whole("user_index")
    place_index = table.whole("poi_index", 0, max(len(places) - 1, 0))
    moments = table.number("unixtime", -(2.0**53), 2.0**53).astype(np.int64)
    second = table.whole("hour", 0, 23) * 3600 + table.whole("min", 0, 59) * 60
    time_of_day = (second - clock.start_s) // clock.interval_s
    inside = (time_of_day >= 0) & (time_of_day < clock.instants_per_day)
    last = (clock.start_s + clock.instants_per_day * clock.interval_s) // 3600 - 1
    table.require(
        "hour", inside, f"must be from {clock.start_s // 3600} to {last} in this layout", "bad-hour"
    )
    table.close()
    if "distance" in table:
        # The next day of a user begins where the time of day falls, in the order of the file.
        order = np.argsort(users, kind="stable")
        user = users[order]
        falls = np.diff(time_of_day[order], prepend=0) < 0
        falls[1:] &= user[1:] == user[:-1]
        count = np.cumsum(falls)
        days = np.empty(len(users), np.int64)
        days[order] = count - count[np.searchsorted(user, user)]
    else:
        dates = _convert_midnights(moments - second)
        days = dates - dates.min(initial=np.iinfo(np.int64).max)
        first = int(dates.min(initial=np.iinfo(np.int64).max)) + _EPOCH
        if 1 <= first <= date.max.toordinal():
            clock = replace(clock, first_day=date.fromordinal(first))
    instants = days * clock.instants_per_day + time_of_day
    check_span(path, days, clock)
    span = (0, (int(days.max(initial=0)) + 1) * clock.instants_per_day)
    return Traces.from_events(users, instants, place_index, places, clock, timestamps=moments, span=span)


def check_span(path: str | PathLike[str], days: NDArray[np.int64], clock: Clock) -> None:
    """Refuse events too many days apart for instants to number them."""
    last = int(days.max(initial=0))
    if (last + 1) * clock.instants_per_day >= 2**31:
        raise FileError.whole(path, f"has events on {last + 1:,} days, which is too many", "too-long")


def _convert_midnights(midnights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Days since 1970 of midnights that lie up to half a day away from those of UTC.

    All are taken relative to the first, so that neither seconds nor summer time tip the rounding.
    """
    if not len(midnights):
        return midnights
    first = int(np.rint(midnights[0] / DAY_S))
    return np.asarray((midnights - midnights[0] + DAY_S // 2) // DAY_S + first)


def write_traces(traces: Traces, path: str | PathLike[str]) -> None:
    """Write ``traintraces_<city>.csv``, as people flow if the clock has its hours, else as check-ins.

    Users are written with their ids if these are numbers, else with their positions.
    """
    clock = traces.clock
    people_flow = is_people_flow(clock)
    second = clock.second_of_day(traces.instants)
    if traces.timestamps is None:
        first = 0 if clock.first_day is None else clock.first_day.toordinal() - _EPOCH
        moments = (first + clock.day_of(traces.instants)) * DAY_S + second
    else:
        moments = traces.timestamps
        second = second if people_flow else second + moments % clock.interval_s
    weekday = (_convert_midnights(moments - second) + _EPOCH - 1) % 7
    users = traces.user_ids if traces.user_ids.dtype.kind == "i" else np.arange(len(traces.user_ids))
    columns: dict[str, Any] = {
        "user_index": users[traces.user_index],
        "poi_index": traces.place_index,
        "category": format_categories(traces.places)[traces.place_index],
        "unixtime": moments.astype(np.float64),
        "dow": _WEEKDAYS[weekday],
        "hour": second // 3600,
        "min": second // 60 % 60,
    }
    if people_flow:
        columns["distance"] = np.zeros(traces.n_events, np.int64)
    write_table(path, columns)


def read_user_index(path: str | PathLike[str]) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Read ``tuserindex_<city>.csv`` or ``euserindex_<city>.csv``: ids and numbers of the users."""
    table = read_table(path, _USERS)
    ids, numbers = table.text("user_id"), table.whole("user_index")
    table.close()
    return ids, numbers


def write_user_index(user_ids: Any, path: str | PathLike[str], first: int = 0) -> None:
    """Write a user index that counts from `first`: 0 for training users, their number for testing users."""
    ids = np.asarray(user_ids)
    write_table(path, {"user_id": ids, "user_index": np.arange(first, first + len(ids))})


# Synthetic traces: several one-day traces per user, numbered as days.

_PLAIN = ("user", "trace_no", "time_slot", "time_instant", "poi_index", "category")
_PPMTF = (*_PLAIN, "loglikeli")
_SGLT = ("user", "trace_no", "time_period", "time_instant", "poi_index", "category")


@dataclass(frozen=True, eq=False)
class SyntheticTraces:
    """Synthetic traces with their log-likelihoods.

    Attributes
    ----------
    traces
        The events of user ``n`` are made from training user ``n``; day ``r`` is trace number ``r`` of that
        user.
    loglikelihood
        For each event, the natural logarithm of the probability of the trace up to it; None if not known.
    """

    traces: Traces
    loglikelihood: NDArray[np.float64] | None = None

    def trace_loglikelihood(self) -> NDArray[np.float64]:
        """Return the log-likelihood of each whole trace, users × days; NaN where there is no event."""
        if self.loglikelihood is None:
            raise DataError("these synthetic traces have no log-likelihoods")
        traces = self.traces
        days = -(-traces.span[1] // traces.clock.instants_per_day)
        whole = np.full((traces.n_users, days), np.nan)
        # A later event of a trace overwrites an earlier one: the last holds the whole trace's value.
        whole[traces.user_index, traces.clock.day_of(traces.instants)] = self.loglikelihood
        return whole


def read_synthetic(path: str | PathLike[str], places: Places, clock: Clock | None = None) -> SyntheticTraces:
    """Read synthetic traces of PPMTF (with log-likelihoods), SGD or SGLT.

    Parameters
    ----------
    places
        Their order is what ``poi_index`` means.
    clock
        Clock of the training traces. Without it, the file defines the number of instants and slots, which are
        an hour long if they fit into a day.
    """
    table = read_table(path, _PPMTF, _PLAIN, _SGLT)
    slot_name = "time_period" if "time_period" in table else "time_slot"
    users, days = table.whole("user"), table.whole("trace_no", 0, 1_000_000)
    slots_high = DAY_S - 1 if clock is None else clock.slots_per_day - 1
    within_high = DAY_S - 1 if clock is None or clock.slots is not None else clock.instants_per_slot - 1
    slots = table.whole(slot_name, 0, slots_high)
    within = table.whole("time_instant", 0, within_high)
    place_index = table.whole("poi_index", 0, max(len(places) - 1, 0))
    likelihood = table.number("loglikeli") if "loglikeli" in table else None
    if clock is None:
        per_slot = int(within.max(initial=0)) + 1
        per_day = (int(slots.max(initial=0)) + 1) * per_slot
        if per_day > DAY_S:
            raise FileError.whole(path, f"has {per_day:,} instants per day, more than seconds", "bad-instant")
        interval = 3600 if per_day <= 24 else DAY_S // per_day
        clock = Clock(instants_per_day=per_day, interval_s=interval, instants_per_slot=per_slot)
    times = _compute_instants(days, slots, within, clock)
    last = clock.instants_per_day - 1
    table.require("time_instant", times <= last, f"lies beyond the day's last instant, {last}", "bad-instant")
    table.close()
    check_span(path, days, clock)
    instants = days * clock.instants_per_day + times
    span = (0, (int(days.max(initial=0)) + 1) * clock.instants_per_day)
    traces = Traces.from_events(users, instants, place_index, places, clock, span=span)
    if likelihood is not None:
        likelihood = likelihood[np.lexsort([instants, users])]
        likelihood.flags.writeable = False
    return SyntheticTraces(traces, likelihood)


def _compute_instants(
    days: NDArray[np.int64], slots: NDArray[np.int64], within: NDArray[np.int64], clock: Clock
) -> NDArray[np.int64]:
    """Return the instant of the day; one that no slot of the day has lies beyond the day."""
    if clock.slots is None:
        return np.asarray(slots * clock.instants_per_slot + within)
    every = np.arange(len(clock.slots))
    longest = clock.instants_per_day

    def key(day: NDArray[np.int64], slot: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray((day * clock.slots_per_day + slot) * longest + rank)

    known = key(clock.day_of(every), clock.slot_of(every), clock.within_slot(every))
    order = np.argsort(known)
    asked = key(days % clock.days_per_cycle, slots, np.minimum(within, longest - 1))
    at = np.minimum(np.searchsorted(known, asked, sorter=order), len(known) - 1)
    good = (known[order][at] == asked) & (within < longest)
    return np.where(good, clock.time_of_day(every[order][at]), clock.instants_per_day)


def write_synthetic(
    synthetic: SyntheticTraces | Traces, path: str | PathLike[str], *, slot_name: str = "time_slot"
) -> None:
    """Write synthetic traces, with log-likelihoods (6 decimals) if there are any.

    Parameters
    ----------
    slot_name
        ``time_slot``, or ``time_period`` as in the files of SGLT.
    """
    if isinstance(synthetic, Traces):
        synthetic = SyntheticTraces(synthetic)
    traces, clock = synthetic.traces, synthetic.traces.clock
    if traces.user_ids.dtype.kind != "i":
        raise DataError("synthetic users must be numbers: those of their training users")
    columns: dict[str, Any] = {
        "user": traces.user_ids[traces.user_index],
        "trace_no": clock.day_of(traces.instants),
        slot_name: clock.slot_of(traces.instants),
        "time_instant": clock.within_slot(traces.instants),
        "poi_index": traces.place_index,
        "category": format_categories(traces.places)[traces.place_index],
    }
    if synthetic.loglikelihood is not None:
        columns["loglikeli"] = synthetic.loglikelihood
    write_table(path, columns, decimals=6)


# POI files: where the places are, and which of them the traces speak of.

_REGIONS = ("poi_id", "y", "x", "category", "y_id", "x_id", "2D_id", "count")
_POIS = ("poi_id", "y", "x", "category", "count")
_INDEX = ("poi_id", "poi_index", "category", "counts")
_SAME_DEGREES = 1e-6


def read_places(path: str | PathLike[str], index: str | PathLike[str] | None = None) -> Places:
    """Read ``POI_<city>.csv``, of regions (people flow) or of POIs (check-ins).

    Regions that form a complete grid get that grid. Traces refer to POIs by their number in
    ``POIindex_<city>.csv``; the places of that file are returned in its order.

    Parameters
    ----------
    index
        The index file; by default the one next to `path`, if there is one. Without it, the places of the file
        are returned in their order.
    """
    table = read_table(path, _REGIONS, _POIS)
    latitude, longitude = table.number("y", -90, 90), table.number("x", -180, 180)
    ids: NDArray[Any] = table.text("poi_id")
    repeated = np.ones(len(ids), bool)
    repeated[np.unique(ids, return_index=True)[1]] = False
    table.require("poi_id", ~repeated, "already occurs in an earlier row", "repeated-id")
    try:
        # Whole numbers where every id is one and is written as one; text otherwise.
        numbers = ids.astype(np.int64)
        ids = numbers if (numbers.astype(np.str_) == ids).all() else ids
    except (ValueError, OverflowError):
        pass
    categories = table.text("category")
    grid = _recognise_grid(table, latitude, longitude) if "2D_id" in table else None
    table.close()
    file = Path(path)
    if index is None and file.name.startswith("POI_"):
        beside = file.with_name(file.name.replace("POI_", "POIindex_", 1))
        index = beside if beside.is_file() else None
    if index is not None:
        indexed, _ = read_place_index(index)
        row_of = {str(one): row for row, one in enumerate(ids.tolist())}
        missing = [one for one in indexed.tolist() if one not in row_of]
        if missing:
            problem = f"names {len(missing)} places that the POI file does not have"
            raise FileError.whole(index, problem, "unknown-place", missing[0])
        chosen = np.array([row_of[one] for one in indexed.tolist()], np.int64)
        if not np.array_equal(chosen, np.arange(len(ids))):
            ids, categories, grid = ids[chosen], categories[chosen], None
            latitude, longitude = latitude[chosen], longitude[chosen]
    known = None if (categories == UNKNOWN).all() else categories
    return Places(latitude, longitude, ids=ids, categories=known, grid=grid)


def _recognise_grid(
    table: CellTable, latitude: NDArray[np.float64], longitude: NDArray[np.float64]
) -> Grid | None:
    """Recognise a whole grid, numbered row by row from the south-west corner."""
    row, column = table.whole("y_id"), table.whole("x_id")
    cell = table.whole("2D_id")
    rows, columns = int(row.max(initial=0)) + 1, int(column.max(initial=0)) + 1
    if rows < 2 or columns < 2 or rows * columns != len(cell):
        return None
    if not (np.array_equal(cell, np.arange(len(cell))) and np.array_equal(row * columns + column, cell)):
        return None
    height = (latitude[-1] - latitude[0]) / (rows - 1)
    width = (longitude[-1] - longitude[0]) / (columns - 1)
    if height <= 0 or width <= 0:
        return None
    south, west = latitude[0] - height / 2, longitude[0] - width / 2
    bounds = (south, west, south + height * rows, west + width * columns)
    # Borders are short decimals that the centres hold to the last bit or two only.
    grid = Grid.over(Box(*(round(float(degrees), 9) for degrees in bounds)), rows, columns)
    there = grid.centres()
    close = np.allclose(there, (latitude, longitude), rtol=0, atol=_SAME_DEGREES)
    return grid if close else None


def read_place_index(path: str | PathLike[str]) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Read ``POIindex_<city>.csv``: id and category of place 0, 1, …"""
    table = read_table(path, _INDEX)
    order = table.whole("poi_index", 0, max(len(table) - 1, 0))
    seen = np.zeros(len(order), bool)
    seen[np.unique(order, return_index=True)[1]] = True
    table.require("poi_index", seen, "already occurs in an earlier row", "repeated-index")
    ids, categories = table.text("poi_id"), table.text("category")
    table.close()
    rows = np.argsort(order)
    return ids[rows], categories[rows]


def write_places(places: Places, path: str | PathLike[str], counts: Any = None) -> None:
    """Write ``POI_<city>.csv``, as regions if the places are a grid, else as POIs.

    Parameters
    ----------
    counts
        How often each place was visited; "-" if it is not known.
    """
    columns: dict[str, Any] = {
        "poi_id": places.ids,
        "y": places.latitude,
        "x": places.longitude,
        "category": format_categories(places),
    }
    if places.grid is not None:
        cell = np.arange(len(places))
        columns["y_id"], columns["x_id"] = np.divmod(cell, places.grid.columns)
        columns["2D_id"] = cell
    write_table(path, columns | {"count": _choose_counts(places, counts)})


def write_place_index(places: Places, path: str | PathLike[str], counts: Any = None) -> None:
    """Write ``POIindex_<city>.csv``."""
    columns = {
        "poi_id": places.ids,
        "poi_index": np.arange(len(places)),
        "category": format_categories(places),
        "counts": _choose_counts(places, counts),
    }
    write_table(path, columns)


def format_categories(places: Places) -> NDArray[np.str_]:
    """Return the category of each place as these files write it."""
    return np.full(len(places), UNKNOWN) if places.categories is None else places.categories


def _choose_counts(places: Places, counts: Any) -> NDArray[Any]:
    return np.full(len(places), UNKNOWN) if counts is None else np.asarray(counts)
