"""Pieces of trajectories: runs of consecutive points that last less than a window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.traces.gps import GpsTraces

LONGEST_S = 3.2e9
"""A hundred years: no recording is longer."""


def piece_starts(traces: GpsTraces, window_s: float) -> NDArray[np.int64]:
    """Return, for each point, the point that begins its piece.

    A trajectory's first point begins a piece; so does each first point that is `window_s` seconds
    or more after the beginning of the piece before it.

    >>> traces = GpsTraces.from_points([1] * 5, [0, 30_000, 60_000, 200_000, 210_000], [0] * 5, [0] * 5)
    >>> piece_starts(traces, 60).tolist()
    [0, 0, 2, 3, 3]
    """
    require_number("window", window_s, above=0, at_most=LONGEST_S)
    from tracearena.traces._kernels import piece_starts as kernel

    order = traces.trajectory_order
    starts = np.empty(len(order), np.int64)
    starts[order] = order[kernel(traces.time_ms[order], traces.trajectory_offsets, window_s * 1000.0)]
    return starts
