"""Fewer points: what is not recorded cannot be followed."""

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
from tracearena.traces.time import LONGEST_S, piece_starts


@dataclass(frozen=True, kw_only=True)
class Thinning(GpsObfuscator):
    """Keep only the first point of each piece of `interval` seconds of a trajectory.

    Consecutive points of a trajectory are then at least `interval` apart ([geo-ind] section 2:
    the removal of intermediate points).

    Parameters
    ----------
    interval
        Time between the points that are kept, in seconds, above 0.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.

    Examples
    --------
    >>> str(Thinning(interval=60))
    'Thin(60)'
    """

    name: ClassVar[str] = "Thin"
    units: ClassVar[Mapping[str, str]] = {"interval": "s"}
    by_user: ClassVar[bool] = True

    interval: float
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        require_number("interval", self.interval, above=0, at_most=LONGEST_S)

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the points that are kept; nothing is drawn."""
        require_kind(self, original, GpsTraces)
        kept = original.keep(piece_starts(original, self.interval) == np.arange(len(original)))
        return rounded(kept, self.digits)
