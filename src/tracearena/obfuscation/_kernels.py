"""Inner loop of cluster averaging: the cheapest way to carry visits from some places to others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def transport(supply: Array, demand: Array, cost: Array) -> Array:
    """Return flow (sources × sinks), the cheapest that carries all supply to the demand.

    The totals must be equal and no cost negative. Shortest augmenting paths: `u` and `v` are the
    potentials of sources and sinks, ``cost[i, j] - u[i] - v[j]`` is never negative and is 0 wherever
    something flows.
    """
    n, m = cost.shape
    flow = np.zeros((n, m), np.int64)
    left, open_demand = supply.copy(), demand.copy()
    u, v = np.zeros(n), np.zeros(m)
    sink_distance, source_distance = np.empty(m), np.empty(n)
    came_from, entered_by = np.empty(m, np.int64), np.empty(n, np.int64)
    for start in range(n):
        while left[start] > 0:
            end = _nearest_open_sink(
                start, cost, flow, open_demand, u, v, sink_distance, source_distance, came_from, entered_by
            )
            amount = min(left[start], open_demand[end])
            sink = end
            while came_from[sink] != start:
                source = came_from[sink]
                sink = entered_by[source]
                amount = min(amount, flow[source, sink])
            sink = end
            while True:
                source = came_from[sink]
                flow[source, sink] += amount
                if source == start:
                    break
                sink = entered_by[source]
                flow[source, sink] -= amount
            left[start] -= amount
            open_demand[end] -= amount
    return flow


@njit(cache=True, nogil=True)
def _nearest_open_sink(
    start: int,
    cost: Array,
    flow: Array,
    open_demand: Array,
    u: Array,
    v: Array,
    sink_distance: Array,
    source_distance: Array,
    came_from: Array,
    entered_by: Array,
) -> int:
    """Find the nearest sink with open demand (Dijkstra on reduced costs) and raise the potentials."""
    n, m = cost.shape
    done = np.zeros(m, np.bool_)
    source_distance[:] = np.inf
    source_distance[start] = 0.0
    for j in range(m):
        sink_distance[j] = cost[start, j] - u[start] - v[j]
        came_from[j] = start
    while True:
        sink = -1
        for j in range(m):
            if not done[j] and (sink < 0 or sink_distance[j] < sink_distance[sink]):
                sink = j
        if open_demand[sink] > 0:
            break
        done[sink] = True
        reached = sink_distance[sink]
        for i in range(n):
            if flow[i, sink] == 0 or source_distance[i] < np.inf:
                continue
            source_distance[i] = reached
            entered_by[i] = sink
            for j in range(m):
                through = reached + cost[i, j] - u[i] - v[j]
                if not done[j] and through < sink_distance[j]:
                    sink_distance[j] = through
                    came_from[j] = i
    for i in range(n):
        if source_distance[i] < np.inf:
            u[i] += sink_distance[sink] - source_distance[i]
    for j in range(m):
        if done[j]:
            v[j] += sink_distance[j] - sink_distance[sink]
    return sink
