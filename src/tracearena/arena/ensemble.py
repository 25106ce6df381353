"""Many attacks on one release, with shared work.

Attacks whose matchers are equal are fitted once and answer from one match. `strongest` runs every attack of
the catalogue.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import (
    Algorithm,
    Kind,
    Obfuscator,
    ReidentificationAttack,
    TraceInferenceAttack,
    catalogue,
    validation,
)
from tracearena.arena.pseudonyms import Release
from tracearena.attacks import Match, Matcher, MatchingIdentification, MatchingInference
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import DataError, ParameterError, TracearenaError
from tracearena.metrics import reidentification_score, trace_inference_score
from tracearena.metrics.contest_scores import UtilityRule
from tracearena.traces import IdTable, ObfuscatedTraces, Traces
from tracearena.traces._arrays import find_positions

ATTACK_KINDS: tuple[Kind, ...] = ("reidentification", "trace-inference")

SAMPLE_ATTACKS = ("Random-R", "VisitProb-R", "HomeProb-R", "Random-T", "VisitProb-T", "HomeProb-T")
"""The six sample attacks of 2019."""

ADAPTIVE_ATTACKS = (
    "Polya-R(adaptive)",
    "Bayes-R(adaptive)",
    "Link-R(adaptive)",
    "Bayes-T(adaptive)",
    "Tracking-T(adaptive)",
)
"""Attackers who know the defence and run it on the reference traces."""

UNINFORMED_ATTACKS = ("Polya-R", "Markov-R", "Bayes-R", "Link-R", "Bayes-T", "Tracking-T", "Habits-T")
"""Attackers who weigh all they know without knowing the defence."""

KNOWING_ATTACKS = ("Aligned-R",)
"""Attacks for maximum knowledge, the days that are released; they make nothing of other days."""

STRONGEST_ATTACKS = (*UNINFORMED_ATTACKS, *ADAPTIVE_ATTACKS)
"""Attackers who weigh all they know, without knowing the defence and with it."""


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What counts in a score; the defaults are those of [contest] section 3.

    Attributes
    ----------
    utility_rule
        How a generalised event is scored (see `utility_score`).
    utility_threshold
        Lowest utility of a valid release; equality is valid.
    utility_limit_km, inference_limit_km
        Distances from which a place is useless, or an inference has failed.
    sensitive_weight
        Weight of a sensitive place in the trace-inference score; other places weigh 1.
    """

    utility_rule: UtilityRule = "paper"
    utility_threshold: float = 0.7
    utility_limit_km: float = 2.0
    inference_limit_km: float = 2.0
    sensitive_weight: float = 10.0

    def is_valid(self, utility: float) -> bool:
        """Whether a release of this utility counts."""
        return utility >= self.utility_threshold

    @property
    def attacker_settings(self) -> dict[str, float]:
        """The rules of the score that an attacker can take into account, by the names of its settings."""
        return {"sensitive_weight": self.sensitive_weight, "limit_km": self.inference_limit_km}


@dataclass(frozen=True)
class AttackScores(Result):
    """Privacy scores of one release, one for each attack.

    Attributes
    ----------
    reidentification, trace_inference
        Score (1 is private) by the name of the attack.
    failed
        The reasons why attacks failed, by their names.
    """

    reidentification: dict[str, float]
    trace_inference: dict[str, float]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def s_R_min(self) -> float | None:
        """Privacy against the strongest re-identification attack; None if none was run."""
        return min(self.reidentification.values(), default=None)

    @property
    def s_T_min(self) -> float | None:
        """Privacy against the strongest trace-inference attack; None if none was run."""
        return min(self.trace_inference.values(), default=None)

    @property
    def minima(self) -> tuple[float, float]:
        """Both minima; raises an error if attacks of one kind are missing."""
        if self.s_R_min is None or self.s_T_min is None:
            raise DataError("attacks of both kinds are needed, with names in -R and in -T")
        return self.s_R_min, self.s_T_min

    @property
    def strongest(self) -> tuple[str | None, str | None]:
        """Names of the strongest attack of each kind, re-identification first; the first one in a tie."""
        return _find_lowest(self.reidentification), _find_lowest(self.trace_inference)

    def to_dict(self) -> dict[str, Any]:
        """Return all scores, both minima and the attacks behind them as plain values."""
        return {
            **self.reidentification,
            **self.trace_inference,
            "s_R_min": self.s_R_min,
            "s_T_min": self.s_T_min,
            "strongest_R": self.strongest[0],
            "strongest_T": self.strongest[1],
        }


class Ensemble:
    """Several attacks that share work: equal matchers are fitted once, and run once per release.

    Parameters
    ----------
    attacks
        Attacks of both kinds, with different names. An adaptive one, such as ``Bayes-T(adaptive)``, runs
        the defence that `score` is given on the reference traces.
    sensitive_weight, limit_km
        How trace inference is scored. They do not change the settings of the attacks, which `make_attacks`
        sets.
    """

    def __init__(
        self, attacks: Sequence[Attack], *, sensitive_weight: float = 10.0, limit_km: float = 2.0
    ) -> None:
        self.attacks = list(attacks)
        self.sensitive_weight = sensitive_weight
        self.limit_km = limit_km
        for attack in self.attacks:
            if not isinstance(attack, Algorithm):
                raise ParameterError(
                    f"{attack!r} is not an attack: derive its class from "
                    "ReidentificationAttack or TraceInferenceAttack"
                )
            catalogue.check_class(type(attack))
            catalogue.refuse_other_kind(str(attack), attack.kind, ATTACK_KINDS)
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
            validation.try_attack(attack, reference)
        for attack in self.attacks:
            if isinstance(attack, (MatchingIdentification, MatchingInference)):
                with validation.attribute_errors(attack, "fit"):
                    wanted = attack.make_matcher()
                    shared = next((known for known in self.matchers_ if known == wanted), None)
                    if shared is None:
                        self.matchers_.append(wanted.fit(reference))
                    attack.use(wanted if shared is None else shared)
            else:
                validation.run_fit(attack, reference)
        return self

    def answers(
        self, anonymized: ObfuscatedTraces, *, defence: Obfuscator | None = None, seed: SeedLike = None
    ) -> Iterator[tuple[Attack, IdTable | Traces]]:
        """Attack a release, and yield the answer of each attack; attacks that share work follow each other.

        The random draws of an attack depend only on the seed and its own name, not on the other attacks.
        """
        for attack, answer in self.attempts(anonymized, defence, seed):
            if isinstance(answer, TracearenaError):
                raise answer
            yield attack, answer

    def score(
        self,
        original: Traces,
        release: Release[ObfuscatedTraces],
        *,
        defence: Obfuscator | None = None,
        seed: SeedLike = None,
    ) -> AttackScores:
        """Attack a release and score the answers; if an attack fails, the others still run.

        Parameters
        ----------
        defence
            The defence that made the release. Adaptive attacks need it and fail without it.
        """
        found: dict[str, float] = {}
        failed: dict[str, str] = {}
        for attack, answer in self.attempts(release.anonymized, defence, seed):
            name = str(attack)
            if isinstance(answer, TracearenaError):
                failed[name] = str(answer)
            elif isinstance(answer, IdTable):
                found[name] = reidentification_score(release.id_table, answer).reidentification
            else:
                found[name] = trace_inference_score(
                    original, answer, sensitive_weight=self.sensitive_weight, limit_km=self.limit_km
                ).trace_inference
        of_kind = [
            {str(one): found[str(one)] for one in self.attacks if one.kind == kind and str(one) in found}
            for kind in ATTACK_KINDS
        ]
        return AttackScores(of_kind[0], of_kind[1], failed)

    def attempts(
        self, anonymized: ObfuscatedTraces, defence: Obfuscator | None, seed: SeedLike
    ) -> Iterator[tuple[Attack, IdTable | Traces | TracearenaError]]:
        """Yield the answer of every attack, or the error that it raised.

        A match takes much memory, so it is only kept while attacks still use it.
        """
        root = seed_sequence(seed)
        for attack, informed, match in self._match_attacks(anonymized, defence, root):
            try:
                yield attack, self._answer(informed, anonymized, match, derive_seed(root, attack))
            except TracearenaError as error:
                yield attack, error

    def rankings(
        self, anonymized: ObfuscatedTraces, *, defence: Obfuscator | None = None, seed: SeedLike = None
    ) -> Iterator[tuple[Attack, NDArray[np.int64] | TracearenaError]]:
        """Yield the candidates of every re-identification attack for each pseudonym, or its error.

        Each table is pseudonyms × candidates: indices of reference users, the answer first, and -1 if there
        are no more. An attack without a matcher names one user. Trace-inference attacks are left out.
        """
        root = seed_sequence(seed)
        for attack, informed, match in self._match_attacks(anonymized, defence, root):
            if not isinstance(attack, ReidentificationAttack):
                continue
            try:
                table = self._answer(informed, anonymized, match, derive_seed(root, attack))
            except TracearenaError as error:
                yield attack, error
                continue
            if match is not None and isinstance(informed, MatchingIdentification):
                assert not isinstance(match, TracearenaError)
                yield attack, informed.rank_from(match)
            else:
                assert isinstance(table, IdTable)
                yield attack, find_positions(table.user_ids, self.reference_.user_ids)[:, None]

    def _match_attacks(
        self, anonymized: ObfuscatedTraces, defence: Obfuscator | None, root: np.random.SeedSequence
    ) -> Iterator[tuple[Attack, Attack | TracearenaError, Match | TracearenaError | None]]:
        """Give every attack, itself informed of the defence, and the match that it answers from, if any."""
        for matcher, sharing in group_by_matcher(self.attacks, anonymized, defence, root):
            match: Match | TracearenaError | None = None
            if isinstance(matcher, TracearenaError):
                match = matcher
            elif matcher is not None:
                try:
                    with validation.attribute_errors(matcher, "match"):
                        match = matcher.match(anonymized, seed=derive_seed(root, matcher))
                except TracearenaError as error:
                    match = error
            for attack, informed in sharing:
                yield attack, informed, match

    def _answer(
        self,
        attack: Attack | TracearenaError,
        anonymized: ObfuscatedTraces,
        match: Match | TracearenaError | None,
        chance: np.random.SeedSequence,
    ) -> IdTable | Traces:
        known = self.reference_
        if isinstance(attack, TracearenaError):
            raise attack
        if isinstance(match, TracearenaError):
            raise match
        if match is None:
            if isinstance(attack, ReidentificationAttack):
                return validation.run_identify(attack, anonymized, known, seed=chance)
            return validation.run_infer(attack, anonymized, known, seed=chance)
        if isinstance(attack, MatchingIdentification):
            with validation.attribute_errors(attack, "identify_from"):
                table = attack.identify_from(match, anonymized)
            return validation.check_id_table(attack, table, anonymized, known)
        assert isinstance(attack, MatchingInference)
        with validation.attribute_errors(attack, "infer_from"):
            traces = attack.infer_from(match, anonymized, seed=chance)
        return validation.check_inference(attack, traces, anonymized, known)


def strongest(
    reference: Traces,
    original: Traces,
    release: Release[ObfuscatedTraces],
    *,
    attacks: Sequence[Attack] | None = None,
    defence: Obfuscator | None = None,
    scoring: Scoring | None = None,
    seed: SeedLike = None,
) -> AttackScores:
    """Run every known attack on a release, with shared work.

    Parameters
    ----------
    attacks
        By default all of the catalogue, and with a `defence` the adaptive attacks too.
    defence
        What made the release.
    scoring
        How trace inference is scored; the attacks know it. By default as in the contest of 2019.

    Examples
    --------
    >>> from tracearena.arena import pseudonymise
    >>> from tracearena.traces import Clock, ObfuscatedTraces, Places
    >>> places = Places([0, 0.01, 0.02], [0, 0, 0], km_per_degree=(100, 100))
    >>> traces = Traces.from_dense([[0, 1, 0, 1], [2, 2, 2, 2]], places, Clock(instants_per_day=2))
    >>> reference, original = traces.split_days(1)
    >>> release = pseudonymise(ObfuscatedTraces.from_traces(original), seed=1)
    >>> found = strongest(reference, original, release, seed=1)
    >>> found.s_R_min, found.s_T_min
    (0.0, 0.0)
    """
    settings = (scoring or Scoring()).attacker_settings
    if attacks is None:
        names = [*all_attacks(), *(() if defence is None else ADAPTIVE_ATTACKS)]
        attacks = make_attacks(names, **settings)
    ensemble = Ensemble(attacks, **settings).fit(reference)
    return ensemble.score(original, release, defence=defence, seed=seed)


def make_attacks(names: Sequence[str], **options: Any) -> list[Any]:
    """Create attacks of both kinds from their names.

    Options, such as `sensitive_weight` and `limit_km`, go to the attacks that have such a setting.
    """
    return [catalogue.create(name, ATTACK_KINDS, **options) for name in names]


def attack_names(chosen: Sequence[str]) -> list[str]:
    """Return the names of the chosen attacks, each once.

    ``samples`` are the six attacks of 2019, ``strongest`` the Bayesian attacks with and without knowledge of
    the defence, and ``all`` everything in the catalogue, including adaptive attacks.

    >>> attack_names(["samples", "Replay-T"])[-2:]
    ['HomeProb-T', 'Replay-T']
    """
    sets: dict[str, Sequence[str]] = {"samples": SAMPLE_ATTACKS, "strongest": STRONGEST_ATTACKS}
    if "all" in chosen:
        sets["all"] = [*all_attacks(), *ADAPTIVE_ATTACKS]
    return list(dict.fromkeys(name for one in chosen for name in sets.get(one, [one])))


def all_attacks() -> list[str]:
    """Return the names of all attacks except those that need the originals, re-identification first."""
    names = [name for kind in ATTACK_KINDS for name in catalogue.names(kind)]
    return [name for name in names if name not in KNOWING_ATTACKS]


def _find_lowest(scores: dict[str, float]) -> str | None:
    return min(scores, key=scores.__getitem__, default=None)


# Groups of attacks that answer from one match.

Attack = ReidentificationAttack | TraceInferenceAttack
Sharing = list[tuple[Attack, Attack | TracearenaError]]
"""Attacks, each with itself informed of the defence, or the error that it ended with."""
Group = tuple[Matcher | TracearenaError | None, Sharing]
"""A matcher, or the error that it ended with, and the attacks that answer from it."""


def group_by_matcher(
    attacks: Iterable[Attack],
    anonymized: ObfuscatedTraces,
    defence: Obfuscator | None,
    root: np.random.SeedSequence,
) -> list[Group]:
    """Group attacks by the matcher that they answer from; those without one are a group too.

    An attack that detects the defence which another one was given is equal to it: they are one group.
    """
    groups: list[Group] = []
    for attack in attacks:
        try:
            informed: Attack | TracearenaError = _inform_attack(attack, defence)
        except TracearenaError as error:
            informed = error
        own = informed.matcher_ if isinstance(informed, (MatchingIdentification, MatchingInference)) else None
        _add_to_group(groups, own, [(attack, informed)])
    merged: list[Group] = []
    for matcher, sharing in groups:
        if isinstance(matcher, Matcher):
            try:
                with validation.attribute_errors(matcher, "with_detected_mechanism"):
                    matcher = matcher.with_detected_mechanism(anonymized, seed=derive_seed(root, matcher))
            except TracearenaError as error:
                matcher = error
        _add_to_group(merged, matcher, sharing)
    return merged


def derive_seed(root: np.random.SeedSequence, who: Attack | Matcher) -> np.random.SeedSequence:
    """Return the seed of an attack or a matcher, which depends on its name and on no other."""
    return child_seed(root, zlib.crc32(str(who).encode()))


def _inform_attack(attack: Any, defence: Obfuscator | None) -> Any:
    """Return an attack that is ready: an adaptive one is given the defence."""
    if not getattr(attack, "is_adaptive", False):
        return attack
    if defence is None:
        raise ParameterError(f"{attack} needs to know the defence, which is unknown here")
    with validation.attribute_errors(attack, "with_mechanism"):
        return attack.with_mechanism(defence)


def _add_to_group(groups: list[Group], matcher: Matcher | TracearenaError | None, sharing: Sharing) -> None:
    """Put attacks to the group of their matcher, or into a new one."""
    for known, others in groups:
        if known == matcher:
            others.extend(sharing)
            return
    groups.append((matcher, list(sharing)))
