"""Inner loops of imitation: what each user has too much and too little of, and the moves that mend it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.obfuscation._cluster_kernels import solve_transport

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def compare_rows(
    begins: Array,
    ends: Array,
    model_begins: Array,
    model_ends: Array,
    places: Array,
    source_offsets: Array,
    sources: Array,
    sink_offsets: Array,
    sinks: Array,
) -> None:
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
    """Share out a total in proportion to how often each place is visited (sorted), as `rounded` does."""
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
    source_offsets: Array,
    sources: Array,
    sink_offsets: Array,
    sinks: Array,
    costs: Array,
    begins: Array,
    visits: Array,
    places: Array,
) -> None:
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
