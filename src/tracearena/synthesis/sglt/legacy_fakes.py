"""Fake traces by the rules of the published program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracearena.checks import require_switch
from tracearena.synthesis.sglt.fakes import FakeMaker


@dataclass(frozen=True, kw_only=True)
class LegacyFakeMaker(FakeMaker):
    """How the program behind the published SGLT files makes a fake; parameters as in `FakeMaker`.

    It differs from the paper in four ways. Classes are thinned once a fake, not once an instant, and
    keep at least three places. par_c drops the seed's own place as any other, beside par_l. Of a class
    visited k instants away join par_m^(k²) of its places, rounded down, the lowest-numbered first; a class
    visited before counts as an instant nearer, unless it is the last instant's. And decoding can fail.

    Parameters
    ----------
    decoder_failure
        What happens where no place is left, as in a class of one place that par_l drops: the rest of the
        fake is at place 0 (the program, whose scores fall below a floor there); without it every place
        may be chosen.
    """

    decoder_failure: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_switch("decoder_failure", self.decoder_failure)

    def _rules(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        from tracearena.synthesis.sglt._legacy_kernels import make_legacy_fakes

        mobility = self.mobility
        moves = np.log(mobility.starts()), mobility.step_numbers, np.log(mobility.moves)
        return make_legacy_fakes, (*moves, *self._chances(), self.decoder_failure)
