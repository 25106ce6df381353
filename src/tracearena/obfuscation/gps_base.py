"""What every defence of GPS traces is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike
from tracearena.errors import require_number
from tracearena.registry import Algorithm, Kind
from tracearena.traces import GpsTraces

DIGITS = 6
"""Decimals of released degrees: 0.1 m."""

_MOST_DIGITS = 9


class GpsObfuscator(Algorithm, ABC):
    """A defence of GPS traces: moves points or leaves some out.

    Write your own as a frozen keyword-only dataclass with a `name` and a `transform`.
    """

    kind: ClassVar[Kind] = "gps-obfuscator"

    @abstractmethod
    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the traces to release; users keep their ids and their order."""


def rounded(traces: GpsTraces, digits: int = DIGITS) -> GpsTraces:
    """Return the same points with latitudes and longitudes of so many decimals, 0 to 9.

    A double has bits for a billionth of a metre. They are left over from the arithmetic that moved
    the point, and can tell apart ways to the same place; rounded, equal places are equal numbers.
    """
    check_digits(digits)
    return traces.moved(_rounded(traces.latitude, digits), _rounded(traces.longitude, digits))


def check_digits(digits: object) -> None:
    """Refuse what is not a number of decimals."""
    require_number("digits", digits, at_least=0, at_most=_MOST_DIGITS, whole=True)


def _rounded(degrees: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    # Whole numbers divided by a power of ten: the double that the decimals mean, and no negative zero.
    return np.rint(degrees * 10.0**digits) / 10.0**digits + 0.0
