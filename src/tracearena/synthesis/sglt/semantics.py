"""Location semantics: the semantic graph of places, its classes, and the seed traces of SGLT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import (
    SeedLike,
    block_ranges,
    fold_blocks,
    generator,
    library_state,
    one_library_thread,
)
from tracearena.errors import DataError
from tracearena.metrics.similarity import RankedPlaces
from tracearena.mobility import MobilityProfiles
from tracearena.traces import Places, Traces

USERS_PER_BLOCK = 512
MOST_PLACES = 16_384
MOST_STARTS = 1_000
"""Starts of k-means."""


def semantic_graph(profiles: MobilityProfiles, *, seed: SeedLike = None) -> NDArray[np.float64]:
    """Return a matrix of places × places: how similarly different people use two places.

    w(r, r') is the sum of P(τ) · similarity(u, v) over all pairs of users u ≠ v and periods τ in which the
    best mapping of the places of u on those of v pairs r with r' ([sglt] section 4.1, zeroth order).

    Parameters
    ----------
    profiles
        Profiles of all seed users.
    seed
        Seed of the order of equally visited places; with short traces, it has a large effect.

    Notes
    -----
    All pairs of users are compared without a table of pairs: in addition to the graph, a block of users needs
    one number per user. The order of tied places is drawn once per user, not once per pair.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1, 2, 3], [0, 0, 0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1], [2, 2, 2, 3]], places, clock)
    >>> semantic_graph(MobilityProfiles.of(traces)).tolist()
    [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    return sum_pairs(profiles, RankedPlaces.of(profiles, seed=seed), weighted=False)


def sum_pairs(profiles: MobilityProfiles, ranked: RankedPlaces, *, weighted: bool) -> NDArray[np.float64]:
    """Add up P(τ) · similarity(u, v) over all pairs u ≠ v for the places that share a rank.

    Parameters
    ----------
    ranked
        The visited places of every user and period in the order in which they are paired.
    weighted
        Multiply what a pair of places adds by the smaller of its two visit probabilities.
    """
    m = profiles.n_places
    if m > MOST_PLACES:
        raise DataError(f"a graph of {m:,} places is too large; merge them to {MOST_PLACES:,} or fewer")
    by_rank = _group_by_rank(ranked, len(profiles.periods))

    def work(block: int, first: int, stop: int) -> NDArray[np.float64]:
        from tracearena.synthesis.sglt._kernels import add_pairs

        graph, similarity = np.zeros((m, m)), np.zeros(profiles.n_users)
        own = ranked.offsets, ranked.places, ranked.shares
        add_pairs(first, stop, profiles.periods.shares, own, by_rank, weighted, similarity, graph)
        return graph

    if profiles.n_users == 0:
        return np.zeros((m, m))
    one_way = fold_blocks(work, block_ranges(profiles.n_users, USERS_PER_BLOCK), anywhere=True)
    return np.asarray(one_way + one_way.T)


def _group_by_rank(
    ranked: RankedPlaces, periods: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Regroup by period and rank: offsets, and users, places and probabilities within."""
    lengths = np.diff(ranked.offsets)
    ranks = max(int(lengths.max(initial=0)), 1)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(len(rows)) - ranked.offsets[rows]
    user, period = np.divmod(rows, periods)
    group = period * ranks + rank
    order = np.lexsort([user, group])
    offsets = np.searchsorted(group[order], np.arange(periods * ranks + 1)).astype(np.int64)
    return offsets, user[order].astype(np.int32), ranked.places[order], ranked.shares[order]


# Semantic classes: places that mean the same, found by clustering the semantic graph.


@dataclass(frozen=True, eq=False)
class LocationClasses:
    """A partition of the places.

    Attributes
    ----------
    class_of
        Class of each place, from 0.
    offsets, members
        Places of class c are ``members[offsets[c]:offsets[c + 1]]``, ascending.
    """

    class_of: NDArray[np.int32]
    offsets: NDArray[np.int64]
    members: NDArray[np.int32]

    @classmethod
    def of(cls, labels: NDArray[np.integer]) -> LocationClasses:
        """Build from a label for each place; classes are numbered by their first place.

        >>> LocationClasses.of(np.array([7, 3, 7])).class_of.tolist()
        [0, 1, 0]
        """
        _, first, label = np.unique(labels, return_index=True, return_inverse=True)
        renumbered = np.empty(len(first), np.int32)
        renumbered[np.argsort(first)] = np.arange(len(first))
        class_of = renumbered[label]
        members = np.argsort(class_of, kind="stable").astype(np.int32)
        offsets = np.searchsorted(class_of[members], np.arange(len(first) + 1)).astype(np.int64)
        return cls(class_of, offsets, members)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of places of each class."""
        return np.diff(self.offsets)


def find_classes(
    graph: NDArray[np.float64], classes: int | None = None, *, starts: int = 1, seed: SeedLike = None
) -> LocationClasses:
    """Cluster the places by k-means on their rows of the graph (cosine similarity).

    Parameters
    ----------
    graph
        Places × places, not negative, symmetric.
    classes
        Number of classes, at least 1; at most the number of different rows. None chooses the number with the
        best `separation` among about twelve.
    starts
        Number of starts of k-means, at least 1; the clustering with the least inertia is kept.
    seed
        Seed of the starts of k-means.

    Notes
    -----
    Rows are scaled to length 1 before k-means, so that it clusters by cosine similarity (the default of the
    program that the paper used). Without scaling, k-means would separate places by popularity, and every
    popular place would be a class of its own. Raw, L1 and logarithmic rows were also tried on people-flow
    data; this scaling was chosen because its results come closest to the published ones.
    """
    m = len(graph)
    if m == 0:
        raise DataError("there are no places to classify")
    length = np.sqrt((graph**2).sum(axis=1, keepdims=True))
    rows = graph / np.where(length > 0, length, 1)
    different = len(np.unique(rows.round(12), axis=0))
    rng = generator(seed)
    require_whole("starts", starts, at_least=1, at_most=MOST_STARTS)
    if classes is not None:
        require_whole("classes", classes, at_least=1)
        return _run_k_means(rows, min(int(classes), different), starts, rng)
    tried = [_run_k_means(rows, count, starts, rng) for count in candidate_class_counts(different)]
    return max(tried, key=lambda found: separation(graph, found))


def candidate_class_counts(different: int) -> Sequence[int]:
    """Return the numbers of classes to try: rising evenly in ratio from 4 to a quarter of the places.

    >>> candidate_class_counts(400)
    [4, 6, 8, 11, 14, 20, 28, 38, 53, 72, 100]
    """
    top = max(different // 4, min(different, 4))
    steps = np.geomspace(min(4, top), top, 11)
    return sorted({round(float(step)) for step in steps})


def separation(graph: NDArray[np.float64], classes: LocationClasses) -> float:
    """Return the mean weight within classes divided by the mean weight between classes.

    Notes
    -----
    The paper prints the inverse ratio and maximises it, which would put different places into one class.
    """
    same = classes.class_of[:, None] == classes.class_of[None, :]
    np.fill_diagonal(same, False)
    apart = classes.class_of[:, None] != classes.class_of[None, :]
    within = graph[same].mean() if same.any() else 0.0
    between = graph[apart].mean() if apart.any() else 0.0
    if between == 0:
        return float("inf") if within > 0 else 0.0
    return float(within / between)


def _run_k_means(
    rows: NDArray[np.float64], count: int, starts: int, rng: np.random.Generator
) -> LocationClasses:
    from sklearn.cluster import KMeans

    state = library_state(rng)
    if count == 1:
        return LocationClasses.of(np.zeros(len(rows), np.int32))
    with one_library_thread():
        labels = KMeans(count, n_init=starts, random_state=state).fit(rows).labels_
    return LocationClasses.of(labels)


# Classes by repeated bisection of the semantic graph, as in the published program.

STARTS = 6
"""Random starts of a bisection, of which the best is kept."""


def bisect_graph(
    graph: NDArray[np.float64], classes: int | None = None, *, seed: SeedLike = None
) -> LocationClasses:
    """Repeatedly bisect the part with the largest gain, until there are enough classes.

    The criterion of a partition is Σ √(weight within a class). Each bisection is the best of several local
    searches that move one place at a time. Weights are first divided by the larger total weight of their two
    places, so that classes contain places that are used in the same way and equally often.

    Parameters
    ----------
    graph
        Places × places, not negative, symmetric.
    classes
        Number of classes, at least 1 and at most the places; None chooses the number with the best
        `separation` among about twelve.
    seed
        Seed of the random starts.

    Notes
    -----
    Repeated bisection with this criterion is the default of the toolkit that [sglt] names. How the program
    scales its graph is not known. More than a hundred ways to cluster were tried, about thirty of them
    measured by TP-TV, and this scaling was chosen because it comes closest to the published table of
    people-flow data. Agreement with that table is therefore not an independent check.

    Examples
    --------
    >>> pairs = np.kron(np.eye(2), np.ones((2, 2)))
    >>> bisect_graph(pairs, 2, seed=1).class_of.tolist()
    [0, 0, 1, 1]
    """
    m = len(graph)
    if m == 0:
        raise DataError("there are no places to classify")
    if classes is not None:
        require_whole("classes", classes, at_least=1)
    wanted = [min(int(classes), m)] if classes is not None else list(candidate_class_counts(m))
    total = graph.sum(axis=1)
    larger = np.maximum(total[:, None], total[None, :])
    weights = np.ascontiguousarray(graph / np.where(larger > 0, larger, 1))
    rng = generator(seed)
    parts = [_GraphPart.of(weights, np.arange(m), rng)]
    found: list[LocationClasses] = []
    for count in wanted:
        while len(parts) < count:
            best = max(range(len(parts)), key=lambda number: parts[number].gain)
            part = parts[best]
            parts[best] = _GraphPart.of(weights, part.places[part.side == 0], rng)
            parts.append(_GraphPart.of(weights, part.places[part.side == 1], rng))
        labels = np.empty(m, np.int64)
        for number, part in enumerate(parts):
            labels[part.places] = number
        found.append(LocationClasses.of(labels))
    return max(found, key=lambda one: separation(graph, one))


@dataclass(frozen=True, eq=False)
class _GraphPart:
    """A set of places, its best cut, and what the cut gains."""

    places: NDArray[np.int64]
    side: NDArray[np.int8]
    gain: float

    @classmethod
    def of(
        cls, weights: NDArray[np.float64], places: NDArray[np.int64], rng: np.random.Generator
    ) -> _GraphPart:
        from tracearena.synthesis.sglt._kernels import ROUNDS, improve_bisection

        n = len(places)
        if n == 1:
            return cls(places, np.zeros(1, np.int8), -np.inf)
        mine = np.ascontiguousarray(weights[np.ix_(places, places)])
        whole = np.sqrt(mine.sum())
        value, side = -np.inf, np.zeros(n, np.int8)
        for _ in range(STARTS):
            tried = rng.permutation(np.arange(n) % 2).astype(np.int8)
            orders = np.stack([rng.permutation(n) for _ in range(ROUNDS)])
            reached = improve_bisection(mine, orders, tried)
            if reached > value:
                value, side = reached, tried
        return cls(places, side, value - whole)


# Seed traces: days without gaps, and not too many places.


@dataclass(frozen=True, eq=False)
class DaySeeds:
    """Days without gaps, one per row.

    Attributes
    ----------
    places
        Rows × instants of a day: the place at each instant.
    users
        Index of each row's user; ascending.
    days
        Day of each row.
    """

    places: NDArray[np.int32]
    users: NDArray[np.int64]
    days: NDArray[np.int64]

    @classmethod
    def of(cls, traces: Traces) -> DaySeeds:
        """Take every day on which a user has an event and fill its gaps.

        If there are several events at one instant, the first counts. A gap between two events is filled along
        a straight line, with the places nearest to it. Before the first event of a day and after the last,
        the user stays in place.

        Examples
        --------
        >>> from tracearena.traces import Clock
        >>> places = Places([0, 0, 0], [0, 1, 2])
        >>> traces = Traces.from_dense([[-1, 0, -1, 2]], places, Clock(instants_per_day=4))
        >>> DaySeeds.of(traces).places.tolist()
        [[0, 0, 1, 2]]
        """
        length = traces.clock.instants_per_day
        day, time = traces.clock.day_of(traces.instants), traces.clock.time_of_day(traces.instants)
        user = traces.user_index.astype(np.int64)
        span = int(day.max(initial=0)) + 1
        keys, row = np.unique(user * span + day, return_inverse=True)
        table = np.full((len(keys), length), -1, np.int32)
        _, first = np.unique(row * length + time, return_index=True)
        table[row[first], time[first]] = traces.place_index[first]
        users, days = np.divmod(keys, span)
        return cls(_fill_table(table, traces.places), users, days)

    def rows_of(self, users: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of a day of each user, by its number; after the last day the first comes again."""
        first = np.searchsorted(self.users, users)
        days = np.searchsorted(self.users, users, side="right") - first
        return first + numbers % days

    def take(self, chosen: NDArray[np.bool_]) -> DaySeeds:
        """Return some of the rows."""
        return DaySeeds(self.places[chosen], self.users[chosen], self.days[chosen])

    def as_traces(self, like: Traces) -> Traces:
        """Return the filled days under the users of the traces that they were made from."""
        length = self.places.shape[1]
        whole_days = like.span[0] // length * length, -(-like.span[1] // length) * length
        return Traces.from_events(
            like.user_ids[np.repeat(self.users, length)],
            (self.days[:, None] * length + np.arange(length)).ravel(),
            self.places.ravel(),
            like.places,
            like.clock,
            user_ids=like.user_ids,
            span=like.span if len(self.days) == 0 else whole_days,
        )


def fill_gaps(traces: Traces) -> Traces:
    """Return the traces with an event at every instant of every day that has one ([sglt] section 5.1).

    >>> from tracearena.traces import Clock
    >>> places = Places([0, 0, 0], [0, 1, 2])
    >>> traces = Traces.from_dense([[0, -1, 2, -1]], places, Clock(instants_per_day=4))
    >>> fill_gaps(traces).dense().tolist()
    [[0, 1, 2, 2]]
    """
    return DaySeeds.of(traces).as_traces(traces)


def _fill_table(table: NDArray[np.int32], places: Places) -> NDArray[np.int32]:
    known = table >= 0
    if known.all():
        return table
    columns = np.arange(table.shape[1])
    before = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, columns, table.shape[1])[:, ::-1], axis=1)[:, ::-1]
    before = np.where(before < 0, after, before)
    after = np.where(after == table.shape[1], before, after)
    rows = np.arange(len(table))[:, None]
    start, end = table[rows, before], table[rows, after]
    filled = np.where(start == end, start, table)
    row, column = np.nonzero(filled < 0)
    between = after[row, column] - before[row, column]
    share = (column - before[row, column]) / between
    # The place nearest to the point that lies `share` of the way from start to end.
    from scipy.spatial import cKDTree

    points = places.points_km
    origin, destination = points[start[row, column]], points[end[row, column]]
    wanted = origin + share[:, None] * (destination - origin)
    filled[row, column] = cKDTree(points).query(wanted)[1]
    return filled


@dataclass(frozen=True, eq=False)
class MergedPlaces:
    """The result of `merge_places`.

    Attributes
    ----------
    traces
        The same events at the merged places.
    merged_into
        For each old place, the index of the merged place.
    """

    traces: Traces
    merged_into: NDArray[np.int32]


def merge_places(traces: Traces, places: int) -> MergedPlaces:
    """Join nearby, rarely visited places until only `places` are left ([sglt] section 5.1).

    Agglomerative clustering: the two places with the smallest distance times the product of their visits are
    merged repeatedly. A merged place is at the mean of its members, weighted by visits. It has the id and
    category of the most visited one, and is sensitive if any member is.

    Parameters
    ----------
    places
        Number of places to keep, at least 1.

    Notes
    -----
    Visits are counted from 1 up, so that unvisited places are merged with near ones.

    Examples
    --------
    >>> from tracearena.traces import Clock
    >>> row = Places([0, 0, 0, 0], [0, 1, 2, 10], km_per_degree=(111, 111))
    >>> traces = Traces.from_dense([[0, 0, 0, 1, 2, 3, 3]], row, Clock(instants_per_day=7))
    >>> merge_places(traces, 3).merged_into.tolist()
    [0, 1, 1, 2]
    """
    require_whole("places", places, at_least=1)
    from tracearena.synthesis.sglt._kernels import join_nearest

    old = traces.places
    weight = np.bincount(traces.place_index, minlength=len(old)).astype(np.float64) + 1
    # The kernel writes into both of its arrays.
    label = join_nearest(np.array(old.points_km), weight.copy(), int(places))
    into = LocationClasses.of(label).class_of
    total = np.bincount(into, weights=weight)
    leading = np.lexsort((-weight, into))[np.searchsorted(np.sort(into), np.arange(len(total)))]
    joined = Places(
        np.bincount(into, weights=weight * old.latitude) / total,
        np.bincount(into, weights=weight * old.longitude) / total,
        ids=old.ids[leading],
        sensitive=np.bincount(into, weights=old.sensitive) > 0,
        categories=None if old.categories is None else old.categories[leading],
        km_per_degree=old.km_per_degree,
    )
    return MergedPlaces(traces.onto(joined, into), into)
