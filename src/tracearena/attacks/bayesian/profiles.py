"""Time profiles P_{u,t}(x): the probability that user u is at place x at time of day t.

Visit counts are smoothed over times of day by e^(-|Δt|/h) and over places by e^(-d/0.5 km), plus 0.4 of
the population's profile at t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32
from tracearena.errors import DataError
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces


@dataclass(frozen=True)
class ProfileSettings:
    """Constants of the time profiles."""

    nearby_share: float = 0.3
    """Share of a visit that counts for the places around. Chosen on the sample of Osaka and on
    virtual users."""
    nearby_km: float = 0.5
    """Range of that share: e^(-distance / nearby_km). Chosen on the same data."""
    population_weight: float = 0.4
    """Weight of the population's profile; the user's own has 1. Chosen on the same data."""
    temporal_kernels: tuple[tuple[float, float], ...] = (
        (1.0, 0.5), (1.0, 0.3), (1.0, 0.2), (0.5, 0.3), (0.5, 0.2), (2.0, 0.5),
    )  # fmt: skip
    """Kernels to choose from on the reference: hours h of e^(-|Δt|/h), and the share that counts for the
    whole day alike. The first was chosen on the same data, the others by hand."""
    kernel_gain: float = 0.01
    """The first kernel is kept unless another raises the mean log-likelihood of a visit by more than this.
    Chosen by hand, not tuned."""
    max_comparisons: float = 2e7
    """Pairs of visits that are compared to choose a kernel; of more, a part of the users. Chosen by hand, not
    tuned."""
    uniform_share: float = 0.001
    """Share of any place in the population's profile, so that none is ruled out. Chosen by hand, not
    tuned."""
    max_neighbours: int = 128
    """Places of a neighbourhood, the nearest ones. Chosen by hand, not tuned."""


SETTINGS = ProfileSettings()


class ProfileArrays(NamedTuple):
    """What the kernels need to compute the profile of a user.

    Attributes
    ----------
    visit_offsets, times, places, counts
        Visits of user ``u``: rows ``visit_offsets[u]:visit_offsets[u + 1]``, each with a time of day, a place
        and how often; sorted by place.
    in_time
        ``in_time[s, t]``: how a visit at time of day s counts for time of day t.
    space_offsets, space_members, space_weights
        A visit to place ``x`` counts for places ``space_members[space_offsets[x]:space_offsets[x + 1]]``, x
        among them, with these weights.
    population
        ``population[x, t]``: P_t(x) of all users together.
    population_weight
        Weight of `population` in a user's profile; her own visits have 1.
    """

    visit_offsets: Ints
    times: Ints32
    places: Ints32
    counts: Floats
    in_time: Floats
    space_offsets: Ints
    space_members: Ints32
    space_weights: Floats
    population: Floats
    population_weight: float


@dataclass(frozen=True, eq=False)
class TimeProfiles:
    """P_{u,t}(x) of every user, worked out for one user at a time.

    Attributes
    ----------
    n_places, clock
        What the numbers mean.
    offsets, times, places, counts
        Visits of each user by place and time of day: user ``u`` has rows ``offsets[u]:offsets[u + 1]``.
    in_time
        Row s: how a visit at time s counts for every time of day.
    in_space
        How a visit to a place counts for the places around.
    population
        Places × times of day: P_t(x) of everybody together.
    """

    n_places: int
    clock: Clock
    offsets: Ints
    times: Ints32
    places: Ints32
    counts: Floats
    in_time: Floats
    in_space: NeighbourWeights
    population: Floats

    @classmethod
    def of(
        cls, traces: Traces | ObfuscatedTraces, neighbourhoods: Neighbourhoods, in_time: Floats | None = None
    ) -> TimeProfiles:
        """Count the visits of every user; of a set of places each counts for a part of a visit.

        Parameters
        ----------
        in_time
            How visits count for every time of day; None takes them for those of usual people.
        """
        if isinstance(traces, ObfuscatedTraces):
            event, place, weight = traces.pairs()
        else:
            event, place, weight = np.arange(traces.n_events), traces.place_index, np.ones(traces.n_events)
        clock, m = traces.clock, len(traces.places)
        length = clock.instants_per_day
        time = clock.time_of_day(traces.instants[event])
        keys = (traces.user_index[event].astype(np.int64) * m + place) * length + time
        distinct, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, weight, len(distinct))
        rest, times = np.divmod(distinct, length)
        users, places = np.divmod(rest, max(m, 1))
        spread = np.where(
            neighbourhoods.distance_km > 0,
            SETTINGS.nearby_share * np.exp(-neighbourhoods.distance_km / SETTINGS.nearby_km),
            0.0,
        )
        in_space = _add_own_place(neighbourhoods, spread)
        if in_time is None:
            in_time = build_temporal_kernel(clock, *SETTINGS.temporal_kernels[0])
        table = np.zeros((m, length))
        np.add.at(table, (places, times), counts)
        population = _smooth_population(table, in_time, in_space)
        offsets = np.searchsorted(users, np.arange(traces.n_users + 1)).astype(np.int64)
        visits = offsets, times.astype(np.int32), places.astype(np.int32), counts.astype(np.float64)
        return cls(m, clock, *visits, in_time, in_space, population)

    @classmethod
    def with_fitted_kernel(cls, reference: Traces, neighbourhoods: Neighbourhoods) -> TimeProfiles:
        """Count the visits of every user, and find how far these people keep to times of day."""
        usual = cls.of(reference, neighbourhoods)
        found = fit_temporal_kernel(reference, usual.population, SETTINGS.population_weight)
        return usual if np.array_equal(found, usual.in_time) else cls.of(reference, neighbourhoods, found)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    @property
    def arrays(self) -> ProfileArrays:
        """Everything that the kernels need to work out a profile, in their order."""
        space = self.in_space
        visits = self.offsets, self.times, self.places, self.counts
        return ProfileArrays(
            *visits,
            self.in_time,
            space.offsets,
            space.members,
            space.weights,
            self.population,
            SETTINGS.population_weight,
        )

    def population_share(self, user: int) -> float:
        """Return the share of the population in the profile of a user; 1 for one without visits."""
        weight = SETTINGS.population_weight
        return weight / (1 + weight) if self.offsets[user + 1] > self.offsets[user] else 1.0

    def user_profile(self, user: int, profile: Floats | None = None) -> Floats:
        """Return places × times of day: where the user tends to be."""
        from tracearena.attacks.bayesian._profile_kernels import fill_profile

        if profile is None:
            profile = np.empty((self.n_places, self.clock.instants_per_day))
        fill_profile(user, self.arrays, profile)
        return profile

    def compute_population_gains(
        self, neighbourhoods: Neighbourhoods, worth: Floats, sensitive: Floats
    ) -> Floats:
        """Return places × times of day: what each answer is worth by the population's profile."""
        from tracearena.attacks.bayesian._profile_kernels import compute_profile_gains

        gains, nothing = np.empty_like(self.population), np.zeros_like(self.population)
        near = neighbourhoods.offsets, neighbourhoods.members, worth
        compute_profile_gains(self.population, nothing, nothing, 0.0, sensitive, *near, gains)
        return gains


def _add_own_place(neighbourhoods: Neighbourhoods, spread: Floats) -> NeighbourWeights:
    """Give the places around a place their share, and the place itself the rest."""
    rows = np.repeat(np.arange(len(neighbourhoods.offsets) - 1), np.diff(neighbourhoods.offsets))
    own = neighbourhoods.members == rows
    spread = np.where(own, 0.0, spread)
    total = np.bincount(rows, spread, len(neighbourhoods.offsets) - 1)[rows]
    share = np.where(total > 0, SETTINGS.nearby_share, 0.0)
    weights = np.where(own, 1.0 - share, spread * share / np.where(total > 0, total, 1.0))
    return NeighbourWeights(neighbourhoods.offsets, neighbourhoods.members, weights)


def _smooth_population(table: Floats, in_time: Floats, in_space: NeighbourWeights) -> Floats:
    from scipy.sparse import csr_array

    m = len(table)
    spread = csr_array((in_space.weights, in_space.members, in_space.offsets), shape=(m, m))
    smooth = np.asarray(spread.T @ (table @ in_time))
    total = smooth.sum(axis=0)
    uniform = 1.0 / max(m, 1)
    known = np.where(total > 0, smooth / np.where(total > 0, total, 1.0), uniform)
    return np.ascontiguousarray((1 - SETTINGS.uniform_share) * known + SETTINGS.uniform_share * uniform)


def weigh_sensitive_places(reference: Traces, sensitive_weight: float) -> Floats:
    """Return what finding somebody at each place is worth."""
    return np.where(reference.places.sensitive, sensitive_weight, 1.0)


def check_same_clock(reference: Traces, anonymized: ObfuscatedTraces) -> None:
    """Refuse to compare times of day of different clocks."""
    known, asked = reference.clock.instants_per_day, anonymized.clock.instants_per_day
    if known != asked:
        raise DataError(
            f"the reference traces have {known} instants per day, but the anonymized ones have "
            f"{asked}: they must have the same"
        )


# Temporal kernel: how much a visit tells about other times of day, fitted on held-out days.


def build_temporal_kernel(clock: Clock, hours: float, any_time: float) -> Floats:
    """Return in row s how a visit at time s counts for every time of day."""
    hour = np.arange(clock.instants_per_day) * clock.interval_s / 3600
    near = np.exp(-np.abs(hour[:, None] - hour[None, :]) / hours)
    near /= near.sum(axis=0)
    return np.asarray(any_time / len(hour) + (1 - any_time) * near)


def fit_temporal_kernel(reference: Traces, population: Floats, others: float) -> Floats:
    """Return how a visit counts for every time of day where people are as regular as these.

    Every visit of some users is predicted from their other days and from the population (leave one day
    out). Regular people are predicted best by visits at the same time of day; where days differ, or are
    few, visits at other times tell as much.

    Parameters
    ----------
    population
        Places × times of day: where everybody tends to be.
    others
        Weight of the population; the user's own visits have 1.
    """
    from tracearena.attacks.bayesian._profile_kernels import score_held_out_visits

    tables = np.stack(
        [build_temporal_kernel(reference.clock, *one) for one in SETTINGS.temporal_kernels], axis=2
    )
    # Users all over the list, as many as can be compared by every two of their visits.
    compared = np.diff(reference.offsets).astype(np.float64) ** 2
    every = max(int(np.ceil(compared.sum() / SETTINGS.max_comparisons)), 1)
    some = reference.take_users(np.arange(0, reference.n_users, every))
    times, days = some.clock.time_of_day(some.instants), some.clock.day_of(some.instants)
    likely = np.zeros(len(SETTINGS.temporal_kernels))
    visits = some.offsets, some.place_index, times, days
    scored = score_held_out_visits(*visits, tables, population, others, likely)
    if not scored:
        return tables[:, :, 0].copy()
    likely /= scored
    best = int(likely.argmax()) if likely.max() - likely[0] > SETTINGS.kernel_gain else 0
    return tables[:, :, best].copy()


# Neighbourhoods: the places around each place.


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """For each place those within a limit, itself included, the nearest first.

    Attributes
    ----------
    offsets, members, distance_km
        Place ``x`` has ``members[offsets[x]:offsets[x + 1]]`` around it, at these distances.
    """

    offsets: Ints
    members: Ints32
    distance_km: Floats

    @classmethod
    def of(cls, places: Places, limit_km: float, most: int = SETTINGS.max_neighbours) -> Neighbourhoods:
        """Find the places within `limit_km` of each place, at most `most` of them.

        >>> places = Places([0, 0, 0], [0, 0.01, 0.5], km_per_degree=(100, 100))
        >>> Neighbourhoods.of(places, 2.0).members.tolist()
        [0, 1, 1, 0, 2]
        """
        from scipy.spatial import KDTree

        points = places.points_km
        count = min(most, len(places))
        if not count:
            return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        distance, near = KDTree(points).query(points, k=count, distance_upper_bound=limit_km)
        distance, near = distance.reshape(len(places), count), near.reshape(len(places), count)
        found = np.isfinite(distance)
        # Where several places share a point, the tree may name another one instead of the place itself.
        own = near == np.arange(len(places))[:, None]
        lost = ~own.any(axis=1)
        near[lost, 0], distance[lost, 0] = np.flatnonzero(lost), 0.0
        offsets = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int64)
        return cls(offsets, near[found].astype(np.int32), distance[found])

    def build_weights(self, weight: Floats) -> NeighbourWeights:
        """Put weights on the neighbourhoods, which sum to 1 for each place."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        total = np.bincount(rows, weight, len(self.offsets) - 1)
        return NeighbourWeights(self.offsets, self.members, weight / total[rows])


@dataclass(frozen=True, eq=False)
class NeighbourWeights:
    """Rows of places with a weight each."""

    offsets: Ints
    members: Ints32
    weights: Floats
