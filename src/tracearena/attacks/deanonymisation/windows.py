"""Trajectories cut into windows of equal length, as classifiers read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.traces import GpsTraces
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.time import solar_seconds

CHANNELS = ("east_km", "north_km", "log_step_s", "sin_hour", "cos_hour", "weekend")
SHORTEST = 10


@dataclass(frozen=True)
class Windows:
    """Windows of consecutive points of trajectories.

    Attributes
    ----------
    values
        Windows × points × channels (`CHANNELS`); positions are in km from the median point.
    user, trajectory
        User and trajectory of each window.
    """

    values: NDArray[np.float32]
    user: NDArray[np.int32]
    trajectory: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.user)

    def take(self, chosen: NDArray[np.bool_]) -> Windows:
        """Return some of the windows."""
        return Windows(self.values[chosen], self.user[chosen], self.trajectory[chosen])


def cut_windows(traces: GpsTraces, length: int = 100) -> Windows:
    """Cut every trajectory into windows of `length` points.

    The last window of a trajectory repeats its last point; windows of fewer than 10 points are
    left out.
    """
    require_whole("length", length, at_least=SHORTEST)
    order = traces.trajectory_order
    channels = _channels(traces)[order]
    starts, sizes, owner = [], [], []
    for trajectory in range(traces.n_trajectories):
        first, stop = traces.trajectory_offsets[trajectory : trajectory + 2]
        begin = np.arange(first, stop, length)
        size = np.minimum(begin + length, stop) - begin
        kept = size >= SHORTEST
        starts.append(begin[kept])
        sizes.append(size[kept])
        owner.append(np.full(int(kept.sum()), trajectory, np.int32))
    begin, size = np.concatenate([*starts, []]).astype(np.int64), np.concatenate([*sizes, []])
    trajectory_of = np.concatenate([*owner, np.empty(0, np.int32)]).astype(np.int32)
    index = begin[:, None] + np.minimum(np.arange(length), size.astype(np.int64)[:, None] - 1)
    return Windows(channels[index], traces.trajectory_user[trajectory_of], trajectory_of)


def _channels(traces: GpsTraces) -> NDArray[np.float32]:
    latitude, longitude = traces.latitude, traces.longitude
    middle = (float(np.median(latitude)), float(np.median(longitude))) if len(traces) else (0.0, 0.0)
    north, east = metres_per_degree(middle[0])
    order = traces.trajectory_order
    step = np.zeros(len(traces))
    same = np.diff(traces.trajectory[order]) == 0
    step[order[1:]] = np.where(same, np.diff(traces.time_ms[order]) / 1000, 0.0)
    local = solar_seconds(traces.time_ms, longitude)
    angle = local % DAY_S * (2 * np.pi / DAY_S)
    weekend = (local // DAY_S + 3) % 7 >= 5
    columns = [
        (longitude - middle[1]) * float(east) / 1000,
        (latitude - middle[0]) * float(north) / 1000,
        np.log1p(np.maximum(step, 0)),
        np.sin(angle),
        np.cos(angle),
        weekend,
    ]
    return np.column_stack(columns).astype(np.float32)
