"""Numbers to the text of PLT rows: latitude,longitude,0,altitude,days,date,time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.formats.geolife._calendar_kernels import civil_from_days
from tracearena.traces.clock import DAY_S

_COMMA, _LF, _CR, _DOT, _MINUS, _ZERO, _COLON = 44, 10, 13, 46, 45, 48, 58


@njit(cache=True, nogil=True)
def _put(out: Any, at: int, value: int, digits: int) -> int:
    for i in range(digits):
        out[at + digits - 1 - i] = _ZERO + value % 10
        value //= 10
    return at + digits


@njit(cache=True, nogil=True)
def _put_coordinate(out: Any, at: int, degrees: float) -> int:
    scaled = int(np.rint(abs(degrees) * 1e7))
    if degrees < 0 and scaled > 0:
        out[at] = _MINUS
        at += 1
    whole = scaled // 10_000_000
    digits = 3 if whole >= 100 else (2 if whole >= 10 else 1)
    at = _put(out, at, whole, digits)
    out[at] = _DOT
    return _put(out, at + 1, scaled % 10_000_000, 7)


@njit(cache=True, nogil=True)
def format_rows(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], time_ms: NDArray[np.int64], out: Any
) -> int:
    """Write the rows of a PLT file into `out` (80 bytes a row are enough); return the length."""
    at = 0
    for i in range(len(latitude)):
        at = _put_coordinate(out, at, latitude[i])
        out[at] = _COMMA
        at = _put_coordinate(out, at + 1, longitude[i])
        for c in (44, 48, 44, 45, 55, 55, 55, 44):  # ,0,-777, : no altitude known
            out[at] = c
            at += 1
        seconds = time_ms[i] // 1000
        days = seconds // DAY_S
        second = seconds - days * DAY_S
        at = _put(out, at, days + 25569, 5)  # from 1899-12-30
        out[at] = _DOT
        at = _put(out, at + 1, (second * 10_000_000_000 + 43_200) // DAY_S, 10)
        out[at] = _COMMA
        year, month, day = civil_from_days(days)
        at = _put(out, at + 1, year, 4)
        out[at] = _MINUS
        at = _put(out, at + 1, month, 2)
        out[at] = _MINUS
        at = _put(out, at + 1, day, 2)
        out[at] = _COMMA
        at = _put(out, at + 1, second // 3600, 2)
        out[at] = _COLON
        at = _put(out, at + 1, second // 60 % 60, 2)
        out[at] = _COLON
        at = _put(out, at + 1, second % 60, 2)
        out[at] = _CR
        out[at + 1] = _LF
        at += 2
    return at
