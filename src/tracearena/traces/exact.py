"""Sums of floating-point numbers without rounding: the same whatever is added first, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_BITS = 53
_LOW_BITS = 26
_LOWEST = -1100
_AT_A_TIME = 1 << 24


@dataclass(frozen=True)
class ExactSum:
    """A sum of finite numbers, by their powers of two.

    A number is a whole number of 53 bits times a power of two; those of one power are added as whole numbers.

    Attributes
    ----------
    parts
        Power of two → sum of the whole numbers that stand before it.
    count
        How many numbers were added.

    Examples
    --------
    >>> sums = ExactSum.of(np.array([1e16, 1.0])) + ExactSum.of(np.array([-1e16]))
    >>> sums.total, sums.mean
    (1.0, 0.3333333333333333)
    """

    parts: Mapping[int, int] = field(default_factory=dict)
    count: int = 0

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> ExactSum:
        """Add up numbers."""
        sums = cls()
        for first in range(0, len(numbers), _AT_A_TIME):
            sums += cls._of_some(numbers[first : first + _AT_A_TIME])
        return sums

    @classmethod
    def _of_some(cls, numbers: NDArray[np.float64]) -> ExactSum:
        share, power = np.frexp(numbers)
        whole = np.ldexp(share, _BITS).astype(np.int64)
        # Halves of at most 27 bits: sums of so few of them are exact as floating-point numbers too.
        high, low = whole >> _LOW_BITS, whole & ((1 << _LOW_BITS) - 1)
        index = power.astype(np.int64) - _LOWEST
        highs, lows = np.bincount(index, high), np.bincount(index, low)
        used = np.flatnonzero((highs != 0) | (lows != 0)).tolist()
        return cls(
            {at + _LOWEST - _BITS: (int(highs[at]) << _LOW_BITS) + int(lows[at]) for at in used}, len(numbers)
        )

    def __add__(self, other: ExactSum) -> ExactSum:
        powers = self.parts.keys() | other.parts.keys()
        parts = {power: self.parts.get(power, 0) + other.parts.get(power, 0) for power in sorted(powers)}
        return ExactSum(parts, self.count + other.count)

    @property
    def exact(self) -> Fraction:
        """The sum itself."""
        return sum((number * Fraction(2) ** power for power, number in self.parts.items()), Fraction(0))

    @property
    def total(self) -> float:
        """The sum, rounded once."""
        return float(self.exact)

    @property
    def mean(self) -> float:
        """The mean, rounded once; there must be numbers."""
        return float(self.exact / self.count)
