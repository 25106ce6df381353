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
# `suppliers[j]` the number of sources that serve sink j; u and v are the dual potentials.
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
    suppliers[sink] += (flow[source, sink] > 0) - before


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


# Cluster averaging. Visits of user u are visit_offsets[u]:visit_offsets[u + 1] of `visited` and
# `visit_counts`, places ascending; what she should visit is list list_of[u] of the wanted arrays. A place's
# imbalance is visits - wanted; the surplus goes to the deficits by the transport above.


@njit(cache=True, nogil=True)
def list_imbalances(
    users: Array, visit_offsets: Array, visited: Array, visit_counts: Array, list_of: Array,
    wanted_offsets: Array, wanted_places: Array, wanted_counts: Array,
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array], tuple[Array, Array]]:  # fmt: skip
    """Return the sources and the sinks of each user, and every pair of both, as places.

    A source is a place with more visits than wanted, a sink one with fewer; both are (offsets by user,
    places in ascending order, visits too many or too few). Pairs are listed source by source.
    """
    most_sources, most_sinks = 0, 0
    for user in users:
        most_sources += visit_offsets[user + 1] - visit_offsets[user]
        most_sinks += wanted_offsets[list_of[user] + 1] - wanted_offsets[list_of[user]]
    source_offsets, sink_offsets = np.zeros(len(users) + 1, np.int64), np.zeros(len(users) + 1, np.int64)
    sources, sinks = np.empty(most_sources, np.int32), np.empty(most_sinks, np.int32)
    surplus, lacking = np.empty(most_sources, np.int64), np.empty(most_sinks, np.int64)
    n_sources, n_sinks, n_pairs = 0, 0, 0
    for k in range(len(users)):
        own, own_end = visit_offsets[users[k]], visit_offsets[users[k] + 1]
        due, due_end = wanted_offsets[list_of[users[k]]], wanted_offsets[list_of[users[k]] + 1]
        while own < own_end or due < due_end:
            place = visited[own] if own < own_end else wanted_places[due]
            if due < due_end:
                place = min(place, wanted_places[due])
            too_many = 0
            if own < own_end and visited[own] == place:
                too_many += visit_counts[own]
                own += 1
            if due < due_end and wanted_places[due] == place:
                too_many -= wanted_counts[due]
                due += 1
            if too_many > 0:
                sources[n_sources], surplus[n_sources] = place, too_many
                n_sources += 1
            elif too_many < 0:
                sinks[n_sinks], lacking[n_sinks] = place, -too_many
                n_sinks += 1
        source_offsets[k + 1], sink_offsets[k + 1] = n_sources, n_sinks
        n_pairs += (n_sources - source_offsets[k]) * (n_sinks - sink_offsets[k])
    origin, target = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    pair = 0
    for k in range(len(users)):
        for i in range(source_offsets[k], source_offsets[k + 1]):
            for j in range(sink_offsets[k], sink_offsets[k + 1]):
                origin[pair], target[pair] = sources[i], sinks[j]
                pair += 1
    return (
        (source_offsets, sources[:n_sources], surplus[:n_sources]),
        (sink_offsets, sinks[:n_sinks], lacking[:n_sinks]),
        (origin, target),
    )


@njit(cache=True, nogil=True)
def choose_visit_moves(
    users: Array, event_offsets: Array, places: Array, chance: Array, source_offsets: Array,
    sources: Array, surplus: Array, sink_offsets: Array, sinks: Array, lacking: Array, cost: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Return which events move where at the least cost; of the visits to a place those of least chance."""
    events, targets = np.empty(surplus.sum(), np.int64), np.empty(surplus.sum(), np.int32)
    moved, pair = 0, 0
    for k in range(len(users)):
        i, i_end = source_offsets[k], source_offsets[k + 1]
        j, j_end = sink_offsets[k], sink_offsets[k + 1]
        if i == i_end:
            continue
        size = (i_end - i) * (j_end - j)
        own_cost = cost[pair : pair + size].reshape((i_end - i, j_end - j))
        flow = solve_transport(surplus[i:i_end], lacking[j:j_end], own_cost)
        pair += size
        begin = event_offsets[users[k]]
        own = slice(begin, event_offsets[users[k] + 1])
        leaving = events[moved : moved + surplus[i:i_end].sum()]
        _choose_leaving_events(begin, places[own], chance[own], sources[i:i_end], surplus[i:i_end], leaving)
        for source in range(i_end - i):
            for sink in range(j_end - j):
                targets[moved : moved + flow[source, sink]] = sinks[j + sink]
                moved += flow[source, sink]
    return events, targets


@njit(cache=True, nogil=True)
def _choose_leaving_events(
    begin: int, places: Array, chance: Array, sources: Array, surplus: Array, leaving: Array
) -> None:
    """Write the events that leave, source after source; the user's own begin with event `begin`."""
    free = np.cumsum(surplus) - surplus
    full = free + surplus
    for event in np.argsort(chance, kind="mergesort"):
        source = np.searchsorted(sources, places[event])
        if source < len(sources) and sources[source] == places[event] and free[source] < full[source]:
            leaving[free[source]] = begin + event
            free[source] += 1


# Random walks of whole days, `out` being fakes × instants and `draws` uniform numbers of the same shape:
# on running sums of the aggregate mobility (`start`, `steps`), or on the flat arrays of a user's own
# `MobilityProfiles`.


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


# Imitation. A row is one user's part of the day; its visits, and those of its model, are ranges of
# `places`. The model's counts c_k become whole shares of the row's n visits by largest remainders of
# n c_k / Σ c; the row's surplus then goes to its deficits by the transport above.


@njit(cache=True, nogil=True)
def compare_rows(
    begins: Array, ends: Array, model_begins: Array, model_ends: Array, places: Array,
    source_offsets: Array, sources: Array, sink_offsets: Array, sinks: Array,
) -> None:  # fmt: skip
    """Write what each row has too much of, and too little.

    Row r visits ``places[begins[r]:ends[r]]``, in ascending order, and should visit places in proportion to
    ``places[model_begins[r]:model_ends[r]]``. ``sources`` has columns for where the visits to a place begin,
    the place, and how many are too many; ``sinks`` for the place and how many are missing. Both have as much
    room as there can be rows.
    """
    n_sources, n_sinks = 0, 0
    source_offsets[0], sink_offsets[0] = 0, 0
    for r in range(begins.shape[0]):
        own = places[begins[r] : ends[r]]
        wanted, shares = _apportion_visits(np.sort(places[model_begins[r] : model_ends[r]]), own.shape[0])
        at, k = 0, 0
        while at < own.shape[0] or k < wanted.shape[0]:
            if at == own.shape[0] or (k < wanted.shape[0] and wanted[k] < own[at]):
                place, lacking, begin = wanted[k], shares[k], at
                k += 1
            else:
                place, begin = own[at], at
                while at < own.shape[0] and own[at] == place:
                    at += 1
                lacking = begin - at
                if k < wanted.shape[0] and wanted[k] == place:
                    lacking += shares[k]
                    k += 1
            if lacking < 0:
                sources[n_sources, 0], sources[n_sources, 1] = begin, place
                sources[n_sources, 2] = -lacking
                n_sources += 1
            elif lacking > 0:
                sinks[n_sinks, 0], sinks[n_sinks, 1] = place, lacking
                n_sinks += 1
        source_offsets[r + 1], sink_offsets[r + 1] = n_sources, n_sinks


@njit(cache=True, nogil=True)
def _apportion_visits(visits: Array, total: int) -> tuple[Array, Array]:
    """Share out a total in proportion to how often each place is visited (sorted), as `apportion_total`."""
    visited = np.empty(visits.shape[0], np.int64)
    counts = np.zeros(visits.shape[0], np.int64)
    n = 0
    for k in range(visits.shape[0]):
        if k == 0 or visits[k] != visits[k - 1]:
            visited[n] = visits[k]
            n += 1
        counts[n - 1] += 1
    shares = np.empty(n, np.int64)
    over = np.empty(n)
    missing = total
    for k in range(n):
        exact = counts[k] * (total / visits.shape[0])
        shares[k] = math.floor(exact)
        over[k] = shares[k] - exact
        missing -= shares[k]
    order = np.argsort(over, kind="mergesort")
    for k in range(missing):
        shares[order[k]] += 1
    return visited[:n], shares


@njit(cache=True, nogil=True)
def carry_rows(
    source_offsets: Array, sources: Array, sink_offsets: Array, sinks: Array, costs: Array, begins: Array,
    visits: Array, places: Array,
) -> None:  # fmt: skip
    """Write the visits that move, and where: the cheapest way from sources to sinks, row by row.

    `costs` holds sources × sinks of one row after the other.
    """
    done, cell = 0, 0
    for r in range(source_offsets.shape[0] - 1):
        own = sources[source_offsets[r] : source_offsets[r + 1]]
        other = sinks[sink_offsets[r] : sink_offsets[r + 1]]
        n, m = own.shape[0], other.shape[0]
        cost = costs[cell : cell + n * m].reshape(n, m)
        cell += n * m
        flow = solve_transport(own[:, 2].copy(), other[:, 1].copy(), cost)
        for i in range(n):
            visit = begins[r] + own[i, 0]
            for j in range(m):
                for _ in range(flow[i, j]):
                    visits[done], places[done] = visit, other[j, 0]
                    visit += 1
                    done += 1


# Trip ends. `xyz` are positions in metres, earth-centred, ordered by trajectory and time; `piece` numbers
# the trips.


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
