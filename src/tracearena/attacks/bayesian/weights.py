"""S = Σ_f w_f S_f, then linear assignment: evidence combined with learned weights, one user per trace.

The S_f are double-centred. The weights w maximise the Sinkhorn posterior of the true pairs on a calibration
set, the reference cut in two. W = Sinkhorn(S) gives the posteriors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from tracearena.attacks.base import LISTED, NOBODY, Floats, Ints
from tracearena.attacks.bayesian.likelihoods import CandidatePairs
from tracearena.attacks.bayesian.pair_evidence import Evidence, halve_evidence
from tracearena.checks import require_number
from tracearena.errors import ParameterError
from tracearena.traces import Traces

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
"""Weights to choose from, of all kinds but rehearsal; tuned on people of the city and on virtual users."""
_BY_STEPS = 3
"""The mixture with the most weight on transitions; calibration on half of long traces overrates it."""
_OF_WHOLE_TRACES = 0.1 * np.array(
    [
        [0.1, 0.1, 1.0, 0.1, 0.1],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 1.0],
        [0.0, 0.0, 0.3, 0.0, 1.0],
    ]
)
"""The same against defences of whole traces: times of day, and counts of simulated releases."""
SHORT = 100
"""Traces with up to this many events are short."""


class BayesMatch:
    """Who each pseudonym is taken for (a `Match`), how sure that is, and what speaks for it.

    Parameters
    ----------
    evidence
        What speaks for each pair.
    lesson
        The calibration set: the same on the reference cut in two; None where it cannot be cut.
    weights
        How much each kind of evidence is worth; None learns it on the calibration set.
    """

    def __init__(
        self, evidence: Evidence, lesson: Evidence | None = None, weights: dict[str, float] | None = None
    ) -> None:
        self.evidence = evidence
        self.lesson = lesson
        self._given = weights
        self._by: dict[tuple[str, ...], Ints] = {}
        self._answers: dict[tuple[float, ...], Traces] = {}

    def assign_by(self, *kinds: str) -> Ints:
        """Return the user of each pseudonym by the sum of some kinds of evidence, one to one."""
        if kinds not in self._by:
            scores = np.sum([self.evidence(kind) for kind in kinds], axis=0)
            self._by[kinds] = assign_users(self.evidence.pairs, scores)
        return self._by[kinds]

    def answer(self, settings: tuple[float, ...], infer: Callable[[], Traces]) -> Traces:
        """Return what a trace inference of these settings answers, worked out by the first who asks.

        An attack that knew the defence and one that detected it answer from one match, and the same.
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
        # A disguise is as wrong in a long trace as in a short one: scores grow without being more certain.
        shorter = halve_evidence(self.lesson)
        long, short = ((one.pairs, self._weigh_evidence(one, found)) for one in (self.lesson, shorter))
        factor = estimate_length_scale(long, short, truth)
        return {kind: factor * weight for kind, weight in found.items()}

    def learn_kind_weights(self, evidence: Evidence, truth: Ints) -> dict[str, float]:
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
    def ranked(self) -> Ints:
        """The likeliest users of each pseudonym, the one whom it was given first."""
        return rank_users(self.evidence.pairs, self.scores, self.best)

    def rank_by(self, *kinds: str) -> Ints:
        """Return the same by the sum of some kinds of evidence."""
        scores = np.sum([self.evidence(kind) for kind in kinds], axis=0)
        return rank_users(self.evidence.pairs, scores, self.assign_by(*kinds))

    @property
    def _kinds(self) -> tuple[str, ...]:
        return KINDS[:-1] if self.evidence.made.by_event else KINDS

    def _weigh_evidence(self, evidence: Evidence, weights: dict[str, float]) -> Floats:
        # Evidence of weight 0 need not be computed.
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


# Learning the weights.

POWERS = (-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0)
"""Powers of two that a mixture is scaled by; the best one is then refined in half steps."""
NEAR = (-1.0, -0.5, 0.0, 0.5)
GROWTH = (-1.0, 0.0, 1.0)
"""Powers of two by which the weights of traces half as long may be larger."""

CLEARLY = 0.05
"""The first mixture is kept unless another lowers the loss by more than this."""

LEAST_CERTAIN = 0.002
"""Lowest posterior in the loss: traces that fit nobody, whatever the weights."""

ScoredPairs = tuple[CandidatePairs, Floats]
"""Pairs and the weighed evidence of each."""


def learn_weights(pairs: CandidatePairs, table: Floats, truth: Ints, mixtures: Floats) -> Floats:
    """Return the mixture, scaled, under which Sinkhorn makes the true pairs the most certain.

    Parameters
    ----------
    table
        Pairs × kinds of evidence.
    truth
        The user of each trace.
    mixtures
        Weights of the columns of `table` to choose from, one row each.
    """
    if not (pairs.users == truth[pairs.traces]).any():
        return np.asarray(mixtures[0])

    def scale(mixture: Floats) -> tuple[float, Floats]:
        scores = table @ mixture
        tried = [(compute_matching_loss(pairs, 2.0**power * scores, truth, 8), power) for power in POWERS]
        least, power = min(tried, key=lambda pair: pair[0])
        return least, np.asarray(2.0**power * mixture)

    first, *others = (scale(mixture) for mixture in mixtures)
    least, best = min([first, *others], key=lambda pair: pair[0])
    if first[0] - least < CLEARLY:
        best = first[1]
    near = [np.asarray(2.0**power * best) for power in (-0.5, 0.0, 0.5)]
    return min(near, key=lambda weights: compute_matching_loss(pairs, table @ weights, truth, 40))


def estimate_length_scale(long: ScoredPairs, short: ScoredPairs, truth: Ints) -> float:
    """Return what weights are to be scaled by for traces twice as long as those they were learnt on.

    Parameters
    ----------
    long, short
        The pairs of the traces they were learnt on, with their scores by these weights, and the
        same of half of each trace. Where the halves would have the weights twice as large, twice
        the events say nothing new: then they are halved once more.
    """
    if not all((pairs.users == truth[pairs.traces]).any() for pairs, _ in (long, short)):
        return 1.0

    def joint_loss(choice: tuple[float, float]) -> float:
        power, growth = choice
        tried = (*long, 2.0**power), (*short, 2.0 ** (power + growth))
        return sum(compute_matching_loss(pairs, scale * scores, truth, 20) for pairs, scores, scale in tried)

    power, growth = min(product(NEAR, GROWTH), key=joint_loss)
    return float(2.0 ** (power - max(growth, 0.0)))


def compute_matching_loss(pairs: CandidatePairs, scores: Floats, truth: Ints, rounds: int) -> float:
    """Return -log of how certain Sinkhorn makes the true pairs, in the mean of those there are."""
    right = pairs.users == truth[pairs.traces]
    sure = compute_posteriors(pairs, scores, rounds=rounds)[right]
    return -float(np.log(np.maximum(sure, LEAST_CERTAIN)).mean())


def double_centre(pairs: CandidatePairs, table: Floats) -> Floats:
    """Subtract row and column means from every kind of evidence, twice."""
    table = table.copy()
    traces, n_traces = pairs.traces, len(pairs.offsets) - 1
    for _ in range(2):
        for group, count in ((pairs.users, pairs.n_users), (traces, n_traces)):
            number = np.maximum(np.bincount(group, minlength=count), 1)
            for column in table.T:
                column -= (np.bincount(group, column, count) / number)[group]
    return table


# Linear assignment, ranking and posteriors.

DENSE = 3000
"""Up to this many users and traces the assignment is solved on the full table."""
_DECIMALS = 9
"""Scores are compared to this many decimals: the digits after them differ between processors."""


def assign_users(pairs: CandidatePairs, scores: Floats) -> Ints:
    """Return the user of each trace in the assignment with the largest sum of scores, -1 for nobody.

    Where pairs were left out as unlikely, a trace may stay without a user; these take, one after the
    other, what is still free.
    """
    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    if not n_traces or not n_users:
        return np.full(n_traces, -1, np.int64)
    solve = _assign_on_table if max(n_traces, n_users) <= DENSE else _assign_on_pairs
    chosen = solve(pairs, scores.round(_DECIMALS))
    free = np.setdiff1d(np.arange(n_users), chosen)
    left = np.flatnonzero(chosen < 0)
    chosen[left[: len(free)]] = free[: len(left)]
    return chosen


def _assign_on_table(pairs: CandidatePairs, scores: Floats) -> Ints:
    from scipy.optimize import linear_sum_assignment

    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    low = scores.min(initial=0.0) - 10 * (np.ptp(scores) if len(scores) else 0.0) - 1.0
    table = np.full((n_traces, n_users), low)
    table[pairs.traces, pairs.users] = scores
    trace, user = linear_sum_assignment(table, maximize=True)
    chosen = np.full(n_traces, -1, np.int64)
    chosen[trace] = np.where(table[trace, user] > low, user, -1)
    return chosen


def _assign_on_pairs(pairs: CandidatePairs, scores: Floats) -> Ints:
    """Solve on the pairs alone; every trace may also stay without a user, at a price above all others."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    span = float(np.ptp(scores)) if len(scores) else 0.0
    cost = scores.max(initial=0.0) - scores + 1.0
    rows = np.concatenate([pairs.traces, np.arange(n_traces)])
    columns = np.concatenate([pairs.users, n_users + np.arange(n_traces)])
    costs = np.concatenate([cost, np.full(n_traces, 10 * span + 10.0)])
    table = csr_matrix((costs, (rows, columns)), shape=(n_traces, n_users + n_traces))
    trace, column = min_weight_full_bipartite_matching(table)
    chosen = np.full(n_traces, -1, np.int64)
    chosen[trace] = np.where(column < n_users, column, -1)
    return chosen


def rank_users(pairs: CandidatePairs, scores: Floats, given: Ints) -> Ints:
    """Return traces × `LISTED` users, the one given to the trace first and then by score, -1 for no more."""
    n_traces = len(pairs.offsets) - 1
    is_given = pairs.users == given[pairs.traces]
    order = np.lexsort((pairs.users, -scores, ~is_given, pairs.traces))
    rank = np.arange(len(order)) - pairs.offsets[pairs.traces] + 1
    ranked = np.full((n_traces, LISTED + 1), NOBODY, np.int64)
    ranked[:, 0] = given
    # A user who was assigned without a scored pair stands first all the same.
    alone = np.ones(n_traces, bool)
    alone[pairs.traces[is_given]] = False
    rank -= ~alone[pairs.traces]
    kept = rank <= LISTED
    ranked[pairs.traces[kept], rank[kept]] = pairs.users[order][kept]
    return ranked[:, :LISTED]


def compute_posteriors(
    pairs: CandidatePairs, scores: Floats, elsewhere: float = 7.0, rounds: int = 40
) -> Floats:
    """Return the posterior of each pair: Sinkhorn's doubly stochastic weights.

    Parameters
    ----------
    elsewhere
        Log odds of the best pair of a trace against none of its candidates.
    rounds
        Sinkhorn rounds.
    """
    from tracearena.attacks.bayesian._profile_kernels import sinkhorn

    weights = np.empty(len(scores))
    sinkhorn(pairs.offsets, pairs.users, scores, elsewhere, rounds, weights)
    return weights
