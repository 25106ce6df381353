"""What original and obfuscated traces share: users, instants, and cheap ways to slice them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces._arrays import checked, frozen, identifiers, trusted
from tracearena.traces.clock import Clock
from tracearena.traces.places import Places


class EventTable:
    """Events of many users as flat arrays, sorted by user, then by instant.

    Attributes
    ----------
    places, clock
        What place indices and instants mean.
    user_ids
        External id of each user (or pseudonym).
    offsets
        Events of user ``u`` are ``offsets[u]:offsets[u + 1]``.
    instants
        Instant of each event.
    span
        First instant and one past the last that the traces cover, with or without an event.
    """

    places: Places
    clock: Clock
    user_ids: NDArray[Any]
    offsets: NDArray[np.int64]
    instants: NDArray[np.int32]
    span: tuple[int, int]

    _per_event: ClassVar[tuple[str, ...]] = ("instants",)

    def _set_frame(
        self,
        places: Places,
        clock: Clock,
        user_ids: Any,
        offsets: Any,
        instants: Any,
        span: tuple[int, int] | None,
    ) -> None:
        self.places = places
        self.clock = clock
        self.offsets = frozen(offsets, np.int64, "offsets")
        self.instants = frozen(instants, np.int32, "instants")
        self.user_ids = identifiers(user_ids, "user_ids")
        if span is None:
            span = (int(self.instants.min()), int(self.instants.max()) + 1) if self.instants.size else (0, 0)
        self.span = (int(span[0]), int(span[1]))
        self._check_frame()

    def _check_frame(self) -> None:
        offsets, instants = self.offsets, self.instants
        if len(offsets) != len(self.user_ids) + 1:
            raise DataError(
                f"{len(self.user_ids)} users need {len(self.user_ids) + 1} offsets, not {len(offsets)}"
            )
        if offsets[0] != 0 or offsets[-1] != len(instants) or (np.diff(offsets) < 0).any():
            raise DataError(f"offsets must rise from 0 to the number of events, {len(instants)}")
        if len(np.unique(self.user_ids)) != len(self.user_ids):
            raise DataError("two users have the same id")
        first, stop = self.span
        if not 0 <= first <= stop:
            raise DataError(f"span {self.span} is not a range of instants")
        checked(instants, lambda a: (a >= first) & (a < stop), "instants", f"from {first} to {stop - 1}")
        falls = np.flatnonzero(np.diff(instants) < 0) + 1
        if falls.size and not np.isin(falls, offsets).all():
            raise DataError("the events of a user must be sorted by instant")

    def _check_place_indices(self, indices: NDArray[np.int32], name: str, lowest: int = 0) -> None:
        top = len(self.places) - 1
        checked(indices, lambda a: (a >= lowest) & (a <= top), name, f"from {lowest} to {top}")

    def _with(self, **changed: Any) -> Self:
        """Return a copy with some attributes replaced by arrays that are known to be good."""
        other = object.__new__(type(self))
        state = {key: value for key, value in self.__dict__.items() if key not in _DERIVED}
        other.__dict__.update(state)
        for name, value in changed.items():
            other.__dict__[name] = trusted(value) if isinstance(value, np.ndarray) else value
        return other

    def __len__(self) -> int:
        return len(self.instants)

    @property
    def n_users(self) -> int:
        """Number of users, with or without events."""
        return len(self.user_ids)

    @property
    def n_events(self) -> int:
        """Number of events."""
        return len(self.instants)

    @property
    def n_instants(self) -> int:
        """Number of instants in the span."""
        return self.span[1] - self.span[0]

    @cached_property
    def user_index(self) -> NDArray[np.int32]:
        """User (0..n_users-1) of each event."""
        return trusted(np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(self.offsets)))

    @cached_property
    def has_one_event_an_instant(self) -> bool:
        """Whether no user has two events at one instant, so that a dense view exists."""
        same = np.flatnonzero(np.diff(self.instants) == 0) + 1
        return bool(np.isin(same, self.offsets).all())

    @property
    def is_complete(self) -> bool:
        """Whether every user has exactly one event at every instant of the span."""
        return self.n_events == self.n_users * self.n_instants and self.has_one_event_an_instant

    def take_users(self, users: Any) -> Self:
        """Return the traces of some users, by index or mask, in the order given.

        A slice without a step copies nothing.
        """
        if isinstance(users, slice):
            return self._take_range(*users.indices(self.n_users))
        chosen = np.asarray(users)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        events = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        columns = {name: getattr(self, name)[events] for name in self._event_columns()}
        return self._with(user_ids=self.user_ids[chosen], offsets=offsets, **columns)

    def _take_range(self, first: int, stop: int, step: int) -> Self:
        if step != 1:
            return self.take_users(np.arange(first, stop, step))
        stop = max(first, stop)
        begin, end = self.offsets[first], self.offsets[stop]
        columns = {name: getattr(self, name)[begin:end] for name in self._event_columns()}
        offsets = self.offsets[first : stop + 1] - begin
        return self._with(user_ids=self.user_ids[first:stop], offsets=offsets, **columns)

    def take_instants(self, first: int, stop: int) -> Self:
        """Return the events from instant `first` up to but not including `stop`."""
        return self._keep((self.instants >= first) & (self.instants < stop), (first, stop))

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

    def keep_events(self, mask: NDArray[np.bool_]) -> Self:
        """Return the events for which the mask is true, in the same span, for the same users."""
        return self._keep(np.asarray(mask, bool), self.span)

    def with_user_ids(self, user_ids: Any) -> Self:
        """Return the same traces under other ids."""
        ids = identifiers(user_ids, "user_ids")
        if len(ids) != self.n_users or len(np.unique(ids)) != len(ids):
            raise DataError(f"{self.n_users} users need as many different ids")
        return self._with(user_ids=ids)

    def _keep(self, mask: NDArray[np.bool_], span: tuple[int, int]) -> Self:
        kept = np.concatenate([[0], np.cumsum(mask)])
        columns = {name: getattr(self, name)[mask] for name in self._event_columns()}
        return self._with(offsets=kept[self.offsets].astype(np.int64), span=span, **columns)

    def _event_columns(self) -> list[str]:
        return [name for name in self._per_event if getattr(self, name) is not None]

    def _dense(self, values: NDArray[np.int32], missing: int) -> NDArray[np.int32]:
        if not self.has_one_event_an_instant:
            raise DataError("some users have several events at one instant: there is no dense view")
        table = np.full((self.n_users, self.n_instants), missing, np.int32)
        table[self.user_index, self.instants - self.span[0]] = values
        return table

    def has_events_of(self, other: EventTable) -> bool:
        """Whether both have the same number of users, with events at the same instants."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.instants, other.instants)

    def _same_frame(self, other: EventTable) -> bool:
        return (
            self.span == other.span
            and self.clock == other.clock
            and np.array_equal(self.user_ids, other.user_ids)
            and self.has_events_of(other)
            and self.places == other.places
        )

    __hash__ = None  # type: ignore[assignment]


_DERIVED = frozenset(name for name, value in vars(EventTable).items() if isinstance(value, cached_property))
