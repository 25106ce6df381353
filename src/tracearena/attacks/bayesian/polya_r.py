"""Polya-R: who visits each place as often as the trace does, and is at home where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracearena.attacks.bayesian.identification import EvidenceIdentification


@dataclass(kw_only=True)
class PolyaIdentification(EvidenceIdentification):
    """Take visits as drawn with reinforcement: the tenth to a rare place surprises less than the first.

    The score of user u for trace p is Σ_y Σ_{k < b_p(y)} log(α_y + a_u(y) + k), less its normaliser:
    b_p(y) counts what the trace says, a_u(y) = Σ_x c_u(x) E(y|x) what the user's reference visits
    would have been released as, and α_y is three visits of the population. The same over the first and
    the last hour of the day is added. Each user is taken once, so that the sum is the largest.
    """

    name: ClassVar[str] = "Polya-R"
    kinds: ClassVar[tuple[str, ...]] = ("polya", "home")
