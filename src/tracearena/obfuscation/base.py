"""What every defence is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tracearena.engine import SeedLike
from tracearena.registry import Algorithm, Kind
from tracearena.traces import ObfuscatedTraces, Traces


class Obfuscator(Algorithm, ABC):
    """A defence: replaces the place of each event by one place, several, or none.

    Write your own as a frozen keyword-only dataclass with a `name` and a `transform`.
    """

    kind: ClassVar[Kind] = "obfuscator"

    @abstractmethod
    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the obfuscated traces: the same events, in the same order."""
