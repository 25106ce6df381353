"""Log-likelihood ratios S[p,u] of trace p for user u, by three models.

Dirichlet-multinomial (Pólya): Σ_y Σ_{k < b_p(y)} log(α_y + a_u(y) + k), a_u(y) = Σ_x c_u(x) E(y|x).
Markov chain: P_u(y|x,t) = [c_u(xy) + β((1-γ)P_{u,t}(y) + γQ(y|x))] / (c_u(x) + β).
Time profile: Σ log Σ_x P_{u,t}(x) E(y|x). Only `CandidatePairs` are scored by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32
from tracearena.attacks.bayesian.channel import NOTHING, Channel, ObservationAlphabet
from tracearena.attacks.bayesian.profiles import OTHERS, TimeProfiles
from tracearena.engine import block_ranges, run_blocks
from tracearena.traces import Clock
from tracearena.traces._arrays import unique_values

Table = Callable[[int, int], Floats]
"""Scores of all traces for the users from one number up to another: traces × users."""

_USERS_PER_BLOCK = 64
_MOST_KEPT = 8_000_000


class CandidatePairs(NamedTuple):
    """Pairs of a trace and a user who may be behind it, by trace, users ascending.

    Attributes
    ----------
    offsets, users
        Trace ``p`` may be ``users[offsets[p]:offsets[p + 1]]``.
    n_users
        Number of users in all.
    """

    offsets: Ints
    users: Ints32
    n_users: int

    @property
    def traces(self) -> Ints:
        """The trace of each pair."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def by_user(self) -> tuple[Ints, Ints]:
        """Return where the pairs of each user begin, and their numbers, traces ascending."""
        order = np.argsort(self.users, kind="stable")
        offsets = np.searchsorted(self.users[order], np.arange(self.n_users + 1))
        return offsets.astype(np.int64), order.astype(np.int64)

    @classmethod
    def of(cls, traces: Ints, users: Ints, n_traces: int, n_users: int) -> CandidatePairs:
        """Put pairs in order, each once."""
        keys = unique_values(traces * np.int64(n_users) + users)
        trace, user = np.divmod(keys, max(n_users, 1))
        offsets = np.searchsorted(trace, np.arange(n_traces + 1))
        return cls(offsets.astype(np.int64), user.astype(np.int32), n_users)


def build_all_pairs(n_traces: int, n_users: int) -> CandidatePairs:
    """Return all pairs."""
    users = np.tile(np.arange(n_users, dtype=np.int32), n_traces)
    return CandidatePairs(np.arange(n_traces + 1, dtype=np.int64) * n_users, users, n_users)


def find_best_pairs(
    tables: Sequence[Table], n_traces: int, n_users: int, keep: int
) -> tuple[CandidatePairs, list[Floats] | None]:
    """Return the `keep` best users of each trace and the best traces of each user, by the sum of tables.

    Exact: every pair is scored, a block of users at a time. Where all scores can be kept meanwhile, those of
    the pairs are returned too, by table.
    """
    from tracearena.attacks.bayesian._profile_kernels import keep_best

    is_kept = n_traces * n_users <= _MOST_KEPT
    chooses = keep < n_users and n_traces > 0
    if not chooses and not is_kept:
        return build_all_pairs(n_traces, n_users), None
    kept = [np.empty((n_users, n_traces)) for _ in tables] if is_kept else None
    size = keep if chooses else 0
    best_scores = np.full((n_traces, size), -np.inf)
    best_users = np.full((n_traces, size), np.iinfo(np.int64).max, np.int64)
    of_user = min(size, n_traces)
    lock = Lock()

    def work(block: int, first: int, stop: int) -> Ints:
        scores = np.zeros((n_traces, stop - first))
        for number, table in enumerate(tables):
            of_kind = table(first, stop)
            scores += of_kind
            if kept is not None:
                kept[number][first:stop] = of_kind.T
        own_traces = np.full((stop - first, of_user), np.iinfo(np.int64).max, np.int64)
        if chooses:
            with lock:
                keep_best(scores, first, best_scores, best_users)
            own_scores = np.full((stop - first, of_user), -np.inf)
            keep_best(scores.T, 0, own_scores, own_traces)
        return own_traces

    found = run_blocks(work, block_ranges(n_users, _USERS_PER_BLOCK))
    if chooses:
        traces = np.concatenate([np.repeat(np.arange(n_traces), keep), *(one.ravel() for one in found)])
        users = np.concatenate([best_users.ravel(), np.repeat(np.arange(n_users), of_user)])
        pairs = CandidatePairs.of(traces, users, n_traces, n_users)
    else:
        pairs = build_all_pairs(n_traces, n_users)
    return pairs, None if kept is None else [one[pairs.users, pairs.traces] for one in kept]


# Pólya evidence: counts of observations.

ALPHA = 3.0
"""Prior counts of every user, distributed as those of the population."""


class ObservationCounts(NamedTuple):
    """How often each trace says each symbol: trace ``p`` has rows ``offsets[p]:offsets[p + 1]``."""

    offsets: Ints
    symbols: Ints32
    counts: Ints

    @classmethod
    def of(cls, owner: Ints32, symbols: Ints32, n_traces: int, n_symbols: int) -> ObservationCounts:
        """Count the symbols of every trace; an event that says nothing does not count."""
        kept = symbols != NOTHING
        keys = owner[kept].astype(np.int64) * n_symbols + symbols[kept]
        distinct, counts = np.unique(keys, return_counts=True)
        traces, said = np.divmod(distinct, max(n_symbols, 1))
        offsets = np.searchsorted(traces, np.arange(n_traces + 1))
        return cls(offsets.astype(np.int64), said.astype(np.int32), counts.astype(np.int64))

    @property
    def totals(self) -> Ints:
        """Number of events of each trace."""
        summed = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(summed[self.offsets[1:]] - summed[self.offsets[:-1]])


@dataclass(frozen=True, eq=False)
class PolyaModel:
    """a_u(y): how often each user is expected to be released as each symbol.

    Attributes
    ----------
    offsets, symbols, values
        Expected counts of user ``u``: rows ``offsets[u]:offsets[u + 1]``.
    totals
        Number of events of each user; each adds the `floor` to every symbol.
    floor, alpha
        By symbol: probability from anywhere, and what everybody is believed to have done before.
    """

    offsets: Ints
    symbols: Ints32
    values: Floats
    totals: Floats
    floor: Floats
    alpha: Floats

    @classmethod
    def from_visits(cls, visits: ObservationCounts, emission: Channel, n_places: int) -> PolyaModel:
        """Send the visits of every user through the mechanism: a_u(y) = Σ_x c_u(x) E(y|x)."""
        from scipy.sparse import csr_array

        n_symbols = len(emission.floor)
        through = emission.values, emission.places, emission.offsets
        by_symbol = csr_array(through, shape=(n_symbols, n_places))
        counts = visits.counts.astype(np.float64), visits.symbols, visits.offsets
        by_user = csr_array(counts, shape=(len(visits.offsets) - 1, n_places))
        expected = (by_user @ by_symbol.T.tocsr()).tocsr()
        expected.sort_indices()
        offsets, symbols = expected.indptr.astype(np.int64), expected.indices.astype(np.int32)
        return cls._with_prior(
            offsets, symbols, expected.data, visits.totals.astype(np.float64), emission.floor
        )

    @classmethod
    def from_counts(cls, bags: ObservationCounts, n_symbols: int) -> PolyaModel:
        """Take the counts of released traces as they are."""
        floor = np.full(n_symbols, 1e-6)
        return cls._with_prior(
            bags.offsets, bags.symbols, bags.counts.astype(np.float64), bags.totals.astype(np.float64), floor
        )

    @classmethod
    def _with_prior(
        cls, offsets: Ints, symbols: Ints32, values: Floats, totals: Floats, floor: Floats
    ) -> PolyaModel:
        population = np.bincount(symbols, values, len(floor)) + floor * totals.sum() + 1e-9
        return cls(offsets, symbols, values, totals, floor, ALPHA * population / population.sum())

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    def baseline(self, bags: ObservationCounts) -> Floats:
        """Return the score that a user like the whole population would have for each trace."""
        from tracearena.attacks.bayesian._profile_kernels import score_polya_pairs

        scores = np.empty(len(bags.offsets) - 1)
        mean = float(self.totals.mean()) if self.n_users else 0.0
        nobody = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0)
        alpha = self.alpha * (1 + mean / ALPHA)
        pairs = np.array([0, len(scores)], np.int64), np.arange(len(scores))
        zeros = np.zeros(len(scores))
        score_polya_pairs(
            0, 1, *pairs, *bags, *nobody, np.zeros(1), self.floor, alpha, ALPHA + mean, zeros, scores
        )
        return scores

    def table(self, bags: ObservationCounts) -> Callable[[int, int], Floats]:
        """Return what scores all traces for some users: traces × users ``first`` to ``stop``."""
        from tracearena.attacks.bayesian._profile_kernels import score_polya_block

        n_traces = len(bags.offsets) - 1
        used, compact = np.unique(bags.symbols, return_inverse=True)
        order = np.lexsort((bags.counts, compact))
        rows = np.repeat(np.arange(n_traces), np.diff(bags.offsets))[order]
        occurrences = np.searchsorted(compact[order], np.arange(len(used) + 1)), rows, bags.counts[order]
        place_of = np.full(len(self.alpha), -1, np.int64)
        place_of[used] = np.arange(len(used))
        baseline, said = self.baseline(bags), bags.totals.astype(np.float64)

        def block(first: int, stop: int) -> Floats:
            expected = self.alpha[used][:, None] + self.floor[used][:, None] * self.totals[None, first:stop]
            own = slice(self.offsets[first], self.offsets[stop])
            user = np.repeat(np.arange(stop - first), np.diff(self.offsets[first : stop + 1]))
            at = place_of[self.symbols[own]]
            known = at >= 0
            expected[at[known], user[known]] += self.values[own][known]
            scores = np.empty((n_traces, stop - first))
            score_polya_block(expected, self.totals[first:stop] + ALPHA, *occurrences, said, baseline, scores)
            return scores

        return block

    def scores(self, bags: ObservationCounts, pairs: CandidatePairs) -> Floats:
        """Return the log-likelihood ratio of each pair to a user like the whole population."""
        from tracearena.attacks.bayesian._profile_kernels import score_polya_pairs

        own = self.offsets, self.symbols, self.values, self.totals, self.floor, self.alpha
        baseline = self.baseline(bags)

        def score(first: int, stop: int, offsets: Ints, rows: Ints, scores: Floats) -> None:
            score_polya_pairs(first, stop, offsets, rows, *bags, *own, ALPHA, baseline, scores)

        return _score_by_user(pairs, score, 64)


# Markov evidence: transitions.

SHARE = 0.6
"""γ: share of the population's transitions in the prior of a user's next place."""
WEIGHT = 15.0
"""β: transitions that the prior counts for, in addition to the user's own from that place."""


class ObservationSteps(NamedTuple):
    """The events of every trace that say something, each with the one an instant before it, if any.

    Attributes
    ----------
    offsets
        Trace ``p`` has steps ``offsets[p]:offsets[p + 1]``.
    origins, targets, times
        Symbol before (-1 where there is none), symbol now, time of day now.
    """

    offsets: Ints
    origins: Ints32
    targets: Ints32
    times: Ints32

    @classmethod
    def of(
        cls, owner: Ints32, instants: Ints32, symbols: Ints32, clock: Clock, n_traces: int
    ) -> ObservationSteps:
        """Join successive events of a day."""
        kept = np.flatnonzero(symbols != NOTHING)
        owner, instants, said = owner[kept], instants[kept], symbols[kept]
        follows = np.zeros(len(kept), bool)
        day = clock.day_of(instants)
        follows[1:] = (np.diff(owner) == 0) & (np.diff(instants) == 1) & (np.diff(day) == 0)
        origins = np.where(follows, np.concatenate([[-1], said[:-1]])[: len(said)], -1).astype(np.int32)
        offsets = np.searchsorted(owner, np.arange(n_traces + 1)).astype(np.int64)
        return cls(offsets, origins, said.astype(np.int32), clock.time_of_day(instants).astype(np.int32))

    @property
    def owner(self) -> Ints:
        """The trace of each step."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class TransitionCounts(NamedTuple):
    """How often each user went from one symbol to another, sorted by user, origin and target."""

    offsets: Ints
    origins: Ints32
    targets: Ints32
    counts: Floats

    @classmethod
    def of(cls, steps: ObservationSteps, n_symbols: int) -> TransitionCounts:
        """Count the steps that have an origin."""
        led = steps.origins >= 0
        n = np.int64(n_symbols)
        keys = (steps.owner[led] * n + steps.origins[led]) * n + steps.targets[led]
        distinct, counts = np.unique(keys, return_counts=True)
        rest, targets = np.divmod(distinct, n)
        users, origins = np.divmod(rest, n)
        offsets = np.searchsorted(users, np.arange(len(steps.offsets))).astype(np.int64)
        return cls(offsets, origins.astype(np.int32), targets.astype(np.int32), counts.astype(np.float64))


@dataclass(frozen=True, eq=False)
class PopulationTransitions:
    """Q(y|x): where everybody goes from a symbol, as sorted keys with their probabilities."""

    n_symbols: int
    keys: Ints
    values: Floats

    @classmethod
    def of(cls, moves: TransitionCounts, n_symbols: int) -> PopulationTransitions:
        """Sum the moves of all users."""
        keys = moves.origins.astype(np.int64) * n_symbols + moves.targets
        distinct, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, moves.counts, len(distinct))
        origin = distinct // max(n_symbols, 1)
        leaving = np.bincount(origin, counts, n_symbols)
        return cls(n_symbols, distinct, counts / leaving[origin])

    def __call__(self, origins: Ints32, targets: Ints32) -> Floats:
        """Return Q of each step; 0 for what nobody did, and without an origin."""
        wanted = origins.astype(np.int64) * self.n_symbols + targets
        at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.zeros(len(wanted))
        return np.where((self.keys[at] == wanted) & (origins >= 0), self.values[at], 0.0)


def compute_markov_scores(
    pairs: CandidatePairs,
    symbols: ObservationAlphabet,
    steps: ObservationSteps,
    model: ObservationSteps,
    habits: TimeProfiles,
    population: PopulationTransitions,
) -> Floats:
    """Return for each pair how much likelier its trace's steps are for its user than for anybody.

    Parameters
    ----------
    steps, model
        Steps of the traces (rows of the pairs) and of the users.
    habits
        Of the users.
    """
    from tracearena.attacks.bayesian._profile_kernels import score_markov_pairs

    n = len(symbols)
    begins = steps.origins < 0
    origins = np.where(begins, n, steps.origins)
    keys = origins * np.int64(n) + steps.targets
    usual = SHARE * population(steps.origins, steps.targets)
    # Steps end at a symbol and a time of day; the places that it names are listed once for each such end.
    length = habits.clock.instants_per_day
    distinct, end_of = np.unique(steps.targets * np.int64(length) + steps.times, return_inverse=True)
    said, times = np.divmod(distinct, length)
    sizes = np.diff(symbols.offsets)[said]
    end_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    member = np.repeat(symbols.offsets[said] - end_offsets[:-1], sizes) + np.arange(end_offsets[-1])
    ends = end_offsets, symbols.members[member], times.astype(np.int32)
    at_place = habits.population[ends[1], np.repeat(ends[2], sizes)]
    anybody = np.bincount(np.repeat(np.arange(len(said)), sizes), at_place, len(said))[end_of]
    # Where a chain begins there is no transition: time profiles alone are compared.
    ordinary = (1 - SHARE) * anybody + np.where(begins, 0.0, usual)
    moves = TransitionCounts.of(model, n)
    own = moves.offsets, moves.origins, moves.origins * np.int64(n) + moves.targets, moves.counts
    chains = steps.offsets, origins, keys, end_of, WEIGHT * usual, 1 / ordinary

    def score(first: int, stop: int, offsets: Ints, rows: Ints, scores: Floats) -> None:
        score_markov_pairs(
            first, stop, offsets, rows, *chains, *ends, *own, n, habits.arrays, OTHERS, SHARE, WEIGHT, scores
        )

    return _score_by_user(pairs, score, 16)


# Profile evidence: times of day.


class ProfileLikelihood:
    """Σ log Σ_x P_{u,t}(x) E(y|x) over the events of a trace, as a ratio to anybody's."""

    def __init__(self, steps: ObservationSteps, habits: TimeProfiles, emission: Channel) -> None:
        from tracearena.attacks.bayesian._profile_kernels import fill_release_profile

        length = habits.clock.instants_per_day
        used, compact = np.unique(steps.targets, return_inverse=True)
        width = np.int64(len(used) * length)
        distinct, counts = np.unique(steps.owner * width + compact * length + steps.times, return_counts=True)
        owner, said = np.divmod(distinct, max(int(width), 1))
        through = used, emission.offsets, emission.places, emission.values, emission.floor
        ordinary = np.empty((len(used), length))
        fill_release_profile(habits.population, *through, ordinary)
        self.n_traces = len(steps.offsets) - 1
        self.said = np.searchsorted(owner, np.arange(self.n_traces + 1)), said, counts.astype(np.float64)
        self.habits = habits.arrays
        self.through = *through, np.log(ordinary).ravel()

    def table(self) -> Table:
        """Return what scores all traces for some users."""
        every = np.arange(self.n_traces)

        def block(first: int, stop: int) -> Floats:
            scores = np.empty((stop - first, self.n_traces))
            offsets = np.array([0, self.n_traces], np.int64)
            for user in range(first, stop):
                self._fill(user, user + 1, offsets, every, scores[user - first], user)
            return scores.T

        return block

    def scores(self, pairs: CandidatePairs) -> Floats:
        """Return the log-likelihood ratio of each pair."""
        return _score_by_user(pairs, self._fill, 16)

    def _fill(
        self, first: int, stop: int, offsets: Ints, rows: Ints, scores: Floats, first_listed: int = 0
    ) -> None:
        from tracearena.attacks.bayesian._profile_kernels import score_profile_pairs

        score_profile_pairs(
            first, stop, offsets, first_listed, rows, *self.said, self.habits, OTHERS, *self.through, scores
        )


PairScorer = Callable[[int, int, Ints, Ints, Floats], None]
"""Writes the scores of some users' pairs: first and last user, where their pairs begin, traces, scores."""


def _score_by_user(pairs: CandidatePairs, score: PairScorer, users_per_block: int) -> Floats:
    """Return the score of each pair, worked out user by user."""
    offsets, order = pairs.by_user()
    rows, ordered, scores = pairs.traces[order], np.empty(len(order)), np.empty(len(order))

    def work(block: int, first: int, stop: int) -> None:
        score(first, stop, offsets, rows, ordered)

    run_blocks(work, block_ranges(pairs.n_users, users_per_block))
    scores[order] = ordered
    return scores
