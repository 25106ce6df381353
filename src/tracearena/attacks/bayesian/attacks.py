"""The attacks by posteriors: argmax of Σ S[p,u] over one-to-one assignments (-R), least expected loss (-T).

`Polya-R` (Dirichlet-multinomial), `Markov-R` and `Bayes-R` (all evidence, weighted) are linear assignments
on different scores. `Bayes-T` and `Tracking-T` (hidden Markov model) infer whereabouts from the release,
`Habits-T` from the reference alone.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tracearena.algorithms.base import Algorithm, Obfuscator, TraceInferenceAttack, setting
from tracearena.attacks.base import (
    Floats,
    Ints,
    Ints32,
    Match,
    MatchingAttack,
    MatchingIdentification,
    MatchingInference,
    build_answer,
    check_places,
    require_users,
)
from tracearena.attacks.bayesian import tracking
from tracearena.attacks.bayesian.likelihoods import Evidence
from tracearena.attacks.bayesian.matcher import (
    ADAPTIVE,
    UNKNOWN,
    BayesMatch,
    BayesMatcher,
    check_weights,
    parse_mechanism,
)
from tracearena.attacks.bayesian.profiles import (
    Neighbourhoods,
    TimeProfiles,
    check_same_clock,
    weigh_sensitive_places,
)
from tracearena.checks import HEAVIEST, LARGEST_KM, require_fitted, require_kind, require_number
from tracearena.engine import SeedLike, block_ranges, run_blocks
from tracearena.errors import ParameterError
from tracearena.traces import IdTable, ObfuscatedTraces, Traces


@dataclass(kw_only=True)
class InformedAttack(MatchingAttack):
    """An attack that may know which defence it meets.

    Parameters
    ----------
    mechanism
        The defence, such as ``PL(4,1)``; ``unknown`` estimates what it does from the release;
        ``adaptive`` is given it later (`with_mechanism`), as a sweep does for each of its defences.
    """

    mechanism: str = UNKNOWN

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, str):
            raise ParameterError(f"mechanism must be the name of a defence, not {self.mechanism!r}")
        if self.mechanism not in (UNKNOWN, ADAPTIVE):
            self.defence(self.mechanism)

    def defence(self, name: str) -> Algorithm | None:
        """Return the defence of a name, or refuse one that the attack cannot use."""
        return parse_mechanism(name)

    @property
    def is_adaptive(self) -> bool:
        """Whether the attack has to be given its defence before it can be simulated."""
        return self.mechanism == ADAPTIVE

    def with_mechanism(self, defence: Obfuscator) -> Self:
        """Return the same attack, fitted to the same users, informed of the defence."""
        require_fitted(self, "matcher_")
        matcher: Any = self.matcher_
        return copy.copy(self).use(matcher.with_mechanism(defence))

    def _check_informed(self) -> None:
        """Refuse an adaptive attack that was never given its defence."""
        require_fitted(self, "matcher_")
        matcher: Any = self.matcher_
        if self.is_adaptive and matcher.mechanism is None:
            parse_mechanism(self.mechanism)


@dataclass(kw_only=True)
class LikelihoodAttack(InformedAttack):
    """An attack that uses the likelihoods of `BayesMatcher`.

    Parameters
    ----------
    weights
        Weight of each kind of evidence, as pairs of name and number (`tune_weights` learns them on sample
        teams); None learns them on the reference traces, split in two.
    """

    weights: tuple[tuple[str, float], ...] | None = setting(None)

    def __post_init__(self) -> None:
        check_weights(self.weights)
        super().__post_init__()

    def make_matcher(self) -> BayesMatcher:
        """Return the matcher, not yet fitted."""
        mechanism = None if self.is_adaptive else parse_mechanism(self.mechanism)
        return BayesMatcher(mechanism=mechanism, weights=self.weights)


@dataclass(kw_only=True)
class EvidenceIdentification(LikelihoodAttack, MatchingIdentification):
    """A re-identification attack that uses one kind of evidence, or a weighted sum of several."""

    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of evidence that are summed; none stands for all, each for what it is worth."""

    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table."""
        self._check_informed()
        return super().identify(anonymized, seed=seed)

    def identify_from(self, match: Match, anonymized: ObfuscatedTraces) -> IdTable:
        """Return the inferred ID table by the evidence that the attack looks at."""
        assert isinstance(match, BayesMatch)
        chosen = match.assign_by(*self.kinds) if self.kinds else match.best
        return IdTable(anonymized.user_ids, self.matcher_.user_ids_[chosen])

    def rank_from(self, match: Match) -> Ints:
        """Return the likeliest users of each pseudonym by the evidence that the attack looks at."""
        assert isinstance(match, BayesMatch)
        return match.rank_by(*self.kinds) if self.kinds else match.ranking


@dataclass(kw_only=True)
class BayesIdentification(EvidenceIdentification):
    """Solve a linear assignment on the weighted evidence of visits, times, transitions and homes.

    The weights are learned on the reference traces, where the truth is known: these are split in two, and the
    mechanism is applied to the later half. Of a few fixed mixtures, each scaled by powers of two, the one
    with the highest posteriors of the true pairs is used (`weights.learn_weights`).
    """

    name: ClassVar[str] = "Bayes-R"


@dataclass(kw_only=True)
class BayesInference(LikelihoodAttack, MatchingInference):
    """Average the candidate traces of each user by posterior, and minimise the expected loss.

    q_{u,t}(x) = (1-ε) Σ_p W[u,p] E(y_{p,t}|x) P_{u,t}(x) / Z + ε P_{u,t}(x), where W are the
    posteriors of the pairs (Sinkhorn) and P the time profiles. The answer is
    argmax_c Σ_x q(x) w(x) (1 - G(x, c)), G the distance up to the limit, w the weight of sensitive places.

    Parameters
    ----------
    mechanism
        The defence, as for `InformedAttack`.
    sensitive_weight, limit_km
        How answers are scored.
    """

    name: ClassVar[str] = "Bayes-T"
    share: ClassVar[float] = 0.0

    sensitive_weight: float = setting(10.0)
    limit_km: float = setting(2.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number("sensitive_weight", self.sensitive_weight, above=0, at_most=HEAVIEST)
        require_number("limit_km", self.limit_km, above=0, at_most=LARGEST_KM)

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return one place for every user and instant."""
        self._check_informed()
        return super().infer(anonymized, seed=seed)

    def infer_from(self, match: Match, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the answers for an existing match."""
        assert isinstance(match, BayesMatch)
        evidence = match.evidence

        def infer() -> Traces:
            pairs, n_events = evidence.pairs, evidence.anonymized.n_events
            few = self.share > 0 and not evidence.simulated.by_event
            followed = tracking.keep_likeliest_traces(pairs, match.certainty, n_events, few=few)
            return self.answer(evidence, followed)

        # An attack that knew the defence and one that detected it give the same answers.
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "mechanism"}
        return match.answer((type(self), *settings.items()), infer)

    def answer(self, evidence: Evidence, followed: tracking.CandidateTraces) -> Traces:
        """Return the answers to a release, given the candidate traces of each user."""
        matcher, anonymized = self.matcher_, evidence.anonymized
        assert isinstance(matcher, BayesMatcher)
        reference, neighbourhoods = matcher.reference_, evidence.neighbourhoods
        if self.limit_km != matcher.limit_km:
            neighbourhoods = Neighbourhoods.of(reference.places, self.limit_km)
        share = (
            self.share if evidence.simulated.by_event else min(self.share, tracking.SETTINGS.disguised_share)
        )
        model = tracking.PlaceModel(
            evidence.simulated.channel,
            evidence.profiles,
            tracking.PopulationMovement.of(reference),
            neighbourhoods,
            weigh_sensitive_places(reference, self.sensitive_weight),
            self.limit_km,
        )
        table = tracking.infer_places(anonymized, evidence.simulated.released, model, followed, share=share)
        return build_answer(table, anonymized, matcher.user_ids_)


@dataclass(kw_only=True)
class MarkovIdentification(EvidenceIdentification):
    """Compare transitions: likelihood of the trace under the user's Markov chain, and vice versa.

    P_u(y|x,t) = [c_u(xy) + β((1-γ) P_{u,t}(y) + γ Q(y|x))] / (c_u(x) + β), as a ratio to the population's
    probability, in both directions. It helps if there are only a few days. The answer is a one-to-one
    assignment.
    """

    name: ClassVar[str] = "Markov-R"
    kinds: ClassVar[tuple[str, ...]] = ("markov",)


@dataclass(kw_only=True)
class PolyaIdentification(EvidenceIdentification):
    """Compare visit counts by a Dirichlet-multinomial (Pólya urn) likelihood.

    The score of user u for trace p is Σ_y Σ_{k < b_p(y)} log(α_y + a_u(y) + k), minus its normaliser. b_p(y)
    are the counts of the trace, a_u(y) = Σ_x c_u(x) E(y|x) the expected counts of the user's reference visits
    after the defence, and α_y three visits distributed as the population. The same score for the first and
    the last hour of the day is added. The answer is the one-to-one assignment with the largest sum.
    """

    name: ClassVar[str] = "Polya-R"
    kinds: ClassVar[tuple[str, ...]] = ("polya", "home")


@dataclass(kw_only=True)
class TrackingInference(BayesInference):
    """Decode every trace by a hidden Markov model with the forward–backward algorithm.

    From one instant to the next, people follow the transitions of the population (with probability γ) or
    their own time profile. The answer has the lowest expected loss, as in Bayes-T. At each instant, places
    that are much less likely than the most likely one are left out (a beam).
    """

    name: ClassVar[str] = "Tracking-T"
    share: ClassVar[float] = tracking.SETTINGS.transition_share


_USERS_PER_BLOCK = 16


@dataclass(kw_only=True)
class HabitsInference(TraceInferenceAttack):
    """Minimise the expected loss with the reference traces only, without the release.

    Its s_T is a ceiling for every defence against an attacker with these reference traces, because it does
    not depend on the release. The answer at each time of day is the place c with the lowest expected score,
    argmax_c Σ_x P_{u,t}(x) w(x) (1 - G(x, c)).

    Parameters
    ----------
    sensitive_weight, limit_km
        How answers are scored: the weight w of sensitive places, and the distance at which G is 1.
    """

    name: ClassVar[str] = "Habits-T"

    sensitive_weight: float = setting(10.0)
    limit_km: float = setting(2.0)

    def __post_init__(self) -> None:
        require_number("sensitive_weight", self.sensitive_weight, above=0, at_most=HEAVIEST)
        require_number("limit_km", self.limit_km, above=0, at_most=LARGEST_KM)

    def fit(self, reference: Traces) -> Self:
        """Estimate the time profile of every user."""
        require_kind(self, reference, Traces)
        require_users(reference)
        neighbourhoods = Neighbourhoods.of(reference.places, self.limit_km)
        self.reference_ = reference
        profiles = TimeProfiles.with_fitted_kernel(reference, neighbourhoods)
        worth = weigh_sensitive_places(reference, self.sensitive_weight)
        self.answers_ = choose_profile_answers(profiles, neighbourhoods, self.limit_km, worth)
        return self

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the best answer for each user and time of day; it is the same every day."""
        require_fitted(self, "answers_")
        require_kind(self, anonymized, ObfuscatedTraces)
        check_places(self.reference_, anonymized)
        check_same_clock(self.reference_, anonymized)
        instants = np.arange(*anonymized.span)
        table = self.answers_[:, anonymized.clock.time_of_day(instants)]
        return build_answer(table, anonymized, self.reference_.user_ids)


def choose_profile_answers(
    profiles: TimeProfiles, neighbourhoods: Neighbourhoods, limit_km: float, sensitive: Floats
) -> Ints32:
    """Return users × times of day: the answer with the least expected score."""
    from tracearena.attacks.bayesian._profile_kernels import choose_best_answers, compute_profile_gains

    length = profiles.clock.instants_per_day
    answers = np.empty((profiles.n_users, length), np.int32)
    worth = np.maximum(1 - neighbourhoods.distance_km / limit_km, 0.0)
    common = profiles.compute_population_gains(neighbourhoods, worth, sensitive)

    def work(block: int, first: int, stop: int) -> None:
        profile, gains = np.empty((2, profiles.n_places, length))
        for user in range(first, stop):
            profiles.user_profile(user, profile)
            share = profiles.population_share(user)
            near = neighbourhoods.offsets, neighbourhoods.members, worth
            compute_profile_gains(profile, profiles.population, common, share, sensitive, *near, gains)
            choose_best_answers(gains, answers[user])

    run_blocks(work, block_ranges(profiles.n_users, _USERS_PER_BLOCK))
    return answers
