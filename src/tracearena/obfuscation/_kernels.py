"""Inner loop of cluster averaging: the cheapest way to carry visits from some places to others."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def transport(supply: Ints, demand: Ints, cost: Floats) -> Ints:
    """Return flow (sources × sinks), the cheapest that carries all supply to the demand.

    The totals must be equal and no cost negative. Shortest augmenting paths: `u` and `v` are the
    potentials of sources and sinks, ``cost[i, j] - u[i] - v[j]`` is never negative and is 0 wherever
    something flows.

    Written here and not left to POT's `ot.emd` because of what ``benchmarks/bench_transport.py`` finds
    (processor time, one run): on the people of the contest of 2019 (median problem 17 × 23) `ot.emd`
    takes 5.8 times as long, on those of the made city 1.7 times (23 × 49, 20 days) and 0.8 times (39 × 92,
    60 days), and 0.7 times on people who wander without a home (75 × 113). Costs are the same to
    3e-16, but of the many flows of equal cost both choose the same for a user in ten at most; and POT
    would have to be installed for this defence.
    """
    n, m = cost.shape
    flow, inflow = np.zeros((n, m), np.int64), np.zeros((m, n), np.int64)
    suppliers = np.zeros(m, np.int64)
    left, open_demand = supply.copy(), demand.copy()
    u, v = np.zeros(n), np.zeros(m)
    sink_distance, source_distance = np.empty(m), np.empty(n)
    came_from, entered_by = np.empty(m, np.int64), np.empty(n, np.int64)
    for start in range(n):
        while left[start] > 0:
            end = _nearest_open_sink(
                start, cost, flow, inflow, suppliers, open_demand, u, v, sink_distance, source_distance,
                came_from, entered_by,
            )  # fmt: skip
            amount = min(left[start], open_demand[end])
            sink = end
            while came_from[sink] != start:
                source = came_from[sink]
                sink = entered_by[source]
                amount = min(amount, flow[source, sink])
            sink = end
            while True:
                source = came_from[sink]
                _add_flow(flow, inflow, suppliers, source, sink, amount)
                if source == start:
                    break
                sink = entered_by[source]
                _add_flow(flow, inflow, suppliers, source, sink, -amount)
            left[start] -= amount
            open_demand[end] -= amount
    return flow


@njit(cache=True, nogil=True)
def _add_flow(flow: Ints, inflow: Ints, suppliers: Ints, source: int, sink: int, amount: int) -> None:
    """Change the flow, its transpose, and how many sources each sink has."""
    before = flow[source, sink] > 0
    flow[source, sink] += amount
    inflow[sink, source] += amount
    suppliers[sink] += (flow[source, sink] > 0) - before


@njit(cache=True, nogil=True)
def _nearest_open_sink(
    start: int,
    cost: Floats,
    flow: Ints,
    inflow: Ints,
    suppliers: Ints,
    open_demand: Ints,
    u: Floats,
    v: Floats,
    sink_distance: Floats,
    source_distance: Floats,
    came_from: Ints,
    entered_by: Ints,
) -> int:
    """Find the nearest sink with open demand (Dijkstra on reduced costs) and raise the potentials.

    Most sinks lead nowhere: they are full, and all their sources are reached. They are not visited one
    by one. `leads_on` is above 0 at the others, and whatever is nearer than the nearest of those is
    done at once; of equals the first is the nearer.
    """
    n, m = cost.shape
    done = np.zeros(m, np.bool_)
    leads_on = suppliers + open_demand
    source_distance[:] = np.inf
    source_distance[start] = 0.0
    for j in range(m):
        sink_distance[j] = cost[start, j] - u[start] - v[j]
        came_from[j] = start
        leads_on[j] -= flow[start, j] > 0
    while True:
        sink, reached = -1, np.inf
        for j in range(m):
            if sink_distance[j] < reached and not done[j] and leads_on[j] > 0:
                sink, reached = j, sink_distance[j]
        for j in range(m):
            done[j] |= sink_distance[j] < reached
        for j in range(sink):
            done[j] |= sink_distance[j] == reached
        if open_demand[sink] > 0:
            break
        done[sink] = True
        for i in range(n):
            if inflow[sink, i] == 0 or source_distance[i] < np.inf:
                continue
            source_distance[i] = reached
            entered_by[i] = sink
            for j in range(m):
                through = reached + cost[i, j] - u[i] - v[j]
                leads_on[j] -= flow[i, j] > 0
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
