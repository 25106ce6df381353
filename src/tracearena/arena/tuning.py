"""Tuning fuzzy counting on sample teams, whose truth everybody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np

from tracearena.attacks.fuzzy_counting import FuzzyCounting, FuzzyCountingT, Weighting
from tracearena.attacks.matching import Match
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import ParameterError
from tracearena.metrics import reidentification_score, trace_inference_score
from tracearena.results import Result
from tracearena.traces import IdTable, ObfuscatedTraces, Traces

WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
ETAS = (0.1, 0.2, 0.33)
DECAYS = (0.5, 1.0, 2.0)
SHARES = (0.3, 0.5, 0.7, 0.9, 1.0)


class SampleTeam(NamedTuple):
    """A team that gave everything away: its traces, their release, and who is who."""

    reference: Traces
    original: Traces
    anonymized: ObfuscatedTraces
    id_table: IdTable


@dataclass(frozen=True)
class Tuning(Result):
    """What was tried, and what did best on average over the sample teams.

    Attributes
    ----------
    reidentification, trace_inference
        The best attack of each kind, not yet fitted to anybody.
    s_R, s_T
        Mean privacy score (0 is the best attack) of everything tried, by its name.
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
    seed: SeedLike = None,
) -> Tuning:
    """Choose (TF, IDF), η0 and λ0 by re-identification, then the frequent share by trace inference.

    Parameters
    ----------
    samples
        At least one team, released the way the targets are expected to be.
    weightings, etas, decays, shares
        What to try; of equally good settings the first wins.

    References
    ----------
    [contest] section 5.3: "optimal values … were determined using sample traces".
    """
    if not samples:
        raise ParameterError("there is no sample team to tune on")
    tried = [
        FuzzyCounting(weighting=weighting, eta=eta, decay=decay)
        for weighting, eta, decay in product(weightings, etas, decays)
    ]
    s_R = {str(attack): _mean_s_R(attack, samples) for attack in tried}
    best = min(tried, key=lambda attack: s_R[str(attack)])
    matches = [best.fit(team.reference).matcher_.match(team.anonymized) for team in samples]
    inferences = [
        FuzzyCountingT(weighting=best.weighting, eta=best.eta, decay=best.decay, frequent=share)
        for share in shares
    ]
    s_T = {str(attack): _mean_s_T(attack, samples, matches, seed) for attack in inferences}
    return Tuning(
        reidentification=replace(best),
        trace_inference=min(inferences, key=lambda attack: s_T[str(attack)]),
        s_R=s_R,
        s_T=s_T,
    )


def _mean_s_R(attack: FuzzyCounting, samples: Sequence[SampleTeam]) -> float:
    scores = [
        reidentification_score(team.id_table, attack.fit(team.reference).identify(team.anonymized))
        for team in samples
    ]
    return float(np.mean([score.reidentification for score in scores]))


def _mean_s_T(
    attack: FuzzyCountingT, samples: Sequence[SampleTeam], matches: Sequence[Match], seed: SeedLike
) -> float:
    root = seed_sequence(seed)
    scores = []
    for number, (team, match) in enumerate(zip(samples, matches, strict=True)):
        attack.fit(team.reference)
        guess = attack.infer_from(match, team.anonymized, seed=child_seed(root, number))
        scores.append(trace_inference_score(team.original, guess).trace_inference)
    return float(np.mean(scores))
