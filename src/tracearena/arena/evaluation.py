"""Utility and privacy of synthetic traces, side by side.

Metrics know no attack, so this is where the two meet: the first layer that may import both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from tracearena.attacks.markov import MarkovIdentification, MembershipInference
from tracearena.checks import require_choice, require_whole
from tracearena.engine import SeedLike, generator
from tracearena.metrics.distributions import tp_tv, vf_tv
from tracearena.metrics.transitions import tm_emd, tm_emd_sliced, tm_tv, tp_emd_sliced
from tracearena.mobility.transitions import has_transitions
from tracearena.results import Result
from tracearena.traces import Box, Traces
from tracearena.traces.ids import comparable

Against = Literal["testing", "training"]
"""What utility is measured against."""

_TOP = 50


@dataclass(frozen=True)
class Utility(Result):
    """How near traces are to the testing (or training) traces: 0 is the same. None: without meaning.

    Attributes
    ----------
    tp_tv, tp_tv_top50
        Total variation of the population of each slot; over the 50 most visited places only.
    tp_emd_sliced
        Earth mover's distance of the population of each slot, in all directions (TP-SWD).
    tm_tv
        Total variation of the next place. None as those below.
    tm_emd_x, tm_emd_y, tm_emd_sliced
        Earth mover's distance of the next place, in twentieths of the city's width, of its height,
        and in all directions (TM-SWD). None if the traces compared with have no transition.
    vf_tv
        Total variation of the distributions of visit fractions; for check-ins only.
    """

    tp_tv: float
    tp_tv_top50: float
    tp_emd_sliced: float
    tm_tv: float | None
    tm_emd_x: float | None
    tm_emd_y: float | None
    tm_emd_sliced: float | None
    vf_tv: float | None


@dataclass(frozen=True)
class Halves(Result):
    """How far two random halves of the same users are apart: what finite samples alone cost.

    Attributes
    ----------
    mean, spread
        Mean and standard deviation of each metric over the halvings, one half against the other.
    users
        Users of the two halves.
    halvings
        How often the users were divided at random.
    """

    mean: Utility
    spread: Utility
    users: tuple[int, int]
    halvings: int

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return asdict(self) | {"users": list(self.users)}


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
    attack = MembershipInference(legacy_ppmtf=legacy_ppmtf).fit(training, testing)
    membership = attack.evaluate(synthetic)
    rate = None
    if _named_after(synthetic, training):
        rate = MarkovIdentification().fit(training).rate(synthetic)
    return Evaluation(
        utility=_utility(synthetic, *_compared(training, testing, against), bounds, by_day=True),
        reidentification_rate=rate,
        membership_advantage=membership.advantage,
        membership_accuracy=membership.accuracy,
        membership_accuracy_guess=membership.guess,
    )


def _named_after(synthetic: Traces, training: Traces) -> bool:
    return bool(np.isin(*comparable(synthetic.user_ids, training.user_ids)).all())


def baselines(
    training: Traces, testing: Traces, *, bounds: Box | None = None, against: Against = "testing"
) -> dict[str, Utility]:
    """Return the utility of real traces, and of uniformly random places.

    Against the testing traces the real ones are ``training``: a synthesizer without privacy reaches them.
    Against the training traces they are ``testing``. One without utility is at ``uniform``.
    """
    other, reference = _compared(training, testing, against)
    real = "training" if against == "testing" else "testing"
    return {
        real: _utility(other, other, reference, bounds, by_day=False),
        "uniform": _utility(None, other, reference, bounds, by_day=False),
    }


def _compared(training: Traces, testing: Traces, against: Against) -> tuple[Traces, Traces]:
    """Return the real traces that are compared, and those that they are compared with."""
    require_choice("against", against, get_args(Against))
    return (training, testing) if against == "testing" else (testing, training)


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
    require_whole("halvings", halvings, at_least=1)
    if training.n_users < 2:
        return None
    rng, cut = generator(seed), training.n_users // 2
    found = []
    for _ in range(halvings):
        order = rng.permutation(training.n_users)
        one, other = (training.take_users(np.sort(part)) for part in (order[:cut], order[cut:]))
        found.append(_utility(one, one, other, bounds, by_day=False).to_dict())
    known = _utility(None, training, testing, bounds, by_day=False).to_dict()
    mean: dict[str, Any] = dict.fromkeys(known)
    spread = dict(mean)
    for name in known:
        values = [one[name] for one in found if one[name] is not None]
        if values and known[name] is not None:
            mean[name], spread[name] = float(np.mean(values)), float(np.std(values))
    return Halves(Utility(**mean), Utility(**spread), (cut, training.n_users - cut), halvings)


def worse_than_uniform(found: Mapping[str, Utility]) -> list[str]:
    """Return the metrics in which real traces are no better than uniform places.

    There the data has too few events for its number of places: chance hides where people are.

    Parameters
    ----------
    found
        What `baselines` returned.
    """
    real, uniform = (utility.to_dict() for utility in found.values())
    return [name for name, value in real.items() if value is not None and value >= uniform[name]]


def _utility(
    traces: Traces | None,
    other: Traces,
    reference: Traces,
    bounds: Box | None,
    *,
    by_day: bool,
) -> Utility:
    from tracearena.formats.ppmtf import is_people_flow

    moves = has_transitions(reference)
    # Samples at fixed times say how long people stay, not how often they come.
    sampled = reference.is_complete or is_people_flow(reference.clock)
    return Utility(
        tp_tv=tp_tv(reference, traces, by_day=by_day),
        tp_tv_top50=tp_tv(reference, traces, top=_TOP, by_day=by_day),
        tp_emd_sliced=tp_emd_sliced(reference, traces, bounds=bounds, by_day=by_day),
        tm_tv=tm_tv(reference, traces, by_day=by_day) if moves else None,
        tm_emd_x=tm_emd(reference, traces, "x", bounds=bounds, by_day=by_day) if moves else None,
        tm_emd_y=tm_emd(reference, traces, "y", bounds=bounds, by_day=by_day) if moves else None,
        tm_emd_sliced=tm_emd_sliced(reference, traces, bounds=bounds, by_day=by_day) if moves else None,
        vf_tv=None if sampled else vf_tv(reference, traces, training=other, by_day=by_day),
    )
