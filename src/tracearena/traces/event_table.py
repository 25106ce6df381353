"""What original and obfuscated traces share: a table of events at places and instants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces._arrays import checked, frozen
from tracearena.traces.clock import Clock
from tracearena.traces.places import Places
from tracearena.traces.row_table import RowTable


class EventTable(RowTable):
    """Events of many users as flat arrays, sorted by user, then by instant.

    Attributes
    ----------
    places, clock
        What place indices and instants mean.
    instants
        Instant of each event.
    timestamps
        Seconds since 1970 (UTC) of each event, where they are known more finely than instants.
    span
        First instant and one past the last that the traces cover, with or without an event.
    """

    places: Places
    clock: Clock
    instants: NDArray[np.int32]
    timestamps: NDArray[np.int64] | None
    span: tuple[int, int]

    _columns: ClassVar[tuple[str, ...]] = ("instants",)
    _row: ClassVar[str] = "event"

    def _set_frame(
        self,
        places: Places,
        clock: Clock,
        user_ids: Any,
        offsets: Any,
        instants: Any,
        timestamps: Any,
        span: tuple[int, int] | None,
    ) -> None:
        self._set_users(user_ids, offsets)
        self._set(
            places=places,
            clock=clock,
            instants=frozen(instants, np.int32, "instants"),
            timestamps=None if timestamps is None else frozen(timestamps, np.int64, "timestamps"),
        )
        if span is None:
            span = (int(self.instants.min()), int(self.instants.max()) + 1) if self.instants.size else (0, 0)
        self._set(span=(int(span[0]), int(span[1])))

    def _check_frame(self) -> None:
        self._check_rows()
        first, stop = self.span
        if not 0 <= first <= stop:
            raise DataError(f"span {self.span} is not a range of instants")
        checked(self.instants, lambda a: (a >= first) & (a < stop), "instants", f"from {first} to {stop - 1}")

    def _check_place_indices(self, indices: NDArray[np.int32], name: str, lowest: int = 0) -> None:
        top = len(self.places) - 1
        checked(indices, lambda a: (a >= lowest) & (a <= top), name, f"from {lowest} to {top}")

    @property
    def n_events(self) -> int:
        """Number of events."""
        return len(self.instants)

    @property
    def n_instants(self) -> int:
        """Number of instants in the span."""
        return self.span[1] - self.span[0]

    @cached_property
    def is_regular(self) -> bool:
        """Whether no user has two events at one instant, so that a dense view exists."""
        same = np.flatnonzero(np.diff(self.instants) == 0) + 1
        return bool(np.isin(same, self.offsets).all())

    @property
    def is_complete(self) -> bool:
        """Whether every user has exactly one event at every instant of the span."""
        return self.n_events == self.n_users * self.n_instants and self.is_regular

    def take_instants(self, first: int, stop: int) -> Self:
        """Return the events from instant `first` up to but not including `stop`."""
        return self._keep((self.instants >= first) & (self.instants < stop), span=(first, stop))

    def take_days(self, first: int, stop: int) -> Self:
        """Return the events of days `first` up to but not including `stop` (day 0 is instant 0's)."""
        return self.take_instants(first * self.clock.instants_per_day, stop * self.clock.instants_per_day)

    def split_days(self, days: int) -> tuple[Self, Self]:
        """Cut after the first `days` days of the span, as into reference and original traces."""
        first, stop = self.span
        cut = int(self.clock.day_of(first) + days) * self.clock.instants_per_day
        if not first < cut < stop:
            raise DataError(
                f"cannot split after {days} days: the traces cover instants {first} to {stop - 1}"
            )
        return self.take_instants(first, cut), self.take_instants(cut, stop)

    def with_timestamps(self, timestamps: Any) -> Self:
        """Return the same events with the second (UTC) of each."""
        moments = frozen(timestamps, np.int64, "timestamps")
        if len(moments) != self.n_events:
            raise DataError(f"{self.n_events} events need as many timestamps, not {len(moments)}")
        return self._with(timestamps=moments)

    def without_timestamps(self) -> Self:
        """Return the same events by their instants alone."""
        return self._with(timestamps=None)

    def _dense(self, values: NDArray[np.int32], missing: int) -> NDArray[np.int32]:
        if not self.is_regular:
            raise DataError("some users have several events at one instant: there is no dense view")
        table = np.full((self.n_users, self.n_instants), missing, np.int32)
        table[self.user_index, self.instants - self.span[0]] = values
        return table

    def _equals(self, other: Self) -> bool:
        return (
            self.span == other.span
            and self.clock == other.clock
            and super()._equals(other)
            and self.places == other.places
        )


def common_span(parts: Sequence[EventTable]) -> tuple[int, int]:
    """Return the span over all parts, which must have the same places and clock."""
    first = parts[0]
    if any(part.places != first.places or part.clock != first.clock for part in parts):
        raise DataError("traces with different places or clocks cannot be joined")
    return min(part.span[0] for part in parts), max(part.span[1] for part in parts)
