"""Usefulness for services: POI accuracy of a release, and how similar fake traces are to real ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.dataframes import Result
from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError
from tracearena.traces import ObfuscatedTraces, Places, Traces

if TYPE_CHECKING:
    from scipy.sparse import csr_array


NEARBY_KM, SENT_KM = 1.0, 2.0
"""How far POIs may be that a user looks for, and that the service sends ([contest] 5.5)."""
_PLACES_PER_BLOCK = 64


@dataclass(frozen=True)
class PoiAccuracy(Result):
    """Share of the POIs near a user that a service finds from the released place.

    Attributes
    ----------
    poi_accuracy
        Mean share of nearby POIs that are sent, from 0 to 1 (all of them).
    events
        Number of events with a POI nearby; other events do not count.
    pois
        Number of POIs looked at.
    """

    poi_accuracy: float
    events: int
    pois: int


def poi_accuracy_score(
    original: Traces,
    obfuscated: ObfuscatedTraces,
    pois: Places,
    *,
    category: str | None = "food",
) -> PoiAccuracy:
    """Return the share of POIs near each original place that are near the released one ([contest] 5.5).

    The service sends all POIs within 2 km of the released place (of any place of a set; none for a deleted
    event), and the user keeps those within 1 km of the true place.

    Parameters
    ----------
    original, obfuscated
        The same events in the same order.
    pois
        Points with coordinates; distances are measured by the rule of the traces' places.
    category
        Only POIs whose category begins with this word and a slash; None takes all.

    Examples
    --------
    >>> from tracearena.traces import Clock
    >>> places = Places([0, 0.05], [0, 0], km_per_degree=(100, 100))
    >>> cafes = Places([0, 0.005], [0, 0], categories=["food/Café", "food/Café"])
    >>> original = Traces.from_dense([[0, 0]], places, Clock(instants_per_day=2))
    >>> poi_accuracy_score(original, ObfuscatedTraces.like(original, [0, 1]), cafes).poi_accuracy
    0.5
    """
    if not obfuscated.has_rows_of(original):
        raise DataError("the obfuscated traces were not made from these original traces")
    if category is not None:
        if pois.categories is None:
            raise DataError("these POIs have no categories")
        chosen = np.char.startswith(pois.categories, f"{category}/")
        if not chosen.any():
            known = sorted({str(one).partition("/")[0] for one in pois.categories})
            raise DataError(
                f"there is no POI of category {category!r}; the categories are {', '.join(known[:10])}"
            )
        pois = Places(pois.latitude[chosen], pois.longitude[chosen])
    rule = original.places.km_per_degree
    points, centres = (
        Places(some.latitude, some.longitude, km_per_degree=rule).points_km
        for some in (pois, original.places)
    )
    near = _find_within(centres, points, NEARBY_KM)
    sent = _build_sent_rows(obfuscated, _find_within(centres, points, SENT_KM))
    counted = np.diff(near.indptr)[original.place_index] > 0
    if not counted.any():
        raise DataError(f"no event has a POI within {NEARBY_KM:g} km")
    code = np.where(obfuscated.codes >= 0, obfuscated.codes, len(original.places) - 1 - obfuscated.codes)
    shares = _nearby_shares(near, sent, original.place_index[counted], code[counted])
    return PoiAccuracy(float(shares.mean()), int(counted.sum()), len(points))


def _find_within(centres: NDArray[np.float64], points: NDArray[np.float64], radius_km: float) -> csr_array:
    """Return centres × points: 1 where the point lies within the radius (both ends included)."""
    from scipy.sparse import csr_array
    from scipy.spatial import KDTree

    found = KDTree(points).query_ball_point(centres, radius_km, return_sorted=True)
    sizes = np.array([len(one) for one in found])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    members = np.concatenate([np.zeros(0, np.int64), *(np.asarray(one, np.int64) for one in found)])
    return csr_array((np.ones(len(members)), members, offsets), shape=(len(centres), len(points)))


def _build_sent_rows(obfuscated: ObfuscatedTraces, around: csr_array) -> csr_array:
    """Return what is sent: a row for each place, an empty one for a deletion, one for each set."""
    from scipy.sparse import csr_array, vstack

    sets = obfuscated.sets
    listed = csr_array(
        (np.ones(len(sets.members)), sets.members, sets.offsets), shape=(len(sets), around.shape[0])
    )
    union = csr_array(listed @ around)
    union.data[:] = 1
    nothing = csr_array((1, around.shape[1]))
    return csr_array(vstack([around, nothing, union]))


def _nearby_shares(
    near: csr_array, sent: csr_array, place: NDArray[np.int32], code: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return for each event the share of the POIs near its place that are sent for its code."""
    from scipy.sparse import csr_array

    pair, event_pair = np.unique(place.astype(np.int64) * sent.shape[0] + code, return_inverse=True)
    pair_place, pair_code = np.divmod(pair, sent.shape[0])
    total = np.diff(near.indptr)
    shares = np.empty(len(pair))
    to_code = csr_array(sent.T)

    def work(block: int, first: int, stop: int) -> None:
        own = slice(*np.searchsorted(pair_place, [first, stop]))
        common = (near[first:stop] @ to_code).toarray()
        shares[own] = common[pair_place[own] - first, pair_code[own]] / total[pair_place[own]]

    run_blocks(work, block_ranges(near.shape[0], _PLACES_PER_BLOCK))
    return np.asarray(shares[event_pair])


# What published fake traces keep of the real ones: where people are, and how they divide their time.


def kullback_leibler(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Return Σ p ln(p/q) of two distributions, in nats.

    >>> kullback_leibler(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    0.0
    """
    positive = p > 0
    return float((p[positive] * np.log(p[positive] / q[positive])).sum())


def spatial_allocation(counts: NDArray[np.float64], top: int | None = None) -> NDArray[np.float64]:
    """Return the shares of visits of the most visited place, the second, and so on.

    Parameters
    ----------
    counts
        Visits of each place.
    top
        Look only at this number of the most visited places.

    Notes
    -----
    One visit is added to each place, so that places which one data set leaves out can be compared
    ([sglt] section 5.3).
    """
    if top is not None:
        require_whole("top", top, at_least=1)
    smooth = np.sort(np.asarray(counts, float))[::-1][:top] + 1
    return np.asarray(smooth / smooth.sum())


def visit_divergence(real: Traces, other: Traces | NDArray[np.float64], *, top: int | None = None) -> float:
    """Return the KL divergence of the visit shares of real traces from those of others.

    The places of each data set are sorted by its own popularity ([sglt] Tables 2 and 3).

    Parameters
    ----------
    other
        Traces, or the visits of each place in a baseline.
    top
        Use only this many of the most popular places.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1]], places, clock)
    >>> visit_divergence(traces, Traces.from_dense([[1, 1, 1, 0]], places, clock))
    0.0
    """
    counts = []
    for one in (real, other):
        if isinstance(one, Traces):
            if not one.n_events:
                raise DataError("there are no events to compare")
            counts.append(np.bincount(one.place_index, minlength=len(one.places)).astype(np.float64))
        else:
            counts.append(np.asarray(one, float))
    # The added visit must weigh the same in both, whatever the number of traces.
    counts[1] = counts[1] * (counts[0].sum() / counts[1].sum())
    p, q = (spatial_allocation(one, top) for one in counts)
    return kullback_leibler(p, q)


def time_allocation(traces: Traces, rank: int) -> NDArray[np.float64]:
    """Return, for each user with events, the share of time at her `rank`-th most visited place.

    Parameters
    ----------
    rank
        1 is the most visited place; a user with fewer places has the share 0.
    """
    require_whole("rank", rank, at_least=1)
    offsets, _, counts = traces.visit_counts()
    users = np.repeat(np.arange(traces.n_users), np.diff(offsets))
    order = np.lexsort((-counts, users))
    place_rank = np.arange(len(order)) - offsets[users]
    chosen = order[place_rank == rank - 1]
    shares = np.zeros(traces.n_users)
    shares[users[chosen]] = counts[chosen]
    totals = np.diff(traces.offsets)
    return shares[totals > 0] / totals[totals > 0]


def time_divergence(real: Traces, other: Traces | NDArray[np.float64], rank: int) -> float:
    """Return the KL divergence of the users' time at their `rank`-th place ([sglt] Table 4).

    The shares of all users are sorted in descending order and scaled to sum to 1. Data sets of different size
    are compared at the same quantiles.

    Parameters
    ----------
    other
        Traces with one person per user, or the shares of a baseline.
    """
    mine = time_allocation(real, rank)
    theirs = time_allocation(other, rank) if isinstance(other, Traces) else np.asarray(other, float)
    if not len(mine) or not len(theirs):
        raise DataError("there are no users to compare")
    at = (np.arange(len(mine)) + 0.5) / len(mine)
    p, q = (np.quantile(shares, at) + 1e-6 for shares in (mine, theirs))
    return kullback_leibler(p / p.sum(), q / q.sum())
