"""The cells of the two tensors that the sampler sees, by block of users, and the sums over them.

A block's cells are made from the traces of its users: counted, trimmed, truncated, with zeros drawn or
weighed, and sorted three ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, block_ranges, generator, stream
from tracearena.mobility.transitions import SparseTensor, transition_counts, visit_counts
from tracearena.traces import Traces

Matrix = NDArray[np.float64]
Index = NDArray[np.uint16] | NDArray[np.int32]


@dataclass(frozen=True)
class PairGroups:
    """Pairs of indices, sorted by a third: group ``g`` is ``offsets[g]:offsets[g + 1]``."""

    offsets: NDArray[np.int64]
    left: Index
    right: Index

    @classmethod
    def of(cls, key: Index, groups: int, left: Index, right: Index) -> PairGroups:
        """Sort pairs by a key below `groups`; pairs with the same key stay in order."""
        from tracearena.synthesis.ppmtf._gibbs_kernels import sort_pairs

        offsets = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=groups))]).astype(np.int64)
        sorted_left, sorted_right = np.empty_like(left), np.empty_like(right)
        sort_pairs(key, offsets, left, right, sorted_left, sorted_right)
        return cls(offsets, sorted_left, sorted_right)

    def gram(self, left: Matrix, right: Matrix) -> NDArray[np.float64]:
        """Return Σ x xᵀ over the pairs of each group, x the product of the two rows."""
        from tracearena.synthesis.ppmtf._gibbs_kernels import fill_gram

        z = left.shape[1]
        out = np.empty((len(self.offsets) - 1, z, z))
        fill_gram(left, right, self.offsets, self.left, self.right, out)
        return out


@dataclass(frozen=True, kw_only=True)
class SortedCells:
    """What all blocks of cells have: cells sorted three ways, and the positive ones with their counts."""

    n_users: int
    by_user: PairGroups
    by_place: PairGroups
    by_target: PairGroups
    user: Index
    place: Index
    target: Index
    value: NDArray[np.float32]

    @cached_property
    def sum_of_squares(self) -> float:
        """Sum of the squared counts."""
        return float(np.square(self.value, dtype=np.float64).sum())

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        groups = (self.by_user, self.by_place, self.by_target)
        columns: list[NDArray[Any]] = [self.user, self.place, self.target, self.value]
        columns += [column for group in groups for column in (group.offsets, group.left, group.right)]
        return sum(int(column.nbytes) for column in columns)


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
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
        Weight of a zero cell: two rows (transitions, visits), one column per user.
    weight
        Sum of the weights of all cells, positive and zero.
    """

    n_next: int
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
        out = self.by_place.gram(self._scale_users(users), targets)
        for moment, gram in zip(self._user_grams(users), self._target_grams(targets), strict=True):
            out += moment * gram
        return out

    def target_gram(self, users: Matrix, places: Matrix) -> NDArray[np.float64]:
        """Return the weighted Σ x xᵀ over the block's cells of each target, x = a_n * b_i."""
        out = self.by_target.gram(self._scale_users(users), places)
        moves, visits = self._user_grams(users)
        inner = places.T @ places
        out[: self.n_next] += moves * inner
        out[self.n_next :] += visits * inner
        return out

    def _scale_users(self, users: Matrix) -> Matrix:
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


Zeros = Literal["sampled", "all"]
USERS_PER_BLOCK = 256
WEIGHTED_USERS_PER_BLOCK = 1024
"""Blocks without sampled zeros have fewer cells, so that more users share the cost of a block."""
REGULAR_SCALES = (32.0, 0.5)
SPARSE_SCALES = (2.0, 1.0)
_CELL_STREAM = 0


@dataclass(frozen=True, eq=False)
class CellArrangement:
    """How the cells of a block of users are made from their traces.

    Attributes
    ----------
    root
        Seed of the chain.
    rules
        Which cells of the transition and of the visit tensor are kept.
    zeros
        Whether zero cells are sampled or all weighed.
    scales
        What all zeros of each tensor weigh.
    tensors
        Which tensors the chain factorises.
    """

    root: np.random.SeedSequence
    rules: tuple[CellRules, CellRules]
    zeros: Zeros = "sampled"
    scales: tuple[float, float] = (1.0, 1.0)
    tensors: tuple[bool, bool] = (True, True)

    @property
    def users_per_block(self) -> int:
        """Size of a block."""
        return WEIGHTED_USERS_PER_BLOCK if self.zeros == "all" else USERS_PER_BLOCK

    def build_cells(self, traces: Traces, block: int) -> Cells:
        """Return the cells of a block, given the traces of its users alone."""
        moves = transition_counts(traces) if self.tensors[0] else None
        visits = visit_counts(traces) if self.tensors[1] else None
        rng = stream(self.root, _CELL_STREAM, block)
        if self.zeros == "all":
            return arrange_weighted(moves, visits, self.rules, self.scales, rng)
        return arrange_sampled(moves, visits, self.rules, rng)


class LeanCells(Sequence[Cells]):
    """Blocks that are arranged again whenever they are looked at: the same cells, and no memory for them.

    Parameters
    ----------
    parts
        Traces of users that follow each other; all but the last have a whole number of blocks.
    arrangement
        How cells are made.
    number
        Number of the first block.
    """

    def __init__(self, parts: Sequence[Traces], arrangement: CellArrangement, number: int = 0) -> None:
        self.parts = parts
        self.arrangement = arrangement
        self.number = number
        size = arrangement.users_per_block
        self._where = [(part, limits) for part in parts for limits in block_ranges(part.n_users, size)]

    def __len__(self) -> int:
        return len(self._where)

    @overload
    def __getitem__(self, block: int) -> Cells: ...
    @overload
    def __getitem__(self, block: slice) -> list[Cells]: ...
    def __getitem__(self, block: int | slice) -> Cells | list[Cells]:
        if isinstance(block, slice):
            return [self[at] for at in range(*block.indices(len(self)))]
        part, limits = self._where[block]
        return self.arrangement.build_cells(part.take_users(slice(*limits)), self.number + block)


def default_zero_scales(mostly_moves: bool) -> tuple[float, float]:
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
class CellRules:
    """Which cells are kept of a tensor.

    Parameters
    ----------
    positive
        Most positive cells per user (λ).
    largest
        Counts are cut to this (r_max).
    zeros
        Zero cells per user (ρ).
    """

    positive: int = 100
    largest: int = 10
    zeros: int = 1000

    def trim_and_truncate(self, tensor: SparseTensor, rng: np.random.Generator) -> SparseTensor:
        """Trim and truncate a tensor."""
        return truncate_tensor(trim_tensor(tensor, self.positive, seed=rng), self.largest)


def trim_tensor(tensor: SparseTensor, limit: int, *, seed: SeedLike = None) -> SparseTensor:
    """Keep at most `limit` positive cells of each user, chosen at random, with their full counts.

    References
    ----------
    [ppmtf] section 3.2, "Trimming" (λ).
    """
    offsets = tensor.offsets
    if len(tensor) == 0 or np.diff(offsets).max() <= limit:
        return tensor
    order = np.lexsort((generator(seed).random(len(tensor)), tensor.users))
    rank = np.empty(len(tensor), np.int64)
    rank[order] = np.arange(len(tensor)) - offsets[tensor.users]
    columns = (column[rank < limit] for column in (tensor.users, tensor.i, tensor.j, tensor.counts))
    return SparseTensor(tensor.shape, *columns)


def truncate_tensor(tensor: SparseTensor, largest: int) -> SparseTensor:
    """Cut every count to `largest` (r_max)."""
    counts = np.minimum(tensor.counts, np.int32(min(largest, np.iinfo(np.int32).max)))
    return SparseTensor(tensor.shape, tensor.users, tensor.i, tensor.j, counts)


def arrange_sampled(
    transitions: SparseTensor | None,
    visits: SparseTensor | None,
    rules: tuple[CellRules, CellRules],
    rng: np.random.Generator,
) -> SampledCells:
    """Trim, truncate and draw zeros for a block of users, then sort the cells three ways.

    Either tensor may be left out; it has no targets then.
    """
    n_users, n_places, n_next, n_slots = _count_dimensions(transitions, visits)
    n_targets = n_next + n_slots
    small = max(n_users, n_places, n_targets) <= np.iinfo(np.uint16).max
    parts = [
        _sample_cells(tensor, rule, shift, rng, small)
        for tensor, rule, shift in ((transitions, rules[0], 0), (visits, rules[1], n_next))
        if tensor is not None
    ]
    names = ("user", "place", "target")
    user, place, target = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    own, here, there = (
        np.concatenate([getattr(part, name)[: len(part.kept)] for part in parts]) for name in names
    )
    counts = np.concatenate([part.kept.counts for part in parts])
    return SampledCells(
        n_users=n_users,
        by_user=PairGroups.of(user, n_users, place, target),
        by_place=PairGroups.of(place, n_places, user, target),
        by_target=PairGroups.of(target, n_targets, user, place),
        user=own,
        place=here,
        target=there,
        value=counts.astype(np.float32),  # exact: whole numbers below 2^24
    )


class _TensorCells(NamedTuple):
    """Kept positive cells of a tensor; user, place and target of these and then of the zero cells."""

    kept: SparseTensor
    user: Index
    place: Index
    target: Index


def _sample_cells(
    tensor: SparseTensor, rule: CellRules, shift: int, rng: np.random.Generator, small: bool
) -> _TensorCells:
    from tracearena.synthesis.ppmtf._gibbs_kernels import sample_zeros, split_cells

    kept = rule.trim_and_truncate(tensor, rng)
    n_users, n_places, width = tensor.shape
    positive = kept.i.astype(np.int64) * width + kept.j
    uniforms = rng.random((n_users, rule.zeros))
    zeros = np.empty(n_users * rule.zeros, np.int64)
    written = sample_zeros(positive, kept.offsets, n_places * width, rule.zeros, uniforms, zeros)
    total = len(kept) + int(written.sum())
    user, place, target = (_as_index(np.empty(total, np.uint16), small) for _ in range(3))
    for cells, counts, first in ((positive, np.diff(kept.offsets), 0), (zeros, written, len(kept))):
        split_cells(cells, counts, max(width, 1), shift, user[first:], place[first:], target[first:])
    return _TensorCells(kept, user, place, target)


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
    n_users, n_places, n_next, n_slots = _count_dimensions(transitions, visits)
    n_targets = n_next + n_slots
    kept: list[tuple[NDArray[np.int64], ...]] = []
    values: list[NDArray[np.float64]] = []
    weight = np.zeros((2, n_users))
    total = 0.0
    for number, tensor in enumerate((transitions, visits)):
        if tensor is None:
            continue
        part = rules[number].trim_and_truncate(tensor, rng)
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
    row, own, here, there = (_as_index(c, small) for c in (user + n_users * which, user, place, target))
    return WeightedCells(
        n_users=n_users,
        n_next=n_next,
        by_user=PairGroups.of(row, 2 * n_users, here, there),
        by_place=PairGroups.of(here, n_places, row, there),
        by_target=PairGroups.of(there, n_targets, row, here),
        user=own,
        place=here,
        target=there,
        value=np.concatenate(values).astype(np.float32),  # exact: whole numbers below 2^24
        zero_weight=weight,
        weight=total,
    )


def _count_dimensions(
    transitions: SparseTensor | None, visits: SparseTensor | None
) -> tuple[int, int, int, int]:
    """Return the number of users, places, next places and slots; a tensor left out has no targets."""
    given = transitions if transitions is not None else visits
    if given is None:
        raise ValueError("at least one tensor is needed")
    n_next = 0 if transitions is None else transitions.shape[2]
    return given.shape[0], given.shape[1], n_next, 0 if visits is None else visits.shape[2]


def _as_index(values: NDArray[np.generic], small: bool) -> Index:
    return values.astype(np.uint16) if small else values.astype(np.int32)
