"""How arrays enter the data model: converted once, checked, and never changed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tracearena.errors import DataError


def frozen(values: Any, dtype: DTypeLike, name: str, *, dimensions: int = 1) -> NDArray[Any]:
    """Return the values as a read-only array of the given type; copy what a caller could change.

    Conversions that would change a value (fractions to integers, out of range) are refused.
    """
    given = np.asarray(values)
    if given.ndim != dimensions:
        raise DataError(f"{name} has {given.ndim} dimensions; it must have {dimensions}")
    dtype = np.dtype(dtype)
    if given.dtype == dtype:
        array = np.ascontiguousarray(given)
        if array is given or np.shares_memory(array, given):
            array = array.copy() if given.flags.writeable or given.base is not None else array
    else:
        array = _converted(given, dtype, name)
    array.flags.writeable = False
    return array


def _converted(given: NDArray[Any], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    if given.size == 0:
        return np.zeros(given.shape, dtype)
    if given.dtype.kind not in "iufb" or (dtype.kind in "ib" and given.dtype.kind == "f"):
        kept = _as_whole_numbers(given, dtype, name)
        if kept is not None:
            return kept
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        if int(given.min()) < limits.min or int(given.max()) > limits.max:
            raise DataError(f"{name} holds values beyond {limits.min}..{limits.max}")
    return given.astype(dtype)


def _as_whole_numbers(given: NDArray[Any], dtype: np.dtype[Any], name: str) -> NDArray[Any] | None:
    if given.dtype.kind == "f" and dtype.kind in "ib":
        if not np.array_equal(given, np.trunc(given)):
            raise DataError(f"{name} holds fractions or NaN; it must hold whole numbers")
        return None
    try:
        return np.asarray(given.tolist(), dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} cannot be read as {dtype}: {error}") from None


def identifiers(values: Any, name: str) -> NDArray[Any]:
    """Return external ids as a read-only array of int64 or of text."""
    given = np.asarray(values)
    if given.dtype.kind in "iub" or (given.dtype.kind == "f" and given.size == 0):
        return frozen(given, np.int64, name)
    array = given.astype(np.str_)
    if array.ndim != 1:
        raise DataError(f"{name} must be a list")
    array.flags.writeable = False
    return array


def checked(
    array: NDArray[Any], valid: Callable[[NDArray[Any]], NDArray[np.bool_]], name: str, allowed: str
) -> None:
    """Raise with the first value that is not allowed."""
    bad = np.flatnonzero(~valid(array))
    if bad.size:
        at = int(bad[0])
        more = f" ({bad.size - 1:,} more like it)" if bad.size > 1 else ""
        raise DataError(f"{name}[{at}] = {array[at]} is not allowed; it must be {allowed}{more}")


def trusted(array: NDArray[Any]) -> NDArray[Any]:
    """Freeze an array that only we hold."""
    array.flags.writeable = False
    return array


def same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    """Whether two arrays that may be absent are equal."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)
