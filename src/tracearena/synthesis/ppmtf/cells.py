"""The cells of the two tensors that the sampler sees, arranged by block of users.

Both tensors have users and places in common, so they are kept as one: users × places × *targets*,
where the targets are the next places followed by the slots. A cell (user, place, target) is seen
if it is positive and was not trimmed, or if it was drawn among the zero cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.formats.ppmtf import SparseTensor
from tracearena.synthesis.ppmtf.tensors import trimmed, truncated

Matrix = NDArray[np.float64]
Index = NDArray[np.uint16] | NDArray[np.int32]


@dataclass(frozen=True)
class CellRules:
    """Which cells are kept of a tensor.

    Parameters
    ----------
    positive
        At most so many positive cells a user (λ).
    largest
        Counts are cut to this (r_max).
    zeros
        So many zero cells a user (ρ).
    """

    positive: int = 100
    largest: int = 10
    zeros: int = 1000


@dataclass(frozen=True)
class Groups:
    """Pairs of indices, sorted by a third: group ``g`` is ``offsets[g]:offsets[g + 1]``."""

    offsets: NDArray[np.int64]
    left: Index
    right: Index


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
class BlockCells(SortedCells):
    """The seen cells of a block of users, once for each of the three ways to sum over them.

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
        return gram_of(self.by_user, places, targets)

    def place_gram(self, users: Matrix, targets: Matrix) -> NDArray[np.float64]:
        """Return Σ x xᵀ over the block's cells of each place, x = a_n * c_j or a_n * d_t."""
        return gram_of(self.by_place, users, targets)

    def target_gram(self, users: Matrix, places: Matrix) -> NDArray[np.float64]:
        """Return Σ x xᵀ over the block's cells of each target, x = a_n * b_i."""
        return gram_of(self.by_target, users, places)


def gram_of(groups: Groups, left: Matrix, right: Matrix) -> NDArray[np.float64]:
    """Return Σ x xᵀ over the cells of each group, x the product of the two rows."""
    from tracearena.synthesis.ppmtf._kernels import gram

    z = left.shape[1]
    out = np.empty((len(groups.offsets) - 1, z, z))
    gram(left, right, groups.offsets, groups.left, groups.right, out)
    return out


def arrange(
    transitions: SparseTensor | None,
    visits: SparseTensor | None,
    rules: tuple[CellRules, CellRules],
    rng: np.random.Generator,
) -> BlockCells:
    """Trim, truncate and draw zeros for a block of users, then sort the cells three ways.

    Either tensor may be left out; it has no targets then.
    """
    given = transitions if transitions is not None else visits
    if given is None:
        raise ValueError("at least one tensor is needed")
    n_users, n_places, _ = given.shape
    n_next = transitions.shape[2] if transitions is not None else 0
    n_targets = n_next + (visits.shape[2] if visits is not None else 0)
    small = max(n_users, n_places, n_targets) <= np.iinfo(np.uint16).max
    parts = [
        _seen(tensor, rule, shift, rng, small)
        for tensor, rule, shift in ((transitions, rules[0], 0), (visits, rules[1], n_next))
        if tensor is not None
    ]
    names = ("user", "place", "target")
    user, place, target = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    own, here, there = (
        np.concatenate([getattr(part, name)[: len(part.kept)] for part in parts]) for name in names
    )
    counts = np.concatenate([part.kept.counts for part in parts])
    return BlockCells(
        n_users=n_users,
        by_user=grouped(user, n_users, place, target),
        by_place=grouped(place, n_places, user, target),
        by_target=grouped(target, n_targets, user, place),
        user=own,
        place=here,
        target=there,
        value=counts.astype(np.float32),  # exact: whole numbers below 2^24
    )


class _Seen(NamedTuple):
    """Kept positive cells of a tensor; user, place and target of these and then of the zero cells."""

    kept: SparseTensor
    user: Index
    place: Index
    target: Index


def _seen(tensor: SparseTensor, rule: CellRules, shift: int, rng: np.random.Generator, small: bool) -> _Seen:
    from tracearena.synthesis.ppmtf._kernels import sample_zeros, split_cells

    kept = truncated(trimmed(tensor, rule.positive, seed=rng), rule.largest)
    n_users, n_places, width = tensor.shape
    positive = kept.i.astype(np.int64) * width + kept.j
    uniforms = rng.random((n_users, rule.zeros))
    zeros = np.empty(n_users * rule.zeros, np.int64)
    written = sample_zeros(positive, kept.offsets, n_places * width, rule.zeros, uniforms, zeros)
    total = len(kept) + int(written.sum())
    user, place, target = (as_index(np.empty(total, np.uint16), small) for _ in range(3))
    for cells, counts, first in ((positive, np.diff(kept.offsets), 0), (zeros, written, len(kept))):
        split_cells(cells, counts, max(width, 1), shift, user[first:], place[first:], target[first:])
    return _Seen(kept, user, place, target)


def as_index(values: NDArray[np.generic], small: bool) -> Index:
    return values.astype(np.uint16) if small else values.astype(np.int32)


def grouped(key: Index, groups: int, left: Index, right: Index) -> Groups:
    """Sort pairs by a key below `groups`; pairs with the same key stay in order."""
    from tracearena.synthesis.ppmtf._kernels import sort_pairs

    offsets = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=groups))]).astype(np.int64)
    sorted_left, sorted_right = np.empty_like(left), np.empty_like(right)
    sort_pairs(key, offsets, left, right, sorted_left, sorted_right)
    return Groups(offsets, sorted_left, sorted_right)
