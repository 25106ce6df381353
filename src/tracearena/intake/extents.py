"""From when to when events are, and the clock that goes with it."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.intake.choices import Choices
from tracearena.traces import Clock
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EPOCH
from tracearena.traces.zones import are_local

HOUR_S = 3600
_SHORTEST_REGULAR_S = 300


@dataclass(frozen=True)
class Extent:
    """What the times of some events span; sums of it say what those of all do.

    Attributes
    ----------
    first, last
        The earliest and the latest: local seconds since 1970, or numbers of instants.
    step
        Seconds that divide a day and the time of day of every event.
    zone
        The zone whose local time all of them are; None where UTC is not known or they are of several.

    Examples
    --------
    >>> evening = Extent.of(np.array([64_800, 66_600])) + Extent.of(np.array([151_200]))
    >>> evening.step, evening.clock(Choices(), are_numbered=False).interval_s
    (1800, 1800)
    """

    first: int
    last: int
    step: int
    zone: str | None = None

    @classmethod
    def of(cls, times: NDArray[np.int64], utc: pl.Series | None = None, zone: str | None = None) -> Extent:
        """Look at times, of which there is at least one; `zone` is that which their UTC is compared by."""
        step = int(np.gcd.reduce(times % DAY_S, initial=DAY_S))
        if zone is None or utc is None or not are_local(pl.Series(times), utc, zone):
            zone = None
        return cls(int(times.min()), int(times.max()), step, zone)

    def __add__(self, other: Extent) -> Extent:
        first, last = min(self.first, other.first), max(self.last, other.last)
        zone = self.zone if self.zone == other.zone else None
        return Extent(first, last, math.gcd(self.step, other.step), zone)

    def clock(self, choices: Choices, *, are_numbered: bool) -> Clock:
        """Return the clock of all events: as it was chosen, or by their times."""
        interval = choices.interval_s or (HOUR_S if are_numbered else self._interval)
        return Clock(
            instants_per_day=DAY_S // interval,
            interval_s=interval,
            instants_per_slot=choices.instants_per_slot(interval),
            first_day=None if are_numbered else EPOCH + datetime.timedelta(days=self.first // DAY_S),
            timezone=self.zone,
        )

    @property
    def _interval(self) -> int:
        """An hour; less where the times lie on a whole part of it that is no accident of exact times."""
        common = math.gcd(self.step, HOUR_S)
        return common if common >= _SHORTEST_REGULAR_S else HOUR_S

    def origin(self, clock: Clock) -> int:
        """Return what is instant 0: the second in which the first day begins, or a number of at most 1."""
        return min(self.first, 1) if clock.first_day is None else self.first // DAY_S * DAY_S

    def span(self, clock: Clock) -> tuple[int, int]:
        """Return the first instant, and the one after the last."""
        unit = 1 if clock.first_day is None else clock.interval_s
        first, last = ((at - self.origin(clock)) // unit for at in (self.first, self.last))
        return first, last + 1

    def says_all(self, clock: Clock, *, are_local: bool) -> bool:
        """Whether instants tell all there is: no times, or local ones that fall on the instants."""
        return clock.first_day is None or (are_local and self.step % clock.interval_s == 0)
