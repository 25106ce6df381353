"""The very draws of the programs of 2019, for sample defences that are asked for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import SeedLike, seed_sequence, uniforms
from tracearena.errors import ParameterError

LEGACY_SEED = 1


def cell_draws(
    seed: SeedLike, count: int, columns: int = 1, *, legacy_2019: bool, first: int = 0
) -> NDArray[np.float64]:
    """Draw numbers from [0, 1) for each event, from the event numbered `first` on.

    With `legacy_2019` they come one after the other, in file order, from numpy's legacy generator
    (seed 1 unless given), as in the organisers' programs.
    """
    if not legacy_2019:
        return uniforms(seed_sequence(seed), count, columns, first=first)
    if first:
        raise ParameterError("the draws of 2019 come one after the other: they need all users at once")
    numbers = legacy_generator(seed).random_sample((count, columns))
    return numbers[:, 0] if columns == 1 else numbers


def legacy_generator(seed: SeedLike) -> np.random.RandomState:
    """Return the generator of 2019, which knows only whole-number seeds."""
    if seed is None:
        seed = LEGACY_SEED
    require_whole("seed of legacy_2019", seed, at_least=0, at_most=2**32 - 1)
    return np.random.RandomState(int(seed))  # type: ignore[arg-type]
