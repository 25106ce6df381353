"""Exact means and quantiles of numbers that are never all together.

Numbers are counted by their first bits as they pass. That tells with which bits a quantile begins, and the
few numbers that begin so are looked at again when all pass once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tracearena.traces.different import begins

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_OTHER_BITS = 36
_LOW = 27
_UNIT = 1127
"""Every double is a whole number of 2**-1127."""


@dataclass(frozen=True)
class Spread:
    """How many numbers have passed, their sum without any rounding, the largest, and their first bits.

    Sums of it do not depend on the order of the additions.

    Attributes
    ----------
    units
        The sum of all, in units of 2**-1127.
    keys, counts
        First bits, in the order of the numbers that begin with them, and how many do.

    Examples
    --------
    >>> here, there = np.array([0.1, 5.0, 7.0]), np.array([2.0, -1.0])
    >>> spread = Spread.of(here) + Spread.of(there)
    >>> again = [starting_with(one, spread.keys_of([0.5])) for one in (here, there)]
    >>> spread.mean, spread.quantiles([0.5], np.concatenate(again))
    (2.62, [2.0])
    """

    count: int
    units: int
    largest: float
    keys: Ints
    counts: Ints

    @classmethod
    def of(cls, numbers: Floats) -> Self:
        """Count some numbers."""
        keys = np.sort(_first_bits(numbers))
        first = np.flatnonzero(begins(keys))
        return cls(
            len(numbers),
            _exact_sum(numbers),
            float(numbers.max(initial=-np.inf)),
            keys[first],
            np.diff(np.append(first, len(keys))),
        )

    def __add__(self, other: Spread) -> Spread:
        keys, index = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.bincount(index, np.concatenate([self.counts, other.counts]), len(keys))
        return Spread(
            self.count + other.count,
            self.units + other.units,
            max(self.largest, other.largest),
            keys,
            counts.astype(np.int64),
        )

    @property
    def mean(self) -> float:
        """The mean, rounded once."""
        return self.units / (self.count << _UNIT)

    def keys_of(self, shares: Sequence[float]) -> Ints:
        """Return with which bits the numbers begin that quantiles depend on."""
        ranks = np.concatenate([_ranks(share, self.count) for share in shares])
        return np.unique(self.keys[self._places(ranks)])

    def quantiles(self, shares: Sequence[float], again: Floats) -> list[float]:
        """Return what ``numpy.quantile`` returns of all numbers, given those that begin as `keys_of` says."""
        numbers = np.sort(again)
        keys = _first_bits(numbers)
        before = np.cumsum(self.counts) - self.counts
        found = []
        for share in shares:
            ranks = _ranks(share, self.count)
            places = self._places(ranks)
            low, high = numbers[np.searchsorted(keys, self.keys[places]) + ranks - before[places]]
            place = share * (self.count - 1)
            found.append(float(np.quantile([low, high], place - np.floor(place))))
        return found

    def _places(self, ranks: Ints) -> Ints:
        return np.searchsorted(np.cumsum(self.counts), ranks, side="right")


def starting_with(numbers: Floats, keys: Ints) -> Floats:
    """Return the numbers that begin with some first bits."""
    own = _first_bits(numbers)
    at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    return np.asarray(numbers[keys[at] == own])


def may_start_with(low: Floats, high: Floats, keys: Ints) -> NDArray[np.bool_]:
    """Return which numbers, known to lie between two others, may begin with some first bits.

    >>> keys = Spread.of(np.array([2.0])).keys
    >>> may_start_with(np.array([1.0, 1.0, 3.0]), np.array([1.5, 2.5, 4.0]), keys).tolist()
    [False, True, False]
    """
    begin = np.searchsorted(keys, _first_bits(low))
    return np.asarray(begin < np.searchsorted(keys, _first_bits(high), side="right"))


def _ranks(share: float, count: int) -> Ints:
    low = int(np.floor(share * (count - 1)))
    return np.array([low, min(low + 1, count - 1)])


def _first_bits(numbers: Floats) -> Ints:
    """Return the first 28 bits, so that they rise with the numbers; below 0 doubles count the other way."""
    bits = (numbers + 0.0).view(np.int64)
    return np.asarray((bits ^ ((bits >> 63) & np.int64(2**63 - 1))) >> _OTHER_BITS)


def _exact_sum(numbers: Floats) -> int:
    """Add without rounding: mantissas of one exponent are whole numbers, in halves that cannot overflow."""
    if not len(numbers):
        return 0
    fraction, exponent = np.frexp(numbers)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    least = int(exponent.min())
    halves = (np.bincount(exponent - least, half) for half in (mantissa >> _LOW, mantissa & (1 << _LOW) - 1))
    total = 0
    for step, (high, low) in enumerate(zip(*halves, strict=True)):
        total += ((int(high) << _LOW) + int(low)) << (least + step + _UNIT - 53)
    return total
