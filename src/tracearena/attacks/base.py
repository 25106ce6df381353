"""What every attack is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

from tracearena.engine import SeedLike
from tracearena.registry import Algorithm, Kind
from tracearena.traces import IdTable, ObfuscatedTraces, Traces


class ReidentificationAttack(Algorithm, ABC):
    """Says which user stands behind each pseudonym."""

    kind: ClassVar[Kind] = "reidentification"

    @abstractmethod
    def fit(self, reference: Traces) -> Self:
        """Learn from the reference traces of all users."""

    @abstractmethod
    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table; several pseudonyms may get the same user."""


class TraceInferenceAttack(Algorithm, ABC):
    """Says where each user was at each instant."""

    kind: ClassVar[Kind] = "trace-inference"

    @abstractmethod
    def fit(self, reference: Traces) -> Self:
        """Learn from the reference traces of all users."""

    @abstractmethod
    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return one place for every reference user and every instant of the anonymized span."""
