"""How near traces are to real ones, by what was counted of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from tracearena.checks import require_choice, require_whole
from tracearena.engine import SeedLike, generator
from tracearena.metrics.counts import Countable, Counted, Distributions
from tracearena.metrics.distributions import fraction_tv, most_visited, population_tv
from tracearena.metrics.transitions import BINS, Slices, axis_emd, bins_of, matrix_tv, one_hot, projected
from tracearena.mobility.weighted import comparable
from tracearena.results import Result
from tracearena.traces import Box

Against = Literal["testing", "training"]
"""What utility is measured against."""

T = TypeVar("T")
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


def compared(training: T, testing: T, against: Against) -> tuple[T, T]:
    """Return the real traces that are compared, and those that they are compared with."""
    require_choice("against", against, get_args(Against))
    return (training, testing) if against == "testing" else (testing, training)


def utility_of(traces: Counted | None, other: Counted, reference: Counted, bounds: Box | None) -> Utility:
    """Measure how near traces are to the reference.

    Parameters
    ----------
    traces
        What is judged, of synthetic traces each day by itself; None is the uniform baseline.
    other
        Real traces beside the reference: places count in `vf_tv` that are visited in both.
    """
    comparable(reference, traces)
    measure = _Yardstick(reference, other, bounds)
    chosen = [reference.uniform()] if traces is None else traces.days()
    found = [measure.distances(one) for one in chosen]
    return Utility(**{name: _mean([one[name] for one in found]) for name in found[0]})


def _mean(values: list[Any]) -> Any:
    return None if None in values else float(np.mean(values))


class _Yardstick:
    """What is true of a reference, in all the forms in which others are compared with it."""

    def __init__(self, reference: Counted, other: Counted, bounds: Box | None) -> None:
        from tracearena.formats.ppmtf import is_people_flow

        self.truth = reference.on_day(0)
        self.top = most_visited(self.truth.population, _TOP)
        self.slices = Slices.of(reference.places, bounds)
        y, x = bins_of(reference.places, bounds)
        on_bins = {"x": one_hot(x, BINS), "y": one_hot(y, BINS), "sliced": self.slices.on_cells}
        self.moves = {name: (bins, projected(self.truth.moves, bins)) for name, bins in on_bins.items()}
        self.has_moves = reference.has_moves
        counting = self.truth.fractions.sum(axis=1) > 0
        counting &= other.fractions_on(0).sum(axis=1) > 0
        # Samples at fixed times say how long people stay, not how often they come.
        sampled = reference.is_complete or is_people_flow(reference.clock)
        self.counting = None if sampled or not counting.any() else counting

    def distances(self, one: Distributions) -> dict[str, float | None]:
        """Measure by all metrics, under the names of `Utility`."""
        truth, cells = self.truth, self.slices.on_cells
        return {
            "tp_tv": population_tv(truth.population, one.population),
            "tp_tv_top50": population_tv(truth.population, one.population, self.top),
            "tp_emd_sliced": self.slices.distance(np.asarray((truth.population - one.population) @ cells)),
            **self._of_moves(one),
            "vf_tv": None
            if self.counting is None
            else fraction_tv(truth.fractions, one.fractions, self.counting),
        }

    def _of_moves(self, one: Distributions) -> dict[str, float | None]:
        if not self.has_moves:
            return dict.fromkeys(("tm_tv", "tm_emd_x", "tm_emd_y", "tm_emd_sliced"))
        apart = {name: truth - projected(one.moves, bins) for name, (bins, truth) in self.moves.items()}
        return {
            "tm_tv": matrix_tv(self.truth.moves, one.moves),
            "tm_emd_x": axis_emd(apart["x"]),
            "tm_emd_y": axis_emd(apart["y"]),
            "tm_emd_sliced": self.slices.distance(apart["sliced"]),
        }


def baselines_of(
    training: Counted, testing: Counted, *, bounds: Box | None = None, against: Against = "testing"
) -> dict[str, Utility]:
    """Return the utility of real traces, and of uniformly random places: see `baselines`."""
    other, reference = compared(training, testing, against)
    real = "training" if against == "testing" else "testing"
    return {
        real: utility_of(other, other, reference, bounds),
        "uniform": utility_of(None, other, reference, bounds),
    }


def halves_among(
    people: Countable,
    training: Counted,
    testing: Counted,
    *,
    bounds: Box | None = None,
    halvings: int = 10,
    seed: SeedLike = 0,
) -> Halves | None:
    """Compare half of the training users with the other half, several times: see `halves`.

    Parameters
    ----------
    people
        The training users, of whom a half is counted for each halving.
    training
        What was counted of all of them.
    """
    require_whole("halvings", halvings, at_least=1)
    if people.n_users < 2:
        return None
    rng, cut = generator(seed), people.n_users // 2
    found = []
    for _ in range(halvings):
        one = people.counted(users=np.sort(rng.permutation(people.n_users)[:cut]))
        found.append(utility_of(one, one, training - one, bounds).to_dict())
    known = utility_of(None, training, testing, bounds).to_dict()
    mean: dict[str, Any] = dict.fromkeys(known)
    spread = dict(mean)
    for name in known:
        values = [one[name] for one in found if one[name] is not None]
        if values and known[name] is not None:
            mean[name], spread[name] = float(np.mean(values)), float(np.std(values))
    return Halves(Utility(**mean), Utility(**spread), (cut, people.n_users - cut), halvings)


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
