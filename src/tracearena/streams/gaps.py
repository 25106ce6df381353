"""Quantiles of many whole numbers, from how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MOST_VALUES = 1 << 22
_DENSE = 1 << 20
_KEPT_BITS = 14


@dataclass(frozen=True)
class Tally:
    """Values of 0 and more, ascending, and how often each occurs.

    Attributes
    ----------
    values, counts
        The values, and how often each occurs.
    most_values
        Up to this many different values are told apart; by default four million. Where there are more, those
        above a million are rounded down by at most one part in 8,192.

    Examples
    --------
    >>> tally = Tally.of(np.array([5, 1, 5])) + Tally.of(np.array([9]))
    >>> tally.quantile(0.5), tally.total
    (5.0, 4)
    """

    values: Ints
    counts: Ints
    most_values: int = MOST_VALUES

    @classmethod
    def of(cls, numbers: Ints, most_values: int = MOST_VALUES) -> Self:
        """Count numbers; most are small, and counted without sorting."""
        small = numbers < _DENSE
        if small.all():
            low, high = numbers, np.empty(0, np.int64)
        else:
            low, high = numbers[small], numbers[~small]
        counted = np.bincount(low)
        seen = np.flatnonzero(counted)
        values, counts = np.unique(high, return_counts=True)
        return cls(np.concatenate([seen, values]), np.concatenate([counted[seen], counts]), most_values)

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return int(self.counts.sum())

    def __add__(self, other: Tally) -> Tally:
        values = np.concatenate([self.values, other.values])
        counts = np.concatenate([self.counts, other.counts])
        joined = self._joined(values, counts)
        if len(joined.values) <= self.most_values:
            return joined
        return self._joined(_coarse(joined.values), joined.counts)

    def quantile(self, share: float) -> float:
        """Return what ``numpy.quantile`` returns of all the numbers."""
        place = share * (self.total - 1)
        low = int(np.floor(place))
        at = np.searchsorted(np.cumsum(self.counts), [low, min(low + 1, self.total - 1)], side="right")
        a, b = self.values[at].astype(np.float64)
        return float(np.quantile([a, b], place - low))

    def _joined(self, values: Ints, counts: Ints) -> Tally:
        known, index = np.unique(values, return_inverse=True)
        return replace(self, values=known, counts=np.bincount(index, counts, len(known)).astype(np.int64))


def _coarse(values: Ints) -> Ints:
    bits = np.frexp(values.astype(np.float64))[1]
    shift = np.where(values < _DENSE, 0, bits - _KEPT_BITS)
    return values >> shift << shift
