"""Tuning attacks on sample teams, whose original traces and ID table are public.

`tune` searches the settings of fuzzy counting, `tune_weights` learns the weights of Bayes-R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from tracearena.algorithms import Obfuscator, validation
from tracearena.arena.ensemble import Attack, Ensemble, Scoring
from tracearena.arena.pseudonyms import Release, pseudonymise
from tracearena.arena.sweep import TunedScores
from tracearena.attacks.fuzzy_counting import FuzzyCounting, FuzzyCountingT, Spread, Weighting
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import ParameterError
from tracearena.metrics import reidentification_score, trace_inference_score
from tracearena.traces import IdTable, ObfuscatedTraces, Traces
from tracearena.traces._arrays import find_positions

if TYPE_CHECKING:
    from tracearena.attacks.bayesian import BayesIdentification, TrackingInference


WEIGHTINGS: tuple[Weighting, ...] = ("log", "count", "log-idf", "count-idf")
"""All but the printed TF, which forgets the counts."""
SPREADS: tuple[Spread, ...] = get_args(Spread)
ETAS = (0.1, 0.2, 0.33)
DECAYS = (0.5, 1.0, 2.0)
SHARES = (0.3, 0.5, 0.7, 0.9, 1.0)


class SampleTeam(NamedTuple):
    """A sample team: its traces, their release, and the table of true identities."""

    reference: Traces
    original: Traces
    anonymized: ObfuscatedTraces
    id_table: IdTable


@dataclass(frozen=True)
class Tuning(Result):
    """The tuned attacks, and the scores of everything that was tried.

    Attributes
    ----------
    reidentification, trace_inference
        The best attack of each kind on average over the sample teams, not fitted.
    s_R, s_T
        Mean privacy score over the sample teams (lower means a stronger attack), by name.
    """

    reidentification: FuzzyCounting
    trace_inference: FuzzyCountingT
    s_R: dict[str, float]
    s_T: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the names of the best and all scores as plain values."""
        return {
            "reidentification": str(self.reidentification),
            "trace_inference": str(self.trace_inference),
            "s_R": self.s_R,
            "s_T": self.s_T,
        }


def tune(
    samples: Sequence[SampleTeam],
    *,
    weightings: Sequence[Weighting] = WEIGHTINGS,
    etas: Sequence[float] = ETAS,
    decays: Sequence[float] = DECAYS,
    shares: Sequence[float] = SHARES,
    spreads: Sequence[Spread] = SPREADS,
    seed: SeedLike = None,
) -> Tuning:
    """Tune (TF, IDF), η0, λ0 and the order on re-identification, then the frequent share on inference.

    Parameters
    ----------
    samples
        At least one team, released the way the targets are expected to be.
    weightings, etas, decays, shares, spreads
        Values to try; if several settings are equally good, the first is chosen. Unweighted counts do not
        depend on the order and are tried once.

    References
    ----------
    [contest] section 5.3: "optimal values … were determined using sample traces".
    """
    if not samples:
        raise ParameterError("there is no sample team to tune on")
    tried = [
        FuzzyCounting(weighting=weighting, eta=eta, decay=decay, spread=spread)
        for weighting, eta, decay, spread in product(weightings, etas, decays, spreads)
        if weighting != "count" or spread == spreads[0]
    ]
    s_R = {}
    for attack in tried:
        answers = [(team, attack.fit(team.reference).identify(team.anonymized)) for team in samples]
        scores = [reidentification_score(team.id_table, guess).reidentification for team, guess in answers]
        s_R[str(attack)] = float(np.mean(scores))
    best = min(tried, key=lambda attack: s_R[str(attack)])
    matches = [best.fit(team.reference).matcher_.match(team.anonymized) for team in samples]
    inferences = [
        FuzzyCountingT(
            weighting=best.weighting, eta=best.eta, decay=best.decay, frequent=share, spread=best.spread
        )
        for share in shares
    ]
    s_T = {}
    for inference in inferences:
        root, scores = seed_sequence(seed), []
        for number, (team, match) in enumerate(zip(samples, matches, strict=True)):
            inference.fit(team.reference)
            guess = inference.infer_from(match, team.anonymized, seed=child_seed(root, number))
            scores.append(trace_inference_score(team.original, guess).trace_inference)
        s_T[str(inference)] = float(np.mean(scores))
    return Tuning(
        reidentification=replace(best),
        trace_inference=min(inferences, key=lambda attack: s_T[str(attack)]),
        s_R=s_R,
        s_T=s_T,
    )


@dataclass(frozen=True)
class WeightTuning(Result):
    """Weights of the kinds of evidence, learned on sample teams.

    Attributes
    ----------
    weights
        Mean weight over the teams, by the name of the evidence.
    reidentification, trace_inference
        Attacks with these weights, not fitted.
    """

    weights: dict[str, float]
    reidentification: BayesIdentification
    trace_inference: TrackingInference

    def to_dict(self) -> dict[str, Any]:
        """Return the weights as plain values."""
        return {"weights": self.weights}


def tune_weights(
    samples: Sequence[SampleTeam], *, mechanism: str = "unknown", seed: SeedLike = None
) -> WeightTuning:
    """Learn the weights of Bayes-R on sample teams, instead of on the reference traces split in two.

    Use it if the reference traces are too short to be split, or if a sample team was released in the same way
    as the target.

    Parameters
    ----------
    samples
        At least one team, released the way the targets are expected to be.
    mechanism
        The defence that the attacker assumes, as for Bayes-R.

    Examples
    --------
    >>> from tracearena.arena import pseudonymise
    >>> from tracearena.cities import simulate
    >>> reference, original = simulate(users=20, days=2, seed=1).split_days(1)
    >>> release = pseudonymise(ObfuscatedTraces.from_traces(original), seed=2)
    >>> team = SampleTeam(reference, original, release.anonymized, release.id_table)
    >>> sorted(tune_weights([team], mechanism="No", seed=1).weights)
    ['home', 'markov', 'polya', 'profile']
    """
    from tracearena.attacks.bayesian.attacks import BayesIdentification, TrackingInference

    if not samples:
        raise ParameterError("there is no sample team to tune on")
    attack, root = BayesIdentification(mechanism=mechanism), seed_sequence(seed)
    found: list[dict[str, float]] = []
    for number, team in enumerate(samples):
        matcher = attack.make_matcher().fit(team.reference)
        match = matcher.match(team.anonymized, seed=child_seed(root, number))
        truth = find_positions(team.id_table.user_ids, matcher.user_ids_)
        found.append(match.learn_kind_weights(match.evidence, truth))
    names = dict.fromkeys(name for one in found for name in one)
    weights = {name: float(np.mean([one.get(name, 0.0) for one in found])) for name in names}
    given: Any = {"mechanism": mechanism, "weights": tuple(weights.items())}
    return WeightTuning(weights, BayesIdentification(**given), TrackingInference(**given))


# Attacks tuned on sample teams that were released under the defence they will meet.

Sample = tuple[Traces, Traces]
"""Reference and original traces of people whom everybody knows all about."""

MOST_USERS = 500
"""Of a larger sample team this many people are tuned on."""


def split_reference(reference: Traces) -> Sample:
    """Return the first and the last days of the reference: a sample team that every attacker has.

    >>> from tracearena.cities import simulate
    >>> [half.n_instants for half in split_reference(simulate(users=5, days=4, seed=1))]
    [96, 96]
    """
    days = -(-reference.n_instants // reference.clock.instants_per_day)
    if days < 2:
        raise ParameterError("one day of reference traces cannot be split for tuning: use sample teams")
    first, last = reference.split_days(days // 2)
    return first, last


def tune_against(samples: Sequence[Sample], defence: Obfuscator, *, seed: SeedLike = None) -> Tuning:
    """Release sample teams under a defence and tune the attacks on them."""
    root = seed_sequence(seed)
    teams = []
    for number, sample in enumerate(samples):
        some = np.arange(min(sample[1].n_users, MOST_USERS))
        reference, original = (half.take_users(some) for half in sample)
        own = child_seed(root, number)
        released = validation.run_transform(defence, original, seed=child_seed(own, 0))
        release = pseudonymise(released, seed=child_seed(own, 1))
        teams.append(SampleTeam(reference, original, release.anonymized, release.id_table))
    return tune(teams, seed=child_seed(root, len(teams)))


def score_tuned_attacks(
    samples: Sequence[Sample],
    defence: Obfuscator,
    reference: Traces,
    original: Traces,
    release: Release[ObfuscatedTraces],
    limits: Scoring,
    *,
    seed: SeedLike = None,
) -> TunedScores:
    """Tune attacks on the sample teams, attack the release, and return its scores."""
    root = seed_sequence(seed)
    found = tune_against(samples, defence, seed=child_seed(root, 0))
    best: list[Attack] = [found.reidentification, found.trace_inference]
    scores = (
        Ensemble(best, **limits.attacker_settings)
        .fit(reference)
        .score(original, release, defence=defence, seed=child_seed(root, 1))
    )
    s_R, s_T = scores.minima
    return TunedScores(str(best[0]), str(best[1]), s_R, s_T)
