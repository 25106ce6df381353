"""Merging regions and location hiding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator, setting
from tracearena.checks import require_kind, require_number, require_switch, require_whole
from tracearena.engine import SeedLike
from tracearena.errors import DataError
from tracearena.obfuscation.legacy_2019 import cell_draws
from tracearena.traces import DELETED, Grid, ObfuscatedTraces, PlaceSets, Traces


@dataclass(frozen=True, kw_only=True)
class MRLH(Obfuscator):
    """Generalise each region to its block and delete some events ([contest] section 4.1, [samples] A2).

    The lower `mu_x` bits of the column and `mu_y` bits of the row are dropped: a region becomes the
    aligned block of 2^mu_x × 2^mu_y regions around it (smaller at the border of a grid that blocks
    do not fill).

    Parameters
    ----------
    mu_x, mu_y
        Bits dropped, 0 or more.
    deletion
        Probability λ, from 0 to 1, that an event is deleted.
    legacy_2019
        Use the draws of the organisers' program.
    """

    name: ClassVar[str] = "MRLH"
    by_user: ClassVar[bool] = True

    mu_x: int
    mu_y: int
    deletion: float
    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        for name in ("mu_x", "mu_y"):
            require_whole(name, getattr(self, name), at_least=0, at_most=30)
        require_number("deletion", self.deletion, at_least=0, at_most=1)
        require_switch("legacy_2019", self.legacy_2019)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return blocks in the stead of regions; needs places on a grid."""
        require_kind(self, original, Traces)
        return self._transformed(original, seed, 0)

    def transform_part(
        self, part: Traces, *, seed: np.random.SeedSequence, first: int, total: int
    ) -> ObfuscatedTraces:
        """Return the blocks of some users, with the draws they have among all of them."""
        return self._transformed(part, seed, first)

    def _transformed(self, part: Traces, seed: SeedLike, first: int) -> ObfuscatedTraces:
        grid = part.places.grid
        if grid is None:
            raise DataError(
                "MRLH merges the regions of a grid; these places are not one: put them on a grid, such as "
                "--grid 32x32 (grid='32x32')"
            )
        draws = cell_draws(seed, part.n_events, legacy_2019=self.legacy_2019, first=first)
        deleted = draws < self.deletion
        if self.mu_x == self.mu_y == 0:
            return ObfuscatedTraces.like(part, np.where(deleted, DELETED, part.place_index))
        block_of, blocks = self._blocks(grid)
        codes = np.where(deleted, DELETED, -2 - block_of[part.place_index])
        return ObfuscatedTraces.like(part, codes, blocks)

    def _blocks(self, grid: Grid) -> tuple[NDArray[np.int64], PlaceSets]:
        row, column = np.divmod(np.arange(len(grid)), grid.columns)
        per_row = ((grid.columns - 1) >> self.mu_x) + 1
        block_of = (row >> self.mu_y) * per_row + (column >> self.mu_x)
        members = np.argsort(block_of, kind="stable")
        return block_of, PlaceSets(np.concatenate([[0], np.cumsum(np.bincount(block_of))]), members)
