"""Guessing: what an attack must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tracearena.algorithms.base import ReidentificationAttack, TraceInferenceAttack
from tracearena.checks import require_fitted, require_kind
from tracearena.engine import SeedLike, generator, seed_sequence, uniforms
from tracearena.errors import DataError
from tracearena.traces import IdTable, ObfuscatedTraces, Traces


@dataclass(kw_only=True)
class RandomIdentification(ReidentificationAttack):
    """Answer a random permutation of the users ([samples] I1)."""

    name: ClassVar[str] = "Random-R"

    def fit(self, reference: Traces) -> Self:
        """Remember who the users are."""
        require_kind(self, reference, Traces)
        if not reference.n_users:
            raise DataError("the reference traces have no users")
        self.user_ids_ = reference.user_ids
        return self

    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return every user once, as far as there are as many pseudonyms."""
        require_fitted(self, "user_ids_")
        require_kind(self, anonymized, ObfuscatedTraces)
        order = generator(seed).permutation(len(self.user_ids_))
        return IdTable(anonymized.user_ids, self.user_ids_[np.resize(order, anonymized.n_users)])


@dataclass(kw_only=True)
class RandomInference(TraceInferenceAttack):
    """Answer any place at random ([samples] T1)."""

    name: ClassVar[str] = "Random-T"

    def fit(self, reference: Traces) -> Self:
        """Remember who the users are."""
        require_kind(self, reference, Traces)
        self.user_ids_ = reference.user_ids
        return self

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return a random place for every user and instant."""
        require_fitted(self, "user_ids_")
        require_kind(self, anonymized, ObfuscatedTraces)
        shape = len(self.user_ids_), anonymized.n_instants
        chance = uniforms(seed_sequence(seed), shape[0] * shape[1]).reshape(shape)
        return Traces.from_dense(
            (chance * len(anonymized.places)).astype(np.int32),
            anonymized.places,
            anonymized.clock,
            user_ids=self.user_ids_,
            first_instant=anonymized.span[0],
        )
