"""Whose trace was this synthetic trace made from?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.markov.chains import UNSEEN, Chains
from tracearena.checks import require_fitted, require_number
from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError
from tracearena.mobility.transitions import UserTransitions
from tracearena.traces import Traces
from tracearena.traces._arrays import comparable

_CHAINS_PER_BLOCK = 256
_TIE = 1e-9


class TraceGuesses(NamedTuple):
    """Whom each one-day trace is taken for.

    Attributes
    ----------
    users, days
        Synthetic user (index) and day of each trace, by day and then by user.
    answers
        The training user (index) she is taken for.
    """

    users: NDArray[np.int64]
    days: NDArray[np.int64]
    answers: NDArray[np.int64]


@dataclass(kw_only=True)
class MarkovIdentification:
    """Answers, for each synthetic trace, the training user whose chain makes it most likely.

    Bayesian re-identification of [1] appendix D with a uniform prior: each training user has the
    maximum-likelihood transition matrix of her own trace, and the likelihood of a synthetic trace
    is the product over its transitions (its first event says nothing). Knowing every training
    trace in full is the strongest attacker there is.

    Parameters
    ----------
    unseen
        Probability of a transition that a user never made, between 0 and 1.

    Notes
    -----
    Of equally likely users the first is answered; likelihoods whose logarithms differ by less than
    1e-9 are equal.

    References
    ----------
    .. [1] Murakami et al., Privacy-preserving multiple tensor factorization, PoPETs 2021.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=3)
    >>> training = Traces.from_dense([[0, 0, 0], [0, 1, 0]], places, clock)
    >>> MarkovIdentification().fit(training).rate(training)
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

    def identify(
        self,
        synthetic: Traces,
    ) -> TraceGuesses:
        """Guess the training user of each synthetic trace, here or in a cluster."""
        require_fitted(self, "transitions_")
        chains = Chains.of(synthetic)
        return TraceGuesses(chains.users, chains.days, self._best(chains))

    def _best(self, chains: Chains) -> NDArray[np.int64]:
        known = self.transitions_
        gains = np.log(np.maximum(known.probabilities, self.unseen) / self.unseen)
        steps = known.find(chains.cells)
        offsets = chains.offsets

        def work(block: int, first: int, stop: int) -> NDArray[np.int64]:
            from tracearena.attacks.markov._kernels import most_likely_users

            best = np.zeros(stop - first, np.int64)
            most_likely_users(
                first, stop, offsets, steps, known.offsets, known.users, gains, known.n_users, _TIE, best
            )
            return best

        found = run_blocks(work, block_ranges(chains.n_chains, _CHAINS_PER_BLOCK), anywhere=True)
        return np.concatenate([np.zeros(0, np.int64), *found])

    def rate(
        self,
        synthetic: Traces,
    ) -> float:
        """Return the share of synthetic traces whose training user was found.

        The ids of the synthetic users must be those of the training users they were made from.
        """
        guesses = self.identify(synthetic)
        if not len(guesses.users):
            raise DataError("there are no synthetic traces to identify")
        known, named = comparable(self.user_ids_, synthetic.user_ids)
        if not np.isin(named, known).all():
            raise DataError("synthetic users must have the ids of training users")
        correct = known[guesses.answers] == named[guesses.users]
        return float(correct.mean())
