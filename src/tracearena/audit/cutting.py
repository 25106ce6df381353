"""The file cut in two by time: what an attacker knows of people, and what is released of them."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.linking.observations import best_cut
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import begins, different

_ENOUGH = 0.8
"""Share of the people with two days that a common date must leave on both sides, …"""
_MANY = 200
"""… or this number of people: an attacker who knows the past knows everybody's up to one date."""

AnyEvents = TypeVar("AnyEvents", Traces, ObfuscatedTraces)


class Cut(NamedTuple):
    """From which instant on each person's events are the later ones.

    Attributes
    ----------
    instant
        First later instant of each person.
    both
        Who has events on both sides.
    is_common
        Whether all have the same date; otherwise everybody's own days are halved.
    by_days
        Whether days stay whole; a file of one day is cut within it.
    label
        The common date in words; empty where there is none.
    """

    instant: NDArray[np.int64]
    both: NDArray[np.bool_]
    is_common: bool
    by_days: bool
    label: str = ""

    def earlier(self, traces: AnyEvents, people: NDArray[np.int64] | None = None) -> AnyEvents:
        """Return the events before the cut, of all people or of those who the traces are of."""
        return traces.keep(traces.instants < self._of(people)[traces.user_index])

    def later(self, traces: AnyEvents, people: NDArray[np.int64] | None = None) -> AnyEvents:
        """Return the events from the cut on, of all people or of those who the traces are of."""
        return traces.keep(traces.instants >= self._of(people)[traces.user_index])

    def _of(self, people: NDArray[np.int64] | None) -> NDArray[np.int64]:
        return self.instant if people is None else self.instant[people]


def cut_in_two(traces: Traces) -> Cut:
    """Choose where to cut: at one date if most people are seen on both sides of it, else each at her own.

    >>> from tracearena.cities import simulate
    >>> cut_in_two(simulate(users=5, days=4, seed=1)).is_common
    True
    """
    by_days = len(different(traces.clock.day_of(traces.instants))) > 1
    length = traces.clock.instants_per_day if by_days else 1
    unit = traces.instants.astype(np.int64) // length
    users, units = _distinct(traces.user_index, unit)
    offsets = np.searchsorted(users, np.arange(traces.n_users + 1))
    several = np.diff(offsets) > 1
    common = _common(units, offsets, several)
    first, last = _ends(units, offsets)
    divided = several & (first < common) & (common <= last)
    if divided.sum() >= min(_ENOUGH * several.sum(), _MANY):
        label = _date(traces, common) if by_days else ""
        return Cut(np.full(traces.n_users, common * length), divided, True, by_days, label)
    middle = np.minimum(offsets[:-1] + (np.diff(offsets) + 1) // 2, max(len(units) - 1, 0))
    return Cut(units[middle] * length, several, False, by_days)


def _date(traces: Traces, day: int) -> str:
    """Say which day of the clock is meant."""
    first = traces.clock.first_day
    return f"the begin of day {day + 1}" if first is None else f"{first + timedelta(days=day):%Y-%m-%d}"


def _distinct(users: NDArray[np.int32], unit: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return who has events in which units, each once; events lie in this order."""
    fresh = begins(users, unit)
    return users[fresh].astype(np.int64), unit[fresh]


def _ends(units: NDArray[np.int64], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    if not len(units):
        nothing = np.zeros(len(offsets) - 1, np.int64)
        return nothing, nothing
    first = units[np.minimum(offsets[:-1], len(units) - 1)]
    last = units[np.maximum(offsets[1:] - 1, 0)]
    return first, last


def _common(units: NDArray[np.int64], offsets: NDArray[np.int64], several: NDArray[np.bool_]) -> int:
    """Return the unit that leaves the most people on both sides; of equals the nearest to the middle."""
    if not several.any():
        return int(units.min(initial=0))
    first, last = _ends(units, offsets)
    return best_cut(first[several], last[several], float(np.median(units)))
