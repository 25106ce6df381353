"""Moves within a budget: events released elsewhere, what each loses, and how many can be afforded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import Places, Traces

FARTHEST_KM = 1e9
"""No distance that a defence is given may be longer."""

_ROUNDING = 1e-9


class Moves(NamedTuple):
    """Events that may be released elsewhere: which, where, and the utility each loses (0 to 1)."""

    events: NDArray[np.int64]
    places: NDArray[np.int32]
    losses: NDArray[np.float64]


def budget_of(original: Traces, threshold: float) -> float:
    """Return what all moves together may lose, so that no rounding breaks the threshold."""
    return (1 - threshold - _ROUNDING) * original.n_events


def priced(original: Traces, events: NDArray[np.int64], places: NDArray[np.int32], limit_km: float) -> Moves:
    """Return the moves of events to places, with what each loses: its distance / `limit_km`, at most 1."""
    distance = original.places.distance_km(original.place_index[events], places)
    return Moves(events, places, np.minimum(distance / limit_km, 1))


def affordable(
    original: Traces,
    moves: Moves,
    chance: NDArray[np.float64],
    budget: float,
    gain: NDArray[np.float64] | None = None,
) -> Moves:
    """Return the moves that the budget allows, those of the least loss for their gain first.

    Parameters
    ----------
    chance
        One random number an event: the order among equals of a user.
    gain
        What each move is worth; without, all the same. Among equals the users whose moves lose least
        come first, so that as many as possible are finished.
    """
    order = in_order(original, moves, chance, gain)
    return taken(moves, order[np.cumsum(moves.losses[order]) <= budget])


def in_order(
    original: Traces, moves: Moves, chance: NDArray[np.float64], gain: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Return the order in which moves are carried out; see `affordable`."""
    user = original.user_index[moves.events]
    total = np.bincount(user, moves.losses, original.n_users)
    price = moves.losses if gain is None else moves.losses / gain
    return np.lexsort((chance[moves.events], user, total[user], price))


def taken(moves: Moves, chosen: NDArray[np.intp]) -> Moves:
    """Return some of the moves, by index, in the order given."""
    return Moves(moves.events[chosen], moves.places[chosen], moves.losses[chosen])


def sensitive_swaps(original: Traces, limit_km: float) -> Moves:
    """Return a move to the nearest other sensitive place for every visit to a sensitive place."""
    nearest = nearest_sensitive(original.places)
    events = np.flatnonzero(nearest[original.place_index] != original.place_index)
    return priced(original, events, nearest[original.place_index[events]], limit_km)


def nearest_sensitive(places: Places) -> NDArray[np.int32]:
    """Return for a sensitive place the nearest other one, and for any other place itself."""
    sensitive = np.flatnonzero(places.sensitive)
    nearest = np.arange(len(places), dtype=np.int32)
    if len(sensitive) > 1:
        from scipy.spatial import KDTree

        points = places.points_km[sensitive]
        neighbours = KDTree(points).query(points, k=2)[1]
        other = np.where(neighbours[:, 0] == np.arange(len(sensitive)), neighbours[:, 1], neighbours[:, 0])
        nearest[sensitive] = sensitive[other]
    return nearest


def blur(places: Places, blur_km: float) -> Any:
    """Return places × places, the Gaussian weight of each place near each other."""
    from scipy.sparse import csr_matrix
    from scipy.spatial import KDTree

    tree = KDTree(places.points_km)
    near = tree.sparse_distance_matrix(tree, 3 * blur_km, output_type="ndarray")
    weight = np.exp(-((near["v"] / blur_km) ** 2) / 2)
    return csr_matrix((weight, (near["i"], near["j"])), shape=(len(places),) * 2)
