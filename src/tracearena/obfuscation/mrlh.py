"""Merging regions and location hiding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.kinds import Obfuscator, setting
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
        grid = original.places.grid
        if grid is None:
            raise DataError("MRLH merges the regions of a grid; these places are not one")
        deleted = cell_draws(seed, original.n_events, legacy_2019=self.legacy_2019) < self.deletion
        if self.mu_x == self.mu_y == 0:
            return ObfuscatedTraces.like(original, np.where(deleted, DELETED, original.place_index))
        block_of, blocks = self._blocks(grid)
        codes = np.where(deleted, DELETED, -2 - block_of[original.place_index])
        return ObfuscatedTraces.like(original, codes, blocks)

    def _blocks(self, grid: Grid) -> tuple[NDArray[np.int64], PlaceSets]:
        row, column = np.divmod(np.arange(len(grid)), grid.columns)
        per_row = ((grid.columns - 1) >> self.mu_x) + 1
        block_of = (row >> self.mu_y) * per_row + (column >> self.mu_x)
        members = np.argsort(block_of, kind="stable")
        return block_of, PlaceSets(np.concatenate([[0], np.cumsum(np.bincount(block_of))]), members)
