"""Fake traces by the rules of the published program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_switch
from tracearena.engine import block_ranges, is_secret, run_blocks, stream
from tracearena.synthesis.sglt.fakes import FAKES_PER_BLOCK, FakeMaker, Fakes


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

    def make(self, seeds: NDArray[np.int32], rows: NDArray[np.int64], root: np.random.SeedSequence) -> Fakes:
        """Make one fake for every row named; see `FakeMaker.make`."""
        from tracearena.synthesis.sglt._legacy_kernels import make_legacy_fakes

        places = np.empty((len(rows), seeds.shape[1]), np.int32)
        likelihood = np.empty(len(rows))
        classes = self.classes
        log_start, log_moves = np.log(self.mobility.starts()), np.log(self.mobility.moves)
        step_of = self.mobility.step_numbers

        def work(block: int, first: int, stop: int) -> None:
            rng = stream(root, block)
            draws = rng.integers(0, 2**64, stop - first, dtype=np.uint64)
            make_legacy_fakes(
                seeds,
                rows[first:stop],
                draws,
                rng,
                is_secret(root),
                classes.class_of,
                classes.offsets,
                classes.members,
                log_start,
                step_of,
                log_moves,
                float(self.par_c),
                float(self.par_m),
                float(self.par_l),
                float(self.par_v),
                self.decoder_failure,
                places[first:stop],
                likelihood[first:stop],
            )

        run_blocks(work, block_ranges(len(rows), FAKES_PER_BLOCK), report=True)
        return Fakes(places, likelihood)
