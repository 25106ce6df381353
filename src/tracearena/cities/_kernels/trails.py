"""Where the instants find somebody who stays or travels."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def stay(row: Any, i: int, minutes: Any, until: float, cell: int) -> int:
    """Write a stay up to a time and return the next instant."""
    while i < len(minutes) and minutes[i] < until:
        row[i] = cell
        i += 1
    return i


@njit(cache=True, nogil=True)
def travel(row: Any, i: int, minutes: Any, atlas: Any, leave: float, start: int, end: int) -> int:
    """Write the regions passed on the way from `start` to `end` and return the next instant."""
    arrive = leave + atlas.minutes[start, end]
    while i < len(minutes) and minutes[i] < arrive:
        cell = end
        while atlas.minutes[start, cell] > minutes[i] - leave:
            cell = atlas.previous[start, cell]
        row[i] = cell
        i += 1
    return i


@njit(cache=True, nogil=True)
def go(row: Any, i: int, minutes: Any, atlas: Any, now: float, here: int, there: int) -> tuple[int, float]:
    """Write a trip that begins now and return the next instant and the time of arrival."""
    return travel(row, i, minutes, atlas, now, here, there), now + atlas.minutes[here, there]
