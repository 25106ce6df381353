"""Kernels of the defences: optimal transport of visits, what moves where, walks of fakes, trip ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Places = NDArray[np.int32]
Array = NDArray[Any]


# Transport. Minimise Σ_ij cost[i, j] flow[i, j] with Σ_j flow[i, j] = supply[i] and Σ_i flow[i, j] =
# demand[j], all whole numbers, by successive shortest paths. `inflow` is the transpose of `flow`,
# `suppliers[j]` the number of sources that serve sink j; u and v are the dual potentials. Of the search from
# one source: `sink_distance` and `source_distance` by reduced costs, `came_from[j]` the source before sink j,
# `entered_by[i]` the sink before source i; `open_demand` is what each sink still lacks.
@njit(cache=True, nogil=True)
def solve_transport(supply: Ints, demand: Ints, cost: Floats) -> Ints:
    """Return flow (sources × sinks), the cheapest that carries all supply to the demand.

    The totals must be equal and no cost negative. Shortest augmenting paths: `u` and `v` are the
    potentials of sources and sinks, ``cost[i, j] - u[i] - v[j]`` is never negative and is 0 wherever
    something flows.

    Written here and not left to POT's `ot.emd` because of what ``benchmarks/bench_transport.py`` finds
    (processor time, one run, on a busy machine): on the people of the contest of 2019 (median problem
    18 × 25) `ot.emd` takes 3.3 times as long, on 60 of the made city 2.3 times (26 × 160, 20 days) and
    2.0 times (44 × 325, 60 days), and 0.6 times on 60 people who wander without a home (75 × 139). Costs
    are the same to 5e-16, but of the many flows of equal cost both choose the same for a user in ten at
    most; and POT would have to be installed for this defence.
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
            end = _find_nearest_open_sink(
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
    suppliers[sink] += int(flow[source, sink] > 0) - int(before)


@njit(cache=True, nogil=True)
def _find_nearest_open_sink(
    start: int, cost: Floats, flow: Ints, inflow: Ints, suppliers: Ints, open_demand: Ints, u: Floats,
    v: Floats, sink_distance: Floats, source_distance: Floats, came_from: Ints, entered_by: Ints,
) -> int:  # fmt: skip
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


# Rows and models. A row is what is compared with one model: all visits of one user (cluster averaging), or
# those of her part of the day (Decoy, Impostor). The model's counts c_k become whole shares of the row's
# n visits by the largest remainders of n c_k / Σ c. The imbalance of a place is visits - share: places with
# a surplus are the sources and places that lack visits the sinks of the transport above.
#
#   begins, ends       the visits of row r are visits begins[r]:ends[r]
#   visited            place of each visit, ascending within a row
#   model_of           model of each row
#   model_offsets      the list of model m is model_offsets[m]:model_offsets[m + 1] of the next two
#   model_places       places of each model, ascending
#   model_counts       c_k, how often the model visits each
#   source_offsets     the sources of row r are source_offsets[r]:source_offsets[r + 1] of the next two
#   source_visits      the first of the row's visits to each source
#   surplus            how many of them are too many
#   sink_offsets       the sinks of row r are sink_offsets[r]:sink_offsets[r + 1] of the next two
#   sinks, lacking     place of each sink, ascending, and how many visits it lacks
#   origin, target     places of every pair of a source and a sink of a row, source by source
#   cost               of carrying a visit from origin to target


@njit(cache=True, nogil=True)
def list_imbalances(
    begins: Ints, ends: Ints, visited: Places, model_of: Ints, model_offsets: Ints, model_places: Places,
    model_counts: Floats,
) -> tuple[tuple[Ints, Ints, Ints], tuple[Ints, Places, Ints], tuple[Places, Places]]:  # fmt: skip
    """Return (source_offsets, source_visits, surplus), (sink_offsets, sinks, lacking), (origin, target)."""
    n_rows = len(begins)
    most_sources, most_sinks = 0, 0
    for r in range(n_rows):
        most_sources += ends[r] - begins[r]
        most_sinks += model_offsets[model_of[r] + 1] - model_offsets[model_of[r]]
    source_offsets, sink_offsets = np.zeros(n_rows + 1, np.int64), np.zeros(n_rows + 1, np.int64)
    source_visits, surplus = np.empty(most_sources, np.int64), np.empty(most_sources, np.int64)
    sinks, lacking = np.empty(most_sinks, np.int32), np.empty(most_sinks, np.int64)
    n_sources, n_sinks, n_pairs = 0, 0, 0
    for r in range(n_rows):
        visit, end = begins[r], ends[r]
        k, k_end = model_offsets[model_of[r]], model_offsets[model_of[r] + 1]
        if visit < end and k < k_end:
            shares = apportion_visits(model_counts[k:k_end], end - visit)
            first_k = k
            # Both lists ascend by place: the smaller of their next places comes first.
            while visit < end or k < k_end:
                place = visited[visit] if visit < end else model_places[k]
                if k < k_end:
                    place = min(place, model_places[k])
                first_visit = visit
                while visit < end and visited[visit] == place:
                    visit += 1
                too_many = visit - first_visit
                if k < k_end and model_places[k] == place:
                    too_many -= shares[k - first_k]
                    k += 1
                if too_many > 0:
                    source_visits[n_sources], surplus[n_sources] = first_visit, too_many
                    n_sources += 1
                elif too_many < 0:
                    sinks[n_sinks], lacking[n_sinks] = place, -too_many
                    n_sinks += 1
        source_offsets[r + 1], sink_offsets[r + 1] = n_sources, n_sinks
        n_pairs += (n_sources - source_offsets[r]) * (n_sinks - sink_offsets[r])
    origin, target = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    pair = 0
    for r in range(n_rows):
        for i in range(source_offsets[r], source_offsets[r + 1]):
            for j in range(sink_offsets[r], sink_offsets[r + 1]):
                origin[pair], target[pair] = visited[source_visits[i]], sinks[j]
                pair += 1
    return (
        (source_offsets, source_visits[:n_sources], surplus[:n_sources]),
        (sink_offsets, sinks[:n_sinks], lacking[:n_sinks]),
        (origin, target),
    )


@njit(cache=True, nogil=True)
def apportion_visits(counts: Floats, total: int) -> Ints:
    """Share out a total of visits in proportion to the counts, in whole numbers, by the largest remainders.

    Of equal remainders the first is the larger. The counts are not all 0.
    """
    scale = total / counts.sum()
    shares, remainders = np.empty(len(counts), np.int64), np.empty(len(counts))
    missing = total
    for k in range(len(counts)):
        exact = counts[k] * scale
        shares[k] = math.floor(exact)
        remainders[k] = exact - shares[k]
        missing -= shares[k]
    order = np.argsort(-remainders, kind="mergesort")
    for k in range(missing):
        shares[order[k]] += 1
    return shares


@njit(cache=True, nogil=True)
def carry_surplus(
    source_offsets: Ints, source_visits: Ints, surplus: Ints, sink_offsets: Ints, sinks: Places,
    lacking: Ints, cost: Floats,
) -> tuple[Ints, Places]:  # fmt: skip
    """Return the visits that move and their new places: the cheapest transport of each row's surplus.

    Of the visits to a source the first ones move, to its sinks in their order.
    """
    visits, places = np.empty(surplus.sum(), np.int64), np.empty(surplus.sum(), np.int32)
    moved, pair = 0, 0
    for r in range(len(source_offsets) - 1):
        i, i_end = source_offsets[r], source_offsets[r + 1]
        j, j_end = sink_offsets[r], sink_offsets[r + 1]
        if i == i_end:
            continue
        size = (i_end - i) * (j_end - j)
        own_cost = cost[pair : pair + size].reshape((i_end - i, j_end - j))
        flow = solve_transport(surplus[i:i_end], lacking[j:j_end], own_cost)
        pair += size
        for source in range(i_end - i):
            visit = source_visits[i + source]
            for sink in range(j_end - j):
                for _ in range(flow[source, sink]):
                    visits[moved], places[moved] = visit, sinks[j + sink]
                    visit += 1
                    moved += 1
    return visits, places


# Random walks of whole days, `out` being fakes × instants and `draws` uniform numbers of the same shape:
# on running sums of the aggregate mobility (`start`, `steps`), or on the flat arrays of a user's own
# `MobilityProfiles`:
#
#   visit_offsets, visit_places, visit_probabilities
#                      of user u in period τ the visits are those of row u · periods + τ
#   move_offsets, move_places, move_probabilities
#                      where she goes next: a move row for each visit and period of the next instant
#   users, period_of   user of each fake, and period of each instant of a day


@njit(cache=True, nogil=True)
def walk_aggregate(start: Floats, steps: Floats, step_of: Ints, draws: Floats, out: Places) -> None:
    """Walk on cumulative transition rows; `step_of` has the number of the matrix of each step of a day."""
    last = len(start) - 1
    for f in range(len(out)):
        at = min(np.searchsorted(start, draws[f, 0], side="right"), last)
        out[f, 0] = at
        for t in range(1, out.shape[1]):
            at = min(np.searchsorted(steps[step_of[t - 1], at], draws[f, t], side="right"), last)
            out[f, t] = at


@njit(cache=True, nogil=True)
def _draw_index(low: int, high: int, probabilities: Floats, draw: float) -> int:
    """Return an index from `low` to `high`, by the running sum of their probabilities at a uniform number."""
    total = 0.0
    for k in range(low, high):
        total += probabilities[k]
        if draw < total:
            return k
    return high - 1


@njit(cache=True, nogil=True)
def walk_own(
    users: Ints, period_of: Ints, n_periods: int, visit_offsets: Ints, visit_places: Places,
    visit_probabilities: Floats, move_offsets: Ints, move_places: Places, move_probabilities: Floats,
    draws: Floats, out: Places,
) -> None:  # fmt: skip
    """Walk on the profile of each row's user; -1 in a period in which she was never seen.

    Where a period begins with a place that she never visits in it, her visits of the period draw
    the next place.
    """
    for f in range(len(out)):
        entry = -1
        for t in range(out.shape[1]):
            row = users[f] * n_periods + period_of[t]
            low, high = visit_offsets[row], visit_offsets[row + 1]
            place = -1
            if entry >= 0:
                move = entry * n_periods + period_of[t]
                k = _draw_index(move_offsets[move], move_offsets[move + 1], move_probabilities, draws[f, t])
                place = move_places[k]
            at = low + np.searchsorted(visit_places[low:high], place) if place >= 0 else high
            if low == high:
                entry = -1
                out[f, t] = -1
                continue
            if at == high or visit_places[at] != place:
                at = _draw_index(low, high, visit_probabilities, draws[f, t])
            entry = at
            out[f, t] = visit_places[at]


# Trip ends. `xyz` are positions in metres, earth-centred, ordered by trajectory and time; `piece` numbers
# the trips, `ends` are points (indices) at which trips begin or end, and `cut` marks the points to leave out.


@njit(cache=True, nogil=True)
def cut_from(xyz: Any, piece: Any, ends: Any, step: int, distance_m: float, cut: Any) -> None:
    """Set `cut` from each end on, in steps of 1 or -1, while points are near it and of its piece."""
    limit = distance_m * distance_m
    for end in ends:
        i = end
        while 0 <= i < len(piece) and piece[i] == piece[end]:
            x, y, z = xyz[i, 0] - xyz[end, 0], xyz[i, 1] - xyz[end, 1], xyz[i, 2] - xyz[end, 2]
            if x * x + y * y + z * z > limit:
                break
            cut[i] = True
            i += step
