"""Bayes-R: everything that speaks for a trace being a user's, each kind for what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracearena.attacks.bayesian.identification import EvidenceIdentification


@dataclass(kw_only=True)
class BayesIdentification(EvidenceIdentification):
    """Weigh all evidence: how often, when, from where to where, at home; each user is taken once.

    The weights are learnt where the truth is known, on the reference traces cut in two, the later half
    released as the mechanism would.
    """

    name: ClassVar[str] = "Bayes-R"
