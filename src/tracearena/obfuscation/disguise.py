"""Disguise: what defences share that make each user look like another one who lives much like her."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator
from tracearena.checks import require_kind, require_number
from tracearena.engine import SeedLike, child_seed, seed_sequence, uniforms
from tracearena.obfuscation.moves import FARTHEST_KM, Moves, budget_of
from tracearena.obfuscation.partners import partners
from tracearena.traces import ObfuscatedTraces, Traces

MOST_SLOTS = 48
"""A day is cut into at most so many parts."""
MOST_NOISE = 1e6


class Disguise(Obfuscator):
    """Moves the visits of each user towards those of a random partner, within a budget of utility.

    A subclass is a dataclass with these parameters, and says which moves are carried out.
    """

    units: ClassVar[Mapping[str, str]] = {"blur_km": "km", "limit_km": "km"}

    threshold: float
    noise: float
    blur_km: float
    limit_km: float

    def __post_init__(self) -> None:
        require_number("threshold", self.threshold, at_least=0, at_most=1)
        require_number("noise", self.noise, at_least=0, at_most=MOST_NOISE)
        require_number("blur_km", self.blur_km, at_least=0, at_most=FARTHEST_KM)
        require_number("limit_km", self.limit_km, above=0, at_most=FARTHEST_KM)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with as many visits moved as the threshold allows."""
        require_kind(self, original, Traces)
        root = seed_sequence(seed)
        chance = uniforms(child_seed(root, 0), original.n_events)
        partner = partners(original, self.blur_km, self.noise, child_seed(root, 1))
        codes = original.place_index.copy()
        for moves in self._moves(original, partner, chance, budget_of(original, self.threshold)):
            codes[moves.events] = moves.places
        return ObfuscatedTraces.like(original, codes)

    @abstractmethod
    def _moves(
        self, original: Traces, partner: NDArray[np.int64], chance: NDArray[np.float64], budget: float
    ) -> Iterable[Moves]:
        """Return the moves that are carried out; `chance` is one random number an event."""
