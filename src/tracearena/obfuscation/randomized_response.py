"""k-ary randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracearena.algorithms.base import Obfuscator, setting
from tracearena.checks import require_kind, require_number, require_switch
from tracearena.engine import SeedLike
from tracearena.obfuscation.legacy_2019 import cell_draws
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
    by_user: ClassVar[bool] = True

    epsilon: float
    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        require_number("epsilon", self.epsilon, at_least=0, at_most=1e6)
        require_switch("legacy_2019", self.legacy_2019)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with most places replaced at random."""
        require_kind(self, original, Traces)
        return self._transformed(original, seed, 0)

    def transform_part(
        self, part: Traces, *, seed: np.random.SeedSequence, first: int, total: int
    ) -> ObfuscatedTraces:
        """Return the answers of some users, with the draws they have among all of them."""
        return self._transformed(part, seed, first)

    def _transformed(self, part: Traces, seed: SeedLike, first: int) -> ObfuscatedTraces:
        # With u uniform: u < keep answers the truth; beyond it every other place owns a stretch of
        # equal length. Written with exp(-ε) so that a large ε does not overflow; the stretches are
        # looked at only where they are longer than the rounding of `keep`.
        others = len(part.places) - 1
        weight = math.exp(-self.epsilon)
        keep = 1 / (others * weight + 1)
        each = weight / (others * weight + 1)
        u = cell_draws(seed, part.n_events, legacy_2019=self.legacy_2019, first=first)
        codes = part.place_index.astype(np.int64)
        changed = np.flatnonzero(u >= keep) if keep < 1 else np.zeros(0, np.int64)
        shift = np.minimum(np.floor((u[changed] - keep) / each), others - 1).astype(np.int64)
        codes[changed] = shift + (shift >= codes[changed])
        return ObfuscatedTraces.like(part, codes)
