"""The cells of the two tensors that the sampler sees, by block of users, and the sums over them.

Both tensors have users and places in common, so they are kept as one: users × places × *targets*,
where the targets are the next places followed by the slots. A positive cell (user, place, target) is
seen unless it was trimmed. Of the zero cells, `SampledCells` see some that were drawn, as in the
paper, and `WeightedCells` see all, with a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Index = NDArray[np.uint16] | NDArray[np.int32]


@dataclass(frozen=True)
class Groups:
    """Pairs of indices, sorted by a third: group ``g`` is ``offsets[g]:offsets[g + 1]``."""

    offsets: NDArray[np.int64]
    left: Index
    right: Index

    @classmethod
    def of(cls, key: Index, groups: int, left: Index, right: Index) -> Groups:
        """Sort pairs by a key below `groups`; pairs with the same key stay in order."""
        from tracearena.synthesis.ppmtf._cell_kernels import sort_pairs

        offsets = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=groups))]).astype(np.int64)
        sorted_left, sorted_right = np.empty_like(left), np.empty_like(right)
        sort_pairs(key, offsets, left, right, sorted_left, sorted_right)
        return cls(offsets, sorted_left, sorted_right)

    def gram(self, left: Matrix, right: Matrix) -> NDArray[np.float64]:
        """Return Σ x xᵀ over the pairs of each group, x the product of the two rows."""
        from tracearena.synthesis.ppmtf._gibbs_kernels import gram

        z = left.shape[1]
        out = np.empty((len(self.offsets) - 1, z, z))
        gram(left, right, self.offsets, self.left, self.right, out)
        return out


class SortedCells:
    """What all blocks of cells have: cells sorted three ways, and the positive ones with their counts."""

    by_user: Groups
    by_place: Groups
    by_target: Groups
    user: Index
    place: Index
    target: Index
    value: NDArray[np.float32]

    @cached_property
    def squared_values(self) -> float:
        """Sum of the squared counts."""
        return float(np.square(self.value, dtype=np.float64).sum())

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        groups = (self.by_user, self.by_place, self.by_target)
        columns: list[NDArray[Any]] = [self.user, self.place, self.target, self.value]
        columns += [column for group in groups for column in (group.offsets, group.left, group.right)]
        return sum(int(column.nbytes) for column in columns)


@dataclass(frozen=True)
class SampledCells(SortedCells):
    """The positive cells and the drawn zero cells of a block of users, once for each way to sum over them.

    Attributes
    ----------
    by_user, by_place, by_target
        The cells grouped by user (pairs place, target), by place (user, target) and by target
        (user, place); users count from the block's first.
    user, place, target, value
        The positive cells and their counts.
    """

    n_users: int
    by_user: Groups
    by_place: Groups
    by_target: Groups
    user: Index
    place: Index
    target: Index
    value: NDArray[np.float32]

    @property
    def weight(self) -> float:
        """Number of seen cells, positive and zero."""
        return len(self.by_user.left)

    def user_gram(self, places: Matrix, targets: Matrix) -> NDArray[np.float64]:
        """Return Σ x xᵀ over the cells of each user, x = b_i * c_j or b_i * d_t."""
        return self.by_user.gram(places, targets)

    def place_gram(self, users: Matrix, targets: Matrix) -> NDArray[np.float64]:
        """Return Σ x xᵀ over the block's cells of each place, x = a_n * c_j or a_n * d_t."""
        return self.by_place.gram(users, targets)

    def target_gram(self, users: Matrix, places: Matrix) -> NDArray[np.float64]:
        """Return Σ x xᵀ over the block's cells of each target, x = a_n * b_i."""
        return self.by_target.gram(users, places)


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
        positive = self.by_user.gram(places, targets).reshape(2, n, z * z)
        whole = np.stack([(places.T @ places) * gram for gram in self._target_grams(targets)])
        out = self.zero_weight.T @ whole.reshape(2, z * z)
        for weight, part in zip(self.zero_weight, positive, strict=True):
            part *= (1 - weight)[:, None]
            out += part
        return np.asarray(out.reshape(n, z, z))

    def place_gram(self, users: Matrix, targets: Matrix) -> NDArray[np.float64]:
        """Return the weighted Σ x xᵀ over the block's cells of each place, x = a_n * c_j or a_n * d_t."""
        out = self.by_place.gram(self._scaled(users), targets)
        for moment, gram in zip(self._user_grams(users), self._target_grams(targets), strict=True):
            out += moment * gram
        return out

    def target_gram(self, users: Matrix, places: Matrix) -> NDArray[np.float64]:
        """Return the weighted Σ x xᵀ over the block's cells of each target, x = a_n * b_i."""
        out = self.by_target.gram(self._scaled(users), places)
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


Cells: TypeAlias = SampledCells | WeightedCells
