"""Identification by evidence: each trace is one user's, so that what speaks for it sums to the most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.told import ToldAttack
from tracearena.attacks.bayesian.weighing import WeighedMatch
from tracearena.attacks.matching import Match, MatchingIdentification
from tracearena.engine import SeedLike
from tracearena.traces import IdTable, ObfuscatedTraces


@dataclass(kw_only=True)
class EvidenceIdentification(ToldAttack, MatchingIdentification):
    """An attack that says who is who by some kinds of evidence, or by all of them, weighed."""

    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of evidence that are summed; none stands for all, each for what it is worth."""

    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table."""
        self._ready()
        return super().identify(anonymized, seed=seed)

    def identify_from(self, match: Match, anonymized: ObfuscatedTraces) -> IdTable:
        """Return the inferred ID table by the evidence that the attack looks at."""
        assert isinstance(match, WeighedMatch)
        chosen = match.by(*self.kinds) if self.kinds else match.best
        return IdTable(anonymized.user_ids, self.matcher_.user_ids_[chosen])

    def rank_from(self, match: Match) -> NDArray[np.int64]:
        """Return the likeliest users of each pseudonym by the evidence that the attack looks at."""
        assert isinstance(match, WeighedMatch)
        return match.ranked_by(*self.kinds) if self.kinds else match.ranked
