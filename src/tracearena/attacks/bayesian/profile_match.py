"""A match by time of day: how likely is the trace, event by event, under the user's habits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.candidates import CandidatePairs, Table
from tracearena.attacks.bayesian.emission import Channel
from tracearena.attacks.bayesian.habits import OTHERS, TimeProfiles
from tracearena.attacks.bayesian.markov import ObservationSteps
from tracearena.engine import block_ranges, run_blocks

_USERS_PER_BLOCK = 16


class ProfileLikelihood:
    """Σ log Σ_x P_{u,t}(x) E(y|x) over the events of a trace, as a ratio to anybody's."""

    def __init__(self, steps: ObservationSteps, habits: TimeProfiles, emission: Channel) -> None:
        from tracearena.attacks.bayesian._matching_kernels import fill_release_profile

        length = habits.clock.instants_per_day
        used, compact = np.unique(steps.targets, return_inverse=True)
        width = np.int64(len(used) * length)
        distinct, counts = np.unique(steps.owner * width + compact * length + steps.times, return_counts=True)
        owner, said = np.divmod(distinct, max(int(width), 1))
        self.through = emission.offsets, emission.places, emission.values, emission.floor
        ordinary = np.empty((len(used), length))
        fill_release_profile(habits.population, used, *self.through, ordinary)
        self.n_traces = len(steps.offsets) - 1
        self.said = np.searchsorted(owner, np.arange(self.n_traces + 1)), said, counts.astype(np.float64)
        self.habits = habits.arrays
        self.used = used
        self.ordinary = np.log(ordinary).ravel()

    def table(self) -> Table:
        """Return what scores all traces for some users."""
        every = np.arange(self.n_traces)

        def block(first: int, stop: int) -> NDArray[np.float64]:
            scores = np.empty((stop - first, self.n_traces))
            offsets = np.array([0, self.n_traces], np.int64)
            for user in range(first, stop):
                self._fill(user, user + 1, offsets, user, every, scores[user - first])
            return scores.T

        return block

    def scores(self, pairs: CandidatePairs) -> NDArray[np.float64]:
        """Return the log-likelihood ratio of each pair."""
        offsets, order = pairs.by_user()
        rows = pairs.traces[order]
        ordered = np.empty(len(order))

        def work(block: int, first: int, stop: int) -> None:
            self._fill(first, stop, offsets, 0, rows, ordered)

        run_blocks(work, block_ranges(pairs.n_users, _USERS_PER_BLOCK))
        scores = np.empty(len(order))
        scores[order] = ordered
        return scores

    def _fill(
        self,
        first: int,
        stop: int,
        offsets: NDArray[np.int64],
        first_listed: int,
        rows: NDArray[np.int64],
        scores: NDArray[np.float64],
    ) -> None:
        from tracearena.attacks.bayesian._matching_kernels import score_profile_pairs

        score_profile_pairs(
            first,
            stop,
            offsets,
            first_listed,
            rows,
            *self.said,
            *self.habits,
            OTHERS,
            self.used,
            *self.through,
            self.ordinary,
            scores,
        )
