"""How the cells of a block of users are made from their traces: counted, trimmed, truncated, sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, block_ranges, generator, stream
from tracearena.mobility.transitions import SparseTensor, transition_counts, visit_counts
from tracearena.synthesis.ppmtf.cells import Cells, Groups, Index, SampledCells, WeightedCells
from tracearena.traces import Traces

Zeros = Literal["sampled", "all"]
USERS_PER_BLOCK = 256
WEIGHTED_USERS_PER_BLOCK = 1024
"""Blocks without sampled zeros have fewer cells, so that more users share the cost of a block."""
REGULAR_SCALES = (32.0, 0.5)
SPARSE_SCALES = (2.0, 1.0)
_CELL_STREAM = 0


@dataclass(frozen=True, eq=False)
class Arrangement:
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

    def cells(self, traces: Traces, block: int) -> Cells:
        """Return the cells of a block, given the traces of its users alone."""
        moves = transition_counts(traces) if self.tensors[0] else None
        visits = visit_counts(traces) if self.tensors[1] else None
        rng = stream(self.root, _CELL_STREAM, block)
        if self.zeros == "all":
            return arrange_weighted(moves, visits, self.rules, self.scales, rng)
        return arrange_sampled(moves, visits, self.rules, rng)


class LeanCells(Sequence[Cells]):
    """Blocks that are arranged anew whenever they are looked at: the same cells, and no memory for them.

    Parameters
    ----------
    parts
        Traces of users that follow each other; all but the last have a whole number of blocks.
    arrangement
        How cells are made.
    number
        Number of the first block.
    """

    def __init__(self, parts: Sequence[Traces], arrangement: Arrangement, number: int = 0) -> None:
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
        return self.arrangement.cells(part.take_users(slice(*limits)), self.number + block)


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

    def kept(self, tensor: SparseTensor, rng: np.random.Generator) -> SparseTensor:
        """Trim and truncate a tensor."""
        return truncated(trimmed(tensor, self.positive, seed=rng), self.largest)


def trimmed(tensor: SparseTensor, limit: int, *, seed: SeedLike = None) -> SparseTensor:
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


def truncated(tensor: SparseTensor, largest: int) -> SparseTensor:
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
    n_users, n_places, n_next, n_slots = _shape(transitions, visits)
    n_targets = n_next + n_slots
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
    return SampledCells(
        n_users=n_users,
        by_user=Groups.of(user, n_users, place, target),
        by_place=Groups.of(place, n_places, user, target),
        by_target=Groups.of(target, n_targets, user, place),
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
    from tracearena.synthesis.ppmtf._cell_kernels import sample_zeros, split_cells

    kept = rule.kept(tensor, rng)
    n_users, n_places, width = tensor.shape
    positive = kept.i.astype(np.int64) * width + kept.j
    uniforms = rng.random((n_users, rule.zeros))
    zeros = np.empty(n_users * rule.zeros, np.int64)
    written = sample_zeros(positive, kept.offsets, n_places * width, rule.zeros, uniforms, zeros)
    total = len(kept) + int(written.sum())
    user, place, target = (_as_index(np.empty(total, np.uint16), small) for _ in range(3))
    for cells, counts, first in ((positive, np.diff(kept.offsets), 0), (zeros, written, len(kept))):
        split_cells(cells, counts, max(width, 1), shift, user[first:], place[first:], target[first:])
    return _Seen(kept, user, place, target)


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
    n_users, n_places, n_next, n_slots = _shape(transitions, visits)
    n_targets = n_next + n_slots
    kept: list[tuple[NDArray[np.int64], ...]] = []
    values: list[NDArray[np.float64]] = []
    weight = np.zeros((2, n_users))
    total = 0.0
    for number, tensor in enumerate((transitions, visits)):
        if tensor is None:
            continue
        part = rules[number].kept(tensor, rng)
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
        by_user=Groups.of(row, 2 * n_users, here, there),
        by_place=Groups.of(here, n_places, row, there),
        by_target=Groups.of(there, n_targets, row, here),
        user=own,
        place=here,
        target=there,
        value=np.concatenate(values).astype(np.float32),  # exact: whole numbers below 2^24
        zero_weight=weight,
        weight=total,
    )


def _shape(transitions: SparseTensor | None, visits: SparseTensor | None) -> tuple[int, int, int, int]:
    """Return the number of users, places, next places and slots; a tensor left out has no targets."""
    given = transitions if transitions is not None else visits
    if given is None:
        raise ValueError("at least one tensor is needed")
    n_next = 0 if transitions is None else transitions.shape[2]
    return given.shape[0], given.shape[1], n_next, 0 if visits is None else visits.shape[2]


def _as_index(values: NDArray[np.generic], small: bool) -> Index:
    return values.astype(np.uint16) if small else values.astype(np.int32)
