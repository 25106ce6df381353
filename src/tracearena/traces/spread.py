"""Exact means and quantiles of numbers that are never in memory together.

A first pass counts the numbers by their first bits. The counts give the first bits of a quantile, and a
second pass looks only at the few numbers that begin with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.traces._arrays import ExactSum, mark_run_starts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_OTHER_BITS = 36


class UniqueCounts(NamedTuple):
    """Different numbers, ascending, and how often each is there."""

    numbers: Floats
    counts: Ints

    @classmethod
    def of(cls, parts: Sequence[UniqueCounts]) -> Self:
        """Put numbers together."""
        numbers, index = np.unique(np.concatenate([part.numbers for part in parts]), return_inverse=True)
        counts = np.bincount(index, np.concatenate([part.counts for part in parts]), len(numbers))
        return cls(numbers, counts.astype(np.int64))


@dataclass(frozen=True)
class ExactQuantiles:
    """The sum of numbers that have passed, without any rounding, the largest, and their first bits.

    Sums of it do not depend on the order of the additions.

    Attributes
    ----------
    keys, counts
        First bits, in the order of the numbers that begin with them, and how many do.

    Examples
    --------
    >>> here, there = np.array([0.1, 5.0, 7.0]), np.array([2.0, -1.0])
    >>> spread = ExactQuantiles.of(here) + ExactQuantiles.of(there)
    >>> again = [select_starting_with(one, spread.keys_of([0.5])) for one in (here, there)]
    >>> spread.mean, spread.quantiles([0.5], again)
    (2.62, [2.0])
    """

    sums: ExactSum
    largest: float
    keys: Ints
    counts: Ints

    @classmethod
    def of(cls, numbers: Floats) -> Self:
        """Count some numbers."""
        keys = np.sort(_first_bits(numbers))
        first = np.flatnonzero(mark_run_starts(keys))
        largest = float(numbers.max(initial=-np.inf))
        return cls(ExactSum.of(numbers), largest, keys[first], np.diff(np.append(first, len(keys))))

    def __add__(self, other: ExactQuantiles) -> ExactQuantiles:
        keys, index = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.bincount(index, np.concatenate([self.counts, other.counts]), len(keys))
        largest = max(self.largest, other.largest)
        return ExactQuantiles(self.sums + other.sums, largest, keys, counts.astype(np.int64))

    @property
    def count(self) -> int:
        """How many numbers have passed."""
        return self.sums.count

    @property
    def mean(self) -> float:
        """The mean, rounded once."""
        return self.sums.mean

    def keys_of(self, shares: Sequence[float]) -> Ints:
        """Return with which bits the numbers begin that quantiles depend on."""
        ranks = np.concatenate([_ranks(share, self.count) for share in shares])
        return np.unique(self.keys[self._places(ranks)])

    def quantiles(self, shares: Sequence[float], again: Sequence[UniqueCounts]) -> list[float]:
        """Return what ``numpy.quantile`` returns of all numbers, given those that begin as `keys_of` says."""
        numbers, counts = UniqueCounts.of(again)
        keys, stops = _first_bits(numbers), np.cumsum(counts)
        before, starts = np.cumsum(self.counts) - self.counts, stops - counts
        found = []
        for share in shares:
            ranks = _ranks(share, self.count)
            places = self._places(ranks)
            among = starts[np.searchsorted(keys, self.keys[places])] + ranks - before[places]
            low, high = numbers[np.searchsorted(stops, among, side="right")]
            place = share * (self.count - 1)
            found.append(float(np.quantile([low, high], place - np.floor(place))))
        return found

    def _places(self, ranks: Ints) -> Ints:
        return np.searchsorted(np.cumsum(self.counts), ranks, side="right")


def select_starting_with(numbers: Floats, keys: Ints) -> UniqueCounts:
    """Return the numbers that begin with some first bits: few, however many are the same."""
    own = _first_bits(numbers)
    at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    return UniqueCounts(*np.unique(numbers[keys[at] == own], return_counts=True))


def may_start_with(low: Floats, high: Floats, keys: Ints) -> NDArray[np.bool_]:
    """Return which numbers, known to lie between two others, may begin with some first bits.

    >>> keys = ExactQuantiles.of(np.array([2.0])).keys
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
