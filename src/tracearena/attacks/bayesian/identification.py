"""Polya-R, Markov-R and Bayes-R: who is who, one to one, by some of the evidence or by all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracearena.attacks.bayesian.matcher import WeighedMatch
from tracearena.attacks.bayesian.told import ToldAttack
from tracearena.attacks.matching import Match, MatchingIdentification
from tracearena.engine import SeedLike
from tracearena.traces import IdTable, ObfuscatedTraces


@dataclass(kw_only=True)
class PolyaIdentification(ToldAttack, MatchingIdentification):
    """Take visits as drawn with reinforcement: the tenth to a rare place surprises less than the first.

    The score of user u for trace p is Σ_y Σ_{k < b_p(y)} log(α_y + a_u(y) + k), less its normaliser:
    b_p(y) counts what the trace says, a_u(y) = Σ_x c_u(x) E(y|x) what the user's reference visits
    would have been released as, and α_y is three visits of the population. The same over the first and
    the last hour of the day is added. Each user is taken once, so that the sum is the largest.
    """

    name: ClassVar[str] = "Polya-R"
    kinds: ClassVar[tuple[str, ...]] = ("polya", "home")

    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table."""
        self._ready()
        return super().identify(anonymized, seed=seed)

    def identify_from(self, match: Match, anonymized: ObfuscatedTraces) -> IdTable:
        """Return the inferred ID table by the evidence that the attack looks at."""
        assert isinstance(match, WeighedMatch)
        chosen = match.by(*self.kinds) if self.kinds else match.best
        return IdTable(anonymized.user_ids, self.matcher_.user_ids_[chosen])


@dataclass(kw_only=True)
class MarkovIdentification(PolyaIdentification):
    """Ask where one goes from here: the trace by the user's habits, and the user by the trace's.

    P_u(y|x,t) = [c_u(xy) + β((1-γ) P_{u,t}(y) + γ Q(y|x))] / (c_u(x) + β), as a ratio to what everybody
    does, in both directions. It helps where there are a few days only. Each user is taken once.
    """

    name: ClassVar[str] = "Markov-R"
    kinds: ClassVar[tuple[str, ...]] = ("markov",)


@dataclass(kw_only=True)
class BayesIdentification(PolyaIdentification):
    """Weigh all evidence: how often, when, from where to where, at home; each user is taken once.

    The weights are learnt where the truth is known, on the reference traces cut in two, the later half
    released as the mechanism would.
    """

    name: ClassVar[str] = "Bayes-R"
    kinds: ClassVar[tuple[str, ...]] = ()
