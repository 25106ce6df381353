"""Utility and privacy of synthetic traces, side by side.

Metrics know no attack, so this is where the two meet: the first layer that may import both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tracearena.arena.likeness import (
    Against,
    Halves,
    Utility,
    baselines_of,
    compared,
    halves_among,
    utility_of,
)
from tracearena.attacks.synthetic import MarkovIdentification, MembershipInference
from tracearena.engine import SeedLike
from tracearena.metrics.counts import AtOnce, Counted
from tracearena.results import Result
from tracearena.traces import Box, Traces
from tracearena.traces._arrays import comparable


@dataclass(frozen=True)
class Evaluation(Result):
    """Utility of synthetic traces, and what they betray of the training traces.

    Attributes
    ----------
    utility
        Against the testing traces.
    reidentification_rate
        Share of synthetic traces whose training user was found; None if the synthetic users are
        not named after training users.
    membership_advantage
        How well training users are told from testing users: true positive rate minus false positive
        rate; 0 is a guess.
    membership_accuracy, membership_accuracy_guess
        Share of right decisions, and the share that is right by always answering the larger of the two
        groups. The first says nothing without the second.
    """

    utility: Utility
    reidentification_rate: float | None
    membership_advantage: float
    membership_accuracy: float
    membership_accuracy_guess: float

    def to_dict(self) -> dict[str, Any]:
        """Return all metrics as one flat set of plain values."""
        values = asdict(self)
        del values["utility"]
        return self.utility.to_dict() | values

    def plot(self, *, baselines: Mapping[str, Utility] | None = None, interactive: bool = False) -> Any:
        """Draw how far the synthetic traces are from the testing traces, and what they betray.

        Parameters
        ----------
        baselines
            What the function `baselines` returned, to be marked beside the bars.
        interactive
            Return a Plotly figure to move about in, not one of Matplotlib.
        """
        from tracearena.showing import view

        return view("evaluation_picture")(self, baselines or {}, interactive=interactive)


def evaluate(
    synthetic: Traces,
    training: Traces,
    testing: Traces,
    *,
    bounds: Box | None = None,
    legacy_ppmtf: bool = False,
    against: Against = "testing",
) -> Evaluation:
    """Judge synthetic traces by utility and by privacy ([ppmtf] section 4.3).

    Parameters
    ----------
    synthetic
        Traces under the ids of the training users they were made from, one trace a day.
    training, testing
        Traces that the synthesizer learned from, and traces of other people.
    bounds
        The box of the city; the box of the places by default.
    legacy_ppmtf
        Attack membership as the authors' program does (`MembershipInference`).
    against
        What utility is measured against: ``"testing"`` as for PPMTF, ``"training"`` as for PPMTF+
        ([contest] appendices B and C).

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places
    >>> places = Places.of_grid(Grid(rows=1, columns=2, south=0, west=0, north=1, east=2))
    >>> clock = Clock(instants_per_day=3)
    >>> people = Traces.from_dense([[0, 0, 1], [1, 0, 0]], places, clock)
    >>> found = evaluate(people, people, people)
    >>> found.utility.tp_tv, found.reidentification_rate
    (0.0, 1.0)
    """
    real = compared(Counted.of(training), Counted.of(testing), against)
    return Evaluation(
        utility=utility_of(Counted.of(synthetic, by_day=True), *real, bounds),
        **betrayed(synthetic, training, testing, legacy_ppmtf=legacy_ppmtf),
    )


def betrayed(
    synthetic: Traces, training: Traces, testing: Traces, *, legacy_ppmtf: bool = False
) -> dict[str, Any]:
    """Return what attackers learn from synthetic traces, under the names of `Evaluation`."""
    attack = MembershipInference(legacy_ppmtf=legacy_ppmtf).fit(training, testing)
    membership = attack.evaluate(synthetic)
    rate = None
    if _named_after(synthetic, training):
        rate = MarkovIdentification().fit(training).rate(synthetic)
    return {
        "reidentification_rate": rate,
        "membership_advantage": membership.advantage,
        "membership_accuracy": membership.accuracy,
        "membership_accuracy_guess": membership.guess,
    }


def _named_after(synthetic: Traces, training: Traces) -> bool:
    return bool(np.isin(*comparable(synthetic.user_ids, training.user_ids)).all())


def baselines(
    training: Traces, testing: Traces, *, bounds: Box | None = None, against: Against = "testing"
) -> dict[str, Utility]:
    """Return the utility of real traces, and of uniformly random places.

    Against the testing traces the real ones are ``training``: a synthesizer without privacy reaches them.
    Against the training traces they are ``testing``. One without utility is at ``uniform``.
    """
    return baselines_of(Counted.of(training), Counted.of(testing), bounds=bounds, against=against)


def halves(
    training: Traces,
    testing: Traces,
    *,
    bounds: Box | None = None,
    halvings: int = 10,
    seed: SeedLike = 0,
) -> Halves | None:
    """Compare half of the training users with the other half, several times.

    The halves differ by chance only, so a distance that is not larger says nothing against
    synthetic traces. It is an honest floor for samples of half the training users on both sides: with
    more users on either side chance alone gives less. Nothing is scaled up or down, because a
    total variation that is near its limit does not shrink with the square root of the sample.

    Parameters
    ----------
    testing
        Decides which metrics have a meaning for the data, as in `baselines`.
    halvings
        How often the users are divided at random, at least 1.

    Returns
    -------
    Halves or None
        None if there are fewer than two training users.
    """
    people = AtOnce(training)
    counts = people.counted(), Counted.of(testing)
    return halves_among(people, *counts, bounds=bounds, halvings=halvings, seed=seed)
