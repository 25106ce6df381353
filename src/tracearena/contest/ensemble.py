"""Many attacks on one release, sharing the work they have in common."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tracearena.attacks import (
    Match,
    Matcher,
    MatchingIdentification,
    MatchingInference,
    ReidentificationAttack,
    TraceInferenceAttack,
)
from tracearena.contest.pseudonyms import Release
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import ParameterError
from tracearena.metrics import reidentification_score, trace_inference_score
from tracearena.traces import Traces

Attack = ReidentificationAttack | TraceInferenceAttack


@dataclass(frozen=True)
class AttackScores:
    """Privacy scores of one release, one for each attack.

    Attributes
    ----------
    reidentification, trace_inference
        Score (1 is private) by the name of the attack.
    """

    reidentification: dict[str, float]
    trace_inference: dict[str, float]

    @property
    def s_R_min(self) -> float:
        """Privacy against the strongest re-identification; 1 if there was none."""
        return min(self.reidentification.values(), default=1.0)

    @property
    def s_T_min(self) -> float:
        """Privacy against the strongest trace inference; 1 if there was none."""
        return min(self.trace_inference.values(), default=1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return all scores and both minima as plain values."""
        return {
            **self.reidentification,
            **self.trace_inference,
            "s_R_min": self.s_R_min,
            "s_T_min": self.s_T_min,
        }


class Ensemble:
    """A team of attacks: equal matchers are fitted once and asked once for each release.

    Parameters
    ----------
    attacks
        Attacks of both kinds, with different names.
    sensitive_weight, limit_km
        How trace inference is scored.
    """

    def __init__(
        self, attacks: Sequence[Attack], *, sensitive_weight: float = 10.0, limit_km: float = 2.0
    ) -> None:
        self.attacks = list(attacks)
        self.sensitive_weight = sensitive_weight
        self.limit_km = limit_km
        names = [str(attack) for attack in self.attacks]
        if len(set(names)) != len(names):
            raise ParameterError(f"an attack is named twice: {', '.join(names)}")

    def __repr__(self) -> str:
        return f"Ensemble({', '.join(str(attack) for attack in self.attacks)})"

    def fit(self, reference: Traces) -> Self:
        """Let every attack learn from the reference traces."""
        self.matchers_: list[Matcher] = []
        for attack in self.attacks:
            if isinstance(attack, (MatchingIdentification, MatchingInference)):
                attack.use(self._fitted(attack.matcher(), reference))
            else:
                attack.fit(reference)
        return self

    def _fitted(self, wanted: Matcher, reference: Traces) -> Matcher:
        for matcher in self.matchers_:
            if matcher == wanted:
                return matcher
        self.matchers_.append(wanted.fit(reference))
        return wanted

    def score(self, original: Traces, release: Release, *, seed: SeedLike = None) -> AttackScores:
        """Attack a release and compare with the truth.

        What an attack draws depends on the seed and on its own name only, not on its company.
        """
        root = seed_sequence(seed)
        matches = [
            matcher.match(release.anonymized, seed=_own_seed(root, matcher)) for matcher in self.matchers_
        ]
        identified: dict[str, float] = {}
        inferred: dict[str, float] = {}
        for attack in self.attacks:
            chance = _own_seed(root, attack)
            if isinstance(attack, ReidentificationAttack):
                identified[str(attack)] = self._identify(attack, release, matches, chance)
            else:
                inferred[str(attack)] = self._infer(attack, original, release, matches, chance)
        return AttackScores(identified, inferred)

    def _match_of(self, attack: MatchingIdentification | MatchingInference, matches: list[Match]) -> Match:
        return next(
            match
            for matcher, match in zip(self.matchers_, matches, strict=True)
            if matcher is attack.matcher_
        )

    def _identify(
        self,
        attack: ReidentificationAttack,
        release: Release,
        matches: list[Match],
        chance: np.random.SeedSequence,
    ) -> float:
        if isinstance(attack, MatchingIdentification):
            guess = attack.identify_from(self._match_of(attack, matches), release.anonymized)
        else:
            guess = attack.identify(release.anonymized, seed=chance)
        return reidentification_score(release.id_table, guess).reidentification

    def _infer(
        self,
        attack: TraceInferenceAttack,
        original: Traces,
        release: Release,
        matches: list[Match],
        chance: np.random.SeedSequence,
    ) -> float:
        if isinstance(attack, MatchingInference):
            guess = attack.infer_from(self._match_of(attack, matches), release.anonymized, seed=chance)
        else:
            guess = attack.infer(release.anonymized, seed=chance)
        score = trace_inference_score(
            original, guess, sensitive_weight=self.sensitive_weight, limit_km=self.limit_km
        )
        return score.trace_inference


def _own_seed(root: np.random.SeedSequence, who: Attack | Matcher) -> np.random.SeedSequence:
    return child_seed(root, zlib.crc32(repr(who).encode()))
