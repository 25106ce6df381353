"""Markov-R: who goes from each place where the trace goes from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracearena.attacks.bayesian.identification import EvidenceIdentification


@dataclass(kw_only=True)
class MarkovIdentification(EvidenceIdentification):
    """Ask where one goes from here: the trace by the user's habits, and the user by the trace's.

    P_u(y|x,t) = [c_u(xy) + β((1-γ) P_{u,t}(y) + γ Q(y|x))] / (c_u(x) + β), as a ratio to what everybody
    does, in both directions. It helps where there are a few days only. Each user is taken once.
    """

    name: ClassVar[str] = "Markov-R"
    kinds: ClassVar[tuple[str, ...]] = ("markov",)
