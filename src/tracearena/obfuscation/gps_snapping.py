"""Coarser positions: every point goes to the centre of its cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracearena.algorithms.base import GpsObfuscator, setting
from tracearena.checks import require_kind, require_number
from tracearena.engine import SeedLike
from tracearena.obfuscation.rounding import DIGITS, check_digits, rounded
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import metres_per_degree


@dataclass(frozen=True, kw_only=True)
class Snapping(GpsObfuscator):
    """Move each point to the centre of its cell in a world-wide grid.

    Rows are equally high; each row has as many equal cells as make them about `side` wide there,
    so cells keep their size towards the poles and none is cut by the date line.

    Parameters
    ----------
    side
        Side of a cell in metres, above 0, at most 1,000 km.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.
    """

    name: ClassVar[str] = "Snap"
    units: ClassVar[Mapping[str, str]] = {"side": "m"}
    by_user: ClassVar[bool] = True

    side: float
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        require_number("side", self.side, above=0, at_most=1e6)

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the same points at the centres; nothing is drawn."""
        require_kind(self, original, GpsTraces)
        rows = max(1, round(180 * float(metres_per_degree(45.0)[0]) / self.side))
        height = 180 / rows
        row = np.minimum((original.latitude + 90) // height, rows - 1)
        latitude = (row + 0.5) * height - 90
        around = 360 * metres_per_degree(latitude)[1]
        columns = np.maximum(np.rint(around / self.side), 1)
        width = 360 / columns
        column = np.minimum((original.longitude + 180) // width, columns - 1)
        return rounded(original.moved(latitude, (column + 0.5) * width - 180), self.digits)
