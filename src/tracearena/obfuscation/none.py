"""No obfuscation: only pseudonyms protect the users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tracearena.algorithms.base import Obfuscator
from tracearena.checks import require_kind
from tracearena.traces import ObfuscatedTraces, Traces

if TYPE_CHECKING:
    from tracearena.engine import SeedLike


@dataclass(frozen=True, kw_only=True)
class NoObfuscation(Obfuscator):
    """Release every event as it is ([samples] A1)."""

    name: ClassVar[str] = "No"
    by_user: ClassVar[bool] = True

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the original traces unchanged."""
        require_kind(self, original, Traces)
        return ObfuscatedTraces.unchanged(original)
