"""The rhythm of check-ins: at which hours people go out and for what, and how people differ in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.cities.venues import ARTS, FOOD, HOSPITAL, KINDS, NIGHT, OFFICE, PARK, SCHOOL, SHOP, TRAVEL

_PEAKS: dict[int, tuple[tuple[float, float, float, float], ...]] = {
    FOOD: ((8, 1.2, 0.5, 0.4), (12.5, 1.2, 2.2, 1.8), (19, 1.8, 2.2, 2.2)),
    SHOP: ((11, 2.5, 0.5, 1.2), (17.5, 2.5, 1.2, 1.8)),
    NIGHT: ((22, 2.0, 0.9, 1.5),),
    ARTS: ((14, 3.0, 0.2, 1.1), (19.5, 1.8, 0.8, 0.7)),
    PARK: ((9, 2.5, 0.3, 0.6), (15, 2.5, 0.3, 1.0)),
    TRAVEL: ((8, 1.0, 1.6, 0.4), (18, 1.6, 1.3, 0.7)),
    SCHOOL: ((9, 1.5, 0.6, 0.05), (14, 2.0, 0.3, 0.05)),
    OFFICE: ((9, 1.2, 0.9, 0.05), (14, 2.5, 0.5, 0.05)),
    HOSPITAL: ((10.5, 2.0, 0.12, 0.04),),
}
"""For each kind of venue: hour, width in hours, weight on weekdays, weight at weekends."""


class Variety(NamedTuple):
    """How people differ in when they check in.

    Everybody draws her own rhythm once and keeps it. The spreads are standard deviations between people.
    They were set so that the times of check-ins alone find as many people again as they do in Gowalla
    (`benchmarks/bench_city_times.py`), and so that what the first and the second half of a person's
    check-ins have in common is as strong as there.

    Attributes
    ----------
    hour_tilt
        Spread of the day and half-day waves by which somebody's hours differ from the city's: morning and
        evening people, people of meal times.
    favourite_hours
        Share of the outings that begin at one of somebody's favourite hours.
    weekday_spread
        Spread of the logarithm of how much somebody likes each day of the week.
    burst, burst_spread
        Log-odds that another check-in follows on the same outing: typical, and spread.
    delay, delay_spread, delay_jitter
        Logarithm of the seconds until that check-in: typical, spread between people, and spread between
        the check-ins of one person. Some report each stop, others several at once.
    gap_tail, gap_spread
        Exponent of the heavy tail of the gaps between outings: typical, and spread of its logarithm.
        Those with a high one go out regularly, those with a low one after long pauses.
    activity_spread, activity_memory
        Spread of the logarithm of somebody's activity from one period of four weeks to another, and the
        correlation between one period and the next. People take a service up, tire of it and return.
    """

    hour_tilt: float = 0.48
    favourite_hours: float = 0.15
    weekday_spread: float = 0.5
    burst: float = -0.6
    burst_spread: float = 1.0
    delay: float = 6.8
    delay_spread: float = 1.2
    delay_jitter: float = 1.7
    gap_tail: float = 1.1
    gap_spread: float = 0.3
    activity_spread: float = 1.0
    activity_memory: float = 0.8


class Customs(NamedTuple):
    """What the kernel of check-ins reads about the city's rhythm and its people's.

    Attributes
    ----------
    hours
        Probability of the hour of an outing, for weekdays (row 0) and weekends (row 1).
    kinds
        Cumulative probabilities of the kind of venue by weekend (0, 1) and hour.
    variety
        How people differ.
    """

    hours: NDArray[np.float64]
    kinds: NDArray[np.float64]
    variety: Variety


def customs_of_checkins(present: NDArray[np.bool_]) -> Customs:
    """Return the rhythm of the city.

    Parameters
    ----------
    present
        Which kinds of venue exist; the others are never drawn.
    """
    rates = _rates()
    by_hour = rates.sum(axis=2)
    hours = by_hour / by_hour.sum(axis=1, keepdims=True)
    rates = rates * present
    kinds = np.cumsum(rates, axis=2) / rates.sum(axis=2, keepdims=True)
    return Customs(hours, kinds, Variety())


def _rates() -> NDArray[np.float64]:
    """Return check-in rates: weekend × hour × kind."""
    hour = np.arange(24) + 0.5
    rates = np.full((2, 24, len(KINDS)), 1e-4)
    for kind, peaks in _PEAKS.items():
        for centre, width, *weights in peaks:
            away = (hour - centre + 12) % 24 - 12
            for weekend, weight in enumerate(weights):
                rates[weekend, :, kind] += weight * np.exp(-0.5 * (away / width) ** 2)
    return rates
