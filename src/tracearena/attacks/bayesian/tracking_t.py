"""Tracking-T: follow every trace through its days, and answer the place that costs least if it is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracearena.attacks.bayesian import tracking
from tracearena.attacks.bayesian.bayes_t import BayesInference


@dataclass(kw_only=True)
class TrackingInference(BayesInference):
    """Follow every trace through its days: what was said before and after tells of now as well.

    A hidden Markov model: from one instant to the next people go where the population goes from
    there (γ of the time) or where their own habits say; forward and backward through each day, then
    the answer that costs least, as Bayes-T. What is less likely than a small share of the likeliest
    place at an instant is left out (a beam).
    """

    name: ClassVar[str] = "Tracking-T"
    share: ClassVar[float] = tracking.SHARE
