"""k-ary randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tracearena.engine import SeedLike
from tracearena.errors import require_number
from tracearena.obfuscation._draws import cell_draws
from tracearena.obfuscation.base import Obfuscator
from tracearena.traces import ObfuscatedTraces, Traces


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Obfuscator):
    """Keep a place with probability e^ε / (m - 1 + e^ε), else answer any other ([samples] A3).

    Each event is ε-differentially private on its own; a trace of t events is tε.

    Parameters
    ----------
    epsilon
        Privacy budget of an event, from 0 to 1,000,000.
    legacy_2019
        Use the draws of the organisers' program.
    """

    name: ClassVar[str] = "RR"

    epsilon: float
    legacy_2019: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        require_number("epsilon", self.epsilon, at_least=0, at_most=1e6)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with most places replaced at random."""
        # With u uniform: u < keep answers the truth; beyond it every other place owns a stretch of
        # equal length. Written with exp(-ε) so that a large ε does not overflow.
        others = len(original.places) - 1
        weight = math.exp(-self.epsilon)
        keep = 1 / (others * weight + 1)
        each = weight / (others * weight + 1)
        u = cell_draws(seed, original.n_events, legacy_2019=self.legacy_2019)
        kept = (u < keep) | (each == 0)
        shift = np.minimum(np.floor((u - keep) / (each or 1.0)), others - 1).astype(np.int64)
        shift += shift >= original.place_index
        return ObfuscatedTraces.like(original, np.where(kept, original.place_index, shift))
