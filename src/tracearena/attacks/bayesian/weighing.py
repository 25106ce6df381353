"""Weighing: what all evidence together says of who is who, each kind for what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.assignment import assign_users, compute_posteriors, rank_users
from tracearena.attacks.bayesian.evidence import Evidence, halve_evidence
from tracearena.attacks.bayesian.learning import double_centre, estimate_length_scale, learn_weights
from tracearena.checks import require_number
from tracearena.errors import ParameterError
from tracearena.traces import Traces

Floats = NDArray[np.float64]

KINDS = ("polya", "home", "profile", "markov", "rehearsal")
_OF_EVENTS = 0.1 * np.array(
    [
        [1.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0, 1.0],
        [0.1, 1.0, 0.5, 0.1],
        [0.1, 0.1, 1.0, 0.1],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 1.0],
    ]
)
"""Weights of the kinds but rehearsal to choose from; picked on people of the city and on virtual users."""
_BY_STEPS = 3
"""The mixture that goes by steps most; half of long traces would praise it more than whole ones bear out."""
_OF_WHOLE_TRACES = 0.1 * np.array(
    [
        [0.1, 0.1, 1.0, 0.1, 0.1],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 1.0],
        [0.0, 0.0, 0.3, 0.0, 1.0],
    ]
)
"""The same against defences of whole traces, which leave times of day, or counts that rehearsals have too."""
SHORT = 100
"""Events of a user up to which she has a short trace."""


class BayesMatch:
    """Who each pseudonym is taken for (a `Match`), how sure that is, and what speaks for it.

    Parameters
    ----------
    evidence
        What speaks for each pair.
    lesson
        The same on the reference cut in two, where the truth is known; None where it cannot be cut.
    weights
        How much each kind of evidence is worth; None learns it from the lesson.
    """

    def __init__(
        self, evidence: Evidence, lesson: Evidence | None = None, weights: dict[str, float] | None = None
    ) -> None:
        self.evidence = evidence
        self.lesson = lesson
        self._given = weights
        self._by: dict[tuple[str, ...], NDArray[np.int64]] = {}
        self._answers: dict[tuple[float, ...], Traces] = {}

    def assign_by(self, *kinds: str) -> NDArray[np.int64]:
        """Return the user of each pseudonym by the sum of some kinds of evidence, one to one."""
        if kinds not in self._by:
            scores = np.sum([self.evidence(kind) for kind in kinds], axis=0)
            self._by[kinds] = assign_users(self.evidence.pairs, scores)
        return self._by[kinds]

    def answer(self, settings: tuple[float, ...], infer: Callable[[], Traces]) -> Traces:
        """Return what a trace inference of these settings answers, worked out by the first who asks.

        One who was told the defence and one who suspects it answer from one match, and the same.
        """
        if settings not in self._answers:
            self._answers[settings] = infer()
        return self._answers[settings]

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each kind of evidence is worth."""
        if self._given is not None:
            return dict.fromkeys(KINDS, 0.0) | self._given
        if self.lesson is None or not len(self.lesson.pairs.users):
            return dict(zip(self._kinds, self._mixtures[0].tolist(), strict=True))
        truth = np.arange(self.lesson.anonymized.n_users)
        found = self.learn_kind_weights(self.lesson, truth)
        if self.lesson.made.by_event:
            return found
        # A disguise is as wrong in a long trace as in a short one: scores grow, and are no truer for it.
        shorter = halve_evidence(self.lesson)
        long, short = ((one.pairs, self._weigh_evidence(one, found)) for one in (self.lesson, shorter))
        factor = estimate_length_scale(long, short, truth)
        return {kind: factor * weight for kind, weight in found.items()}

    def learn_kind_weights(self, evidence: Evidence, truth: NDArray[np.int64]) -> dict[str, float]:
        """Return how much each kind of evidence is worth where the user of each trace is known."""
        found = learn_weights(evidence.pairs, _stack_evidence(evidence, self._kinds), truth, self._mixtures)
        return dict(zip(self._kinds, found.tolist(), strict=True))

    @property
    def _mixtures(self) -> Floats:
        if not self.evidence.made.by_event:
            return _OF_WHOLE_TRACES
        events = np.diff(self.evidence.reference.offsets)
        is_short = not len(events) or np.median(events) <= SHORT
        return _OF_EVENTS if is_short else np.delete(_OF_EVENTS, _BY_STEPS, axis=0)

    @cached_property
    def scores(self) -> Floats:
        """The weighed evidence of each pair."""
        return self._weigh_evidence(self.evidence, self.weights)

    @cached_property
    def certainty(self) -> Floats:
        """How sure it is that each pair belongs together."""
        return compute_posteriors(self.evidence.pairs, self.scores)

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """The user of each pseudonym, one to one."""
        return assign_users(self.evidence.pairs, self.scores)

    @property
    def exclusive(self) -> NDArray[np.int64]:
        """The same: nobody is taken twice."""
        return self.best

    @cached_property
    def ranked(self) -> NDArray[np.int64]:
        """The likeliest users of each pseudonym, the one whom it was given first."""
        return rank_users(self.evidence.pairs, self.scores, self.best)

    def rank_by(self, *kinds: str) -> NDArray[np.int64]:
        """Return the same by the sum of some kinds of evidence."""
        scores = np.sum([self.evidence(kind) for kind in kinds], axis=0)
        return rank_users(self.evidence.pairs, scores, self.assign_by(*kinds))

    @property
    def _kinds(self) -> tuple[str, ...]:
        return KINDS[:-1] if self.evidence.made.by_event else KINDS

    def _weigh_evidence(self, evidence: Evidence, weights: dict[str, float]) -> Floats:
        # What is worth nothing need not be worked out.
        kinds = [kind for kind in self._kinds if weights[kind]] or list(self._kinds[:1])
        return np.asarray(_stack_evidence(evidence, kinds) @ np.array([weights[kind] for kind in kinds]))


def _stack_evidence(evidence: Evidence, kinds: Sequence[str]) -> Floats:
    return double_centre(evidence.pairs, np.stack([evidence(kind) for kind in kinds], axis=1))


def check_weights(weights: Any) -> None:
    """Refuse weights that are no numbers from 0 on of known kinds of evidence, each once."""
    if weights is None:
        return
    if not isinstance(weights, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in weights):
        raise ParameterError.of("weights", weights, "pairs of a kind of evidence and a number")
    names = [name for name, _ in weights]
    if len(set(names)) < len(names) or not {*names} <= {*KINDS}:
        raise ParameterError.of("weights", weights, f"pairs of {', '.join(KINDS)}, each once, and a number")
    for name, weight in weights:
        require_number(f"weight of {name}", weight, at_least=0)
