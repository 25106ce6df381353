"""Many attacks on one release, sharing the work they have in common."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from tracearena.algorithms import (
    Algorithm,
    Kind,
    ReidentificationAttack,
    TraceInferenceAttack,
    answers,
    catalogue,
)
from tracearena.arena.pseudonyms import Release
from tracearena.attacks import Match, Matcher, MatchingIdentification, MatchingInference
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import DataError, ParameterError, TracearenaError
from tracearena.metrics import reidentification_score, trace_inference_score
from tracearena.results import Result
from tracearena.traces import IdTable, ObfuscatedTraces, Traces

Attack = ReidentificationAttack | TraceInferenceAttack
ATTACK_KINDS: tuple[Kind, ...] = ("reidentification", "trace-inference")


@dataclass(frozen=True)
class AttackScores(Result):
    """Privacy scores of one release, one for each attack.

    Attributes
    ----------
    reidentification, trace_inference
        Score (1 is private) by the name of the attack.
    failed
        Why attacks gave no answer, by their names.
    """

    reidentification: dict[str, float]
    trace_inference: dict[str, float]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def s_R_min(self) -> float | None:
        """Privacy against the strongest re-identification; None if there was none."""
        return min(self.reidentification.values(), default=None)

    @property
    def s_T_min(self) -> float | None:
        """Privacy against the strongest trace inference; None if there was none."""
        return min(self.trace_inference.values(), default=None)

    @property
    def minima(self) -> tuple[float, float]:
        """Both, where both kinds of attack were made; an error otherwise."""
        if self.s_R_min is None or self.s_T_min is None:
            raise DataError("attacks of both kinds (-R and -T) are needed here")
        return self.s_R_min, self.s_T_min

    @property
    def strongest(self) -> tuple[str | None, str | None]:
        """Names of the re-identification and the trace inference that left the least privacy."""
        return _lowest(self.reidentification), _lowest(self.trace_inference)

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
        for attack in self.attacks:
            _check_attack(attack)
        names = [str(attack) for attack in self.attacks]
        if len(set(names)) != len(names):
            raise ParameterError(f"an attack is named twice: {', '.join(names)}")

    def __repr__(self) -> str:
        return f"Ensemble({', '.join(str(attack) for attack in self.attacks)})"

    def fit(self, reference: Traces) -> Self:
        """Let every attack learn from the reference traces."""
        self.matchers_: list[Matcher] = []
        self.reference_ = reference
        for attack in self.attacks:
            answers.try_attack(attack, reference)
        for attack in self.attacks:
            if isinstance(attack, (MatchingIdentification, MatchingInference)):
                with answers.blaming(attack, "fit"):
                    attack.use(self._fitted(attack.matcher(), reference))
            else:
                answers.fitted(attack, reference)
        return self

    def _fitted(self, wanted: Matcher, reference: Traces) -> Matcher:
        for matcher in self.matchers_:
            if matcher == wanted:
                return matcher
        self.matchers_.append(wanted.fit(reference))
        return wanted

    def answers(
        self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None
    ) -> Iterator[tuple[Attack, IdTable | Traces]]:
        """Attack a release and give the answer of one attack after the other.

        What an attack draws depends on the seed and on its own name only, not on the other attacks.
        """
        for attack, answer in self._attempts(anonymized, seed):
            if isinstance(answer, TracearenaError):
                raise answer
            yield attack, answer

    def score(self, original: Traces, release: Release, *, seed: SeedLike = None) -> AttackScores:
        """Attack a release and compare with the truth; an attack that fails leaves the others alone."""
        scores = AttackScores({}, {})
        for attack, answer in self._attempts(release.anonymized, seed):
            name = str(attack)
            if isinstance(answer, TracearenaError):
                scores.failed[name] = str(answer)
            elif isinstance(answer, IdTable):
                found = reidentification_score(release.id_table, answer)
                scores.reidentification[name] = found.reidentification
            else:
                error = trace_inference_score(
                    original, answer, sensitive_weight=self.sensitive_weight, limit_km=self.limit_km
                )
                scores.trace_inference[name] = error.trace_inference
        return scores

    def _attempts(
        self, anonymized: ObfuscatedTraces, seed: SeedLike
    ) -> Iterator[tuple[Attack, IdTable | Traces | TracearenaError]]:
        """Give the answer of every attack, or the error that it ended with."""
        root = seed_sequence(seed)
        matches: dict[int, Match | TracearenaError] = {}
        for matcher in self.matchers_:
            try:
                with answers.blaming(matcher, "match"):
                    matches[id(matcher)] = matcher.match(anonymized, seed=_own_seed(root, matcher))
            except TracearenaError as error:
                matches[id(matcher)] = error
        for attack in self.attacks:
            try:
                yield attack, self._answer(attack, anonymized, matches, _own_seed(root, attack))
            except TracearenaError as error:
                yield attack, error

    def _answer(
        self,
        attack: Attack,
        anonymized: ObfuscatedTraces,
        matches: dict[int, Match | TracearenaError],
        chance: np.random.SeedSequence,
    ) -> IdTable | Traces:
        known = self.reference_
        if not isinstance(attack, (MatchingIdentification, MatchingInference)):
            if isinstance(attack, ReidentificationAttack):
                return answers.identified(attack, anonymized, known, seed=chance)
            return answers.inferred(attack, anonymized, known, seed=chance)
        match = matches[id(attack.matcher_)]
        if isinstance(match, TracearenaError):
            raise match
        if isinstance(attack, MatchingIdentification):
            with answers.blaming(attack, "identify_from"):
                table = attack.identify_from(match, anonymized)
            return answers.id_table(attack, table, anonymized, known)
        with answers.blaming(attack, "infer_from"):
            traces = attack.infer_from(match, anonymized, seed=chance)
        return answers.whole_traces(attack, traces, anonymized, known)


def strongest(
    reference: Traces,
    original: Traces,
    release: Release,
    *,
    attacks: Sequence[Attack] | None = None,
    seed: SeedLike = None,
    **scoring: float,
) -> AttackScores:
    """Attack a release with every known attack in one pass that shares their work.

    Parameters
    ----------
    attacks
        All of the catalogue by default.
    **scoring
        `sensitive_weight` and `limit_km` of the `Ensemble`.

    Examples
    --------
    >>> from tracearena.arena import pseudonymise
    >>> from tracearena.traces import Clock, ObfuscatedTraces, Places
    >>> places = Places([0, 0.01, 0.02], [0, 0, 0], km_per_degree=(100, 100))
    >>> traces = Traces.from_dense([[0, 1, 0, 1], [2, 2, 2, 2]], places, Clock(instants_per_day=2))
    >>> reference, original = traces.split_days(1)
    >>> release = pseudonymise(ObfuscatedTraces.unchanged(original), seed=1)
    >>> found = strongest(reference, original, release, seed=1)
    >>> found.s_R_min, found.s_T_min
    (0.0, 0.0)
    """
    chosen = make_attacks(all_attacks()) if attacks is None else attacks
    return Ensemble(chosen, **scoring).fit(reference).score(original, release, seed=seed)


def make_attacks(names: Sequence[str], **options: Any) -> list[Any]:
    """Make attacks of either kind from their names, refusing everything else."""
    return [catalogue.create(name, ATTACK_KINDS, **options) for name in names]


def _check_attack(attack: Attack) -> None:
    if not isinstance(attack, Algorithm):
        raise ParameterError(
            f"{attack!r} is no attack: derive its class from ReidentificationAttack or TraceInferenceAttack"
        )
    catalogue.check_class(type(attack))
    catalogue.refuse_other_kind(str(attack), attack.kind, ATTACK_KINDS)


def all_attacks() -> list[str]:
    """Return the names of all attacks, re-identification first."""
    return [name for kind in ATTACK_KINDS for name in catalogue.names(kind)]


def _lowest(scores: dict[str, float]) -> str | None:
    return min(scores, key=scores.__getitem__, default=None)


def _own_seed(root: np.random.SeedSequence, who: Attack | Matcher) -> np.random.SeedSequence:
    return child_seed(root, zlib.crc32(str(who).encode()))
