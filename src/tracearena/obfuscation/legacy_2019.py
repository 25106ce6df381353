"""The very draws of the programs of 2019, for sample defences that are asked for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, seed_sequence, uniforms
from tracearena.errors import ParameterError

LEGACY_SEED = 1


def cell_draws(seed: SeedLike, count: int, columns: int = 1, *, legacy_2019: bool) -> NDArray[np.float64]:
    """Draw numbers from [0, 1) for each event.

    With `legacy_2019` they come one after the other, in file order, from numpy's legacy generator
    (seed 1 unless given), as in the organisers' programs.
    """
    if not legacy_2019:
        return uniforms(seed_sequence(seed), count, columns)
    numbers = legacy_generator(seed).random_sample((count, columns))
    return numbers[:, 0] if columns == 1 else numbers


def legacy_generator(seed: SeedLike) -> np.random.RandomState:
    """Return the generator of 2019, which knows only whole-number seeds."""
    if seed is None:
        seed = LEGACY_SEED
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
        raise ParameterError.of("seed", seed, "a whole number from 0 to 4294967295 with legacy_2019")
    return np.random.RandomState(int(seed))
