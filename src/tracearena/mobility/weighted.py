"""A common view of original and obfuscated traces: events whose weight is divided among places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces

if TYPE_CHECKING:
    from scipy.sparse import csr_array


AnyTraces = Traces | ObfuscatedTraces


class WeightedEvents(NamedTuple):
    """Events in the order of user and time, each with a code; a code is a distribution over places.

    Attributes
    ----------
    user_index, instants, codes
        One value per event.
    spread
        Codes × places; a row sums to 1. None where a code is a place.
    """

    places: Places
    clock: Clock
    user_index: NDArray[np.int32]
    instants: NDArray[np.int32]
    codes: NDArray[np.int64]
    spread: csr_array | None

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return len(self.places) if self.spread is None else int(self.spread.shape[0])

    def over_places(self, by_code: Any) -> Any:
        """Turn weights of codes (last axis) into weights of places."""
        return by_code if self.spread is None else by_code @ self.spread

    def days(self) -> list[WeightedEvents]:
        """Return the events of each cycle of slots (by default a day) that has any, in order."""
        day = self.clock.day_of(self.instants) // self.clock.days_per_cycle
        order = np.argsort(day, kind="stable")
        cuts = np.flatnonzero(np.diff(day[order])) + 1
        return [
            self._replace(user_index=self.user_index[one], instants=self.instants[one], codes=self.codes[one])
            for one in np.split(order, cuts)
            if len(one)
        ]


def build_weighted_events(traces: AnyTraces) -> WeightedEvents:
    """Return the events of traces; a set counts 1/k at each of its k places, a deleted event nothing."""
    if isinstance(traces, Traces):
        codes = traces.place_index.astype(np.int64)
        return WeightedEvents(
            traces.places, traces.clock, traces.user_index, traces.instants, codes, spread=None
        )
    m, sets, spread = len(traces.places), traces.sets, None
    if traces.is_set.any():
        from scipy.sparse import csr_array

        rows = np.concatenate([np.arange(m), m + np.repeat(np.arange(len(sets)), sets.sizes)])
        columns = np.concatenate([np.arange(m), sets.members])
        weights = np.concatenate([np.ones(m), np.repeat(1 / sets.sizes, sets.sizes)])
        spread = csr_array((weights, (rows, columns)), shape=(m + len(sets), m))
    kept = ~traces.is_deleted
    codes = np.where(traces.is_single, traces.codes, m + traces.set_index).astype(np.int64)[kept]
    user_index, instants = traces.user_index[kept], traces.instants[kept]
    return WeightedEvents(traces.places, traces.clock, user_index, instants, codes, spread)


class HasPlacesAndClock(Protocol):
    """What has places and slots: traces, or what was counted of them."""

    @property
    def places(self) -> Places:
        """Where events can be."""

    @property
    def clock(self) -> Clock:
        """What instants mean."""


def check_comparable(reference: HasPlacesAndClock, traces: HasPlacesAndClock | None) -> None:
    """Refuse traces of other places or slots than the reference."""
    if traces is None:
        return
    if len(traces.places) != len(reference.places):
        raise DataError(
            f"the reference has {len(reference.places):,} places, but the traces have "
            f"{len(traces.places):,}: they must have the same"
        )
    if traces.clock.slots_per_day != reference.clock.slots_per_day:
        raise DataError(
            f"the reference has {reference.clock.slots_per_day} slots per day, but the traces have "
            f"{traces.clock.slots_per_day}: they must have the same"
        )
