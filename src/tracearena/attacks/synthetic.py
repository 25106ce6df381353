"""Markov-chain attacks on synthetic traces: re-identification and membership inference ([ppmtf] appendix D).

Synthetic traces are cut into one-day chains of transitions, and each chain is scored under the transition
matrix of every training user.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.base import TIE, Floats, Ints
from tracearena.checks import require_fitted, require_number, require_switch, require_whole
from tracearena.dataframes import Result
from tracearena.engine import block_ranges, fold_blocks, run_blocks
from tracearena.errors import DataError
from tracearena.mobility.transitions import UserTransitions, departures
from tracearena.traces import Traces
from tracearena.traces._arrays import to_comparable_ids

UNSEEN = 1e-8
"""Probability of a transition that a user never made; nothing is renormalised for it."""


class Chains(NamedTuple):
    """One-day traces of synthetic users, as the transitions they are made of.

    Attributes
    ----------
    users, days
        Synthetic user (index) and day of each chain.
    offsets, cells
        Transitions of chain ``y`` are ``cells[offsets[y]:offsets[y + 1]]``, as from × places + to.
    """

    users: Ints
    days: Ints
    offsets: Ints
    cells: Ints

    @classmethod
    def of(cls, synthetic: Traces, *, joined: bool = False) -> Self:
        """Cut traces into days, ordered by day and then by user.

        With `joined`, a day also has the step from the last event of the user's day before it.
        """
        user = synthetic.user_index.astype(np.int64)
        day = synthetic.clock.day_of(synthetic.instants)
        place = synthetic.place_index.astype(np.int64)
        begins = np.ones(len(user), bool)
        begins[departures(synthetic, adjacent=False) + 1] = False
        chain = np.cumsum(begins) - 1
        steps = departures(synthetic, adjacent=False, midnight=joined) + 1
        heads = np.flatnonzero(begins)
        order = np.lexsort([user[heads], day[heads]])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        by_rank = np.argsort(rank[chain[steps]], kind="stable")
        steps = steps[by_rank]
        lengths = np.bincount(rank[chain[steps]], minlength=len(order))
        cells = place[steps - 1] * max(len(synthetic.places), 1) + place[steps]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(user[heads][order], day[heads][order], offsets, cells)

    @property
    def n_chains(self) -> int:
        """Number of one-day traces."""
        return len(self.users)


# Re-identification: whose training trace was a synthetic trace made from?

_CHAINS_PER_BLOCK = 256


class TraceGuesses(NamedTuple):
    """The training user that each one-day trace is matched to.

    Attributes
    ----------
    users, days
        Synthetic user (index) and day of each trace, by day and then by user.
    answers
        The training user (index) that each trace is assigned to.
    """

    users: Ints
    days: Ints
    answers: Ints


@dataclass(kw_only=True)
class SyntheticIdentification:
    """Identifies, for each synthetic trace, the training user with the most likely Markov chain.

    Bayesian re-identification of [ppmtf] appendix D with a uniform prior: each training user has the
    maximum-likelihood transition matrix of the user's own trace, and the likelihood of a synthetic trace is
    the product over its transitions (its first event does not count). The attacker knows all training traces
    completely.

    Parameters
    ----------
    unseen
        Probability of a transition that a user never made, between 0 and 1.

    Notes
    -----
    In a tie, the answer is the first user; likelihoods whose logarithms differ by less than 1e-9 are equal.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=3)
    >>> training = Traces.from_dense([[0, 0, 0], [0, 1, 0]], places, clock)
    >>> SyntheticIdentification().fit(training).rate(training)
    1.0
    """

    unseen: float = UNSEEN

    user_ids_: NDArray[Any] = field(init=False, repr=False, compare=False)
    transitions_: UserTransitions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_number("unseen", self.unseen, above=0, below=1)

    def fit(self, training: Traces) -> Self:
        """Learn the transition matrix of every training user."""
        if not training.n_users:
            raise DataError("the training traces have no users")
        self.user_ids_ = training.user_ids
        self.transitions_ = UserTransitions.of(training)
        return self

    def identify(self, synthetic: Traces) -> TraceGuesses:
        """Guess the training user of each synthetic trace, here or in a cluster."""
        require_fitted(self, "transitions_")
        chains = Chains.of(synthetic)
        known = self.transitions_
        gains = np.log(np.maximum(known.probabilities, self.unseen) / self.unseen)
        steps = known.find(chains.cells)
        offsets = chains.offsets

        def work(block: int, first: int, stop: int) -> Ints:
            from tracearena.attacks._kernels import find_likeliest_users

            best = np.zeros(stop - first, np.int64)
            find_likeliest_users(
                first, stop, offsets, steps, known.offsets, known.users, gains, known.n_users, TIE, best
            )
            return best

        found = run_blocks(work, block_ranges(chains.n_chains, _CHAINS_PER_BLOCK), anywhere=True)
        answers = np.concatenate([np.zeros(0, np.int64), *found])
        return TraceGuesses(chains.users, chains.days, answers)

    def rate(self, synthetic: Traces) -> float:
        """Return the share of synthetic traces whose training user was found.

        The ids of the synthetic users must be those of the training users they were made from.
        """
        guesses = self.identify(synthetic)
        if not len(guesses.users):
            raise DataError("there are no synthetic traces to identify")
        known, named = to_comparable_ids(self.user_ids_, synthetic.user_ids)
        if not np.isin(named, known).all():
            raise DataError("synthetic users must have the ids of training users")
        correct = known[guesses.answers] == named[guesses.users]
        return float(correct.mean())


# Membership inference: was a person in the training data?


@dataclass(frozen=True)
class MembershipResult(Result):
    """Result of membership inference at the best threshold.

    Attributes
    ----------
    advantage
        Largest true-positive rate minus false-positive rate ([ppmtf] appendix D). 0 is guessing and 1 is
        certainty, whatever the numbers of members and non-members.
    accuracy
        Largest share of right decisions; compare it with `guess`.
    members, non_members
        Number of decisions about each: users × traces per user.
    """

    advantage: float
    accuracy: float
    members: int
    non_members: int

    @property
    def guess(self) -> float:
        """Accuracy of guessing: the share of the larger group, which always answering that group achieves.

        >>> result = MembershipResult(advantage=0.0, accuracy=0.8006, members=863, non_members=215)
        >>> round(result.guess, 4)
        0.8006
        """
        return max(self.members, self.non_members) / (self.members + self.non_members)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return asdict(self) | {"guess": self.guess}


@dataclass(frozen=True)
class _DailyMaxima:
    """Values of each candidate by day, of which the larger ones are kept when two are put together."""

    values: dict[int, Floats]

    def __add__(self, other: _DailyMaxima) -> _DailyMaxima:
        both = dict(self.values)
        for day, values in other.values.items():
            both[day] = np.maximum(both[day], values) if day in both else values
        return _DailyMaxima(both)


@dataclass(kw_only=True)
class MembershipInference:
    """Likelihood-ratio membership inference of [ppmtf] appendix D.

    For each candidate n, training and testing users alike, the logarithm of W_n / W_0 is summed over the
    transitions of a synthetic trace, where W_n is the transition matrix of the candidate and W_0 the mean
    over all others. The candidate is called a member if the sum reaches a threshold for any synthetic trace.
    The traces of each day number are attacked separately, and the decisions are pooled.

    Parameters
    ----------
    legacy_ppmtf
        Do the same as the authors' program: the days of a synthetic user are one chain, with a step from each
        evening to the next morning; a sum must be above the threshold, not equal to it; and 1,000 thresholds
        are tried. The published numbers require this.
    thresholds
        None finds the best threshold exactly: every sum is tried, and one value above all of them. A number
        tries this many thresholds, evenly spaced from the largest of the daily minima up to, but not
        including, the maximum of all sums. The resulting advantage may be lower than the best one, and even
        below 0.
    unseen
        Probability of an unseen transition in W_n and W_0, between 0 and 1.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=3)
    >>> member = Traces.from_dense([[0, 1, 0]], places, clock)
    >>> other = Traces.from_dense([[1, 1, 1]], places, clock)
    >>> MembershipInference().fit(member, other).evaluate(member).advantage
    1.0
    """

    legacy_ppmtf: bool = False
    thresholds: int | None = None
    unseen: float = UNSEEN

    n_members_: int = field(init=False, repr=False, compare=False)
    transitions_: UserTransitions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_switch("legacy_ppmtf", self.legacy_ppmtf)
        if self.thresholds is not None:
            require_whole("thresholds", self.thresholds, at_least=1)
        require_number("unseen", self.unseen, above=0, below=1)

    def fit(self, training: Traces, testing: Traces) -> Self:
        """Learn the transition matrices of members (training) and non-members (testing)."""
        if not training.n_users or not testing.n_users:
            raise DataError("membership inference needs training users and testing users")
        self.n_members_ = training.n_users
        self.transitions_ = UserTransitions.of(training, testing)
        return self

    def statistics(self, synthetic: Traces) -> Floats:
        """Return the largest sum of each candidate over the synthetic users, days × candidates.

        Only days with a synthetic trace are listed; members come first.
        """
        require_fitted(self, "transitions_")
        chains = Chains.of(synthetic, joined=self.legacy_ppmtf)
        if not chains.n_chains:
            raise DataError("there are no synthetic traces to attack")
        steps = self.transitions_.find(chains.cells)
        starts = np.unique(chains.days, return_index=True)[1]
        limits = np.append(starts, chains.n_chains).tolist()
        ranges = [
            (first + start, first + stop)
            for first, end in pairwise(limits)
            for start, stop in block_ranges(end - first, _CHAINS_PER_BLOCK)
        ]
        known, offsets = self.transitions_, chains.offsets
        bases, gains = self._bases_and_gains()

        def work(block: int, first: int, stop: int) -> _DailyMaxima:
            from tracearena.attacks._kernels import raise_largest_ratios

            largest = np.full(known.n_users, -np.inf)
            raise_largest_ratios(
                first, stop, offsets, steps, bases, known.offsets, known.users, gains, largest
            )
            return _DailyMaxima({int(np.searchsorted(starts, first, side="right")) - 1: largest})

        found = fold_blocks(work, ranges, anywhere=True)
        return np.array([found.values[day] for day in range(len(starts))])

    def _bases_and_gains(self) -> tuple[Floats, Floats]:
        """Return ln W_n − ln W_0 of who never made a transition, and what who made it has more."""
        known = self.transitions_
        sums, owners = known.sums(), known.user_counts()
        others = max(known.n_users - 1, 1)
        bases = np.log(self.unseen) - np.log(np.maximum(sums / others, self.unseen))
        cell = np.repeat(np.arange(len(sums)), owners)
        # Nobody else made it if there is one owner; the subtraction need not be exactly 0.
        rest = np.where(owners[cell] > 1, sums[cell] - known.probabilities, 0.0) / others
        own = np.log(np.maximum(known.probabilities, self.unseen))
        return bases, own - np.log(np.maximum(rest, self.unseen)) - bases[cell]

    def evaluate(self, synthetic: Traces) -> MembershipResult:
        """Attack the synthetic traces, here or in a cluster, and return the result."""
        statistics = self.statistics(synthetic)
        count = 1000 if self.legacy_ppmtf and self.thresholds is None else self.thresholds
        if count is None:
            thresholds = np.append(np.unique(statistics), np.inf)
        else:
            low, high = float(statistics.min(axis=1).max()), float(statistics.max())
            thresholds = low + (high - low) * np.arange(count) / count
        side: Literal["left", "right"] = "right" if self.legacy_ppmtf else "left"
        members = np.sort(statistics[:, : self.n_members_], axis=None)
        others = np.sort(statistics[:, self.n_members_ :], axis=None)
        true_positives = len(members) - np.searchsorted(members, thresholds, side)
        false_positives = len(others) - np.searchsorted(others, thresholds, side)
        right = true_positives + len(others) - false_positives
        return MembershipResult(
            advantage=float((true_positives / len(members) - false_positives / len(others)).max()),
            accuracy=float(right.max() / (len(members) + len(others))),
            members=len(members),
            non_members=len(others),
        )
