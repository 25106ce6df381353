"""Discrete time: the instants of a day, and the time slots of a model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import ParameterError

DAY_S = 86_400
"""Seconds of a day."""
_LONGEST_CYCLE_DAYS = 366


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Numbers the instants of all days, and groups them into slots.

    Instant ``i`` is on day ``i // instants_per_day``; every day has the same instants.

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
        Slot of each instant of one or more whole days, after which the slots repeat. Slots are any sets of
        instants, numbered from 0 without gaps (`SlotPlan` reads them from a text). None for slots of
        `instants_per_slot`, the same every day.
    timezone
        Name of the local time zone, if all times have the same and are also known in UTC. Equality of clocks
        ignores it.

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
                f"{self.instants_per_day} instants every {self.interval_s} s, starting at "
                f"{self.start_s} s, do not fit into a day"
            )
        if self.slots is None:
            return
        slots = tuple(map(int, self.slots))
        object.__setattr__(self, "slots", slots)
        if not slots or len(slots) % self.instants_per_day or len(slots) > _LONGEST_CYCLE_DAYS * DAY_S:
            raise ParameterError(
                f"slots has {len(slots)} values; it must have a multiple of "
                f"{self.instants_per_day}, the instants of a day"
            )
        if sorted(set(slots)) != list(range(len(set(slots)))):
            raise ParameterError("the numbers of slots must start at 0 and have no gap")
        if self.instants_per_slot != 1:
            raise ParameterError("use either instants_per_slot or slots, not both")

    @property
    def slots_per_day(self) -> int:
        """Number of slots per day, of which the last may be shorter, or per cycle of days."""
        if self.slots is not None:
            return max(self.slots) + 1
        return -(-self.instants_per_day // self.instants_per_slot)

    @property
    def days_per_cycle(self) -> int:
        """Number of days after which the slots repeat."""
        return 1 if self.slots is None else len(self.slots) // self.instants_per_day

    def day_of(self, instants: Any) -> NDArray[np.int64]:
        """Return the day of each instant."""
        return np.asarray(np.asarray(instants) // self.instants_per_day, dtype=np.int64)

    def time_of_day(self, instants: Any) -> NDArray[np.int64]:
        """Return the number of each instant within its day."""
        return np.asarray(np.asarray(instants) % self.instants_per_day, dtype=np.int64)

    def slot_of(self, instants: Any) -> NDArray[np.int64]:
        """Return the slot of each instant."""
        if self.slots is None:
            return self.time_of_day(instants) // self.instants_per_slot
        table = np.array(self.slots, np.int64)
        return np.asarray(table[np.asarray(instants) % len(table)])

    def slots_of_days(self) -> NDArray[np.int64]:
        """Return the slots of each day of a cycle, as an array of days × instants per day."""
        return self.slot_of(np.arange(self.days_per_cycle * self.instants_per_day)).reshape(
            self.days_per_cycle, self.instants_per_day
        )

    def within_slot(self, instants: Any) -> NDArray[np.int64]:
        """Return the number of each instant within its day and slot."""
        if self.slots is None:
            return self.time_of_day(instants) % self.instants_per_slot
        days = self.slots_of_days()
        earlier = np.array([[np.sum(day[:at] == day[at]) for at in range(len(day))] for day in days])
        return np.asarray(earlier.ravel()[np.asarray(instants) % earlier.size])

    def second_of_day(self, instants: Any) -> NDArray[np.int64]:
        """Return the seconds after midnight of each instant."""
        return self.start_s + self.time_of_day(instants) * self.interval_s

    @property
    def interval_words(self) -> str:
        """How far instants are apart: ``every 30 min``."""
        return f"every {self.interval_s / 60:g} min"

    def label(self, instant: int) -> str:
        """Return the time of day as HH:MM, with seconds if there are any."""
        seconds = int(self.second_of_day(instant))
        text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
        return f"{text}:{seconds % 60:02d}" if seconds % 60 else text


# Slots as text: any sets of instants as the time resolution of a model.

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAMES = {"weekday": WEEKDAYS[:5], "weekend": WEEKDAYS[5:], "day": WEEKDAYS} | {
    name: (name,) for name in WEEKDAYS
}
_ADVICE = "such as '0-6,6-9,9-24', 'weekday 0-12,12-24; weekend 0-24' or '{1,2,25,26},{3,4,27,28}'"
_LARGEST_INSTANT = 1_000_000
Span = tuple[int, int]


@dataclass(frozen=True)
class SlotPlan:
    """A plan that assigns instants to slots.

    Attributes
    ----------
    hours
        For each weekday, Monday first, its slots in order: each a number of the slot and its spans,
        in seconds of the day. Empty if the plan lists instants.
    instants
        The instants of each slot, numbered from 0; empty if the plan is by hours.

    Notes
    -----
    In the paper, a slot can have instants that do not follow each other ([ppmtf] section 2.1): with hourly
    instants, ``{1,2,25,26}`` are the first two hours of two days.

    Examples
    --------
    Unequal lengths; the night is one slot:

    >>> clock = Clock(instants_per_day=8, interval_s=3 * 3600)
    >>> SlotPlan.parse("21-24+0-6, 6-12, 12-21").on(clock).slots
    (0, 0, 1, 1, 2, 2, 2, 0)

    Sets of instants over two days, numbered from 1:

    >>> SlotPlan.parse("{1,2,5,6},{3,4},{7,8}").on(Clock(instants_per_day=4)).slots
    (0, 0, 1, 1, 0, 0, 2, 2)
    """

    hours: tuple[tuple[tuple[int, tuple[Span, ...]], ...], ...] = ()
    instants: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a plan: spans of hours, by kind of day, or sets of instants counted from 1."""
        if text.strip().startswith("{"):
            return cls(instants=_parse_sets(text))
        by_day: dict[str, tuple[tuple[int, tuple[Span, ...]], ...]] = {}
        first = 0
        for part in text.split(";"):
            words = re.fullmatch(r"\s*((?:[a-z]+\s*\+\s*)*[a-z]+\s+)?([^a-z]+?)\s*", part)
            if words is None:
                raise ParameterError.of("slots", text, _ADVICE)
            names = [name.strip() for name in (words[1] or "day").split("+")]
            unknown = [name for name in names if name not in _NAMES]
            if unknown:
                raise ParameterError(
                    f"slots = {text!r}: {unknown[0]!r} is unknown; it must be one of {', '.join(_NAMES)}"
                )
            spans = [_parse_spans(one, text) for one in words[2].split(",")]
            numbered = tuple(enumerate(spans, first))
            first += len(spans)
            for day in (day for name in names for day in _NAMES[name]):
                if day in by_day:
                    raise ParameterError(f"slots = {text!r}: {day} is given twice")
                by_day[day] = numbered
        missing = [day for day in WEEKDAYS if day not in by_day]
        if missing:
            raise ParameterError(f"slots = {text!r}: {', '.join(missing)} has no slots")
        return cls(hours=tuple(by_day[day] for day in WEEKDAYS))

    def on(self, clock: Clock) -> Clock:
        """Return the clock with these slots.

        Slots that differ between days of the week need a clock with dates.
        """
        table = self._slots_from_sets(clock) if self.instants else self._slots_from_hours(clock)
        return replace(clock, instants_per_slot=1, slots=tuple(table))

    def _slots_from_sets(self, clock: Clock) -> list[int]:
        last = max(instant for one in self.instants for instant in one)
        days = last // clock.instants_per_day + 1
        slot_of = {instant: slot for slot, one in enumerate(self.instants) for instant in one}
        length = days * clock.instants_per_day
        missing = [instant + 1 for instant in range(length) if instant not in slot_of]
        if missing:
            raise ParameterError(
                f"instant {missing[0]} is in no slot: the slots are for {days} days with {length} instants"
            )
        return [slot_of[instant] for instant in range(length)]

    def _slots_from_hours(self, clock: Clock) -> list[int]:
        same = len(set(self.hours)) == 1
        if not same and clock.first_day is None:
            raise ParameterError("slots of weekdays need dates, and these traces have numbered days")
        weekday = 0 if same or clock.first_day is None else clock.first_day.weekday()
        table = [
            self._slot_at(int(second), (weekday + day) % 7)
            for day in range(1 if same else 7)
            for second in clock.second_of_day(range(clock.instants_per_day))
        ]
        # A slot without instants, such as the night of traces by day, has no number.
        number = {slot: rank for rank, slot in enumerate(sorted(set(table)))}
        return [number[slot] for slot in table]

    def _slot_at(self, second: int, weekday: int) -> int:
        found = [
            slot for slot, spans in self.hours[weekday] if any(start <= second < end for start, end in spans)
        ]
        if len(found) != 1:
            at = f"{second // 3600:02d}:{second // 60 % 60:02d} on {WEEKDAYS[weekday]}"
            raise ParameterError(f"{at} is in {'no slot' if not found else 'two slots'}")
        return found[0]


def _parse_spans(words: str, text: str) -> tuple[Span, ...]:
    found = []
    for word in words.split("+"):
        match = re.fullmatch(r"\s*(\d{1,2})(?::(\d\d))?\s*-\s*(\d{1,2})(?::(\d\d))?\s*", word)
        if match is None:
            raise ParameterError.of("slots", text, _ADVICE)
        start, end = (int(match[at]) * 3600 + int(match[at + 1] or 0) * 60 for at in (1, 3))
        if not 0 <= start < end <= DAY_S:
            raise ParameterError(f"slots = {text!r}: {word.strip()} is not a time span of a day")
        found.append((start, end))
    return tuple(found)


def _parse_sets(text: str) -> tuple[tuple[int, ...], ...]:
    if re.fullmatch(r"\s*\{[\d,\s]+\}(\s*,\s*\{[\d,\s]+\})*\s*", text) is None:
        raise ParameterError.of("slots", text, _ADVICE)
    sets = []
    for one in re.findall(r"\{([^}]*)\}", text):
        words = [word for word in re.split(r"[,\s]+", one) if word]
        if not words:
            raise ParameterError(f"slots = {text!r}: a slot has no instants")
        sets.append(tuple(int(word) - 1 for word in words))
    every = [instant for one in sets for instant in one]
    if min(every) < 0 or max(every) >= _LARGEST_INSTANT:
        raise ParameterError(f"slots = {text!r}: instants are counted from 1 to {_LARGEST_INSTANT:,}")
    if len(set(every)) < len(every):
        raise ParameterError(f"slots = {text!r}: an instant is in two slots")
    return tuple(sets)
