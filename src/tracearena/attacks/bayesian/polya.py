"""Polya-R: visits are drawn with reinforcement, so the tenth to a place surprises less than the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.candidates import CandidatePairs
from tracearena.attacks.bayesian.emission import Channel
from tracearena.attacks.bayesian.symbols import NOTHING
from tracearena.engine import block_ranges, run_blocks

ALPHA = 3.0
"""Visits that every user is believed to have made as the population does, before her own are counted."""

_PAIRED_USERS_PER_BLOCK = 64


class ObservationCounts(NamedTuple):
    """How often each trace says each symbol: trace ``p`` has rows ``offsets[p]:offsets[p + 1]``."""

    offsets: NDArray[np.int64]
    symbols: NDArray[np.int32]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls, owner: NDArray[np.int32], symbols: NDArray[np.int32], n_traces: int, n_symbols: int
    ) -> ObservationCounts:
        """Count the symbols of every trace; an event that says nothing does not count."""
        told = symbols != NOTHING
        keys = owner[told].astype(np.int64) * n_symbols + symbols[told]
        distinct, counts = np.unique(keys, return_counts=True)
        traces, said = np.divmod(distinct, max(n_symbols, 1))
        offsets = np.searchsorted(traces, np.arange(n_traces + 1))
        return cls(offsets.astype(np.int64), said.astype(np.int32), counts.astype(np.int64))

    @property
    def totals(self) -> NDArray[np.int64]:
        """Number of events of each trace."""
        summed = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(summed[self.offsets[1:]] - summed[self.offsets[:-1]])


@dataclass(frozen=True, eq=False)
class PolyaModel:
    """a_u(y): how often each user is expected to be released as each symbol.

    Attributes
    ----------
    offsets, symbols, values
        Expected counts of user ``u``: rows ``offsets[u]:offsets[u + 1]``.
    totals
        Number of events of each user; each adds the `floor` to every symbol.
    floor, alpha
        By symbol: probability from anywhere, and what everybody is believed to have done before.
    """

    offsets: NDArray[np.int64]
    symbols: NDArray[np.int32]
    values: NDArray[np.float64]
    totals: NDArray[np.float64]
    floor: NDArray[np.float64]
    alpha: NDArray[np.float64]

    @classmethod
    def from_visits(cls, visits: ObservationCounts, emission: Channel, n_places: int) -> PolyaModel:
        """Send the visits of every user through the mechanism: a_u(y) = Σ_x c_u(x) E(y|x)."""
        from scipy.sparse import csr_array

        n_symbols = len(emission.floor)
        by_symbol = csr_array(
            (emission.values, emission.places, emission.offsets), shape=(n_symbols, n_places)
        )
        made = csr_array(
            (visits.counts.astype(np.float64), visits.symbols, visits.offsets),
            shape=(len(visits.offsets) - 1, n_places),
        )
        expected = (made @ by_symbol.T.tocsr()).tocsr()
        expected.sort_indices()
        return cls._with_prior(
            expected.indptr.astype(np.int64),
            expected.indices.astype(np.int32),
            expected.data,
            visits.totals.astype(np.float64),
            emission.floor,
        )

    @classmethod
    def from_counts(cls, bags: ObservationCounts, n_symbols: int) -> PolyaModel:
        """Take the counts of released traces as they are."""
        floor = np.full(n_symbols, 1e-6)
        return cls._with_prior(
            bags.offsets, bags.symbols, bags.counts.astype(np.float64), bags.totals.astype(np.float64), floor
        )

    @classmethod
    def _with_prior(
        cls,
        offsets: NDArray[np.int64],
        symbols: NDArray[np.int32],
        values: NDArray[np.float64],
        totals: NDArray[np.float64],
        floor: NDArray[np.float64],
    ) -> PolyaModel:
        population = np.bincount(symbols, values, len(floor)) + floor * totals.sum() + 1e-9
        return cls(offsets, symbols, values, totals, floor, ALPHA * population / population.sum())

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    def baseline(self, bags: ObservationCounts) -> NDArray[np.float64]:
        """Return the score that somebody with the habits of all would have for each trace."""
        from tracearena.attacks.bayesian._matching_kernels import score_polya_pairs

        scores = np.empty(len(bags.offsets) - 1)
        mean = float(self.totals.mean()) if self.n_users else 0.0
        nobody = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0)
        alpha = self.alpha * (1 + mean / ALPHA)
        pairs = np.array([0, len(scores)], np.int64), np.arange(len(scores))
        zeros = np.zeros(len(scores))
        score_polya_pairs(
            0, 1, *pairs, *bags, *nobody, np.zeros(1), self.floor, alpha, ALPHA + mean, zeros, scores
        )
        return scores

    def table(self, bags: ObservationCounts) -> Callable[[int, int], NDArray[np.float64]]:
        """Return what scores all traces for some users: traces × users ``first`` to ``stop``."""
        from tracearena.attacks.bayesian._matching_kernels import score_polya_block

        n_traces = len(bags.offsets) - 1
        used, compact = np.unique(bags.symbols, return_inverse=True)
        order = np.lexsort((bags.counts, compact))
        rows = np.repeat(np.arange(n_traces), np.diff(bags.offsets))[order]
        occurrences = np.searchsorted(compact[order], np.arange(len(used) + 1)), rows, bags.counts[order]
        place_of = np.full(len(self.alpha), -1, np.int64)
        place_of[used] = np.arange(len(used))
        baseline, said = self.baseline(bags), bags.totals.astype(np.float64)

        def block(first: int, stop: int) -> NDArray[np.float64]:
            expected = self._compute_expectation(first, stop, used, place_of)
            scores = np.empty((n_traces, stop - first))
            score_polya_block(expected, self.totals[first:stop] + ALPHA, *occurrences, said, baseline, scores)
            return scores

        return block

    def _compute_expectation(
        self, first: int, stop: int, used: NDArray[np.int32], place_of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        expected = self.alpha[used][:, None] + self.floor[used][:, None] * self.totals[None, first:stop]
        own = slice(self.offsets[first], self.offsets[stop])
        user = np.repeat(np.arange(stop - first), np.diff(self.offsets[first : stop + 1]))
        at = place_of[self.symbols[own]]
        known = at >= 0
        expected[at[known], user[known]] += self.values[own][known]
        return expected

    def scores(self, bags: ObservationCounts, pairs: CandidatePairs) -> NDArray[np.float64]:
        """Return the log-likelihood ratio of each pair, to somebody with the habits of all."""
        from tracearena.attacks.bayesian._matching_kernels import score_polya_pairs

        offsets, order = pairs.by_user()
        rows = pairs.traces[order]
        ordered = np.empty(len(order))
        baseline = self.baseline(bags)

        def work(block: int, first: int, stop: int) -> None:
            score_polya_pairs(
                first,
                stop,
                offsets,
                rows,
                *bags,
                self.offsets,
                self.symbols,
                self.values,
                self.totals,
                self.floor,
                self.alpha,
                ALPHA,
                baseline,
                ordered,
            )

        run_blocks(work, block_ranges(self.n_users, _PAIRED_USERS_PER_BLOCK))
        scores = np.empty(len(order))
        scores[order] = ordered
        return scores
