"""Trips: recordings of GPS points cut into pieces of regular steps inside a box."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.traces.box import Box
from tracearena.traces.gps import GpsTraces

STEP_S = 60
"""Seconds from one point of a trip to the next."""
MAX_GAP_S = 600
"""A recording is cut where two points are farther apart in time."""
FEWEST_POINTS, MOST_POINTS = 10, 120
"""Shorter pieces are left out, and longer ones are cut."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Trips(NamedTuple):
    """Trips in a box, sorted by user and time.

    Attributes
    ----------
    offsets
        Trip ``j`` has the points ``offsets[j]:offsets[j + 1]``, one per minute.
    x, y
        Position in the box, from 0 (west, south) to 1 (east, north).
    user
        Number of the user of each trip.
    """

    offsets: Ints
    x: Floats
    y: Floats
    user: Ints

    def __len__(self) -> int:
        return len(self.user)

    @property
    def of_point(self) -> Ints:
        """Trip of each point."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def cells(self, side: int) -> Ints:
        """Return the cell of each point on a grid of ``side × side`` cells, by rows from the south."""
        row, column = (np.minimum((v * side).astype(np.int64), side - 1) for v in (self.y, self.x))
        return np.asarray(row * side + column)


def cut_trips(traces: GpsTraces, box: Box) -> Trips:
    """Cut the trips of each user from her recordings.

    A recording is cut where it leaves the box, where two points are more than ten minutes apart, and after
    120 minutes. Positions at whole minutes are interpolated; pieces of fewer than ten are left out. What is
    cut from a recording depends on this recording alone.

    >>> line = [i / 20 for i in range(20)]
    >>> traces = GpsTraces.from_points([1] * 20, [60_000 * i for i in range(20)], line, line)
    >>> trips = cut_trips(traces, Box(0, 0, 1, 1))
    >>> len(trips), trips.x[:3].tolist()
    (1, [0.0, 0.05, 0.1])
    """
    from tracearena.mobility._kernels import cut_recordings

    order = traces.trajectory_order
    x = (traces.longitude[order] - box.west) / (box.east - box.west)
    y = (traces.latitude[order] - box.south) / (box.north - box.south)
    inside = box.contains(traces.latitude[order], traces.longitude[order])
    label = traces.trajectory[order]
    sizes, first, at_x, at_y = cut_recordings(
        traces.time_ms[order],
        x,
        y,
        inside,
        label,
        STEP_S * 1000,
        MAX_GAP_S * 1000,
        FEWEST_POINTS,
        MOST_POINTS,
    )
    user = traces.trajectory_user[label[first]].astype(np.int64)
    sorted_by = np.argsort(user, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.concatenate(
        [np.arange(offsets[j], offsets[j + 1]) for j in sorted_by] or [np.empty(0, np.int64)]
    )
    found = Trips(
        np.concatenate([[0], np.cumsum(sizes[sorted_by])]).astype(np.int64),
        at_x[rows],
        at_y[rows],
        user[sorted_by],
    )
    return found
