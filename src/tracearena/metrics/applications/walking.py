"""An original and a release of it, walked together: all users at once, or some after the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.engine.blocks import S
from tracearena.metrics.applications.pairing import are_row_by_row, matched_points
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import positions
from tracearena.traces.geodesy import distance_bounds_m, distance_m
from tracearena.traces.spread import Tied, may_start_with, starting_with

T = TypeVar("T")
_POINTS_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class Part:
    """Some users of an original, and what is released of them, under the same ids.

    Attributes
    ----------
    original, released
        Consecutive users of each. Only the release may have somebody whom the original lacks.
    row_by_row
        Whether all users of the release, not only these, have their original points one by one.
    first, first_released
        Number of the first user among all of the original, and among all of the release.
    """

    original: GpsTraces
    released: GpsTraces
    row_by_row: bool
    first: int = 0
    first_released: int = 0

    @cached_property
    def same(self) -> NDArray[np.int64]:
        """Where each user of the original stands in the release, -1 for one who is not there."""
        return positions(self.original.user_ids, self.released.user_ids)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Metres between the original points that have a counterpart and these, nearest in time."""
        ends = self._ends
        metres = np.empty(len(ends[0]))

        def work(block: int, first: int, stop: int) -> None:
            metres[first:stop] = distance_m(*(degrees[first:stop] for degrees in ends))

        run_blocks(work, block_ranges(len(metres), _POINTS_PER_BLOCK))
        return metres

    def distances_starting_with(self, keys: NDArray[np.int64]) -> Tied:
        """Return the distances that begin with some first bits; most points are told apart by bounds."""
        if "distances" in self.__dict__:
            return starting_with(self.distances, keys)
        ends = self._ends
        chosen = may_start_with(*distance_bounds_m(*ends), keys)
        return starting_with(distance_m(*(degrees[chosen] for degrees in ends)), keys)

    @property
    def _ends(self) -> tuple[NDArray[np.float64], ...]:
        """Latitudes and longitudes of the original points, and of their counterparts."""
        mine, theirs = matched_points(self.original, self.released, row_by_row=self.row_by_row)
        before, after = self.original, self.released
        return before.latitude[mine], before.longitude[mine], after.latitude[theirs], after.longitude[theirs]


class Walk(Protocol):
    """The way through an original and its release: every user of both is in one part, in order."""

    @property
    def points(self) -> NDArray[np.int64]:
        """How many points each user of the original has."""

    @property
    def is_released(self) -> NDArray[np.bool_]:
        """Which users of the original have released points."""

    @property
    def released_points(self) -> int:
        """How many points the release has."""

    def visit(self, work: Callable[[Part], T]) -> list[T]:
        """Return what the work makes of every part, in their order."""

    def fold(self, work: Callable[[Part], S]) -> S:
        """Return the sum of what the work makes of every part."""


@dataclass(frozen=True)
class AtOnce:
    """All users in one part."""

    original: GpsTraces
    released: GpsTraces

    @cached_property
    def _part(self) -> Part:
        return Part(self.original, self.released, are_row_by_row(self.original, self.released))

    @property
    def points(self) -> NDArray[np.int64]:
        """How many points each user of the original has."""
        return np.diff(self.original.offsets)

    @property
    def is_released(self) -> NDArray[np.bool_]:
        """Which users of the original have released points."""
        return np.append(np.diff(self.released.offsets) > 0, False)[self._part.same]

    @property
    def released_points(self) -> int:
        """How many points the release has."""
        return len(self.released)

    def visit(self, work: Callable[[Part], T]) -> list[T]:
        """Do the work once."""
        return [work(self._part)]

    def fold(self, work: Callable[[Part], S]) -> S:
        """Do the work once."""
        return work(self._part)
