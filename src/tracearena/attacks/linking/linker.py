"""Link-R: re-identification by all evidence that a release contains.

`LinkMatcher` compares the release with what the defence makes of the known days by every kind of evidence,
S(p,u) = Σ_f w_f S_f(p,u), and `LinkMatch` scales exp(S) to a doubly stochastic table and assigns one to one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import Algorithm, setting
from tracearena.attacks.base import Floats, Ints, Match, Matcher, MatchingIdentification, require_users
from tracearena.attacks.bayesian.attacks import InformedAttack
from tracearena.attacks.bayesian.channel import build_release, draw_observations
from tracearena.attacks.bayesian.matcher import ADAPTIVE, UNKNOWN, BayesMatcher
from tracearena.attacks.bayesian.pairs import (
    CandidatePairs,
    assign_users,
    build_all_pairs,
    compute_posteriors,
    rank_users,
)
from tracearena.attacks.linking.evidence import Likelihood, kinds_for
from tracearena.attacks.linking.observations import (
    Observations,
    check_same_kind,
    find_common_cut,
    thin_points,
)
from tracearena.attacks.linking.scoring import (
    SETTINGS as SCORE_SETTINGS,
)
from tracearena.attacks.linking.scoring import (
    CalibratedEvidence,
    Comparison,
    ComparisonSide,
    Tables,
    calibrate,
    learn_weights,
    prepare_uncalibrated,
)
from tracearena.checks import require_fitted, require_kind
from tracearena.engine import SeedLike, child_seed, generator, seed_sequence
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Traces


@dataclass(frozen=True)
class LinkerSettings:
    """Sizes of what a linker compares."""

    event_draws: int = 4
    """Runs of the defence on known events. Chosen by hand, not tuned."""
    point_draws: int = 1
    """Runs on known GPS points, which are many. Chosen by hand, not tuned."""
    max_places: int = 4096
    """With more places likelihoods through the channel, which grow with their square, are left out."""
    max_pairs: int = 9_000_000
    """With more pairs only the candidates of the likelihoods are scored. Chosen by hand, not tuned."""
    calibration_users: int = 400
    """People on whom the weights are learned. Chosen by hand, not tuned."""
    min_calibration_users: int = 10
    """With fewer people on both sides of the cut every kind of evidence has the same weight."""
    min_weight: float = 1e-4
    """Evidence that weighs less is not computed. Chosen by hand, not tuned."""
    sinkhorn_rounds: int = 100
    """Rounds of Sinkhorn's scaling. Chosen by hand, not tuned."""


SETTINGS = LinkerSettings()


_DRAW, _CHOOSE, _THIN, _DETECT, _CHANNEL, _CALIBRATE, _EARLIER, _LATER = range(8)

AnyTraces = Traces | GpsTraces
Released = ObfuscatedTraces | GpsTraces


class LinkMatch(Match):
    """The user that each pseudonym is matched to, by the weighted sum of all evidence.

    Parameters
    ----------
    compared
        The release and the known days.
    prepared, weights
        The kinds of evidence and their weights.
    tables
        Their scores in the calibration set, to learn the weights of some kinds alone; None without
        calibration.
    """

    def __init__(
        self, compared: Comparison, prepared: list[CalibratedEvidence], weights: Floats, tables: Tables | None
    ) -> None:
        self.compared = compared
        self.prepared = prepared
        self.weights = weights
        self._tables = tables
        self._kept: dict[int, Tables] = {}

    @property
    def pairs(self) -> CandidatePairs:
        """The pairs of a trace and a person that were scored."""
        return self.compared.pairs

    @cached_property
    def scores(self) -> Floats:
        """The evidence for each pair."""
        return self._weigh_scores(range(len(self.prepared)), self.weights)

    @cached_property
    def certainty(self) -> Floats:
        """The posterior of each pair: a doubly stochastic table (Sinkhorn)."""
        return compute_posteriors(self.pairs, self.scores, rounds=SETTINGS.sinkhorn_rounds)

    @cached_property
    def best(self) -> Ints:
        """The user of each pseudonym: the one-to-one assignment with the largest sum of posteriors."""
        return assign_users(self.pairs, self.certainty)

    @property
    def exclusive(self) -> Ints:
        """The same: nobody is taken twice."""
        return self.best

    @cached_property
    def ranking(self) -> Ints:
        """The most likely users of each pseudonym, the assigned one first."""
        return rank_users(self.pairs, self.scores, self.best)

    @property
    def posterior(self) -> Floats:
        """Posterior probability of the user matched to each pseudonym; 0 if the pair was not scored."""
        given = self.pairs.users == self.best[self.pairs.traces]
        found = np.zeros(len(self.best))
        found[self.pairs.traces[given]] = self.certainty[given]
        return found

    @property
    def groups(self) -> list[str]:
        """The groups of evidence, in the order of the kinds."""
        return list(dict.fromkeys(one.kind.group for one in self.prepared))

    def by_groups(self, groups: Iterable[str]) -> Ints:
        """Return the user of each pseudonym by some groups of evidence only, with weights of their own.

        The assignment has the largest sum of scores.
        """
        chosen = {*groups}
        kinds = [at for at, one in enumerate(self.prepared) if one.kind.group in chosen]
        weights = np.ones(len(kinds))
        if self._tables is not None:
            weights = learn_weights(self._tables[kinds], _penalty(self.compared))
        return assign_users(self.pairs, self._weigh_scores(kinds, weights))

    def _weigh_scores(self, kinds: Iterable[int], weights: Floats) -> Floats:
        total = np.zeros(len(self.pairs.users))
        for at, weight in zip(kinds, weights, strict=True):
            if weight > SETTINGS.min_weight:
                if at not in self._kept:
                    # Single precision is enough for a table that is kept for other sums.
                    self._kept[at] = self.prepared[at].scores(self.compared).astype(np.float32)
                total += weight * self._kept[at]
        return total


def _penalty(compared: Comparison) -> float:
    is_gps = compared.seen.draws[0].is_gps
    return SCORE_SETTINGS.point_penalty if is_gps else SCORE_SETTINGS.event_penalty


@dataclass(kw_only=True)
class LinkMatcher(Matcher):
    """Compares the release with the known days after the same defence, by all kinds of evidence.

    Parameters
    ----------
    mechanism
        The defence that the attacker assumes. With None, it is estimated from the release for events, and no
        defence is assumed for GPS points.
    evidence
        ``all``, ``times``, ``places``, ``file``, or one group of `EVIDENCE`.
    channel
        Whether to use likelihoods through the channel of the defence.
    timezone
        Zone of the hours of GPS points; guessed from the known points if None.
    left_out
        Groups of evidence that are not used, because they would identify people only by the way in which
        known and released days were chosen.
    """

    mechanism: Algorithm | None = None
    evidence: str = "all"
    channel: bool = True
    timezone: str | None = None
    left_out: tuple[str, ...] = ()

    reference_: AnyTraces = field(init=False, repr=False, compare=False)
    bayes_: BayesMatcher | None = field(default=None, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"Link({self.mechanism or UNKNOWN},{self.evidence},{self.channel})"

    def fit(self, reference: AnyTraces) -> Self:
        """Keep what is known of every user."""
        require_users(reference)
        self.user_ids_ = reference.user_ids
        self.reference_ = reference
        self.bayes_ = None
        has_likelihoods = self.channel and any(isinstance(one, Likelihood) for one in self._kinds(False))
        if isinstance(reference, Traces) and len(reference.places) <= SETTINGS.max_places and has_likelihoods:
            self.bayes_ = BayesMatcher(mechanism=self.mechanism).fit(reference)
        return self

    def _kinds(self, is_gps: bool) -> list[Any]:
        return [kind for kind in kinds_for(is_gps, self.evidence) if kind.group not in self.left_out]

    def without_groups(self, groups: Iterable[str]) -> LinkMatcher:
        """Return the same matcher, fitted to the same users, without some groups of evidence."""
        other = copy.copy(self)
        vars(other)["left_out"] = tuple(groups)
        return other

    def with_mechanism(self, mechanism: Algorithm | None) -> LinkMatcher:
        """Return the same matcher, fitted to the same users, for another defence."""
        other = copy.copy(self)
        vars(other)["mechanism"] = mechanism
        other.bayes_ = None if self.bayes_ is None else self.bayes_.with_mechanism(mechanism)
        return other

    def with_detected_mechanism(self, anonymized: Released, *, seed: SeedLike = None) -> LinkMatcher:
        """Return the matcher with the defence that is detected in the release, if none is known."""
        require_fitted(self, "reference_")
        if self.bayes_ is None or not isinstance(anonymized, ObfuscatedTraces):
            return self
        believed = self.bayes_.with_detected_mechanism(anonymized, seed=seed)
        other = self.with_mechanism(believed.mechanism)
        other.bayes_ = believed
        return other

    def match(self, anonymized: Released, *, seed: SeedLike = None) -> LinkMatch:
        """Learn the weights on the known days, and apply them to the release."""
        require_fitted(self, "reference_")
        root = seed_sequence(seed)
        detected = self.with_detected_mechanism(anonymized, seed=child_seed(root, _DETECT))
        if detected is not self and detected.bayes_ is not self.bayes_:
            return detected.match(anonymized, seed=root)
        seen = self._observe(anonymized, root)
        known = self._release_known_days(self.reference_, root, _DRAW)
        check_same_kind(known.draws[0], seen)
        kinds = self._kinds(seen.is_gps)
        likelihoods = None
        if self.bayes_ is not None:
            assert isinstance(anonymized, ObfuscatedTraces)
            likelihoods = self.bayes_.collect_evidence(anonymized, seed=child_seed(root, _CHANNEL))
        else:
            kinds = [one for one in kinds if not isinstance(one, Likelihood)]
        calibration = self._build_calibration_set(known, root)
        n_traces, n_users = seen.n_users, known.n_users
        if likelihoods is not None and n_traces * n_users > SETTINGS.max_pairs:
            pairs = likelihoods.pairs
        else:
            pairs = build_all_pairs(n_traces, n_users)
            if likelihoods is not None and len(likelihoods.pairs.users) < len(pairs.users):
                likelihoods = likelihoods.for_pairs(pairs)
        compared = Comparison(ComparisonSide((seen,)), known, pairs, likelihoods)
        if calibration is None:
            prepared = prepare_uncalibrated(kinds, compared)
            return LinkMatch(compared, prepared, np.ones(len(prepared)), None)
        prepared, tables = calibrate(kinds, calibration)
        return LinkMatch(compared, prepared, learn_weights(tables, _penalty(compared)), tables)

    def _release_known_days(
        self, traces: AnyTraces, root: np.random.SeedSequence, stream: int
    ) -> ComparisonSide:
        """Return what the defence makes of known days, in several draws."""
        draws = SETTINGS.point_draws if isinstance(traces, GpsTraces) else SETTINGS.event_draws
        seeds = [child_seed(root, stream, at) for at in range(1 if self._is_identity else draws)]
        return ComparisonSide(tuple(self._observe(self._apply_defence(traces, seed), root) for seed in seeds))

    @property
    def _is_identity(self) -> bool:
        """Whether the attacker believes that true days are released."""
        from tracearena.obfuscation import Cheating, NoObfuscation

        if self.mechanism is not None:
            is_of_points = isinstance(self.reference_, GpsTraces)
            return not is_of_points and isinstance(self.mechanism, Cheating | NoObfuscation)
        return self.bayes_ is None or self.bayes_.estimate_ is None

    def _apply_defence(self, traces: AnyTraces, seed: np.random.SeedSequence) -> Released:
        """Return one draw of what the defence makes of some days."""
        if self._is_identity:
            return traces if isinstance(traces, GpsTraces) else ObfuscatedTraces.from_traces(traces)
        if self.mechanism is not None:
            mechanism: Any = self.mechanism
            released: Released = mechanism.transform(traces, seed=seed)
            return released
        assert isinstance(traces, Traces)
        assert self.bayes_ is not None
        estimate = self.bayes_.estimate_
        assert estimate is not None
        observed = draw_observations(traces, estimate.channel, estimate.released, seed)
        return build_release(traces, observed, estimate.alphabet)

    def _observe(self, traces: Released, root: np.random.SeedSequence) -> Observations:
        if isinstance(traces, GpsTraces):
            traces = thin_points(traces, generator(child_seed(root, _THIN)))
        return Observations.of(traces, self.timezone)

    def _build_calibration_set(
        self, known: ComparisonSide, root: np.random.SeedSequence
    ) -> Comparison | None:
        """Cut the known days in two, and release each part by itself: people whose traces are known.

        What a defence decides for a person, such as whom it makes her look like, it decides for a release:
        two parts of one release have it in common, and known days and the release do not.
        """
        cut = find_common_cut(known.draws[:1])
        if cut is None:
            return None
        reference = self.reference_
        day = Observations.of(reference, self.timezone).day
        before, after = reference.keep(day < cut), reference.keep(day >= cut)
        there = np.flatnonzero((np.diff(before.offsets) > 0) & (np.diff(after.offsets) > 0))
        if len(there) < SETTINGS.min_calibration_users:
            return None
        before, after = before.take_users(there), after.take_users(there)
        earlier = self._release_known_days(before, root, _EARLIER)
        released = self._apply_defence(after, child_seed(root, _LATER))
        later = self._observe(released, root)
        users = np.flatnonzero((earlier.draws[0].counts > 0) & (later.counts > 0))
        if len(users) < SETTINGS.min_calibration_users:
            return None
        if len(users) > SETTINGS.calibration_users:
            rng = generator(child_seed(root, _CHOOSE))
            users = np.sort(rng.choice(users, SETTINGS.calibration_users, replace=False))
        pairs = build_all_pairs(len(users), len(users))
        likelihoods = None
        if self.bayes_ is not None:
            assert isinstance(before, Traces)
            assert isinstance(released, ObfuscatedTraces)
            estimate, seed = self.bayes_.estimate_, child_seed(root, _CALIBRATE)
            likelihoods = self.bayes_.build_calibration_evidence(
                before, released, users, estimate, seed
            ).for_pairs(pairs)
        return Comparison(
            ComparisonSide((later.take_users(users),)), earlier.take_users(users), pairs, likelihoods
        )


@dataclass(kw_only=True)
class Linker(InformedAttack, MatchingIdentification):
    """Identify people by all evidence in a release: places, times, habits, and details of the file.

    Every kind of evidence compares the release with the known days after the defence was applied to them.
    Histograms are compared by a Pólya (Dirichlet-multinomial) likelihood, single numbers by the correlation
    of their normal scores, and events also through the defence's channel as in ``Bayes-R``. Weights maximise
    the likelihood of the true pairs between two parts of the known days. The answer is a one-to-one
    assignment.

    Parameters
    ----------
    mechanism
        The defence, such as ``PL(4,1)+SwapTimes(1km,month)``. ``unknown`` estimates it; ``adaptive`` gets it
        from a sweep.
    evidence
        ``all``, ``times``, ``places``, ``file`` (how the file was written), or one group, such as ``hours``.
    channel
        Whether to use likelihoods through the channel; without them the attack is several times faster.
    timezone
        Zone of the hours of GPS points; guessed if None.

    Notes
    -----
    `fit` and `identify` take events (`Traces`, `ObfuscatedTraces`) or GPS points (`GpsTraces`).
    """

    name: ClassVar[str] = "Link-R"
    takes_points: ClassVar[bool] = True

    evidence: str = "all"
    channel: bool = setting(True)
    timezone: str | None = setting(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds_for(False, self.evidence)

    def defence(self, name: str) -> Algorithm:
        """Return the defence with this name, for events or for GPS points."""
        found: Algorithm = catalogue.create(name, ("obfuscator", "gps-obfuscator"))
        return found

    def make_matcher(self) -> LinkMatcher:
        """Return the matcher, not yet fitted."""
        mechanism = None if self.mechanism in (ADAPTIVE, UNKNOWN) else self.defence(self.mechanism)
        return LinkMatcher(
            mechanism=mechanism, evidence=self.evidence, channel=self.channel, timezone=self.timezone
        )

    def fit(self, reference: AnyTraces) -> Self:
        """Keep what is known of every user."""
        if not isinstance(reference, GpsTraces):
            require_kind(self, reference, Traces)
        return self.use(self.make_matcher().fit(reference))

    def identify(self, anonymized: Released, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table."""
        if not isinstance(anonymized, GpsTraces):
            require_kind(self, anonymized, ObfuscatedTraces)
        self._check_informed()
        matcher: Any = self.matcher_
        best = matcher.match(anonymized, seed=seed).best
        return IdTable(anonymized.user_ids, self.matcher_.user_ids_[best])
