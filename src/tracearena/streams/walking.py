"""Two tables of points, an original and a release of it, walked together a few users at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, run_blocks, use
from tracearena.engine.blocks import S
from tracearena.metrics.applications.paired import (
    IdTable,
    Part,
    refuse_swapped,
    require_known,
    true_ids,
    true_order,
)
from tracearena.streams.portions import Portion, Table, arranged, cut
from tracearena.streams.survey import Survey
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import positions

T = TypeVar("T")
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Together:
    """Portions of two tables with the same users each, who are called by their numbers.

    Users of the original are numbered in their order, and those whom only the release has after them.

    Attributes
    ----------
    points, is_released
        How many points each user of the original has, and whether there are released ones too.
    numbers
        Numbers of the released users, in the order of their table.
    row_by_row
        Whether all users have their original points one by one in the release.
    is_shared
        Whether the workers of a cluster reach the scratch folders of the tables.
    """

    original: Table[GpsTraces]
    released: Table[GpsTraces]
    points: Ints
    is_released: NDArray[np.bool_]
    released_points: int
    numbers: Ints
    row_by_row: bool = False
    is_shared: bool = True

    @property
    def can_travel(self) -> bool:
        """Whether the workers of a cluster reach all points."""
        return self.is_shared or not (self.original.is_in_scratch or self.released.is_in_scratch)

    def visit(self, work: Callable[[Part], T]) -> list[T]:
        """Return what the work makes of every portion, in their order."""
        return run_blocks(self._of_part(work), self._blocks(), anywhere=self.can_travel, report=True)

    def fold(self, work: Callable[[Part], S]) -> S:
        """Return the sum of what the work makes of every portion."""
        return fold_blocks(self._of_part(work), self._blocks(), anywhere=self.can_travel, report=True)

    def _blocks(self) -> list[tuple[int, int]]:
        return block_ranges(len(self.original.portions), 1)

    def _of_part(self, work: Callable[[Part], T]) -> Callable[[int, int, int], T]:
        def done(block: int, first: int, stop: int) -> T:
            with use(threads=1):
                return work(self._part(block))

        return done

    def _part(self, number: int) -> Part:
        mine, theirs = self.original.portions[number], self.released.portions[number]
        return Part(
            _traces(self.original, mine, np.arange(mine.first_user, mine.stop_user)),
            _traces(self.released, theirs, self.numbers[theirs.first_user : theirs.stop_user]),
            self.row_by_row,
            mine.first_user,
            theirs.first_user,
        )


def walk_together(
    original: tuple[Table[GpsTraces], Survey],
    released: tuple[Table[GpsTraces], Survey],
    scratch: Path,
    *,
    id_table: IdTable | None = None,
    by_id: bool = True,
    is_shared: bool = True,
) -> Together:
    """Find out who is who in two tables, and cut both into portions of the same users.

    Parameters
    ----------
    original, released
        Tables that need not be sorted.
    scratch
        Folder for the points of a table that is not sorted, or whose users come in another order.
    id_table
        Pseudonym → user, where the release has other ids than the original.
    by_id
        Refuse ids that are not those of the original (`with_true_ids`).
    is_shared
        Whether the workers of a cluster reach the scratch folder; if not, points are sorted here.
    """
    (_, ours), (_, theirs) = original, released
    ids = true_ids(ours.user_ids, theirs.user_ids, id_table)
    if by_id:
        require_known(ours.user_ids, ids)
    order = true_order(ours.user_ids, ids)
    numbers = _numbers(ours, ids[order])
    counts = np.bincount(numbers, theirs.counts[order], len(ours.users)).astype(np.int64)
    is_released = counts[: len(ours.users)] > 0
    counts[: len(ours.users)] += ours.counts
    portions = cut(counts)
    everybody = np.arange(len(ours.users))
    before = _cut_alike(original, everybody, everybody, portions, scratch / "original", is_shared)
    after = _cut_alike(released, order, numbers, portions, scratch / "released", is_shared)
    together = Together(
        before, after, ours.counts, is_released, theirs.n_points, numbers, is_shared=is_shared
    )
    if np.array_equal(ours.user_ids, ids[order]) and np.array_equal(ours.counts, theirs.counts[order]):
        alike = together.visit(lambda part: part.original.has_rows_of(part.released))
        together = replace(together, row_by_row=all(alike))
    if by_id:
        refuse_swapped(together, has_table=id_table is not None)
    return together


def _numbers(ours: Survey, ids: NDArray[np.str_]) -> Ints:
    """Number released users, who are in the original's order, as the original does; the others after it."""
    places = positions(ids, ours.user_ids)
    strangers = places < 0
    return np.where(strangers, len(ours.users) + np.cumsum(strangers) - 1, places)


def _own(portions: tuple[Portion, ...], numbers: Ints, counts: Ints) -> tuple[Portion, ...]:
    """Cut the users of one table, who have such numbers, where both are cut."""
    before = np.concatenate([[0], np.cumsum(counts)])
    found = []
    for one in portions:
        first, stop = np.searchsorted(numbers, [one.first_user, one.stop_user]).tolist()
        found.append(Portion(one.number, first, stop, int(before[first]), int(before[stop])))
    return tuple(found)


def _cut_alike(
    given: tuple[Table[GpsTraces], Survey],
    order: Ints,
    numbers: Ints,
    portions: tuple[Portion, ...],
    scratch: Path,
    is_shared: bool,
) -> Table[GpsTraces]:
    """Cut a table where both are cut: as it lies on disk, or through the disk where it lies otherwise."""
    table, found = given
    portions = _own(portions, numbers, found.counts[order])
    if found.is_sorted and (np.diff(order) == 1).all():
        return replace(table, portions=portions)
    return arranged(table, found, order, portions, scratch, is_shared=is_shared)


def _traces(table: Table[GpsTraces], portion: Portion, numbers: Ints) -> GpsTraces:
    """Return the points of a portion under the numbers of its users; there may be none."""
    if not len(portion):
        nothing = np.empty(0)
        return GpsTraces.from_points(nothing, nothing.astype(np.int64), nothing, nothing, user_ids=numbers)
    return table.traces(portion.number).with_user_ids(numbers)
