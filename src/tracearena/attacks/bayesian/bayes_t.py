"""Bayes-T: every trace that may be hers is believed in as far as it is certain, and habits are beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracearena.algorithms.base import setting
from tracearena.attacks.bayesian import tracking
from tracearena.attacks.bayesian.evidence import Evidence
from tracearena.attacks.bayesian.habits import sensitivity
from tracearena.attacks.bayesian.matcher import BayesMatcher
from tracearena.attacks.bayesian.surroundings import Surroundings
from tracearena.attacks.bayesian.told import ToldAttack
from tracearena.attacks.bayesian.weighing import WeighedMatch
from tracearena.attacks.matching import Match, MatchingInference
from tracearena.checks import HEAVIEST, LARGEST_KM, require_number
from tracearena.engine import SeedLike
from tracearena.traces import ObfuscatedTraces, Traces


@dataclass(kw_only=True)
class BayesInference(ToldAttack, MatchingInference):
    """Believe in every trace that may be the user's, as far as it is certain, and answer what costs least.

    q_{u,t}(x) = (1-ε) Σ_p W[u,p] E(y_{p,t}|x) P_{u,t}(x) / Z + ε P_{u,t}(x), where W says how sure it is
    who is who (Sinkhorn) and P are the user's habits. The answer is
    argmax_c Σ_x q(x) w(x) (1 - G(x, c)), G the distance up to the limit, w the weight of sensitive places.

    Parameters
    ----------
    mechanism
        As of every attack that can be told.
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
        self._ready()
        return super().infer(anonymized, seed=seed)

    def infer_from(self, match: Match, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the answers for a match that is already there."""
        assert isinstance(match, WeighedMatch)
        return match.answer((self.share, self.sensitive_weight, self.limit_km), lambda: self._answer(match))

    def _answer(self, match: WeighedMatch) -> Traces:
        evidence = match.evidence
        followed = tracking.likeliest(
            evidence.pairs,
            match.certainty,
            evidence.anonymized.n_events,
            few=self.share > 0 and not evidence.made.by_event,
        )
        return self.answer(evidence, followed)

    def answer(self, evidence: Evidence, followed: tracking.Followed) -> Traces:
        """Return the answers to a release where the traces that may be each user's are given."""
        matcher, anonymized = self.matcher_, evidence.anonymized
        assert isinstance(matcher, BayesMatcher)
        reference, around = matcher.reference_, evidence.around
        if self.limit_km != matcher.limit_km:
            around = Surroundings.of(reference.places, self.limit_km)
        share = self.share if evidence.made.by_event else min(self.share, tracking.DISGUISED_SHARE)
        table = tracking.infer(
            anonymized,
            evidence.made.said,
            evidence.made.emission,
            evidence.habits,
            around,
            tracking.Movement.of(reference),
            followed,
            sensitivity(reference, self.sensitive_weight),
            self.limit_km,
            share=share,
        )
        return Traces.from_dense(
            np.asarray(table),
            anonymized.places,
            anonymized.clock,
            user_ids=matcher.user_ids_,
            first_instant=anonymized.span[0],
        )
