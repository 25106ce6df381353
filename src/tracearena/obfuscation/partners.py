"""Partners: for every user another one who lives much like her, drawn so that nobody can compute whom."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import one_library_thread, stream
from tracearena.obfuscation.moves import blur
from tracearena.traces import Traces

PARTS_OF_DAY = 4
"""People are alike if they are at the same places in the same quarter of the day."""
NEIGHBOURS = 6
"""The noise is measured by the difference of a usual user to her sixth-nearest."""


def parts_of_day(original: Traces, parts: int) -> NDArray[np.int64]:
    """Return for each event the part of its day, of `parts` equally long ones.

    >>> from tracearena.traces import Clock, Places
    >>> day = Traces.from_dense([[0] * 6], Places([0], [0]), Clock(instants_per_day=6))
    >>> parts_of_day(day, 3).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    clock = original.clock
    return clock.time_of_day(original.instants) * parts // clock.instants_per_day


def partners(
    original: Traces,
    blur_km: float,
    noise: float,
    seed: np.random.SeedSequence,
    *,
    most_together: int = 2_000,
    sparse_share: float = 0.1,
) -> NDArray[np.int64]:
    """Return the partner of each user: everybody is somebody's partner, and nobody her own.

    Users are described by where they are in each quarter of the day, blurred. The assignment has the
    least total difference after `noise` × (the difference to a usual sixth-nearest user) × Exp(1)
    was added to every pair: whoever knows the users as well as we do still cannot tell who was
    given whom. One user alone is her own partner.

    Parameters
    ----------
    most_together
        Partners are sought among at most this many users, those of one part of the map.
    sparse_share
        Descriptions with a larger share of cells that are not zero are compared as dense tables. Only the
        time depends on it.
    """
    described = _described(original, blur_km)
    partner = np.arange(original.n_users)
    for number, group in enumerate(_neighbourhoods(original, most_together)):
        if len(group) > 1:
            difference = _differences(described[group], sparse_share)
            partner[group] = group[_assigned(difference, noise, stream(seed, number))]
    return partner


def _described(original: Traces, blur_km: float) -> Any:
    """Return users × (part of the day, place): how often she is near that place then."""
    from scipy.sparse import csr_matrix, hstack

    shape = original.n_users, len(original.places)
    part = parts_of_day(original, PARTS_OF_DAY)
    tables = []
    for one in range(PARTS_OF_DAY):
        users, visited = original.user_index[part == one], original.place_index[part == one]
        tables.append(csr_matrix((np.ones(len(users)), (users, visited)), shape=shape))
    if blur_km > 0:
        near = blur(original.places, blur_km)
        tables = [table @ near for table in tables]
    return csr_matrix(hstack(tables))


def _neighbourhoods(original: Traces, most_together: int) -> list[NDArray[np.int64]]:
    """Cut the users in two, east and west or north and south, until no part has too many."""
    points = original.places.points_km[original.place_index]
    visits = np.maximum(np.bincount(original.user_index, minlength=original.n_users), 1)
    centres = np.column_stack(
        [np.bincount(original.user_index, axis, original.n_users) / visits for axis in points.T]
    )
    waiting, small = [np.arange(original.n_users)], []
    while waiting:
        group = waiting.pop()
        if len(group) <= most_together:
            small.append(group)
            continue
        widest = np.argmax(np.ptp(centres[group], axis=0))
        order = group[np.argsort(centres[group, widest], kind="stable")]
        waiting += [np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])]
    return small


def _differences(described: Any, sparse_share: float) -> NDArray[np.float64]:
    """Return the Euclidean distance of every two users' descriptions.

    Blurred tables of a small city are hardly sparse, and a sparse product of them is slow.
    """
    squared = np.asarray(described.multiply(described).sum(axis=1)).ravel()
    if described.nnz > sparse_share * np.prod(described.shape):
        dense = described.toarray()
        with one_library_thread():
            product = dense @ dense.T
    else:
        product = (described @ described.T).toarray()
    difference: NDArray[np.float64] = np.sqrt(
        np.maximum(squared[:, None] + squared[None, :] - 2 * product, 0)
    )
    return difference


def _assigned(
    difference: NDArray[np.float64], noise: float, chance: np.random.Generator
) -> NDArray[np.int64]:
    """Return the assignment of least total difference and noise in which nobody gets herself."""
    from scipy.optimize import linear_sum_assignment

    n = len(difference)
    np.fill_diagonal(difference, np.inf)
    neighbour = min(NEIGHBOURS, n - 1) - 1
    usual = float(np.median(np.partition(difference, neighbour, axis=1)[:, neighbour])) or 1.0
    cost = difference / usual
    if noise > 0:
        cost += noise * chance.exponential(size=(n, n))
    highest = cost[np.isfinite(cost)].max()
    np.fill_diagonal(cost, (highest + 1) * n)
    return np.asarray(linear_sum_assignment(cost)[1], np.int64)
