"""How virtual users walk through a day: hours before the first learned, home time, and the pace."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.synthesis.ppmtf.frame import SeenCells
from tracearena.synthesis.ppmtf.sampling import TraceModel


@dataclass(frozen=True, kw_only=True)
class Walk:
    """The day of virtual users, step by step.

    Parameters
    ----------
    before
        Instants before the first one learned from; people live in them as in the first slot.
    home
        So many instants at each end of the day, those before included, are home time.
    pace
        Probability that a step outside home time proposes a move at all, above 0 and at most 1. At home
        time every step does, so that who is out comes home.

    Examples
    --------
    >>> Walk(before=2, home=3).order(np.array([0, 0, 1, 1, 2, 2]))[0].tolist()
    [0, 0, 0, 0, 1, 1, 2, 2]
    """

    before: int
    home: int
    pace: float = 1.0

    def __post_init__(self) -> None:
        require_whole("before", self.before, at_least=0)
        require_whole("home", self.home, at_least=0)
        require_number("pace", self.pace, above=0, at_most=1)

    def order(self, slot_of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the learned slot of each instant of the walk's day, and whether it is home time."""
        learned = np.concatenate([np.full(self.before, slot_of[0]), slot_of])
        from_an_end = np.minimum(np.arange(len(learned)), np.arange(len(learned))[::-1])
        return learned, from_an_end < self.home

    def stretched(
        self, model: TraceModel, seen: SeenCells | None
    ) -> tuple[TraceModel, SeenCells | None, NDArray[np.bool_]]:
        """Return model and seen cells in the walk's own slots, and which of these are home time.

        A slot of the walk is what is left of a learned one when home time and the rest of the day are
        told apart.
        """
        learned, at_home = self.order(model.slot_of)
        slots, slot_of = np.unique(2 * learned + at_home, return_inverse=True)
        origin, home = slots // 2, slots % 2 == 1
        model = replace(model, slots=np.ascontiguousarray(model.slots[origin]), slot_of=slot_of)
        return model, None if seen is None else seen.with_slots(origin), home
