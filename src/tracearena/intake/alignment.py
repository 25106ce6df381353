"""Files of one data set on common ground: the same places under the same indices, the same instants.

A table names the places that its own events have, and counts days from its own first one. Two tables,
such as reference and original traces, therefore differ in both, though they are of the same city and year.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.row_table import EventTable

_First = TypeVar("_First", bound=EventTable)
_Second = TypeVar("_Second", bound=EventTable)
_SAME_PLACE_DEGREES = 0.01


def aligned(first: _First, second: _Second) -> tuple[_First, _Second]:
    """Return both with the places of either and days counted from the earlier first day.

    Places are known by their ids; where one lies is taken from `first`. The instants of a day must be
    the same.

    Examples
    --------
    >>> one = Traces.from_dense([[0]], Places([40.0], [-74.0], ids=["a"]), Clock(instants_per_day=24))
    >>> other = Traces.from_dense([[0]], Places([40.1], [-74.0], ids=["b"]), Clock(instants_per_day=24))
    >>> aligned(one, other)[1].places.ids.tolist()
    ['a', 'b']
    """
    places = _common_places(first.places, second.places)
    clock = _common_clock(first.clock, second.clock)
    return cast(_First, _moved(first, places, clock)), cast(_Second, _moved(second, places, clock))


def at_common_places(parts: Sequence[Traces]) -> list[Traces]:
    """Return all with the places of any, by their ids; each keeps its own clock."""
    places = common_places([part.places for part in parts])
    return [cast(Traces, _moved(part, places, part.clock)) for part in parts]


def common_places(several: Sequence[Places]) -> Places:
    """Return the places of any, by their ids; where one lies is taken from the first that has it."""
    return functools.reduce(_common_places, several)


def _common_places(first: Places, second: Places) -> Places:
    if first == second:
        return first
    at = index_among(first, second)
    known = at >= 0
    here, there = (
        np.column_stack([places.latitude[index], places.longitude[index]])
        for places, index in ((first, at[known]), (second, np.flatnonzero(known)))
    )
    apart = np.flatnonzero(np.abs(here - there).max(axis=1, initial=0) > _SAME_PLACE_DEGREES)
    if len(apart):
        name = first.ids[at[known][apart[0]]].item()
        raise DataError(
            f"place {name!r} lies at {_point(here[apart[0]])} in one file, at {_point(there[apart[0]])} in "
            "the other: they need the same places, which --places names, or --grid with --bounds makes"
        )
    if known.all():
        return first
    if (index_among(second, first) >= 0).all():
        return second
    if first.grid is not None or second.grid is not None:
        raise DataError(
            "the files lie on different grids: they need the same, by --places, or --grid with --bounds"
        )
    return _union(first, second, ~known)


def index_among(known: Places, wanted: Places) -> NDArray[np.int64]:
    """Return which of the known places each wanted one is, by id; -1 for none."""
    position = {str(name): at for at, name in enumerate(known.ids.tolist())}
    return np.array([position.get(str(name), -1) for name in wanted.ids.tolist()], np.int64)


def _point(degrees: NDArray[np.float64]) -> str:
    return f"{degrees[0]:.5f}, {degrees[1]:.5f}"


def _union(first: Places, second: Places, new: NDArray[np.bool_]) -> Places:
    """Return the places of the first, and the new ones of the second after them."""

    def joined(one: Any, other: Any) -> NDArray[Any]:
        return np.concatenate([one, np.asarray(other)[new]])

    both_numbers = first.ids.dtype.kind == second.ids.dtype.kind == "i"
    ids = (first.ids, second.ids) if both_numbers else (first.ids.astype(str), second.ids.astype(str))
    named = first.categories is not None or second.categories is not None
    kinds = [
        np.full(len(places), "") if places.categories is None else places.categories
        for places in (first, second)
    ]
    return Places(
        joined(first.latitude, second.latitude),
        joined(first.longitude, second.longitude),
        ids=joined(*ids),
        sensitive=joined(first.sensitive, second.sensitive),
        categories=joined(*kinds) if named else None,
        km_per_degree=first.km_per_degree,
    )


def _common_clock(first: Clock, second: Clock) -> Clock:
    days = [clock.first_day for clock in (first, second)]
    if replace(first, first_day=None) != replace(second, first_day=None) or (None in days and any(days)):
        raise DataError(
            f"one file has {_words(first)}, the other {_words(second)}: they need one clock, "
            "which --times names for numbered times, --interval for others"
        )
    return first if days[0] is None or days[1] is None or days[0] <= days[1] else second


def _words(clock: Clock) -> str:
    dated = "numbered days" if clock.first_day is None else "dates"
    return f"{clock.instants_per_day} instants a day from {clock.label(0)} and {dated}"


def _moved(table: EventTable, places: Places, clock: Clock) -> EventTable:
    shift = 0
    if table.clock.first_day is not None and clock.first_day is not None:
        shift = (table.clock.first_day - clock.first_day).days * clock.instants_per_day
    if places is table.places and not shift:
        return table
    new = index_among(places, table.places).astype(np.int32)
    frame: dict[str, Any] = {
        "user_ids": table.user_ids,
        "offsets": table.offsets,
        "instants": table.instants + np.int32(shift),
        "timestamps": table.timestamps,
        "span": (table.span[0] + shift, table.span[1] + shift),
    }
    if isinstance(table, ObfuscatedTraces):
        codes = np.where(table.is_single, new[table.codes.clip(0)], table.codes) if len(new) else table.codes
        sets = PlaceSets(table.sets.offsets, new[table.sets.members])
        return ObfuscatedTraces(places, clock, codes=codes, sets=sets, **frame)
    traces = cast(Traces, table)
    return Traces(places, clock, place_index=new[traces.place_index], **frame)
