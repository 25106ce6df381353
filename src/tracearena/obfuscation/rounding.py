"""Decimals of released degrees."""

from __future__ import annotations

from tracearena.checks import require_whole
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import rounded_degrees

DIGITS = 6
"""Decimals of released degrees: 0.1 m."""

_MOST_DIGITS = 9


def rounded(traces: GpsTraces, digits: int = DIGITS) -> GpsTraces:
    """Return the same points with latitudes and longitudes of so many decimals, 0 to 9.

    A double has bits for a billionth of a metre. They are left over from the arithmetic that moved
    the point, and can tell apart ways to the same place; rounded, equal places are equal numbers.
    """
    check_digits(digits)
    return traces.moved(rounded_degrees(traces.latitude, digits), rounded_degrees(traces.longitude, digits))


def check_digits(digits: object) -> None:
    """Refuse what is not a number of decimals."""
    require_whole("digits", digits, at_least=0, at_most=_MOST_DIGITS)
