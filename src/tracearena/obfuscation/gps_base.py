"""What every defence of GPS traces is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tracearena.engine import SeedLike
from tracearena.registry import Algorithm, Kind
from tracearena.traces import GpsTraces


class GpsObfuscator(Algorithm, ABC):
    """A defence of GPS traces: moves points or leaves some out.

    Write your own as a frozen keyword-only dataclass with a `name` and a `transform`.
    """

    kind: ClassVar[Kind] = "gps-obfuscator"

    @abstractmethod
    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the traces to release; users keep their ids and their order."""
