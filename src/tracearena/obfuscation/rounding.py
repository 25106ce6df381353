"""Decimals of released degrees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.traces import GpsTraces

DIGITS = 6
"""Decimals of released degrees: 0.1 m."""

_MOST_DIGITS = 9


def rounded(traces: GpsTraces, digits: int = DIGITS) -> GpsTraces:
    """Return the same points with latitudes and longitudes of so many decimals, 0 to 9.

    A double has bits for a billionth of a metre. They are left over from the arithmetic that moved
    the point, and can tell apart ways to the same place; rounded, equal places are equal numbers.
    """
    check_digits(digits)
    return traces.moved(_rounded(traces.latitude, digits), _rounded(traces.longitude, digits))


def check_digits(digits: object) -> None:
    """Refuse what is not a number of decimals."""
    require_whole("digits", digits, at_least=0, at_most=_MOST_DIGITS)


def _rounded(degrees: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    # Whole numbers divided by a power of ten: the double that the decimals mean, and no negative zero.
    return np.rint(degrees * 10.0**digits) / 10.0**digits + 0.0
