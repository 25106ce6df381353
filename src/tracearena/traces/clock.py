"""Discrete time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import ParameterError

DAY_S = 86_400
"""Seconds of a day."""
_LONGEST_CYCLE_DAYS = 366


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Instants numbered through all days, and the slots they fall into.

    Instant ``i`` lies on day ``i // instants_per_day``; every day has the same instants.

    Parameters
    ----------
    instants_per_day
        Number of instants of a day, at least 1.
    start_s
        Seconds after midnight (local time) of a day's first instant.
    interval_s
        Seconds from one instant to the next.
    instants_per_slot
        Consecutive instants of a day that share a slot, the time resolution of a model.
    first_day
        Date of day 0, if days are dates.
    slots
        The slot of each instant of one or more whole days, after which it begins anew: any sets of
        instants, numbered from 0 without a gap (`SlotPlan` makes it of words). None for slots of
        `instants_per_slot`, the same every day.
    timezone
        Name of the zone of local time, where all times are of one and are known in UTC too. Clocks that
        differ in it are equal.

    Examples
    --------
    >>> clock = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)
    >>> clock.label(41)
    '08:30'
    >>> int(clock.day_of(41))
    2
    """

    instants_per_day: int
    start_s: int = 0
    interval_s: int = 3600
    instants_per_slot: int = 1
    first_day: date | None = None
    slots: tuple[int, ...] | None = None
    timezone: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("instants_per_day", "interval_s", "instants_per_slot"):
            require_whole(name, getattr(self, name), at_least=1, at_most=DAY_S)
        require_whole("start_s", self.start_s, at_least=0, at_most=DAY_S - 1)
        if self.start_s + (self.instants_per_day - 1) * self.interval_s >= DAY_S:
            raise ParameterError(
                f"{self.instants_per_day} instants every {self.interval_s} s from {self.start_s} s on "
                "do not fit into a day"
            )
        if self.slots is not None:
            self._check_slots(self.slots)

    def _check_slots(self, slots: tuple[int, ...]) -> None:
        object.__setattr__(self, "slots", tuple(map(int, slots)))
        if not slots or len(slots) % self.instants_per_day or len(slots) > _LONGEST_CYCLE_DAYS * DAY_S:
            raise ParameterError(
                f"{len(slots)} instants with a slot are not one or more whole days of {self.instants_per_day}"
            )
        if sorted(set(slots)) != list(range(len(set(slots)))):
            raise ParameterError("slots are numbered from 0 without a gap")
        if self.instants_per_slot != 1:
            raise ParameterError("instants_per_slot and slots exclude each other")

    @property
    def slots_per_day(self) -> int:
        """Number of slots of a day, the last may be shorter; or of all days until they begin anew."""
        if self.slots is not None:
            return max(self.slots) + 1
        return -(-self.instants_per_day // self.instants_per_slot)

    @property
    def days_per_cycle(self) -> int:
        """Number of days after which the slots begin anew."""
        return 1 if self.slots is None else len(self.slots) // self.instants_per_day

    def day_of(self, instants: Any) -> NDArray[np.int64]:
        """Return the day of each instant."""
        return np.asarray(np.asarray(instants) // self.instants_per_day, dtype=np.int64)

    def time_of_day(self, instants: Any) -> NDArray[np.int64]:
        """Return each instant's number within its day."""
        return np.asarray(np.asarray(instants) % self.instants_per_day, dtype=np.int64)

    def slot_of(self, instants: Any) -> NDArray[np.int64]:
        """Return the slot of each instant."""
        if self.slots is None:
            return self.time_of_day(instants) // self.instants_per_slot
        table = np.array(self.slots, np.int64)
        return np.asarray(table[np.asarray(instants) % len(table)])

    def slots_of_days(self) -> NDArray[np.int64]:
        """Return the slots of each day until they begin anew, days × instants of a day."""
        return self.slot_of(np.arange(self.days_per_cycle * self.instants_per_day)).reshape(
            self.days_per_cycle, self.instants_per_day
        )

    def within_slot(self, instants: Any) -> NDArray[np.int64]:
        """Return each instant's number among those of its day and slot."""
        if self.slots is None:
            return self.time_of_day(instants) % self.instants_per_slot
        days = self.slots_of_days()
        earlier = np.array(
            [[np.sum(day[:at] == day[at]) for at in range(len(day))] for day in days], np.int64
        )
        return np.asarray(earlier.ravel()[np.asarray(instants) % earlier.size])

    def second_of_day(self, instants: Any) -> NDArray[np.int64]:
        """Return the seconds after midnight of each instant."""
        return self.start_s + self.time_of_day(instants) * self.interval_s

    def label(self, instant: int) -> str:
        """Return the time of day as HH:MM, with seconds where there are any."""
        seconds = int(self.second_of_day(instant))
        text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
        return f"{text}:{seconds % 60:02d}" if seconds % 60 else text
