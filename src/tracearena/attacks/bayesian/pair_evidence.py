"""The evidence S_f[p,u]: log-likelihood ratios of every candidate pair of trace p and user u.

f is polya, home (the same in the first and last hour), profile, markov, or rehearsal (Dirichlet-multinomial
counts of the simulated releases). Each is computed when it is first used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32, Mask
from tracearena.attacks.bayesian.channel import Channel
from tracearena.attacks.bayesian.likelihoods import (
    CandidatePairs,
    ObservationCounts,
    ObservationSteps,
    PolyaModel,
    PopulationTransitions,
    ProfileLikelihood,
    Table,
    TransitionCounts,
    compute_markov_scores,
    find_best_pairs,
)
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.attacks.bayesian.simulated_release import SimulatedRelease
from tracearena.traces import Clock, ObfuscatedTraces, Traces

HOME_HOURS = 1.0
"""People tend to be at home in the first and in the last hour of the day that is known."""

_WORK = 1e8
_FEWEST = 64


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that is compared, and the scores by kind of evidence.

    Attributes
    ----------
    reference, anonymized
        What is known of the users, and what was released.
    made
        The observations of the release, and the simulated release of the reference.
    around, habits
        Neighbourhoods of the places, and time profiles of the users.
    quick
        Choose the candidate pairs by counts alone, not by times of day.
    chosen
        The pairs to score; None chooses the candidates.
    """

    reference: Traces
    anonymized: ObfuscatedTraces
    made: SimulatedRelease
    around: Neighbourhoods
    habits: TimeProfiles
    quick: bool = False
    chosen: CandidatePairs | None = None

    def for_pairs(self, pairs: CandidatePairs) -> Evidence:
        """Return the same evidence for other pairs."""
        return replace(self, chosen=pairs)

    @property
    def pairs(self) -> CandidatePairs:
        """The candidate pairs: all, or as many of the best as can be scored by all kinds."""
        return self._candidate_pairs[0]

    @cached_property
    def _candidate_pairs(self) -> tuple[CandidatePairs, list[Floats] | None]:
        """The pairs, and their scores by counts and by time profile, where these are kept."""
        if self.chosen is not None:
            return self.chosen, None
        n_traces, n_users = self.anonymized.n_users, self.reference.n_users
        events = max(self.anonymized.n_events, self.reference.n_events, 1)
        keep = int(max(_WORK / events, _FEWEST))
        tables: list[Table] = [self._polya_model.table(self._release_counts)]
        if not self.quick:
            tables.append(self._profile_likelihood.table())
        return find_best_pairs(tables, n_traces, n_users, keep)

    def __call__(self, name: str) -> Floats:
        """Return one kind of evidence, a log-likelihood ratio for each pair."""
        scores: Floats = getattr(self, name)
        return scores

    @cached_property
    def polya(self) -> Floats:
        """Counts of observations (Pólya)."""
        pairs, looked = self._candidate_pairs
        return self._polya_model.scores(self._release_counts, pairs) if looked is None else looked[0]

    @cached_property
    def home(self) -> Floats:
        """Counts in the first and in the last hour of the day (Pólya)."""
        known = is_home_hour(self.reference.clock, self.reference.instants)
        seen = is_home_hour(self.anonymized.clock, self.anonymized.instants)
        bags = self._count_observations(self.anonymized, self.made.said, seen)
        return self._build_polya_model(known).scores(bags, self.pairs)

    @cached_property
    def rehearsal(self) -> Floats:
        """Counts of observations against those of the simulated releases, in the mean of the runs."""
        every = np.ones(self.reference.n_events, bool)
        n = len(self.made.symbols)
        runs = [
            PolyaModel.from_counts(self._count_observations(self.reference, one, every), n).scores(
                self._release_counts, self.pairs
            )
            for one in self.made.rehearsed
        ]
        return np.asarray(np.logaddexp.reduce(runs) - np.log(len(runs)))

    @cached_property
    def profile(self) -> Floats:
        """Places by time of day."""
        pairs, looked = self._candidate_pairs
        return self._profile_likelihood.scores(pairs) if looked is None or self.quick else looked[1]

    @cached_property
    def markov(self) -> Floats:
        """Transitions: of the trace under the user's model, and of the user under the trace's."""
        known = self._build_steps(self.reference, self.made.rehearsed[0])
        seen = self._release_steps
        n = len(self.made.symbols)
        usual = PopulationTransitions.of(TransitionCounts.of(known, n), n)
        forth = compute_markov_scores(self.pairs, self.made.symbols, seen, known, self.habits, usual)
        turned, order = transpose_pairs(self.pairs, len(seen.offsets) - 1)
        released = TimeProfiles.of(self.anonymized, self.around, self.habits.in_time)
        back = np.empty(len(forth))
        back[order] = compute_markov_scores(turned, self.made.symbols, known, seen, released, usual)
        return forth + back

    @cached_property
    def _release_counts(self) -> ObservationCounts:
        return self._count_observations(
            self.anonymized, self.made.said, np.ones(self.anonymized.n_events, bool)
        )

    @cached_property
    def _polya_model(self) -> PolyaModel:
        return self._build_polya_model(np.ones(self.reference.n_events, bool))

    @cached_property
    def _profile_likelihood(self) -> ProfileLikelihood:
        return ProfileLikelihood(self._release_steps, self.habits, self._channel)

    @cached_property
    def _release_steps(self) -> ObservationSteps:
        return self._build_steps(self.anonymized, self.made.said)

    def _build_polya_model(self, chosen: Mask) -> PolyaModel:
        """Return the model from some reference events."""
        traces, n_places = self.reference, self.made.symbols.n_places
        owner, place = traces.user_index[chosen], traces.place_index[chosen]
        visits = ObservationCounts.of(owner, place, traces.n_users, n_places)
        return PolyaModel.from_visits(visits, self._channel, n_places)

    @cached_property
    def _channel(self) -> Channel:
        """The channel by which traces are matched."""
        made = self.made
        return made.emission.sharpen(made.symbols.n_places) if made.by_event else made.emission

    def _count_observations(
        self, traces: Traces | ObfuscatedTraces, symbols: Ints32, chosen: Mask
    ) -> ObservationCounts:
        return ObservationCounts.of(
            traces.user_index[chosen], symbols[chosen], traces.n_users, len(self.made.symbols)
        )

    def _build_steps(self, traces: Traces | ObfuscatedTraces, symbols: Ints32) -> ObservationSteps:
        return ObservationSteps.of(traces.user_index, traces.instants, symbols, traces.clock, traces.n_users)


def is_home_hour(clock: Clock, instants: Ints32) -> Mask:
    """Return where the instants lie in the first or in the last hour of the clock's day."""
    span = max(round(HOME_HOURS * 3600 / clock.interval_s), 1)
    time = clock.time_of_day(instants)
    return np.asarray((time < span) | (time >= clock.instants_per_day - span))


def halve_evidence(evidence: Evidence) -> Evidence:
    """Return the same evidence of every other day of the anonymized traces, or instant of a single day."""
    released = evidence.anonymized
    days = released.clock.day_of(released.instants)
    unit = days if len(np.unique(days)) > 1 else released.instants
    kept = np.unique(unit, return_inverse=True)[1] % 2 == 0
    made = evidence.made.take_events(kept, np.ones(evidence.reference.n_events, bool))
    return replace(evidence, anonymized=released.keep(kept), made=made)


def transpose_pairs(pairs: CandidatePairs, n_traces: int) -> tuple[CandidatePairs, Ints]:
    """Return the pairs with users as rows and traces as columns, and the number of each before."""
    offsets, order = pairs.by_user()
    return CandidatePairs(offsets, pairs.traces[order].astype(np.int32), n_traces), order
