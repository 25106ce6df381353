"""Was this person's trace among those the model was trained on?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.markov.chains import UNSEEN, Chains
from tracearena.checks import require_fitted, require_number, require_switch, require_whole
from tracearena.engine import block_ranges, fold_blocks
from tracearena.errors import DataError
from tracearena.mobility.transitions import UserTransitions
from tracearena.results import Result
from tracearena.traces import Traces

_CHAINS_PER_BLOCK = 256
_LEGACY_THRESHOLDS = 1000


@dataclass(frozen=True)
class MembershipResult(Result):
    """How well members were told from non-members, at the best threshold.

    Attributes
    ----------
    advantage
        Largest true positive rate minus false positive rate ([ppmtf] appendix D): what the attacker
        gains by looking. 0 is a guess, 1 is certainty, whatever the numbers of both kinds.
    accuracy
        Largest share of right decisions. To be read beside `guess` only.
    members, non_members
        Number of decisions about each: users × traces a user.
    """

    advantage: float
    accuracy: float
    members: int
    non_members: int

    @property
    def guess(self) -> float:
        """Accuracy without looking: the share of the larger kind, by always answering it.

        >>> result = MembershipResult(advantage=0.0, accuracy=0.8006, members=863, non_members=215)
        >>> round(result.guess, 4)
        0.8006
        """
        return max(self.members, self.non_members) / (self.members + self.non_members)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return asdict(self) | {"guess": self.guess}


@dataclass(frozen=True)
class _Largest:
    """Values of each candidate by day, of which the larger ones are kept when two are put together."""

    values: dict[int, NDArray[np.float64]]

    def __add__(self, other: _Largest) -> _Largest:
        both = dict(self.values)
        for day, values in other.values.items():
            both[day] = np.maximum(both[day], values) if day in both else values
        return _Largest(both)


@dataclass(kw_only=True)
class MembershipInference:
    """Likelihood-ratio membership inference of [1] appendix D.

    For each candidate n, training and testing users alike, the logarithm of W_n / W_0 is summed
    over the transitions of a synthetic trace, where W_n is her own transition matrix and W_0 the
    mean of everybody else's. She is called a member if for any synthetic trace the sum reaches a
    threshold. The traces of each day number are attacked by themselves, and the decisions pooled.

    Parameters
    ----------
    legacy_ppmtf
        Do as the authors' program does: the days of a synthetic user are one chain, so that from
        the second on a day also has the step from the evening before it; a sum must lie above
        the threshold, not on it; and 1,000 thresholds are tried. The published numbers need this.
    thresholds
        None finds the best threshold exactly: every sum is tried, and one above them all. A number
        tries so many, evenly spaced from the largest of the daily minima up to, but not
        including, the overall maximum of the sums: less than the best, and below 0 at times.
    unseen
        Probability of a transition never seen, in W_n and W_0, between 0 and 1.

    References
    ----------
    .. [1] Murakami et al., Privacy-preserving multiple tensor factorization, PoPETs 2021.

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

    def statistics(
        self,
        synthetic: Traces,
    ) -> NDArray[np.float64]:
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
        found = fold_blocks(self._ratios(chains, steps, starts), ranges, anywhere=True)
        return np.array([found.values[day] for day in range(len(starts))])

    def _ratios(self, chains: Chains, steps: NDArray[np.int64], starts: NDArray[np.int64]) -> Any:
        known, offsets = self.transitions_, chains.offsets
        bases, gains = self._bases_and_gains()

        def work(block: int, first: int, stop: int) -> _Largest:
            from tracearena.attacks.markov._kernels import largest_ratios

            largest = np.full(known.n_users, -np.inf)
            largest_ratios(first, stop, offsets, steps, bases, known.offsets, known.users, gains, largest)
            return _Largest({int(np.searchsorted(starts, first, side="right")) - 1: largest})

        return work

    def _bases_and_gains(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ln W_n − ln W_0 of who never made a transition, and what who made it has more."""
        known = self.transitions_
        sums, owners = known.sums(), known.owners()
        others = max(known.n_users - 1, 1)
        bases = np.log(self.unseen) - np.log(np.maximum(sums / others, self.unseen))
        cell = np.repeat(np.arange(len(sums)), owners)
        # Nobody else made it where there is one owner; the subtraction need not be exactly 0.
        rest = np.where(owners[cell] > 1, sums[cell] - known.probabilities, 0.0) / others
        own = np.log(np.maximum(known.probabilities, self.unseen))
        return bases, own - np.log(np.maximum(rest, self.unseen)) - bases[cell]

    def evaluate(
        self,
        synthetic: Traces,
    ) -> MembershipResult:
        """Attack the synthetic traces, here or in a cluster, and say how well it went."""
        statistics = self.statistics(synthetic)
        thresholds = self._thresholds(statistics)
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

    def _thresholds(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        count = _LEGACY_THRESHOLDS if self.legacy_ppmtf and self.thresholds is None else self.thresholds
        if count is None:
            return np.append(np.unique(statistics), np.inf)
        low, high = float(statistics.min(axis=1).max()), float(statistics.max())
        return low + (high - low) * np.arange(count) / count
