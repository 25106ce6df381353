"""Log-likelihood ratios S_f[p,u] of trace p for user u: the kinds of evidence f in `KINDS`, by three models.

Dirichlet-multinomial (Pólya): Σ_y Σ_{k < b_p(y)} log(α_y + a_u(y) + k) - Σ_{k < b_p} log(α + a_u + k), where
a_u(y) = Σ_x c_u(x) E(y|x), and b_p, α and a_u without y are the sums over all y;
`polya` counts all events, `home` those in the first and last hour of a day, and `simulation` takes a_u from
simulated releases of the user instead of from E. Before visits are counted, E is sharpened
(`Channel.sharpen`).
Markov chain (`markov`): P_u(y|x,t) = [c_u(xy) + β((1-γ)P_{u,t}(y) + γQ(y|x))] / (c_u(x) + β), where Q(y|x)
are the relative frequencies of the population.
Time profile (`profile`): Σ log Σ_x P_{u,t}(x) E(y|x).

Each is a ratio to the likelihood for the whole population. Only `CandidatePairs` are scored by all kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32, Mask
from tracearena.attacks.bayesian.channel import NOTHING, Channel, ObservationAlphabet, SimulatedRelease
from tracearena.attacks.bayesian.pairs import CandidatePairs, Table, find_best_pairs
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.engine import block_ranges, run_blocks
from tracearena.traces import Clock, ObfuscatedTraces, Traces


@dataclass(frozen=True)
class LikelihoodSettings:
    """Constants of the likelihoods, with the symbols of the formulas above."""

    alpha: float = 3.0
    """Sum of α_y: prior counts of every user. Chosen on the sample of Osaka and on virtual users."""
    transition_share: float = 0.6
    """γ: share of the population's Q in the prior of the next place. Chosen on the same data. Tracking
    has a γ of its own (`TrackingSettings.transition_share`)."""
    transition_weight: float = 15.0
    """β: transitions that this prior counts for. Chosen on the same data."""
    home_hours: float = 1.0
    """Hours at the beginning and the end of a day in which people tend to be at home. Chosen on the
    same data."""
    simulated_floor: float = 1e-6
    """Probability of an observation that simulated releases of a user do not show. Chosen by hand, not
    tuned."""
    mixture_scale: float = 0.1
    """What mixtures are multiplied by before calibration scales them. Chosen by hand, not tuned."""
    max_work: float = 1e8
    """Candidates of a trace times events: with more, fewer candidates are kept. Chosen by hand, not tuned."""
    min_candidates: int = 64
    """Candidates that every trace and user keeps. Chosen by hand, not tuned."""


SETTINGS = LikelihoodSettings()


# Pólya evidence: counts of observations.


class ObservationCounts(NamedTuple):
    """How often each trace says each observation: trace ``p`` has rows ``offsets[p]:offsets[p + 1]``."""

    offsets: Ints
    observations: Ints32
    counts: Ints

    @classmethod
    def of(cls, owner: Ints32, observations: Ints32, n_traces: int, alphabet_size: int) -> ObservationCounts:
        """Count the observations of every trace; an event that says nothing does not count."""
        kept = observations != NOTHING
        keys = owner[kept].astype(np.int64) * alphabet_size + observations[kept]
        distinct, counts = np.unique(keys, return_counts=True)
        traces, observed = np.divmod(distinct, max(alphabet_size, 1))
        offsets = np.searchsorted(traces, np.arange(n_traces + 1))
        return cls(offsets.astype(np.int64), observed.astype(np.int32), counts.astype(np.int64))

    @property
    def totals(self) -> Ints:
        """Number of events of each trace."""
        summed = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(summed[self.offsets[1:]] - summed[self.offsets[:-1]])


@dataclass(frozen=True, eq=False)
class PolyaModel:
    """a_u(y): how often each user is expected to be released as each observation.

    Attributes
    ----------
    offsets, observations, values
        Expected counts of user ``u``: rows ``offsets[u]:offsets[u + 1]``.
    totals
        Number of events of each user; each adds the `floor` to every observation.
    floor, alpha
        By observation: probability from anywhere, and what everybody is believed to have done before.
    """

    offsets: Ints
    observations: Ints32
    values: Floats
    totals: Floats
    floor: Floats
    alpha: Floats

    @classmethod
    def from_visits(cls, visits: ObservationCounts, channel: Channel, n_places: int) -> PolyaModel:
        """Send the visits of every user through the mechanism: a_u(y) = Σ_x c_u(x) E(y|x)."""
        from scipy.sparse import csr_array

        alphabet_size = len(channel.floor)
        through = channel.values, channel.places, channel.offsets
        by_observation = csr_array(through, shape=(alphabet_size, n_places))
        counts = visits.counts.astype(np.float64), visits.observations, visits.offsets
        by_user = csr_array(counts, shape=(len(visits.offsets) - 1, n_places))
        expected = (by_user @ by_observation.T.tocsr()).tocsr()
        expected.sort_indices()
        offsets, observations = expected.indptr.astype(np.int64), expected.indices.astype(np.int32)
        return cls._with_prior(
            offsets, observations, expected.data, visits.totals.astype(np.float64), channel.floor
        )

    @classmethod
    def from_counts(cls, trace_counts: ObservationCounts, alphabet_size: int) -> PolyaModel:
        """Take the counts of released traces as they are."""
        floor = np.full(alphabet_size, SETTINGS.simulated_floor)
        return cls._with_prior(
            trace_counts.offsets,
            trace_counts.observations,
            trace_counts.counts.astype(np.float64),
            trace_counts.totals.astype(np.float64),
            floor,
        )

    @classmethod
    def _with_prior(
        cls, offsets: Ints, observations: Ints32, values: Floats, totals: Floats, floor: Floats
    ) -> PolyaModel:
        population = np.bincount(observations, values, len(floor)) + floor * totals.sum() + 1e-9
        return cls(
            offsets, observations, values, totals, floor, SETTINGS.alpha * population / population.sum()
        )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    def baseline(self, trace_counts: ObservationCounts) -> Floats:
        """Return the score that a user like the whole population would have for each trace."""
        from tracearena.attacks.bayesian._likelihood_kernels import score_polya_pairs

        scores = np.empty(len(trace_counts.offsets) - 1)
        mean = float(self.totals.mean()) if self.n_users else 0.0
        nobody = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0)
        alpha = self.alpha * (1 + mean / SETTINGS.alpha)
        pairs = np.array([0, len(scores)], np.int64), np.arange(len(scores))
        zeros = np.zeros(len(scores))
        score_polya_pairs(
            0,
            1,
            *pairs,
            *trace_counts,
            *nobody,
            np.zeros(1),
            self.floor,
            alpha,
            SETTINGS.alpha + mean,
            zeros,
            scores,
        )
        return scores

    def table(self, trace_counts: ObservationCounts) -> Callable[[int, int], Floats]:
        """Return what scores all traces for some users: traces × users ``first`` to ``stop``."""
        from tracearena.attacks.bayesian._likelihood_kernels import score_polya_block

        n_traces = len(trace_counts.offsets) - 1
        used, compact = np.unique(trace_counts.observations, return_inverse=True)
        order = np.lexsort((trace_counts.counts, compact))
        rows = np.repeat(np.arange(n_traces), np.diff(trace_counts.offsets))[order]
        occurrences = (
            np.searchsorted(compact[order], np.arange(len(used) + 1)),
            rows,
            trace_counts.counts[order],
        )
        place_of = np.full(len(self.alpha), -1, np.int64)
        place_of[used] = np.arange(len(used))
        baseline, observed = self.baseline(trace_counts), trace_counts.totals.astype(np.float64)

        def block(first: int, stop: int) -> Floats:
            expected = self.alpha[used][:, None] + self.floor[used][:, None] * self.totals[None, first:stop]
            own = slice(self.offsets[first], self.offsets[stop])
            user = np.repeat(np.arange(stop - first), np.diff(self.offsets[first : stop + 1]))
            at = place_of[self.observations[own]]
            known = at >= 0
            expected[at[known], user[known]] += self.values[own][known]
            scores = np.empty((n_traces, stop - first))
            score_polya_block(
                expected, self.totals[first:stop] + SETTINGS.alpha, *occurrences, observed, baseline, scores
            )
            return scores

        return block

    def scores(self, trace_counts: ObservationCounts, pairs: CandidatePairs) -> Floats:
        """Return the log-likelihood ratio of each pair to a user like the whole population."""
        from tracearena.attacks.bayesian._likelihood_kernels import score_polya_pairs

        own = self.offsets, self.observations, self.values, self.totals, self.floor, self.alpha
        baseline = self.baseline(trace_counts)

        def score(first: int, stop: int, offsets: Ints, rows: Ints, scores: Floats) -> None:
            score_polya_pairs(
                first, stop, offsets, rows, *trace_counts, *own, SETTINGS.alpha, baseline, scores
            )

        return _score_by_user(pairs, score, 64)


# Markov evidence: transitions.


class ObservationSteps(NamedTuple):
    """The events of every trace that say something, each with the one an instant before it, if any.

    Attributes
    ----------
    offsets
        Trace ``p`` has steps ``offsets[p]:offsets[p + 1]``.
    origins, targets, times
        Observation before (-1 if there is none), observation now, time of day now.
    """

    offsets: Ints
    origins: Ints32
    targets: Ints32
    times: Ints32

    @classmethod
    def of(
        cls, owner: Ints32, instants: Ints32, observations: Ints32, clock: Clock, n_traces: int
    ) -> ObservationSteps:
        """Join successive events of a day."""
        kept = np.flatnonzero(observations != NOTHING)
        owner, instants, observed = owner[kept], instants[kept], observations[kept]
        follows = np.zeros(len(kept), bool)
        day = clock.day_of(instants)
        follows[1:] = (np.diff(owner) == 0) & (np.diff(instants) == 1) & (np.diff(day) == 0)
        origins = np.where(follows, np.concatenate([[-1], observed[:-1]])[: len(observed)], -1).astype(
            np.int32
        )
        offsets = np.searchsorted(owner, np.arange(n_traces + 1)).astype(np.int64)
        return cls(offsets, origins, observed.astype(np.int32), clock.time_of_day(instants).astype(np.int32))

    @property
    def owner(self) -> Ints:
        """The trace of each step."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class TransitionCounts(NamedTuple):
    """How often each user went from one observation to another, sorted by user, origin and target."""

    offsets: Ints
    origins: Ints32
    targets: Ints32
    counts: Floats

    @classmethod
    def of(cls, steps: ObservationSteps, alphabet_size: int) -> TransitionCounts:
        """Count the steps that have an origin."""
        led = steps.origins >= 0
        n = np.int64(alphabet_size)
        keys = (steps.owner[led] * n + steps.origins[led]) * n + steps.targets[led]
        distinct, counts = np.unique(keys, return_counts=True)
        rest, targets = np.divmod(distinct, n)
        users, origins = np.divmod(rest, n)
        offsets = np.searchsorted(users, np.arange(len(steps.offsets))).astype(np.int64)
        return cls(offsets, origins.astype(np.int32), targets.astype(np.int32), counts.astype(np.float64))


@dataclass(frozen=True, eq=False)
class PopulationTransitions:
    """Q(y|x): where everybody goes from an observation, as sorted keys with their probabilities."""

    alphabet_size: int
    keys: Ints
    values: Floats

    @classmethod
    def of(cls, moves: TransitionCounts, alphabet_size: int) -> PopulationTransitions:
        """Sum the moves of all users."""
        keys = moves.origins.astype(np.int64) * alphabet_size + moves.targets
        distinct, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, moves.counts, len(distinct))
        origin = distinct // max(alphabet_size, 1)
        leaving = np.bincount(origin, counts, alphabet_size)
        return cls(alphabet_size, distinct, counts / leaving[origin])

    def __call__(self, origins: Ints32, targets: Ints32) -> Floats:
        """Return Q of each step; 0 for what nobody did, and without an origin."""
        wanted = origins.astype(np.int64) * self.alphabet_size + targets
        at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.zeros(len(wanted))
        return np.where((self.keys[at] == wanted) & (origins >= 0), self.values[at], 0.0)


def compute_markov_scores(
    pairs: CandidatePairs,
    alphabet: ObservationAlphabet,
    steps: ObservationSteps,
    model: ObservationSteps,
    profiles: TimeProfiles,
    population: PopulationTransitions,
) -> Floats:
    """Return for each pair how much likelier its trace's steps are for its user than for anybody.

    Parameters
    ----------
    steps, model
        Steps of the traces (rows of the pairs) and of the users.
    profiles
        Of the users.
    """
    from tracearena.attacks.bayesian._likelihood_kernels import score_markov_pairs

    n = len(alphabet)
    begins = steps.origins < 0
    origins = np.where(begins, n, steps.origins)
    keys = origins * np.int64(n) + steps.targets
    usual = SETTINGS.transition_share * population(steps.origins, steps.targets)
    # Steps end at an observation and a time of day; its places are listed once for each such end.
    length = profiles.clock.instants_per_day
    distinct, end_of = np.unique(steps.targets * np.int64(length) + steps.times, return_inverse=True)
    observed, times = np.divmod(distinct, length)
    sizes = np.diff(alphabet.offsets)[observed]
    end_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    member = np.repeat(alphabet.offsets[observed] - end_offsets[:-1], sizes) + np.arange(end_offsets[-1])
    ends = end_offsets, alphabet.members[member], times.astype(np.int32)
    at_place = profiles.population[ends[1], np.repeat(ends[2], sizes)]
    anybody = np.bincount(np.repeat(np.arange(len(observed)), sizes), at_place, len(observed))[end_of]
    # Where a chain begins there is no transition: time profiles alone are compared.
    ordinary = (1 - SETTINGS.transition_share) * anybody + np.where(begins, 0.0, usual)
    moves = TransitionCounts.of(model, n)
    own = moves.offsets, moves.origins, moves.origins * np.int64(n) + moves.targets, moves.counts
    chains = steps.offsets, origins, keys, end_of, SETTINGS.transition_weight * usual, 1 / ordinary

    def score(first: int, stop: int, offsets: Ints, rows: Ints, scores: Floats) -> None:
        score_markov_pairs(
            first,
            stop,
            offsets,
            rows,
            *chains,
            *ends,
            *own,
            n,
            profiles.arrays,
            SETTINGS.transition_share,
            SETTINGS.transition_weight,
            scores,
        )

    return _score_by_user(pairs, score, 16)


# Profile evidence: times of day.


class ProfileLikelihood:
    """Σ log Σ_x P_{u,t}(x) E(y|x) over the events of a trace, as a ratio to anybody's."""

    def __init__(self, steps: ObservationSteps, profiles: TimeProfiles, channel: Channel) -> None:
        from tracearena.attacks.bayesian._likelihood_kernels import fill_release_profile

        length = profiles.clock.instants_per_day
        used, compact = np.unique(steps.targets, return_inverse=True)
        width = np.int64(len(used) * length)
        distinct, counts = np.unique(steps.owner * width + compact * length + steps.times, return_counts=True)
        owner, observed = np.divmod(distinct, max(int(width), 1))
        through = used, channel.offsets, channel.places, channel.values, channel.floor
        ordinary = np.empty((len(used), length))
        fill_release_profile(profiles.population, *through, ordinary)
        self.n_traces = len(steps.offsets) - 1
        self.released = (
            np.searchsorted(owner, np.arange(self.n_traces + 1)),
            observed,
            counts.astype(np.float64),
        )
        self.profiles = profiles.arrays
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
        from tracearena.attacks.bayesian._likelihood_kernels import score_profile_pairs

        score_profile_pairs(
            first,
            stop,
            offsets,
            first_listed,
            rows,
            *self.released,
            self.profiles,
            *self.through,
            scores,
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


# The evidence of a match.


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that is compared, and the scores by kind of evidence.

    Attributes
    ----------
    reference, anonymized
        What is known of the users, and what was released.
    simulated
        The observations of the release, and the simulated release of the reference.
    neighbourhoods, profiles
        Neighbourhoods of the places, and time profiles of the users.
    quick
        Choose the candidate pairs by counts alone, not by times of day.
    chosen
        The pairs to score; None chooses the candidates.
    """

    reference: Traces
    anonymized: ObfuscatedTraces
    simulated: SimulatedRelease
    neighbourhoods: Neighbourhoods
    profiles: TimeProfiles
    quick: bool = False
    chosen: CandidatePairs | None = None
    _scores: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    def for_pairs(self, pairs: CandidatePairs) -> Evidence:
        """Return the same evidence for other pairs."""
        return replace(self, chosen=pairs)

    @property
    def pairs(self) -> CandidatePairs:
        """The candidate pairs: all, or as many of the best as can be scored by all kinds."""
        return self.first_look[0]

    @cached_property
    def first_look(self) -> tuple[CandidatePairs, list[Floats] | None]:
        """The pairs, and their scores by counts and by time profile, where these are kept."""
        if self.chosen is not None:
            return self.chosen, None
        n_traces, n_users = self.anonymized.n_users, self.reference.n_users
        events = max(self.anonymized.n_events, self.reference.n_events, 1)
        keep = int(max(SETTINGS.max_work / events, SETTINGS.min_candidates))
        tables: list[Table] = [self.polya_model.table(self.release_counts)]
        if not self.quick:
            tables.append(self.profile_likelihood.table())
        return find_best_pairs(tables, n_traces, n_users, keep)

    def __call__(self, name: str) -> Floats:
        """Return one kind of evidence, a log-likelihood ratio for each pair; it is kept."""
        if name not in self._scores:
            self._scores[name] = KINDS[name](self)
        return self._scores[name]

    @cached_property
    def release_counts(self) -> ObservationCounts:
        """b_p(y): the counts of the anonymized traces."""
        return self.count_observations(
            self.anonymized, self.simulated.released, np.ones(self.anonymized.n_events, bool)
        )

    @cached_property
    def polya_model(self) -> PolyaModel:
        """a_u(y) of all reference events."""
        return self.build_polya_model(np.ones(self.reference.n_events, bool))

    @cached_property
    def profile_likelihood(self) -> ProfileLikelihood:
        """The likelihoods by time of day."""
        return ProfileLikelihood(self.release_steps, self.profiles, self.channel)

    @cached_property
    def release_steps(self) -> ObservationSteps:
        """The steps of the anonymized traces."""
        return self.build_steps(self.anonymized, self.simulated.released)

    def build_polya_model(self, chosen: Mask) -> PolyaModel:
        """Return the model from some reference events."""
        traces, n_places = self.reference, self.simulated.alphabet.n_places
        owner, place = traces.user_index[chosen], traces.place_index[chosen]
        visits = ObservationCounts.of(owner, place, traces.n_users, n_places)
        return PolyaModel.from_visits(visits, self.channel, n_places)

    @cached_property
    def channel(self) -> Channel:
        """The channel by which traces are matched."""
        simulated = self.simulated
        return (
            simulated.channel.sharpen(simulated.alphabet.n_places)
            if simulated.by_event
            else simulated.channel
        )

    def count_observations(
        self, traces: Traces | ObfuscatedTraces, observations: Ints32, chosen: Mask
    ) -> ObservationCounts:
        """Count the observations of some events."""
        return ObservationCounts.of(
            traces.user_index[chosen], observations[chosen], traces.n_users, len(self.simulated.alphabet)
        )

    def build_steps(self, traces: Traces | ObfuscatedTraces, observations: Ints32) -> ObservationSteps:
        """Return the steps of the traces."""
        return ObservationSteps.of(
            traces.user_index, traces.instants, observations, traces.clock, traces.n_users
        )


def halve_evidence(evidence: Evidence) -> Evidence:
    """Return the same evidence of every other day of the anonymized traces, or instant of a single day."""
    released = evidence.anonymized
    days = released.clock.day_of(released.instants)
    unit = days if len(np.unique(days)) > 1 else released.instants
    kept = np.unique(unit, return_inverse=True)[1] % 2 == 0
    simulated = evidence.simulated.take_events(kept, np.ones(evidence.reference.n_events, bool))
    return replace(evidence, anonymized=released.keep(kept), simulated=simulated)


# The kinds of evidence S_f.


def score_counts(evidence: Evidence) -> Floats:
    """Counts of observations (Pólya)."""
    pairs, scores = evidence.first_look
    return evidence.polya_model.scores(evidence.release_counts, pairs) if scores is None else scores[0]


def score_home_counts(evidence: Evidence) -> Floats:
    """Counts in the first and in the last hour of the day (Pólya)."""
    reference, anonymized = evidence.reference, evidence.anonymized
    known = is_home_hour(reference.clock, reference.instants)
    seen = is_home_hour(anonymized.clock, anonymized.instants)
    counts = evidence.count_observations(anonymized, evidence.simulated.released, seen)
    return evidence.build_polya_model(known).scores(counts, evidence.pairs)


def score_profiles(evidence: Evidence) -> Floats:
    """Places by time of day."""
    pairs, scores = evidence.first_look
    return evidence.profile_likelihood.scores(pairs) if scores is None or evidence.quick else scores[1]


def score_transitions(evidence: Evidence) -> Floats:
    """Transitions: of the trace under the user's model, and of the user under the trace's."""
    alphabet = evidence.simulated.alphabet
    known = evidence.build_steps(evidence.reference, evidence.simulated.runs[0])
    seen = evidence.release_steps
    population = PopulationTransitions.of(TransitionCounts.of(known, len(alphabet)), len(alphabet))
    forth = compute_markov_scores(evidence.pairs, alphabet, seen, known, evidence.profiles, population)
    turned, order = evidence.pairs.transpose()
    released = TimeProfiles.of(evidence.anonymized, evidence.neighbourhoods, evidence.profiles.in_time)
    back = np.empty(len(forth))
    back[order] = compute_markov_scores(turned, alphabet, known, seen, released, population)
    return forth + back


def score_simulated_counts(evidence: Evidence) -> Floats:
    """Counts of observations against those of the simulated releases, in the mean of the runs."""
    every = np.ones(evidence.reference.n_events, bool)
    n = len(evidence.simulated.alphabet)
    runs = []
    for observations in evidence.simulated.runs:
        counts = evidence.count_observations(evidence.reference, observations, every)
        runs.append(PolyaModel.from_counts(counts, n).scores(evidence.release_counts, evidence.pairs))
    return np.asarray(np.logaddexp.reduce(runs) - np.log(len(runs)))


def is_home_hour(clock: Clock, instants: Ints32) -> Mask:
    """Return where the instants lie in the first or in the last hour of the clock's day."""
    span = max(round(SETTINGS.home_hours * 3600 / clock.interval_s), 1)
    time = clock.time_of_day(instants)
    return np.asarray((time < span) | (time >= clock.instants_per_day - span))


KINDS: dict[str, Callable[[Evidence], Floats]] = {
    "polya": score_counts,
    "home": score_home_counts,
    "profile": score_profiles,
    "markov": score_transitions,
    "simulation": score_simulated_counts,
}
"""All kinds of evidence: what returns S_f[p,u] of each pair, a log-likelihood ratio. To add one, write its
function, add it here, and give it a weight in a mixture below. Link-R uses those that `linking.evidence`
names."""

Mixture = dict[str, float]
"""Relative weights of kinds of evidence; calibration scales them. A kind that is not named has weight 0."""

TRANSITION_MIXTURE: Mixture = {"home": 1, "markov": 1}
EVENT_MIXTURES: tuple[Mixture, ...] = (
    {"polya": 1, "home": 1},
    {"home": 1, "profile": 1},
    {"polya": 1, "home": 1, "profile": 1},
    TRANSITION_MIXTURE,
    {"polya": 0.1, "home": 1, "profile": 0.5, "markov": 0.1},
    {"polya": 0.1, "home": 0.1, "profile": 1, "markov": 0.1},
    {"profile": 1},
    {"polya": 1, "home": 1, "profile": 1, "markov": 1},
)
"""Mixtures that calibration chooses from against defences of single events; the first is the default.
Tuned on people of the simulated city and on virtual users."""
TRACE_MIXTURES: tuple[Mixture, ...] = (
    {"polya": 0.1, "home": 0.1, "profile": 1, "markov": 0.1, "simulation": 0.1},
    {"profile": 1},
    {"profile": 1, "simulation": 1},
    {"profile": 0.3, "simulation": 1},
)
"""The same against defences of whole traces. How they were tuned is not recorded."""


def build_mixtures(by_event: bool, *, long_traces: bool = False) -> tuple[tuple[str, ...], Floats]:
    """Return the kinds that are used against a defence, and mixtures × kinds of weights to choose from.

    Parameters
    ----------
    by_event
        Whether the defence treats each event by itself.
    long_traces
        Whether traces have many events. Calibration sees half of each, and then overrates transitions, so
        the mixture that relies on them is left out.
    """
    mixtures = EVENT_MIXTURES if by_event else TRACE_MIXTURES
    names = tuple(name for name in KINDS if any(name in mixture for mixture in mixtures))
    if by_event and long_traces:
        mixtures = tuple(mixture for mixture in mixtures if mixture is not TRANSITION_MIXTURE)
    weights = [[mixture.get(name, 0.0) for name in names] for mixture in mixtures]
    return names, SETTINGS.mixture_scale * np.array(weights, np.float64)
