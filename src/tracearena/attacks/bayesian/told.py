"""What the strongest attacks share: a mechanism they know, suspect or estimate, and one matcher."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

from tracearena.algorithms.base import Algorithm, Obfuscator, setting
from tracearena.attacks.bayesian.matcher import BayesMatcher
from tracearena.attacks.bayesian.mechanism import ADAPTIVE, UNKNOWN, mechanism_of
from tracearena.attacks.bayesian.weighing import check_weights
from tracearena.attacks.matching import MatchingAttack
from tracearena.checks import require_fitted
from tracearena.errors import ParameterError


@dataclass(kw_only=True)
class InformedAttack(MatchingAttack):
    """An attack that may know which defence it meets.

    Parameters
    ----------
    mechanism
        The defence, such as ``PL(4,1)``; ``unknown`` estimates what it does from the release;
        ``adaptive`` waits to be told (`against`), as a sweep does for each of its defences.
    """

    mechanism: str = UNKNOWN

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, str):
            raise ParameterError(f"mechanism must be the name of a defence, not {self.mechanism!r}")
        if self.mechanism not in (UNKNOWN, ADAPTIVE):
            self.defence(self.mechanism)

    def defence(self, name: str) -> Algorithm | None:
        """Return the defence of a name, or refuse one that the attack cannot use."""
        return mechanism_of(name)

    @property
    def waits(self) -> bool:
        """Whether the attack has to be told its defence before it can be made."""
        return self.mechanism == ADAPTIVE

    def against(self, defence: Obfuscator) -> Self:
        """Return the same attack, fitted to the same users, told the defence that it meets."""
        require_fitted(self, "matcher_")
        matcher: Any = self.matcher_
        return copy.copy(self).use(matcher.against(defence))

    def _ready(self) -> None:
        """Refuse an attack that was never told its defence."""
        require_fitted(self, "matcher_")
        matcher: Any = self.matcher_
        if self.waits and matcher.mechanism is None:
            mechanism_of(self.mechanism)


@dataclass(kw_only=True)
class ToldAttack(InformedAttack):
    """An attack by the likelihoods of `BayesMatcher`.

    Parameters
    ----------
    weights
        How much each kind of evidence is worth, as pairs of name and number (`tune_weights` finds them on
        sample teams); None learns it on the reference traces cut in two.
    """

    weights: tuple[tuple[str, float], ...] | None = setting(None)

    def __post_init__(self) -> None:
        check_weights(self.weights)
        super().__post_init__()

    def matcher(self) -> BayesMatcher:
        """Return the matcher, not yet fitted."""
        mechanism = None if self.waits else mechanism_of(self.mechanism)
        return BayesMatcher(mechanism=mechanism, weights=self.weights)
