"""`BayesMatcher`: channel E → profiles P_{u,t} → evidence S_f[p,u] → weights w → one-to-one assignment.

The mechanism is known, detected among known defences, or estimated. The calibration set for the weights is
the reference cut in two by time, with the later half released by the same mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import Algorithm, Defence, Obfuscator, kinds_of
from tracearena.attacks.base import Ints, Matcher, check_places, require_users
from tracearena.attacks.bayesian import channel
from tracearena.attacks.bayesian.channel_estimation import estimate_mechanism
from tracearena.attacks.bayesian.detection import detect_mechanism
from tracearena.attacks.bayesian.pair_evidence import Evidence
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles, check_same_clock
from tracearena.attacks.bayesian.simulated_release import (
    SimulatedRelease,
    build_release,
    draw_observations,
    simulate_mechanism,
)
from tracearena.attacks.bayesian.weights import BayesMatch
from tracearena.checks import require_fitted
from tracearena.engine import SeedLike, child_seed, generator, seed_sequence
from tracearena.errors import ParameterError
from tracearena.traces import ObfuscatedTraces, Traces

CALIBRATION_USERS = 400
"""Users on whom the weights are learned."""
CALIBRATION_EVENTS = 40_000
"""Where traces are short, more users are taken until they have this many events."""
FEWEST_CALIBRATION_USERS = 10
"""With fewer nothing is learned."""


@dataclass(kw_only=True)
class BayesMatcher(Matcher):
    """Weighs how often, when and from where to where people go, and takes each user once.

    Parameters
    ----------
    mechanism
        The defence that the attacker believes in; None estimates it from the release.
    limit_km
        Distance from which on places have nothing to do with each other.
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
        self.around_ = Neighbourhoods.of(reference.places, self.limit_km)
        self.habits_ = TimeProfiles.with_fitted_kernel(reference, self.around_)
        return self

    def with_mechanism(self, mechanism: Algorithm | None) -> BayesMatcher:
        """Return the same matcher, fitted to the same users, for another defence."""
        other = BayesMatcher(mechanism=mechanism, limit_km=self.limit_km, weights=self.weights)
        for name in ("user_ids_", "reference_", "around_", "habits_"):
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
        made = estimate_mechanism(
            self.reference_, anonymized, self.around_, self.habits_, child_seed(root, 0)
        )
        other = self.with_mechanism(detect_mechanism(self.reference_, anonymized, made, child_seed(root, 2)))
        if other.mechanism is None:
            other.estimate_ = made
        return other

    def match(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> BayesMatch:
        """Collect the evidence; what it is worth is worked out when it is asked for."""
        require_fitted(self, "reference_")
        root = seed_sequence(seed)
        detected = self.with_detected_mechanism(anonymized, seed=root)
        if detected is not self:
            return detected.match(anonymized, seed=root)
        evidence = self.collect_evidence(anonymized, seed=root)
        if self.weights is not None:
            return BayesMatch(evidence, weights=dict(self.weights))
        return BayesMatch(
            evidence, self._build_calibration_set(self._place_mechanism, evidence.made, child_seed(root, 1))
        )

    def collect_evidence(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Evidence:
        """Return the evidence for a matcher whose mechanism is known, detected or estimated."""
        check_places(self.reference_, anonymized)
        check_same_clock(self.reference_, anonymized)
        treatment, made = self._place_mechanism, self.estimate_
        if treatment is not None:
            made = simulate_mechanism(
                treatment, self.reference_, anonymized, child_seed(seed_sequence(seed), 0)
            )
        assert made is not None
        return Evidence(self.reference_, anonymized, made, self.around_, self.habits_)

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
        self, treatment: Algorithm | None, made: SimulatedRelease, seed: Any
    ) -> Evidence | None:
        """Cut the reference in two by time, and release the later half as the mechanism would."""
        halves = split_by_time(self.reference_)
        if halves is None:
            return None
        before, after = halves
        if isinstance(treatment, Obfuscator):
            released = treatment.transform(after, seed=child_seed(seed, 1))
        else:
            symbols = draw_observations(after, made.emission, made.said, child_seed(seed, 1))
            released = build_release(after, symbols, made.symbols)
        # Users with events in both halves, all or as many as are enough.
        users = np.flatnonzero((np.diff(before.offsets) > 0) & (np.diff(after.offsets) > 0))
        enough = max(CALIBRATION_USERS, int(CALIBRATION_EVENTS * max(len(users), 1) / max(after.n_events, 1)))
        if len(users) > enough:
            users = np.sort(generator(child_seed(seed, 0)).choice(users, enough, replace=False))
        if len(users) < FEWEST_CALIBRATION_USERS:
            return None
        return self.build_calibration_evidence(before, released, users, made, child_seed(seed, 2))

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
            Who are compared.
        estimate
            The estimated mechanism, if it was estimated; the release then uses its observations.
        """
        treatment = self._place_mechanism
        if isinstance(treatment, Obfuscator):
            made = simulate_mechanism(treatment, before, released, seed)
        else:
            assert estimate is not None
            said = np.where(released.is_set, len(released.places) + released.set_index, released.codes)
            mine = draw_observations(before, estimate.emission, estimate.said, seed)
            made = SimulatedRelease(estimate.symbols, said.astype(np.int32), (mine,), estimate.emission)
        made = made.take_events(np.isin(released.user_index, users), np.isin(before.user_index, users))
        reference, tested = before.take_users(users), released.take_users(users)
        profiles = TimeProfiles.of(reference, self.around_, self.habits_.in_time)
        return Evidence(reference, tested, made, self.around_, profiles)


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
            "adaptive: there is no defence to run on the reference traces; sweep has one, "
            "elsewhere name it with --mechanism 'PL(4,1)' or leave it unknown"
        )
    from tracearena.obfuscation import place_part

    made: Defence[Any, Any] = catalogue.create(name, ("obfuscator", "gps-obfuscator"))
    part = place_part(made)
    if part is not None and "obfuscator" not in kinds_of(part) and not channel.has_closed_form(part):
        raise ParameterError(
            f"{made} works on GPS traces, and what it makes of places is not known; "
            "name a defence of places, or GeoInd"
        )
    return made
