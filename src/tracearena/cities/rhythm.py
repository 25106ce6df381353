"""The rhythm of check-ins: at which hours people go out, and for what."""

from __future__ import annotations

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


def hours_of_checkins() -> NDArray[np.float64]:
    """Return cumulative probabilities of the hour, for weekdays (row 0) and weekends (row 1)."""
    by_hour = _rates().sum(axis=2)
    return np.asarray(np.cumsum(by_hour, axis=1) / by_hour.sum(axis=1, keepdims=True))


def kinds_of_checkins(present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return cumulative probabilities of the kind of venue by weekend (0, 1) and hour.

    Parameters
    ----------
    present
        Which kinds exist; the others are never drawn.
    """
    rates = _rates() * present
    return np.asarray(np.cumsum(rates, axis=2) / rates.sum(axis=2, keepdims=True))


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
