"""Loops over users of cluster averaging: what each visits too often or too rarely, and which visits move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.obfuscation._kernels import transport

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def imbalances(
    users: Array,
    visit_offsets: Array,
    visited: Array,
    visit_counts: Array,
    list_of: Array,
    wanted_offsets: Array,
    wanted_places: Array,
    wanted_counts: Array,
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array], tuple[Array, Array]]:
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
def moved_visits(
    users: Array,
    event_offsets: Array,
    places: Array,
    chance: Array,
    source_offsets: Array,
    sources: Array,
    surplus: Array,
    sink_offsets: Array,
    sinks: Array,
    lacking: Array,
    cost: Array,
) -> tuple[Array, Array]:
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
        flow = transport(surplus[i:i_end], lacking[j:j_end], own_cost)
        pair += size
        begin = event_offsets[users[k]]
        own = slice(begin, event_offsets[users[k] + 1])
        leaving = events[moved : moved + surplus[i:i_end].sum()]
        _least_chance(begin, places[own], chance[own], sources[i:i_end], surplus[i:i_end], leaving)
        for source in range(i_end - i):
            for sink in range(j_end - j):
                targets[moved : moved + flow[source, sink]] = sinks[j + sink]
                moved += flow[source, sink]
    return events, targets


@njit(cache=True, nogil=True)
def _least_chance(
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
