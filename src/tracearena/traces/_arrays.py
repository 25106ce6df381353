"""Arrays of the data model: converted once, checked, and never changed again.

Also different values, comparable ids and exact sums, which several parts of the data model need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tracearena.errors import DataError


def to_readonly_array(values: Any, dtype: DTypeLike, name: str, *, dimensions: int = 1) -> NDArray[Any]:
    """Return the values as a read-only array of the given type; copy what a caller could change.

    Conversions that would change a value (fractions to integers, out of range) are refused.
    """
    given = np.asarray(values)
    if given.ndim != dimensions:
        raise DataError(f"{name} has {given.ndim} dimensions; it must have {dimensions}")
    dtype = np.dtype(dtype)
    if given.dtype == dtype:
        array = np.ascontiguousarray(given)
        is_shared = array is given or np.shares_memory(array, given)
        if is_shared and (given.flags.writeable or given.base is not None):
            array = array.copy()
    else:
        array = _convert_dtype(given, dtype, name)
    return mark_readonly(array)


def _convert_dtype(given: NDArray[Any], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    if given.size == 0:
        return np.zeros(given.shape, dtype)
    if given.dtype.kind not in "iufb":
        try:
            return np.asarray(given.tolist(), dtype=dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"{name} cannot be read as {dtype}: {error}") from None
    if given.dtype.kind == "f" and dtype.kind in "ib" and not np.array_equal(given, np.trunc(given)):
        raise DataError(f"{name} has fractions or NaN; it must have whole numbers")
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        if int(given.min()) < limits.min or int(given.max()) > limits.max:
            raise DataError(f"{name} has values outside {limits.min}..{limits.max}")
    return given.astype(dtype)


def to_id_array(values: Any, name: str) -> NDArray[Any]:
    """Return external ids as a read-only array of int64 or of text."""
    given = np.asarray(values)
    if given.dtype.kind in "iub" or (given.dtype.kind == "f" and given.size == 0):
        return to_readonly_array(given, np.int64, name)
    if given.ndim != 1:
        raise DataError(f"{name} must be a list")
    return mark_readonly(given.astype(np.str_))


def check_values(
    array: NDArray[Any], valid: Callable[[NDArray[Any]], NDArray[np.bool_]], name: str, allowed: str
) -> None:
    """Raise with the first value that is not allowed."""
    bad = np.flatnonzero(~valid(array))
    if bad.size:
        at = int(bad[0])
        more = f" ({bad.size - 1:,} more like it)" if bad.size > 1 else ""
        raise DataError(f"{name}[{at}] = {array[at]} is not allowed; it must be {allowed}{more}")


def mark_readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Freeze an array that only we hold."""
    array.flags.writeable = False
    return array


def are_equal_arrays(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    """Whether two arrays that may be absent are equal."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def unique_values(values: NDArray[Any]) -> NDArray[Any]:
    """Return the different values of a flat array, ascending.

    `numpy.unique` gives the same, but puts whole numbers into a hash table first, which takes a hundred
    times as long for a million different ones.

    >>> unique_values(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[mark_run_starts(ordered)]


def mark_run_starts(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a row differs from the one before it in any of the columns, and the first.

    >>> mark_run_starts(np.array([1, 1, 2, 2]), np.array([5, 5, 5, 6])).tolist()
    [True, False, True, True]
    """
    fresh = np.ones(len(columns[0]), bool)
    if len(fresh):
        fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return fresh


def to_comparable_ids(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return ids of two files so that they can be compared: as text, unless both are numbers.

    A file's ids are numbers only if all of them are, so that one odd id makes text of the others.

    >>> to_comparable_ids(np.array([1, 2]), np.array(["1", "unknown"]))[0].tolist()
    ['1', '2']
    """
    if first.dtype.kind == second.dtype.kind:
        return first, second
    return first.astype(np.str_), second.astype(np.str_)


def find_positions(wanted: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each wanted id among the known ones, -1 for one that is not there.

    >>> find_positions(np.array([2, 7]), np.array(["unknown", "2"])).tolist()
    [1, -1]
    """
    wanted, known = to_comparable_ids(wanted, known)
    at = {user: place for place, user in enumerate(known.tolist())}
    return np.array([at.get(user, -1) for user in wanted.tolist()], np.int64)


# Sums of floating-point numbers without rounding: the same in any order of the additions.

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
            some = numbers[first : first + _AT_A_TIME]
            share, power = np.frexp(some)
            whole = np.ldexp(share, _BITS).astype(np.int64)
            # Halves of at most 27 bits: sums of 2²⁴ of them are exact as floating-point numbers too.
            high, low = whole >> _LOW_BITS, whole & ((1 << _LOW_BITS) - 1)
            index = power.astype(np.int64) - _LOWEST
            highs, lows = np.bincount(index, high), np.bincount(index, low)
            used = np.flatnonzero((highs != 0) | (lows != 0)).tolist()
            parts = {at + _LOWEST - _BITS: (int(highs[at]) << _LOW_BITS) + int(lows[at]) for at in used}
            sums += cls(parts, len(some))
        return sums

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


def correlate(first: Any, second: Any) -> float | None:
    """Return Pearson's R of the pairs with both values; None for fewer than three, or if one is constant.

    >>> correlate([0, 1, 2, None], [1, 2, 3, 4])
    1.0
    >>> correlate([0, 1, 2], [1, 1, 1]) is None
    True
    """
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < 3 or min(x.std(), y.std()) < 1e-12:
        return None
    return float(np.corrcoef(x, y)[0, 1])
