"""S = Σ_f w_f S_f: evidence is combined with weights that calibration chooses.

The S_f are double-centred. On a calibration set, the reference cut in two, the true pairs are known. Of a
few mixtures of kinds (`likelihoods.EVENT_MIXTURES`), each scaled by powers of two, the weights w are those
with the smallest mean of -log W[p,u] over the true pairs, W = Sinkhorn(S) cut at a lowest posterior. The
default mixture is kept unless another one is clearly better. This is a choice among few candidates, not a
maximum over all w ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from tracearena.attacks.base import Floats, Ints
from tracearena.attacks.bayesian.pairs import CandidatePairs, compute_posteriors


@dataclass(frozen=True)
class WeightSettings:
    """What calibration chooses from."""

    powers: tuple[float, ...] = (-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0)
    """Powers of two that a mixture is scaled by, before half steps refine the best. Chosen by hand, not
    tuned."""
    near_powers: tuple[float, ...] = (-0.5, 0.0, 0.5)
    """The half steps. Chosen by hand, not tuned."""
    length_powers: tuple[float, ...] = (-1.0, -0.5, 0.0, 0.5)
    """Powers of two that learned weights of long traces may be scaled by. Chosen by hand, not tuned."""
    growth_powers: tuple[float, ...] = (-1.0, 0.0, 1.0)
    """Powers of two by which weights of traces half as long may be larger. Measured on 400 users of a
    tuning team (docs/measurements/winners.md)."""
    min_gain: float = 0.05
    """The first mixture is kept unless another lowers the loss by more than this. Chosen by hand, not
    tuned."""
    min_posterior: float = 0.002
    """Lowest posterior in the loss, for traces that fit nobody. Chosen by hand, not tuned."""
    trial_rounds: int = 8
    """Rounds of Sinkhorn's scaling while mixtures are compared. Chosen by hand, not tuned."""
    scale_rounds: int = 20
    """The same while the scale for longer traces is estimated. Chosen by hand, not tuned."""
    final_rounds: int = 40
    """The same while the best mixture is refined. Chosen by hand, not tuned."""


SETTINGS = WeightSettings()


ScoredPairs = tuple[CandidatePairs, Floats]
"""Pairs and the weighed evidence of each."""


def learn_weights(pairs: CandidatePairs, table: Floats, truth: Ints, mixtures: Floats) -> Floats:
    """Return the mixture, scaled, under which Sinkhorn makes the true pairs the most certain.

    Parameters
    ----------
    table
        Pairs × kinds of evidence.
    truth
        The user of each trace.
    mixtures
        Weights of the columns of `table` to choose from, one row each.
    """
    if not (pairs.users == truth[pairs.traces]).any():
        return np.asarray(mixtures[0])

    def scale(mixture: Floats) -> tuple[float, Floats]:
        scores = table @ mixture
        tried = [
            (compute_matching_loss(pairs, 2.0**power * scores, truth, SETTINGS.trial_rounds), power)
            for power in SETTINGS.powers
        ]
        least, power = min(tried, key=lambda pair: pair[0])
        return least, np.asarray(2.0**power * mixture)

    first, *others = (scale(mixture) for mixture in mixtures)
    least, best = min([first, *others], key=lambda pair: pair[0])
    if first[0] - least < SETTINGS.min_gain:
        best = first[1]
    near = [np.asarray(2.0**power * best) for power in SETTINGS.near_powers]
    rounds = SETTINGS.final_rounds
    return min(near, key=lambda weights: compute_matching_loss(pairs, table @ weights, truth, rounds))


def estimate_length_scale(long: ScoredPairs, short: ScoredPairs, truth: Ints) -> float:
    """Return what weights are to be scaled by for traces twice as long as those they were learnt on.

    Parameters
    ----------
    long, short
        The pairs of the traces they were learnt on, with their scores by these weights, and the
        same of half of each trace. Where the halves would have the weights twice as large, twice
        the events say nothing new: then they are halved once more.
    """
    if not all((pairs.users == truth[pairs.traces]).any() for pairs, _ in (long, short)):
        return 1.0

    def joint_loss(choice: tuple[float, float]) -> float:
        power, growth = choice
        tried = (*long, 2.0**power), (*short, 2.0 ** (power + growth))
        rounds = SETTINGS.scale_rounds
        return sum(
            compute_matching_loss(pairs, scale * scores, truth, rounds) for pairs, scores, scale in tried
        )

    power, growth = min(product(SETTINGS.length_powers, SETTINGS.growth_powers), key=joint_loss)
    return float(2.0 ** (power - max(growth, 0.0)))


def compute_matching_loss(pairs: CandidatePairs, scores: Floats, truth: Ints, rounds: int) -> float:
    """Return the mean of -log of the posterior over the true pairs among those listed."""
    right = pairs.users == truth[pairs.traces]
    sure = compute_posteriors(pairs, scores, rounds=rounds)[right]
    return -float(np.log(np.maximum(sure, SETTINGS.min_posterior)).mean())
