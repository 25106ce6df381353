"""Synthetic traces from trained factors, and how likely a trace is.

Both work on the rows of the reconstructed counts that a trace touches: a user's slot matrices are
never built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, child_seed, run_blocks, stream
from tracearena.synthesis.ppmtf.frame import SeenCells

Matrix = NDArray[np.float64]
USERS_PER_BLOCK = 64
_TRACES_PER_PIECE = 64


@dataclass(frozen=True, eq=False)
class Habits:
    """What users do beyond their factors.

    Attributes
    ----------
    homes
        Home of each user.
    home_weight
        Added to the home's visit probability in each slot, before all are normalised again.
    home_steps
        Steps of the walk to an instant of a slot with a home weight; one to any other instant.
    seen
        If given, transitions and visits that nobody made in training count as φ, whatever the
        factors say.
    pace
        Probability that a step proposes a move at all, unless it leads to an instant of a slot with a home
        weight; None for a walk whose every step does, and whose draws are those of earlier versions.

    References
    ----------
    [contest] appendix D; the numbers are those of the contest's generator.
    """

    homes: NDArray[np.int32] | None = None
    home_weight: Matrix | None = None
    home_steps: int = 1
    seen: SeenCells | None = None
    pace: float | None = None

    def instant_of(self, slot_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the instant that each step of a day leads to."""
        steps = np.ones(len(slot_of), np.int64)
        if self.home_weight is not None:
            steps[self.home_weight[slot_of] > 0] = self.home_steps
        steps[0] = 1
        return np.repeat(np.arange(len(slot_of)), steps)

    def arrays(
        self, users: int, slots: int
    ) -> tuple[NDArray[np.int32], Matrix, NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
        """Return homes (-1: none), weights, and offsets, next places and visits seen (empty: all)."""
        homes = np.full(users, -1, np.int32) if self.homes is None else self.homes
        weight = np.zeros(slots) if self.home_weight is None else self.home_weight
        if self.seen is None:
            return homes, weight, np.empty(0, np.int64), np.empty(0, np.int32), np.empty((0, 0), np.bool_)
        return homes, weight, *self.seen.next_places(), self.seen.visit_table()


@dataclass(frozen=True, eq=False)
class TraceModel:
    """The generative model of some users.

    Attributes
    ----------
    users, places, next_places
        A, B, C: expected transition counts are Σ_k a_nk b_ik c_jk.
    visit_users, visit_places, slots
        A, B, D: expected visit counts are Σ_k a_nk b_ik d_tk. A and B are the same matrices for
        both unless the tensors were factorised apart.
    slot_of
        Slot of each instant of a day.
    smallest
        Smaller expected counts are raised to this (φ).
    slots_of_days
        Slots of each day until they begin anew, days × instants, if days differ.
    """

    users: Matrix
    places: Matrix
    next_places: Matrix
    visit_users: Matrix
    visit_places: Matrix
    slots: Matrix
    slot_of: NDArray[np.int64]
    smallest: float = 1e-8
    slots_of_days: NDArray[np.int64] | None = None

    @property
    def _user_matrices(self) -> tuple[Matrix, ...]:
        """A for transitions, and that for visits if it is another."""
        return (self.users,) if self.visit_users is self.users else (self.users, self.visit_users)

    def draw(
        self, days: int, root: np.random.SeedSequence, *, habits: Habits | None = None
    ) -> NDArray[np.int32]:
        """Draw `days` traces of every user; users × days × instants of a day.

        References
        ----------
        [ppmtf] section 3.4. A day starts from π of its first slot; the place at a later instant is
        a Metropolis-Hastings step with proposal Q* and target π of the slot of that instant. Days
        are independent.
        """
        kinds = self.by_kind(np.arange(days))
        if len(kinds) > 1:
            return self._draw_kinds(kinds, days, root, habits)
        b, c, b2, d = self.places, self.next_places, self.visit_places, self.slots
        c_transposed, b2_transposed = np.ascontiguousarray(c.T), np.ascontiguousarray(b2.T)
        slot_of, smallest, length = self.slot_of, self.smallest, len(self.slot_of)
        used = habits or Habits()
        homes, weight, offsets, next_seen, visit_seen = used.arrays(len(self.users), len(self.slots))
        instant_of = used.instant_of(slot_of)

        def work(
            block: int, first: int, stop: int, home: Any, a: Matrix, a2: Matrix | None = None
        ) -> NDArray[np.int32]:
            from tracearena.synthesis.ppmtf._walk_kernels import walk, walk_seen

            traces = np.empty((stop - first, days, length), np.int32)
            uniforms = stream(root, block).random((stop - first, days, len(instant_of), 2))
            other = a if a2 is None else a2
            if used.pace is not None:
                walk_seen(
                    a, b, c, other, b2, b2_transposed, d, slot_of, smallest, home, weight, offsets, next_seen,
                    visit_seen, instant_of, used.pace, uniforms, traces,
                )  # fmt: skip
                return traces
            walk(
                a, b, c, c_transposed, other, b2, b2_transposed, d, slot_of, smallest,
                home, weight, offsets, next_seen, visit_seen, instant_of, uniforms, traces,
            )  # fmt: skip
            return traces

        ranges = block_ranges(len(self.users), USERS_PER_BLOCK)
        own: list[NDArray[Any]] = [homes, *self._user_matrices]
        found = run_blocks(work, ranges, rows=own, anywhere=True, report=True)
        return np.concatenate(found) if found else np.empty((0, days, length), np.int32)

    def by_kind(self, days: NDArray[np.int64]) -> list[tuple[TraceModel, NDArray[np.int64]]]:
        """Return the model of each kind of day among the numbered ones, and which days are of it.

        Days are of one kind if their instants have the same slots.
        """
        cycle = self.slots_of_days
        if cycle is None or len(cycle) == 1:
            return [(self, np.arange(len(days)))]
        slots, kind_of = np.unique(cycle, axis=0, return_inverse=True)
        kinds = kind_of.ravel()[days % len(cycle)]
        return [
            (replace(self, slot_of=slots[kind], slots_of_days=None), np.flatnonzero(kinds == kind))
            for kind in np.unique(kinds)
        ]

    def _draw_kinds(
        self,
        kinds: list[tuple[TraceModel, NDArray[np.int64]]],
        days: int,
        root: np.random.SeedSequence,
        habits: Habits | None,
    ) -> NDArray[np.int32]:
        table = np.empty((len(self.users), days, len(self.slot_of)), np.int32)
        for number, (model, rows) in enumerate(kinds):
            table[:, rows] = model.draw(len(rows), child_seed(root, number), habits=habits)
        return table

    def log_likelihoods(
        self,
        traces: NDArray[np.int32],
        users: NDArray[np.int64],
    ) -> Matrix:
        """Return the running log-likelihood of each trace as a trace of the given user.

        Parameters
        ----------
        traces
            Places, traces × instants of a day.
        users
            The user whose model makes the trace; ascending order is fastest, because what a user's
            traces share is computed once.

        Notes
        -----
        Exact: a stay has the probability that no proposal is accepted, which takes all row sums of
        the user, O(places² · factors).
        """
        b, c, b2, d = self.places, self.next_places, self.visit_places, self.slots
        bt, ct, b2t = (np.ascontiguousarray(matrix.T) for matrix in (b, c, b2))
        slot_of, smallest = self.slot_of, self.smallest

        def work(mine: Any, user: Any, a: Matrix, a2: Matrix) -> Matrix:
            from tracearena.synthesis.ppmtf._likelihood_kernels import log_likelihoods

            out = np.empty(mine.shape)
            log_likelihoods(a, b, bt, c, ct, a2, b2, b2t, d, slot_of, smallest, mine, user, out)
            return out

        found = self._weighed(work, traces, users)
        return np.concatenate(found) if found else np.empty(traces.shape)

    def bounded_log_likelihoods(
        self, traces: NDArray[np.int32], users: NDArray[np.int64]
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Return about what `log_likelihoods` does, and bounds of its last column from below and above.

        They take about half of the time, and hold where float32 products do (`verifying.is_bounded`).
        """
        b, c, b2, d = self.places, self.next_places, self.visit_places, self.slots
        bt, ct, b2t = (np.ascontiguousarray(matrix.T) for matrix in (b, c, b2))
        slot_of, smallest, small = self.slot_of, self.smallest, ct.astype(np.float32)

        def work(mine: Any, user: Any, a: Matrix, a2: Matrix) -> Matrix:
            from tracearena.synthesis.ppmtf._own_kernels import bound_log_likelihoods

            out, ends = np.empty(mine.shape), np.empty((2, len(mine)))
            bound_log_likelihoods(
                a, b, bt, c, ct, small, a2, b2, b2t, d, slot_of, smallest, mine, user, out, *ends
            )
            return np.column_stack([out, *ends])

        found = self._weighed(work, traces, users)
        both = np.concatenate(found) if found else np.empty((0, traces.shape[1] + 2))
        return both[:, :-2], both[:, -2], both[:, -1]

    def _weighed(
        self, weigh: Callable[..., Matrix], traces: NDArray[np.int32], users: NDArray[np.int64]
    ) -> list[Matrix]:
        """Call ``weigh(traces, users, a, a2)`` for some traces after the others."""

        def work(
            block: int, first: int, stop: int, mine: Any, user: Any, a: Matrix, a2: Matrix | None = None
        ) -> Matrix:
            return weigh(mine, user, a, a if a2 is None else a2)

        own: list[NDArray[Any]] = [traces, users, *(matrix[users] for matrix in self._user_matrices)]
        return run_blocks(work, block_ranges(len(traces), _TRACES_PER_PIECE), rows=own, anywhere=True)

    def visit_probabilities(self, user: int) -> Matrix:
        """Return π of a user, slots × places."""
        expected = (self.visit_users[user] * self.slots) @ self.visit_places.T
        raised = np.maximum(expected, self.smallest)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def transition_probabilities(self, user: int, slot: int) -> Matrix:
        """Return the whole matrix Q of a user and slot, places × places, for inspection."""
        expected = np.maximum((self.users[user] * self.places) @ self.next_places.T, self.smallest)
        proposal = expected / expected.sum(axis=1, keepdims=True)
        target = self.visit_probabilities(user)[slot]
        matrix = np.minimum(proposal, target[None, :] * proposal.T / target[:, None])
        np.fill_diagonal(matrix, 0)
        np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
        return np.asarray(matrix)
