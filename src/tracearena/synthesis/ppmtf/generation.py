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

from tracearena.checks import LARGEST_COUNT, require_number, require_whole
from tracearena.engine import block_ranges, child_seed, run_blocks, stream
from tracearena.errors import DataError
from tracearena.synthesis.ppmtf.gibbs import Gaussian
from tracearena.synthesis.ppmtf.training import SeenCells

Matrix = NDArray[np.float64]
USERS_PER_BLOCK_SAMPLING = 64
_TRACES_PER_PIECE = 64


@dataclass(frozen=True, eq=False)
class VirtualUserHabits:
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
        A, B, D: expected visit counts are Σ_k a_nk b_ik d_tk. A and B are the same matrices for both unless
        the tensors were factorised separately.
    slot_of
        Slot of each instant of a day.
    smallest
        Smaller expected counts are raised to this (φ).
    slots_of_days
        Slots of each day of a cycle, days × instants, if days differ.
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
        self, days: int, root: np.random.SeedSequence, *, habits: VirtualUserHabits | None = None
    ) -> NDArray[np.int32]:
        """Draw `days` traces of every user; users × days × instants of a day.

        References
        ----------
        [ppmtf] section 3.4. A day starts from π of its first slot; the place at a later instant is
        a Metropolis-Hastings step with proposal Q* and target π of the slot of that instant. Days
        are independent.
        """
        kinds = self.split_by_day_kind(np.arange(days))
        if len(kinds) > 1:
            table = np.empty((len(self.users), days, len(self.slot_of)), np.int32)
            for number, (model, rows) in enumerate(kinds):
                table[:, rows] = model.draw(len(rows), child_seed(root, number), habits=habits)
            return table
        b, c, b2, d = self.places, self.next_places, self.visit_places, self.slots
        c_transposed, b2_transposed = np.ascontiguousarray(c.T), np.ascontiguousarray(b2.T)
        slot_of, smallest, length = self.slot_of, self.smallest, len(self.slot_of)
        used = habits or VirtualUserHabits()
        homes, weight, offsets, next_seen, visit_seen = used.arrays(len(self.users), len(self.slots))
        instant_of = used.instant_of(slot_of)

        def work(
            block: int, first: int, stop: int, home: Any, a: Matrix, a2: Matrix | None = None
        ) -> NDArray[np.int32]:
            from tracearena.synthesis.ppmtf._generation_kernels import draw_seen_walks, draw_walks

            traces = np.empty((stop - first, days, length), np.int32)
            uniforms = stream(root, block).random((stop - first, days, len(instant_of), 2))
            other = a if a2 is None else a2
            if used.pace is not None:
                draw_seen_walks(
                    a, b, c, other, b2, b2_transposed, d, slot_of, smallest, home, weight, offsets, next_seen,
                    visit_seen, instant_of, used.pace, uniforms, traces,
                )  # fmt: skip
                return traces
            draw_walks(
                a, b, c, c_transposed, other, b2, b2_transposed, d, slot_of, smallest,
                home, weight, offsets, next_seen, visit_seen, instant_of, uniforms, traces,
            )  # fmt: skip
            return traces

        ranges = block_ranges(len(self.users), USERS_PER_BLOCK_SAMPLING)
        own: list[NDArray[Any]] = [homes, *self._user_matrices]
        found = run_blocks(work, ranges, rows=own, anywhere=True, report=True)
        return np.concatenate(found) if found else np.empty((0, days, length), np.int32)

    def split_by_day_kind(self, days: NDArray[np.int64]) -> list[tuple[TraceModel, NDArray[np.int64]]]:
        """Return the model of each kind of day, and the days of this kind.

        Days are of the same kind if their instants have the same slots.
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

    def log_likelihoods(self, traces: NDArray[np.int32], users: NDArray[np.int64]) -> Matrix:
        """Return the running log-likelihood of each trace as a trace of the given user.

        Parameters
        ----------
        traces
            Places, traces × instants of a day.
        users
            The user under whose model each trace is evaluated; ascending order is fastest, because shared
            work of a user is done once.

        Notes
        -----
        The result is exact: a stay has the probability that no proposal is accepted, which needs all row sums
        of the user, O(places² · factors).
        """
        b, c, b2, d = self.places, self.next_places, self.visit_places, self.slots
        bt, ct, b2t = (np.ascontiguousarray(matrix.T) for matrix in (b, c, b2))
        slot_of, smallest = self.slot_of, self.smallest

        def work(mine: Any, user: Any, a: Matrix, a2: Matrix) -> Matrix:
            from tracearena.synthesis.ppmtf._generation_kernels import log_likelihoods

            out = np.empty(mine.shape)
            log_likelihoods(a, b, bt, c, ct, a2, b2, b2t, d, slot_of, smallest, mine, user, out)
            return out

        found = self._weigh_in_pieces(work, traces, users)
        return np.concatenate(found) if found else np.empty(traces.shape)

    def bound_log_likelihoods(
        self, traces: NDArray[np.int32], users: NDArray[np.int64]
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Return approximate `log_likelihoods`, and lower and upper bounds of the last column.

        This takes about half of the time. The bounds hold if float32 products do (`deniability.is_bounded`).
        """
        b, c, b2, d = self.places, self.next_places, self.visit_places, self.slots
        bt, ct, b2t = (np.ascontiguousarray(matrix.T) for matrix in (b, c, b2))
        slot_of, smallest, small = self.slot_of, self.smallest, ct.astype(np.float32)

        def work(mine: Any, user: Any, a: Matrix, a2: Matrix) -> Matrix:
            from tracearena.synthesis.ppmtf._deniability_kernels import bound_log_likelihoods

            out, ends = np.empty(mine.shape), np.empty((2, len(mine)))
            bound_log_likelihoods(
                a, b, bt, c, ct, small, a2, b2, b2t, d, slot_of, smallest, mine, user, out, *ends
            )
            return np.column_stack([out, *ends])

        found = self._weigh_in_pieces(work, traces, users)
        both = np.concatenate(found) if found else np.empty((0, traces.shape[1] + 2))
        return both[:, :-2], both[:, -2], both[:, -1]

    def _weigh_in_pieces(
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
        """Return the whole matrix Q of a user and slot, places × places.

        A slow, direct implementation, with which tests compare the kernels.
        """
        expected = np.maximum((self.users[user] * self.places) @ self.next_places.T, self.smallest)
        proposal = expected / expected.sum(axis=1, keepdims=True)
        target = self.visit_probabilities(user)[slot]
        matrix = np.minimum(proposal, target[None, :] * proposal.T / target[:, None])
        np.fill_diagonal(matrix, 0)
        np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
        return np.asarray(matrix)


# PPMTF+: virtual users drawn from the distribution of feature vectors.

HOME_WEIGHT = 20.0
"""Added to the home's visit probability at home time, which becomes at least 20/21."""
HOME_SLOTS = 2
"""Number of slots at each end of the day that are home time."""
STEP_S = 300
"""Seconds of a step at home time, the interval of the contest's generator."""
USERS_PER_BLOCK_VIRTUAL = 256
_ROWS, _VISIT_ROWS, _HOMES, _DAYS = range(4)


@dataclass(frozen=True, eq=False)
class VirtualUsers:
    """Virtual users, and the model that generates their traces.

    Attributes
    ----------
    model
        The trained model with the virtual users' feature vectors in place of the training users'.
    habits
        Their homes, and the transitions and visits that are excluded; None if there are neither.

    References
    ----------
    T. Murakami et al., Designing a location trace anonymization contest, PoPETs 2023, appendices A
    and D [contest].
    """

    model: TraceModel
    habits: VirtualUserHabits | None
    _root: np.random.SeedSequence

    def __len__(self) -> int:
        return len(self.model.users)

    @property
    def homes(self) -> NDArray[np.int32] | None:
        """Home of each user."""
        return None if self.habits is None else self.habits.homes

    def draw(self, days: int) -> NDArray[np.int32]:
        """Draw `days` days of every user; users × days × instants of a day."""
        return self.model.draw(days, child_seed(self._root, _DAYS), habits=self.habits)


def sample_virtual_model(
    trained: TraceModel, priors: tuple[Gaussian, Gaussian], n: int, root: np.random.SeedSequence
) -> TraceModel:
    """Return the trained model with the feature vectors of n virtual users.

    Parameters
    ----------
    trained
        The trained model; its users are not looked at.
    priors
        Ψ_A of the transition and of the visit tensor: one object if the tensors share their users.
    n
        How many, at least 1.
    root
        Seed of everything about them.
    """
    require_whole("users", n, at_least=1, at_most=LARGEST_COUNT)
    moves, visits = priors
    rows = sample_rows(moves, int(n), child_seed(root, _ROWS))
    others = rows if visits is moves else sample_rows(visits, int(n), child_seed(root, _VISIT_ROWS))
    return replace(trained, users=rows, visit_users=others)


def build_virtual_users(
    model: TraceModel,
    root: np.random.SeedSequence,
    *,
    interval_s: int,
    homes: bool = False,
    seen: SeenCells | None = None,
    walk: DayWalk | None = None,
) -> VirtualUsers:
    """Give virtual users their homes, what they may do, and their day.

    Parameters
    ----------
    model
        The model with their feature vectors (`sample_virtual_model`).
    root
        Seed of everything about them, their days too.
    interval_s
        Seconds between two instants.
    homes
        Give everybody a home.
    seen
        What was seen in training, to rule out the rest.
    walk
        Their day, step by step: one step per instant. None for the learned instants as they are.

    Notes
    -----
    The contest's generator had an instant every five minutes. Without a `walk` home time therefore has
    a step for every five minutes of a longer interval; a single step would take almost nobody home
    in the evening.
    """
    slots = np.arange(len(model.slots))
    weight = np.where(np.minimum(slots, slots[::-1]) < HOME_SLOTS, HOME_WEIGHT, 0.0)
    steps = max(interval_s // STEP_S, 1)
    if walk is not None:
        model, seen, at_home = walk.stretch_model(model, seen)
        weight, steps = np.where(at_home, HOME_WEIGHT, 0.0), 1
    if not homes and seen is None and walk is None:
        return VirtualUsers(model, None, root)
    habits = VirtualUserHabits(seen=seen, pace=None if walk is None else walk.pace)
    if homes:
        chosen = _draw_homes(model, seen, child_seed(root, _HOMES))
        habits = replace(habits, homes=chosen, home_weight=weight, home_steps=steps)
    return VirtualUsers(model, habits, root)


def sample_rows(prior: Gaussian, n: int, root: np.random.SeedSequence) -> NDArray[np.float64]:
    """Draw n feature vectors from Normal(μ, Λ⁻¹); the first are the same however many follow.

    References
    ----------
    [contest] equation 4.
    """
    try:
        lower = np.linalg.cholesky(prior.precision)
    except np.linalg.LinAlgError:
        raise DataError("the model's precision of feature vectors is not positive definite") from None
    noise = [
        stream(root, block).standard_normal((stop - first, len(prior.mean)))
        for block, (first, stop) in enumerate(block_ranges(n, USERS_PER_BLOCK_VIRTUAL))
    ]
    return np.ascontiguousarray(prior.mean + np.linalg.solve(lower.T, np.vstack(noise).T).T)


def _draw_homes(model: TraceModel, seen: SeenCells | None, root: np.random.SeedSequence) -> NDArray[np.int32]:
    """Draw everybody's home from her own visit probabilities at the first instant of the day."""
    homes = np.empty(len(model.users), np.int32)
    weights = model.visit_users * model.slots[model.slot_of[0]]

    def work(block: int, first: int, stop: int) -> None:
        expected = np.maximum(weights[first:stop] @ model.visit_places.T, model.smallest)
        if seen is not None:
            expected[:, ~seen.visit_table()[model.slot_of[0]]] = model.smallest
        running = np.cumsum(expected, axis=1)
        targets = stream(root, block).random(stop - first) * running[:, -1]
        homes[first:stop] = np.minimum((running <= targets[:, None]).sum(axis=1), running.shape[1] - 1)

    run_blocks(work, block_ranges(len(homes), USERS_PER_BLOCK_VIRTUAL))
    return homes


# How virtual users walk through a day: hours before the first learned, home time, and the pace.


@dataclass(frozen=True, kw_only=True)
class DayWalk:
    """The day of virtual users, step by step.

    Parameters
    ----------
    before
        Instants before the first one learned from; people live in them as in the first slot.
    home
        Number of instants at each end of the day, those before included, that are home time.
    pace
        Probability that a step outside home time proposes a move at all, above 0 and at most 1. At home
        time every step does, so that who is out comes home.

    Examples
    --------
    >>> DayWalk(before=2, home=3).order(np.array([0, 0, 1, 1, 2, 2]))[0].tolist()
    [0, 0, 0, 0, 1, 1, 2, 2]
    """

    before: int
    home: int
    pace: float = 1.0

    def __post_init__(self) -> None:
        require_whole("before", self.before, at_least=0)
        require_whole("home", self.home, at_least=0)
        require_number("pace", self.pace, above=0, at_most=1)

    def order(self, slot_of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the learned slot of each instant of the walk's day, and whether it is home time."""
        learned = np.concatenate([np.full(self.before, slot_of[0]), slot_of])
        from_an_end = np.minimum(np.arange(len(learned)), np.arange(len(learned))[::-1])
        return learned, from_an_end < self.home

    def stretch_model(
        self, model: TraceModel, seen: SeenCells | None
    ) -> tuple[TraceModel, SeenCells | None, NDArray[np.bool_]]:
        """Return model and seen cells in the walk's own slots, and which of these are home time.

        A slot of the walk is what is left of a learned one when home time and the rest of the day are
        separated.
        """
        learned, at_home = self.order(model.slot_of)
        slots, slot_of = np.unique(2 * learned + at_home, return_inverse=True)
        origin, home = slots // 2, slots % 2 == 1
        model = replace(model, slots=np.ascontiguousarray(model.slots[origin]), slot_of=slot_of)
        return model, None if seen is None else seen.with_slots(origin), home
