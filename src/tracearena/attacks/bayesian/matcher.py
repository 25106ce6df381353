"""`BayesMatcher`: channel E → profiles P_{u,t} → evidence S_f[p,u] → weights w → one-to-one assignment.

The mechanism is known, detected among known defences, or estimated. The calibration set for the weights is
the reference cut in two by time, with the later half released by the same mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import Algorithm, Defence, Obfuscator, kinds_of
from tracearena.attacks.base import Floats, Ints, Matcher, check_places, require_users
from tracearena.attacks.bayesian.channel import (
    SimulatedRelease,
    build_release,
    draw_observations,
    is_gps_with_channel,
    simulate_mechanism,
)
from tracearena.attacks.bayesian.channel_estimation import estimate_mechanism
from tracearena.attacks.bayesian.detection import detect_mechanism
from tracearena.attacks.bayesian.likelihoods import (
    KINDS,
    Evidence,
    build_mixtures,
    halve_evidence,
)
from tracearena.attacks.bayesian.pairs import assign_users, compute_posteriors, double_centre, rank_users
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles, check_same_clock
from tracearena.attacks.bayesian.weights import estimate_length_scale, learn_weights
from tracearena.checks import require_fitted, require_number
from tracearena.engine import SeedLike, child_seed, generator, seed_sequence
from tracearena.errors import ParameterError
from tracearena.traces import ObfuscatedTraces, Traces


@dataclass(frozen=True)
class CalibrationSettings:
    """Size of the calibration set."""

    users: int = 400
    """Users on whom the weights are learned. Chosen by hand, not tuned."""
    events: int = 40_000
    """Where traces are short, more users are taken until they have this many events. Chosen by hand, not
    tuned."""
    min_users: int = 10
    """With fewer users nothing is learned. Chosen by hand, not tuned."""
    max_short_events: int = 100
    """Up to this median number of events traces are short, and all mixtures are tried. Chosen by hand, not
    tuned."""


SETTINGS = CalibrationSettings()


@dataclass(kw_only=True)
class BayesMatcher(Matcher):
    """Combines evidence of visits, times and transitions, and assigns each user once.

    Parameters
    ----------
    mechanism
        The defence that the attacker assumes; None estimates it from the release.
    limit_km
        Distance from which places do not support each other.
    weights
        How much each kind of evidence is worth, by its name; None learns it on the reference cut in two.
    """

    mechanism: Algorithm | None = None
    limit_km: float = 2.0
    weights: tuple[tuple[str, float], ...] | None = None

    reference_: Traces = field(init=False, repr=False, compare=False)
    estimate_: SimulatedRelease | None = field(default=None, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"Bayes({self.mechanism or UNKNOWN})"

    def fit(self, reference: Traces) -> Self:
        """Learn the time profile of every user."""
        require_users(reference)
        self.user_ids_ = reference.user_ids
        self.reference_ = reference
        self.neighbourhoods_ = Neighbourhoods.of(reference.places, self.limit_km)
        self.profiles_ = TimeProfiles.with_fitted_kernel(reference, self.neighbourhoods_)
        return self

    def with_mechanism(self, mechanism: Algorithm | None) -> BayesMatcher:
        """Return the same matcher, fitted to the same users, for another defence."""
        other = BayesMatcher(mechanism=mechanism, limit_km=self.limit_km, weights=self.weights)
        for name in ("user_ids_", "reference_", "neighbourhoods_", "profiles_"):
            setattr(other, name, getattr(self, name))
        return other

    def with_detected_mechanism(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> BayesMatcher:
        """Return the matcher with the defence that was detected, or with the channel that was estimated.

        A matcher with a detected defence equals one that knew the defence.
        """
        require_fitted(self, "reference_")
        if self.mechanism is not None or self.estimate_ is not None:
            return self
        check_places(self.reference_, anonymized)
        check_same_clock(self.reference_, anonymized)
        root = seed_sequence(seed)
        simulated = estimate_mechanism(
            self.reference_, anonymized, self.neighbourhoods_, self.profiles_, child_seed(root, 0)
        )
        other = self.with_mechanism(
            detect_mechanism(self.reference_, anonymized, simulated, child_seed(root, 2))
        )
        if other.mechanism is None:
            other.estimate_ = simulated
        return other

    def match(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> BayesMatch:
        """Collect the evidence; its weights are computed on first use."""
        require_fitted(self, "reference_")
        root = seed_sequence(seed)
        detected = self.with_detected_mechanism(anonymized, seed=root)
        if detected is not self:
            return detected.match(anonymized, seed=root)
        evidence = self.collect_evidence(anonymized, seed=root)
        if self.weights is not None:
            return BayesMatch(evidence, weights=dict(self.weights))
        return BayesMatch(
            evidence,
            self._build_calibration_set(self._place_mechanism, evidence.simulated, child_seed(root, 1)),
        )

    def collect_evidence(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Evidence:
        """Return the evidence for a matcher whose mechanism is known, detected or estimated."""
        check_places(self.reference_, anonymized)
        check_same_clock(self.reference_, anonymized)
        treatment, simulated = self._place_mechanism, self.estimate_
        if treatment is not None:
            simulated = simulate_mechanism(
                treatment, self.reference_, anonymized, child_seed(seed_sequence(seed), 0)
            )
        assert simulated is not None
        return Evidence(self.reference_, anonymized, simulated, self.neighbourhoods_, self.profiles_)

    @property
    def _place_mechanism(self) -> Algorithm | None:
        """What the mechanism does to places: one that hands whole traces to others does nothing to them.

        Neither does a defence of time, by itself or as a stage of a pipeline.
        """
        from tracearena.obfuscation import Cheating, NoObfuscation, place_part

        if isinstance(self.mechanism, Defence):
            part = place_part(self.mechanism)
            return NoObfuscation() if part is None or isinstance(part, Cheating) else part
        return self.mechanism

    def _build_calibration_set(
        self, treatment: Algorithm | None, simulated: SimulatedRelease, seed: Any
    ) -> Evidence | None:
        """Cut the reference in two by time, and release the later half as the mechanism would."""
        halves = split_by_time(self.reference_)
        if halves is None:
            return None
        before, after = halves
        if isinstance(treatment, Obfuscator):
            released = treatment.transform(after, seed=child_seed(seed, 1))
        else:
            observations = draw_observations(
                after, simulated.channel, simulated.released, child_seed(seed, 1)
            )
            released = build_release(after, observations, simulated.alphabet)
        # Users with events in both halves, all or as many as are enough.
        users = np.flatnonzero((np.diff(before.offsets) > 0) & (np.diff(after.offsets) > 0))
        enough = max(SETTINGS.users, int(SETTINGS.events * max(len(users), 1) / max(after.n_events, 1)))
        if len(users) > enough:
            users = np.sort(generator(child_seed(seed, 0)).choice(users, enough, replace=False))
        if len(users) < SETTINGS.min_users:
            return None
        return self.build_calibration_evidence(before, released, users, simulated, child_seed(seed, 2))

    def build_calibration_evidence(
        self,
        before: Traces,
        released: ObfuscatedTraces,
        users: Ints,
        estimate: SimulatedRelease | None,
        seed: Any,
    ) -> Evidence:
        """Return the evidence between some users' earlier days and a simulated release of their later ones.

        Parameters
        ----------
        before, released
            Traces of all users, in the order of the reference.
        users
            The users to compare.
        estimate
            The estimated mechanism, if it was estimated; the release then uses its observations.
        """
        treatment = self._place_mechanism
        if isinstance(treatment, Obfuscator):
            simulated = simulate_mechanism(treatment, before, released, seed)
        else:
            assert estimate is not None
            observed = np.where(released.is_set, len(released.places) + released.set_index, released.codes)
            mine = draw_observations(before, estimate.channel, estimate.released, seed)
            simulated = SimulatedRelease(
                estimate.alphabet, observed.astype(np.int32), (mine,), estimate.channel
            )
        simulated = simulated.take_events(
            np.isin(released.user_index, users), np.isin(before.user_index, users)
        )
        reference, tested = before.take_users(users), released.take_users(users)
        profiles = TimeProfiles.of(reference, self.neighbourhoods_, self.profiles_.in_time)
        return Evidence(reference, tested, simulated, self.neighbourhoods_, profiles)


def split_by_time(reference: Traces) -> tuple[Traces, Traces] | None:
    """Return the earlier and the later half of the time, of all users; None where there is no time.

    Days stay whole where there are several; of an odd number of them the one in the middle is early.
    """
    days = reference.clock.day_of(reference.instants)
    unit = days if len(np.unique(days)) > 1 else reference.instants
    known = np.unique(unit)
    if len(known) < 2:
        return None
    later = unit >= known[(len(known) + 1) // 2]
    return reference.keep(~later), reference.keep(later)


# The defence that the attacker knows, by its name.

UNKNOWN = "unknown"
ADAPTIVE = "adaptive"


def parse_mechanism(name: str) -> Algorithm | None:
    """Return the defence that an attacker knows; None where it has to be estimated."""
    if name == UNKNOWN:
        return None
    if name == ADAPTIVE:
        raise ParameterError(
            "an adaptive attack gets the defence from sweep; elsewhere name it, such as --mechanism "
            "'PL(4,1)', or leave out adaptive"
        )
    from tracearena.obfuscation import place_part

    defence: Defence[Any, Any] = catalogue.create(name, ("obfuscator", "gps-obfuscator"))
    part = place_part(defence)
    if part is not None and "obfuscator" not in kinds_of(part) and not is_gps_with_channel(part):
        raise ParameterError(
            f"{defence} works on GPS traces and has no known effect on places; use "
            "a defence for places, or GeoInd"
        )
    return defence


class BayesMatch:
    """The user of each pseudonym (a `Match`), with its posterior and its evidence.

    Parameters
    ----------
    evidence
        The evidence for each pair.
    calibration
        The calibration set: the same evidence between two parts of the reference; None if it cannot be split.
    weights
        How much each kind of evidence is worth; None learns it on the calibration set.
    """

    def __init__(
        self, evidence: Evidence, calibration: Evidence | None = None, weights: dict[str, float] | None = None
    ) -> None:
        self.evidence = evidence
        self.calibration = calibration
        self._given = weights
        events = np.diff(evidence.reference.offsets)
        self._kinds, self._mixtures = build_mixtures(
            evidence.simulated.by_event,
            long_traces=bool(np.median(events) > SETTINGS.max_short_events),
        )
        self._by: dict[tuple[str, ...], Ints] = {}
        self._answers: dict[tuple[Any, ...], Traces] = {}

    def assign_by(self, *kinds: str) -> Ints:
        """Return the user of each pseudonym by the sum of some kinds of evidence, one to one."""
        if kinds not in self._by:
            scores = np.sum([self.evidence(kind) for kind in kinds], axis=0)
            self._by[kinds] = assign_users(self.evidence.pairs, scores)
        return self._by[kinds]

    def answer(self, settings: tuple[Any, ...], infer: Callable[[], Traces]) -> Traces:
        """Return the answer of a trace inference with these settings; it is computed on first use.

        An attack that knows the defence and one that detects it share one match and give the same answer.
        """
        if settings not in self._answers:
            self._answers[settings] = infer()
        return self._answers[settings]

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each kind of evidence is worth."""
        if self._given is not None:
            return dict.fromkeys(KINDS, 0.0) | self._given
        if self.calibration is None or not len(self.calibration.pairs.users):
            return dict(zip(self._kinds, self._mixtures[0].tolist(), strict=True))
        truth = np.arange(self.calibration.anonymized.n_users)
        found = self.learn_kind_weights(self.calibration, truth)
        if self.calibration.simulated.by_event:
            return found
        # A disguise is as wrong in a long trace as in a short one: scores grow without being more certain.
        shorter = halve_evidence(self.calibration)
        long, short = ((one.pairs, self._weigh_evidence(one, found)) for one in (self.calibration, shorter))
        factor = estimate_length_scale(long, short, truth)
        return {kind: factor * weight for kind, weight in found.items()}

    def learn_kind_weights(self, evidence: Evidence, truth: Ints) -> dict[str, float]:
        """Return the weight of each kind of evidence, learned where the user of each trace is known."""
        found = learn_weights(evidence.pairs, _stack_evidence(evidence, self._kinds), truth, self._mixtures)
        return dict(zip(self._kinds, found.tolist(), strict=True))

    @cached_property
    def scores(self) -> Floats:
        """The weighted evidence of each pair."""
        return self._weigh_evidence(self.evidence, self.weights)

    @cached_property
    def certainty(self) -> Floats:
        """The posterior of each pair."""
        return compute_posteriors(self.evidence.pairs, self.scores)

    @cached_property
    def best(self) -> Ints:
        """The user of each pseudonym, one to one."""
        return assign_users(self.evidence.pairs, self.scores)

    @property
    def exclusive(self) -> Ints:
        """The same: nobody is taken twice."""
        return self.best

    @cached_property
    def ranking(self) -> Ints:
        """The most likely users of each pseudonym, the assigned one first."""
        return rank_users(self.evidence.pairs, self.scores, self.best)

    def rank_by(self, *kinds: str) -> Ints:
        """Return the same by the sum of some kinds of evidence."""
        scores = np.sum([self.evidence(kind) for kind in kinds], axis=0)
        return rank_users(self.evidence.pairs, scores, self.assign_by(*kinds))

    def _weigh_evidence(self, evidence: Evidence, weights: dict[str, float]) -> Floats:
        # Evidence of weight 0 need not be computed.
        kinds = [kind for kind in self._kinds if weights[kind]] or list(self._kinds[:1])
        return np.asarray(_stack_evidence(evidence, kinds) @ np.array([weights[kind] for kind in kinds]))


def _stack_evidence(evidence: Evidence, kinds: Sequence[str]) -> Floats:
    return double_centre(evidence.pairs, np.stack([evidence(kind) for kind in kinds], axis=1))


def check_weights(weights: Any) -> None:
    """Refuse weights other than numbers of at least 0, one for each of some known kinds of evidence."""
    if weights is None:
        return
    if not isinstance(weights, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in weights):
        raise ParameterError.of("weights", weights, "pairs of a kind of evidence and a number")
    names = [name for name, _ in weights]
    if len(set(names)) < len(names) or not {*names} <= {*KINDS}:
        raise ParameterError.of("weights", weights, f"pairs of {', '.join(KINDS)}, each once, and a number")
    for name, weight in weights:
        require_number(f"weight of {name}", weight, at_least=0)
