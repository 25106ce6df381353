"""All cells of the two tensors, the zero ones with a small weight, at the cost of the positive ones.

The zero cells of a user and tensor all have the same weight w, so the sum over all of them is a sum
over *all* cells, which is a Hadamard product of Gram matrices, less the positive cells:

    Σ_zero w x xᵀ = w (BᵀB)∘(CᵀC) − w Σ_positive x xᵀ        with x = b_i * c_j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.formats.ppmtf import SparseTensor
from tracearena.synthesis.ppmtf.cells import (
    CellRules,
    Groups,
    Index,
    Matrix,
    SortedCells,
    as_index,
    gram_of,
    grouped,
)
from tracearena.synthesis.ppmtf.tensors import trimmed, truncated

REGULAR_SCALES = (32.0, 0.5)
SPARSE_SCALES = (2.0, 1.0)


def usual_scales(mostly_moves: bool) -> tuple[float, float]:
    """Return what all zeros should weigh, in multiples of the sampled ones: transitions, visits.

    Parameters
    ----------
    mostly_moves
        Whether most events are followed by a transition.

    Notes
    -----
    Found by measurement. In regular traces most events are followed by a transition. The rows of
    transition probabilities are then what makes a trace, and since they are normalised over all
    places, the many zeros must be held down for the few positive cells to stand out. In sparse
    traces such as check-ins transitions are rare; heavy zeros among them only pull the users'
    factors, which both tensors share, away from what the visits say.
    """
    return REGULAR_SCALES if mostly_moves else SPARSE_SCALES


@dataclass(frozen=True)
class WeightedCells(SortedCells):
    """The positive cells of a block of users, and what every other cell of a user weighs.

    Attributes
    ----------
    n_next
        Number of next places; they come first among the targets, the slots follow.
    by_user
        The positive cells (place, target), first the users' transitions, then the users' visits.
    by_place, by_target
        The positive cells by place (user, target) and by target (user, place), where a user's
        visits stand under the number user + n_users.
    user, place, target, value
        The positive cells and their counts.
    zero_weight
        Weight of a zero cell: two rows (transitions, visits), a column a user.
    weight
        Sum of the weights of all cells, positive and zero.
    """

    n_users: int
    n_next: int
    by_user: Groups
    by_place: Groups
    by_target: Groups
    user: Index
    place: Index
    target: Index
    value: NDArray[np.float32]
    zero_weight: NDArray[np.float64]
    weight: float

    def user_gram(self, places: Matrix, targets: Matrix) -> NDArray[np.float64]:
        """Return the weighted Σ x xᵀ over the cells of each user, x = b_i * c_j or b_i * d_t."""
        n, z = self.n_users, places.shape[1]
        positive = gram_of(self.by_user, places, targets).reshape(2, n, z * z)
        whole = np.stack([(places.T @ places) * gram for gram in self._target_grams(targets)])
        out = self.zero_weight.T @ whole.reshape(2, z * z)
        for weight, part in zip(self.zero_weight, positive, strict=True):
            part *= (1 - weight)[:, None]
            out += part
        return np.asarray(out.reshape(n, z, z))

    def place_gram(self, users: Matrix, targets: Matrix) -> NDArray[np.float64]:
        """Return the weighted Σ x xᵀ over the block's cells of each place, x = a_n * c_j or a_n * d_t."""
        out = gram_of(self.by_place, self._scaled(users), targets)
        for moment, gram in zip(self._user_grams(users), self._target_grams(targets), strict=True):
            out += moment * gram
        return out

    def target_gram(self, users: Matrix, places: Matrix) -> NDArray[np.float64]:
        """Return the weighted Σ x xᵀ over the block's cells of each target, x = a_n * b_i."""
        out = gram_of(self.by_target, self._scaled(users), places)
        moves, visits = self._user_grams(users)
        inner = places.T @ places
        out[: self.n_next] += moves * inner
        out[self.n_next :] += visits * inner
        return out

    def _scaled(self, users: Matrix) -> Matrix:
        """Return A twice, so that a positive cell counts what it has more than a zero one."""
        more = np.sqrt(1 - self.zero_weight)
        return np.vstack([users * more[0][:, None], users * more[1][:, None]])

    def _user_grams(self, users: Matrix) -> tuple[Matrix, Matrix]:
        moves, visits = ((users * weight[:, None]).T @ users for weight in self.zero_weight)
        return moves, visits

    def _target_grams(self, targets: Matrix) -> tuple[Matrix, Matrix]:
        next_places, slots = targets[: self.n_next], targets[self.n_next :]
        return next_places.T @ next_places, slots.T @ slots


def arrange_weighted(
    transitions: SparseTensor | None,
    visits: SparseTensor | None,
    rules: tuple[CellRules, CellRules],
    scales: tuple[float, float],
    rng: np.random.Generator,
) -> WeightedCells:
    """Trim and truncate for a block of users, weigh the zeros, and sort the positive cells three ways.

    Either tensor may be left out; it has no targets then. The zeros of a user and tensor weigh
    together what `rules` would draw of them, times the tensor's scale; no zero weighs more than 1.
    """
    given = transitions if transitions is not None else visits
    if given is None:
        raise ValueError("at least one tensor is needed")
    n_users, n_places, _ = given.shape
    n_next = transitions.shape[2] if transitions is not None else 0
    n_targets = n_next + (visits.shape[2] if visits is not None else 0)
    kept: list[tuple[NDArray[np.int64], ...]] = []
    values: list[NDArray[np.float64]] = []
    weight = np.zeros((2, n_users))
    total = 0.0
    for number, tensor in enumerate((transitions, visits)):
        if tensor is None:
            continue
        part = truncated(trimmed(tensor, rules[number].positive, seed=rng), rules[number].largest)
        free = n_places * tensor.shape[2] - np.diff(part.offsets)
        weight[number] = np.minimum(scales[number] * rules[number].zeros / np.maximum(free, 1), 1)
        total += len(part) + float(weight[number] @ free)
        targets = part.j.astype(np.int64) + (n_next if number else 0)
        kept.append(
            (part.users.astype(np.int64), part.i.astype(np.int64), targets, np.full(len(part), number))
        )
        values.append(part.counts.astype(np.float64))
    user, place, target, which = (np.concatenate(column) for column in zip(*kept, strict=True))
    small = max(2 * n_users, n_places, n_targets) <= np.iinfo(np.uint16).max
    row, own, here, there = (as_index(c, small) for c in (user + n_users * which, user, place, target))
    return WeightedCells(
        n_users=n_users,
        n_next=n_next,
        by_user=grouped(row, 2 * n_users, here, there),
        by_place=grouped(here, n_places, row, there),
        by_target=grouped(there, n_targets, row, here),
        user=own,
        place=here,
        target=there,
        value=np.concatenate(values).astype(np.float32),  # exact: whole numbers below 2^24
        zero_weight=weight,
        weight=total,
    )
