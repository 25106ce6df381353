"""What every attack on released GPS traces is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tracearena.registry import Algorithm, Kind
from tracearena.traces import GpsTraces


class GpsAttack(Algorithm, ABC):
    """Says where each user really was, from the released points alone."""

    kind: ClassVar[Kind] = "gps-attack"

    @abstractmethod
    def recover(self, released: GpsTraces) -> GpsTraces:
        """Return the same points at the positions that the attacker believes in."""
