"""The matcher behind the strongest attacks: all evidence, weighed, one user for each trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import catalogue
from tracearena.algorithms.kinds import Algorithm, Obfuscator
from tracearena.attacks.bayesian import emission, rehearsal
from tracearena.attacks.bayesian.assignment import assign, certainty
from tracearena.attacks.bayesian.estimation import estimated
from tracearena.attacks.bayesian.evidence import Evidence
from tracearena.attacks.bayesian.habits import Habits, check_times
from tracearena.attacks.bayesian.learning import centred, learn_weights
from tracearena.attacks.bayesian.rehearsal import Rehearsal
from tracearena.attacks.bayesian.surroundings import Surroundings
from tracearena.attacks.matching import Match, Matcher, check_places
from tracearena.checks import require_fitted, require_number
from tracearena.engine import SeedLike, child_seed, generator, seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.traces import ObfuscatedTraces, Traces

UNKNOWN = "unknown"
ADAPTIVE = "adaptive"
PUPILS = 400
"""Users on whom the weights are learnt, or more where their traces are short: …"""
LESSON_EVENTS = 40_000
"""… so many that they have so many events."""
FEWEST_PUPILS = 10
"""With fewer nothing is learnt."""

Floats = NDArray[np.float64]

_KINDS = ("polya", "home", "profile", "markov", "rehearsal")
_MIXTURES = 0.1 * np.array(
    [
        [1.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 1.0, 0.0],
        [0.1, 1.0, 0.5, 0.1, 0.0],
        [0.1, 0.1, 1.0, 0.1, 0.1],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0],
    ]
)
"""Weights of the kinds of evidence to choose from; picked on people of the city and on virtual users."""
_BY_STEPS = 3
"""The mixture that goes by steps most; half of long traces would praise it more than whole ones bear out."""
_BY_TIME = [5, 6]
"""Mixtures that go by the time of day most, against defences that treat a trace as a whole."""
SHORT = 100
"""Events of a user up to which she has a short trace."""


class WeighedMatch(Match):
    """Who each pseudonym is taken for, how sure that is, and what speaks for it.

    Parameters
    ----------
    evidence
        What speaks for each pair.
    lesson
        The same on the reference cut in two, where the truth is known; None where it cannot be cut.
    """

    def __init__(self, evidence: Evidence, lesson: Evidence | None) -> None:
        object.__setattr__(self, "evidence", evidence)
        object.__setattr__(self, "lesson", lesson)

    evidence: Evidence
    lesson: Evidence | None

    def by(self, *kinds: str) -> NDArray[np.int64]:
        """Return the user of each pseudonym by the sum of some kinds of evidence, one to one."""
        return assign(self.evidence.pairs, np.sum([self.evidence(kind) for kind in kinds], axis=0))

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each kind of evidence is worth."""
        if self.lesson is None or not len(self.lesson.pairs.users):
            return dict(zip(self._kinds, self._mixtures[0].tolist(), strict=True))
        return self.learnt(self.lesson, np.arange(self.lesson.anonymized.n_users))

    def learnt(self, evidence: Evidence, truth: NDArray[np.int64]) -> dict[str, float]:
        """Return how much each kind of evidence is worth where the user of each trace is known."""
        found = learn_weights(evidence.pairs, self._table(evidence), truth, self._mixtures)
        return dict(zip(self._kinds, found.tolist(), strict=True))

    @property
    def _mixtures(self) -> Floats:
        known = _MIXTURES[:, [_KINDS.index(kind) for kind in self._kinds]]
        if not self.evidence.emission.exact:
            return np.asarray(known[_BY_TIME])
        events = np.diff(self.evidence.reference.offsets)
        is_short = not len(events) or np.median(events) <= SHORT
        return np.asarray(known if is_short else np.delete(known, _BY_STEPS, axis=0))

    @cached_property
    def scores(self) -> Floats:
        """The weighed evidence of each pair."""
        weights = np.array([self.weights[kind] for kind in self._kinds])
        return np.asarray(self._table(self.evidence) @ weights)

    @cached_property
    def certainty(self) -> Floats:
        """How sure it is that each pair belongs together."""
        return certainty(self.evidence.pairs, self.scores)

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """The user of each pseudonym, one to one."""
        return assign(self.evidence.pairs, self.scores)

    @property
    def exclusive(self) -> NDArray[np.int64]:
        """The same: nobody is taken twice."""
        return self.best

    @property
    def _kinds(self) -> tuple[str, ...]:
        return _KINDS[:-1] if self.evidence.emission.exact else _KINDS

    def _table(self, evidence: Evidence) -> Floats:
        return centred(evidence.pairs, np.stack([evidence(kind) for kind in self._kinds], axis=1))


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

    def __str__(self) -> str:
        return f"Bayes({self.mechanism or UNKNOWN})"

    def fit(self, reference: Traces) -> Self:
        """Learn the habits of every user."""
        if not reference.n_users:
            raise DataError("the reference traces have no users")
        self.user_ids_ = reference.user_ids
        self.reference_ = reference
        self.around_ = Surroundings.of(reference.places, self.limit_km)
        self.habits_ = Habits.of(reference, self.around_)
        return self

    def against(self, mechanism: Algorithm) -> BayesMatcher:
        """Return the same matcher, fitted to the same users, for another defence."""
        other = BayesMatcher(mechanism=mechanism, limit_km=self.limit_km, weights=self.weights)
        for name in ("user_ids_", "reference_", "around_", "habits_"):
            setattr(other, name, getattr(self, name))
        return other

    def match(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> WeighedMatch:
        """Collect the evidence; what it is worth is worked out when it is asked for."""
        require_fitted(self, "reference_")
        check_places(self.reference_, anonymized)
        check_times(self.reference_, anonymized)
        root = seed_sequence(seed)
        made = self._rehearse(self.reference_, anonymized, child_seed(root, 0))
        evidence = Evidence(
            self.reference_,
            anonymized,
            made.symbols,
            made.said,
            made.rehearsed,
            made.emission,
            self.around_,
            self.habits_,
        )
        if self.weights is None:
            return WeighedMatch(evidence, self._lesson(made, child_seed(root, 1)))
        match = WeighedMatch(evidence, None)
        vars(match)["weights"] = dict.fromkeys(_KINDS, 0.0) | dict(self.weights)
        return match

    @property
    def _treatment(self) -> Algorithm | None:
        """What the mechanism does to places: one that hands whole traces to others does nothing to them."""
        from tracearena.obfuscation import Cheating, NoObfuscation

        return NoObfuscation() if isinstance(self.mechanism, Cheating) else self.mechanism

    def _rehearse(self, reference: Traces, anonymized: ObfuscatedTraces, seed: Any) -> Rehearsal:
        treatment = self._treatment
        if treatment is not None:
            return rehearsal.of_mechanism(treatment, reference, anonymized, seed)
        return estimated(reference, anonymized, self.around_, self.habits_, seed)

    def _lesson(self, made: Rehearsal, seed: Any) -> Evidence | None:
        """Cut the reference in two by time, and release the later half as the mechanism would."""
        halves = cut_in_two(self.reference_)
        if halves is None:
            return None
        before, after = halves
        treatment = self._treatment
        if isinstance(treatment, Obfuscator):
            released = treatment.transform(after, seed=child_seed(seed, 1))
            made = rehearsal.of_mechanism(treatment, before, released, child_seed(seed, 2))
        else:
            symbols = rehearsal.drawn(after, made.emission, made.said, child_seed(seed, 1))
            released = rehearsal.spoken(after, symbols, made.symbols)
            mine = rehearsal.drawn(before, made.emission, made.said, child_seed(seed, 2))
            made = Rehearsal(made.symbols, symbols, mine, made.emission)
        pupils = _pupils(before, after, generator(child_seed(seed, 0)))
        if len(pupils) < FEWEST_PUPILS:
            return None
        taught, tested = before.take_users(pupils), released.take_users(pupils)
        return Evidence(
            taught,
            tested,
            made.symbols,
            made.said[np.isin(released.user_index, pupils)],
            made.rehearsed[np.isin(before.user_index, pupils)],
            made.emission,
            self.around_,
            Habits.of(taught, self.around_),
        )


def cut_in_two(reference: Traces) -> tuple[Traces, Traces] | None:
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


def _pupils(before: Traces, after: Traces, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return users with events in both halves, all or as many as are enough."""
    both = np.flatnonzero((np.diff(before.offsets) > 0) & (np.diff(after.offsets) > 0))
    enough = max(PUPILS, int(LESSON_EVENTS * max(len(both), 1) / max(after.n_events, 1)))
    return both if len(both) <= enough else np.sort(rng.choice(both, enough, replace=False))


def mechanism_of(name: str) -> Algorithm | None:
    """Return the defence that an attacker was told; None where he has to estimate it."""
    if name == UNKNOWN:
        return None
    if name == ADAPTIVE:
        raise ParameterError(
            "adaptive: there is no defence to run on the reference traces; sweep has one, "
            "elsewhere name it with --mechanism 'PL(4,1)' or leave it unknown"
        )
    made: Algorithm = catalogue.create(name, ("obfuscator", "gps-obfuscator"))
    if not isinstance(made, Obfuscator) and not emission.is_known(made):
        raise ParameterError(
            f"{made} works on GPS traces, and what it makes of places is not known; "
            "name a defence of places, or GeoInd"
        )
    return made


def check_weights(weights: Any) -> None:
    """Refuse weights that are no numbers from 0 on of known kinds of evidence, each once."""
    if weights is None:
        return
    if not isinstance(weights, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in weights):
        raise ParameterError.of("weights", weights, "pairs of a kind of evidence and a number")
    names = [name for name, _ in weights]
    if len(set(names)) < len(names) or not {*names} <= {*_KINDS}:
        raise ParameterError.of("weights", weights, f"pairs of {', '.join(_KINDS)}, each once, and a number")
    for name, weight in weights:
        require_number(f"weight of {name}", weight, at_least=0)
