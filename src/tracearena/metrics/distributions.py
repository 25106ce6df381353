"""Distributions of people over places and times: population, visit fractions, clusters.

All functions compare `traces` with a `reference` (such as the testing traces); 0 is perfect. In synthetic
traces, each day of a user is a separate trace. With ``by_day``, a metric is computed for every day number
over all users and then averaged, so that each comparison has one trace per user. ``traces=None`` is the
uniform baseline: every place is equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.errors import DataError
from tracearena.mobility.weighted import WeightedEvents, build_weighted_events, check_comparable
from tracearena.traces import Traces

if TYPE_CHECKING:
    from tracearena.mobility.weighted import AnyTraces


FRACTION_BINS = 24
_FEWEST_EVENTS = 5


def population(traces: AnyTraces) -> NDArray[np.float64]:
    """Return the distribution over places of all events in each slot, slots × places.

    Events of all users are pooled. A slot without events is uniform.

    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=2)
    >>> population(Traces.from_dense([[0, 1], [1, 1]], places, clock)).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    return _count_population(build_weighted_events(traces))


def _count_population(events: WeightedEvents) -> NDArray[np.float64]:
    slots, codes = events.clock.slots_per_day, events.n_codes
    cell = events.clock.slot_of(events.instants) * codes + events.codes
    counts = np.bincount(cell, minlength=slots * codes).reshape(slots, codes).astype(np.float64)
    return slot_shares(np.asarray(events.over_places(counts)))


def slot_shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distribution of each slot, from the weights of its places; uniform without any."""
    totals = weights.sum(axis=1, keepdims=True)
    uniform = 1 / max(weights.shape[1], 1)
    return np.where(totals > 0, weights / np.where(totals > 0, totals, 1), uniform)


def populations_to_compare(
    reference: AnyTraces, traces: AnyTraces | None, by_day: bool
) -> list[NDArray[np.float64]]:
    """Return the populations to be compared with the reference's: one, or one per day."""
    check_comparable(reference, traces)
    if traces is None:
        shape = reference.clock.slots_per_day, len(reference.places)
        return [np.full(shape, 1 / max(shape[1], 1))]
    events = build_weighted_events(traces)
    chosen = events.days() if by_day else [events]
    if not chosen or not len(events.codes):
        raise DataError("there are no events to compare")
    return [_count_population(one) for one in chosen]


def tp_tv(
    reference: AnyTraces, traces: AnyTraces | None, *, top: int | None = None, by_day: bool = False
) -> float:
    """Return the total variation of the time-dependent populations, averaged over slots.

    TP-TV = mean over slots t of ½ Σ_i |p_t(i) − q_t(i)|, from 0 (the same) to 1 ([1] section 4.3).

    Parameters
    ----------
    reference, traces
        The reference, and the traces to judge; None is the uniform baseline.
    top
        Sum only over the most visited places of the reference in each slot, this many (TP-TV-Top50 for 50).
    by_day
        Compare each day number by itself and average (synthetic traces).

    Notes
    -----
    If several places tie at rank `top`, [1] does not say which of them count. In its people-flow data, 20 to
    40 places tie in every slot, which changes the value by 0.001. The sort used here gives the published
    values to the last digit.

    References
    ----------
    .. [1] Murakami et al., Privacy-preserving multiple tensor factorization for synthesizing
       large-scale location traces with cluster-specific features, PoPETs 2021.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=1)
    >>> tp_tv(Traces.from_dense([[0], [1]], places, clock), Traces.from_dense([[0]], places, clock))
    0.5
    """
    if top is not None:
        require_whole("top", top, at_least=1)
    truth = population(reference)
    wanted: NDArray[np.bool_] | bool = True if top is None else most_visited(truth, top)
    distances = [
        population_tv(truth, other, wanted) for other in populations_to_compare(reference, traces, by_day)
    ]
    return float(np.mean(distances))


def population_tv(
    truth: NDArray[np.float64], other: NDArray[np.float64], wanted: NDArray[np.bool_] | bool = True
) -> float:
    """Return the total variation of two populations over the places wanted, averaged over slots."""
    return float((np.abs(truth - other) * wanted).sum(axis=1).mean() / 2)


def most_visited(distribution: NDArray[np.float64], top: int) -> NDArray[np.bool_]:
    """Return which places are the most visited ones of each slot."""
    from tracearena.metrics._kernels import legacy_argsort

    chosen = np.zeros(distribution.shape, bool)
    for slot, shares in enumerate(distribution):
        chosen[slot, legacy_argsort(shares)[::-1][:top]] = True
    return chosen


def visit_fractions(traces: Traces) -> NDArray[np.int64]:
    """Count, for each place, the users whose share of visits to it falls into each of 24 bins.

    Bin b is (b/24, (b + 1)/24]. Users with fewer than 5 events are left out, and so is a share of
    exactly 1, as in [1] section 4.3. Returns places × 24.

    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=6)
    >>> counts = visit_fractions(Traces.from_dense([[0, 1, 1, 1, 1, 1]], places, clock))
    >>> counts.nonzero()[1].tolist()  # one visit in six is 4/24, five are 20/24
    [3, 19]
    """
    return _visit_fractions(build_weighted_events(traces))


def _visit_fractions(events: WeightedEvents) -> NDArray[np.int64]:
    m = len(events.places)
    _, cells = fraction_cells(events.user_index.astype(np.int64), events.codes, m)
    return np.bincount(cells, minlength=m * FRACTION_BINS).reshape(m, FRACTION_BINS)


def fraction_cells(
    trace: NDArray[np.int64], place: NDArray[np.int64], n_places: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which bin the share of each trace at each of its places falls into.

    Parameters
    ----------
    trace, place
        One value per event.

    Returns
    -------
    trace, cell
        One value per share that counts: the trace, and place × 24 + bin.
    """
    m = max(n_places, 1)
    totals = np.bincount(trace)
    cells, visits = np.unique(trace * m + place, return_counts=True)
    owner, at = np.divmod(cells, m)
    total = totals[owner] if len(owner) else visits
    counting = (total >= _FEWEST_EVENTS) & (visits < total)
    # Whole numbers throughout: a share on the border of two bins belongs to the lower one, always.
    share_bin = -(-FRACTION_BINS * visits[counting] // total[counting]) - 1
    return owner[counting], at[counting] * FRACTION_BINS + share_bin


def category_fractions(traces: Traces) -> dict[str, NDArray[np.int64]]:
    """Return the sum of `visit_fractions` over the places of each category ([1] Figure 11).

    A visitor counts once for each visited place of the category.

    >>> from tracearena.traces import Clock, Places
    >>> places = Places([0, 1, 2], [0, 0, 0], categories=["Bar", "Park", "Bar"])
    >>> traces = Traces.from_dense([[0, 2, 2, 1, 1, 1]], places, Clock(instants_per_day=6))
    >>> {name: counts.nonzero()[0].tolist() for name, counts in category_fractions(traces).items()}
    {'Bar': [3, 7], 'Park': [11]}
    """
    if traces.places.categories is None:
        raise DataError("the places have no categories")
    names, category = np.unique(traces.places.categories, return_inverse=True)
    sums = np.zeros((len(names), FRACTION_BINS), np.int64)
    np.add.at(sums, category, visit_fractions(traces))
    return dict(zip(names.tolist(), sums, strict=True))


def vf_tv(
    reference: Traces, traces: Traces | None, *, training: Traces | None = None, by_day: bool = False
) -> float | None:
    """Return the total variation of the distributions of visit fractions, averaged over places.

    VF-TV ([1] section 4.3): for each place the histogram over users of `visit_fractions`, and half
    the L1 distance between reference and traces.

    Parameters
    ----------
    training
        If given, only places with visit fractions in both reference and training traces count.

    Returns
    -------
    float or None
        None if no place counts, because users have too few events or only one place each.

    Notes
    -----
    A place that the judged traces never visit has all its mass in the lowest bin. The same holds for all
    places of the uniform baseline.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=6)
    >>> seldom = Traces.from_dense([[0, 1, 1, 1, 1, 1]], places, clock)
    >>> often = Traces.from_dense([[0, 0, 0, 1, 1, 1]], places, clock)
    >>> vf_tv(seldom, seldom), vf_tv(seldom, often)
    (0.0, 1.0)
    """
    check_comparable(reference, traces)
    truth = visit_fractions(reference)
    counting = truth.sum(axis=1) > 0
    if training is not None:
        counting &= visit_fractions(training).sum(axis=1) > 0
    if not counting.any():
        return None
    if traces is None:
        return fraction_tv(truth, np.zeros_like(truth), counting)
    events = build_weighted_events(traces)
    chosen = events.days() if by_day else [events]
    return float(np.mean([fraction_tv(truth, _visit_fractions(one), counting) for one in chosen]))


def fraction_tv(truth: NDArray[np.int64], other: NDArray[np.int64], counting: NDArray[np.bool_]) -> float:
    """Return the total variation of two counts of visit fractions, averaged over the places that count."""
    lowest = np.zeros(FRACTION_BINS)
    lowest[0] = 1
    truth, other = truth[counting], other[counting]
    totals = other.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, other / np.maximum(totals, 1), lowest)
    return float(np.abs(truth / truth.sum(axis=1, keepdims=True) - shares).sum(axis=1).mean() / 2)


@dataclass(frozen=True, eq=False)
class ClusterPopulations:
    """Populations of each cluster in the training and in the synthetic traces.

    Attributes
    ----------
    users
        Clusters × members: index of the training users, the strongest first.
    training, synthetic
        Clusters × places: distribution of all events of the members.
    total_variation
        Of each cluster, between the two; 0 is the same.
    """

    users: NDArray[np.int64]
    training: NDArray[np.float64]
    synthetic: NDArray[np.float64]
    total_variation: NDArray[np.float64]


def cluster_populations(
    strengths: NDArray[np.float64], training: Traces, synthetic: Traces, *, share: float = 0.1
) -> ClusterPopulations:
    """Compare the populations of the clusters that a model found ([1] section 4.3 (d)).

    Parameters
    ----------
    strengths
        Users × clusters, such as the factor matrix A: row n belongs to training user n, and the
        users with the largest values of a column are its cluster.
    synthetic
        Traces made from the training users, under their ids.
    share
        Share of the users that form a cluster, above 0 and at most 1.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=1)
    >>> training = Traces.from_dense([[0], [1]], places, clock)
    >>> synthetic = Traces.from_dense([[0], [0]], places, clock)
    >>> found = cluster_populations(np.eye(2), training, synthetic)
    >>> found.users.tolist(), found.total_variation.tolist()
    ([[0], [1]], [0.0, 1.0])
    """
    require_number("share", share, above=0, at_most=1)
    if len(strengths) != training.n_users or not np.array_equal(training.user_ids, synthetic.user_ids):
        raise DataError("strengths, training and synthetic traces must have the same users")
    size = max(round(share * len(strengths)), 1)
    users = np.argsort(-strengths, axis=0, kind="stable")[:size].T

    def pool(traces: Traces, members: NDArray[np.int64]) -> NDArray[np.float64]:
        counts = np.bincount(traces.take_users(members).place_index, minlength=len(traces.places))
        return counts / counts.sum() if counts.any() else np.full(len(counts), 1 / len(counts))

    before, after = (
        np.array([pool(traces, members) for members in users]) for traces in (training, synthetic)
    )
    return ClusterPopulations(users, before, after, np.abs(before - after).sum(axis=1) / 2)
