"""Utility and privacy of synthetic traces.

Metrics do not import attacks, so functions that use both are here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.attacks.synthetic import MembershipInference, SyntheticIdentification
from tracearena.checks import require_choice, require_number, require_whole
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, child_seed, generator, seed_sequence, track_progress
from tracearena.errors import DataError, ParameterError
from tracearena.metrics.counts import Countable, Distributions, TraceCounts, WholeTraces
from tracearena.metrics.distributions import fraction_tv, most_visited, population_tv
from tracearena.metrics.transitions import BINS, Slices, axis_emd, find_bins, matrix_tv, one_hot, project_rows
from tracearena.mobility.weighted import check_comparable as weighted_comparable
from tracearena.traces import Box, Traces
from tracearena.traces._arrays import to_comparable_ids
from tracearena.traces.row_table import split_users


@dataclass(frozen=True)
class Evaluation(Result):
    """Utility of synthetic traces, and what they reveal about the training traces.

    Attributes
    ----------
    utility
        Against the testing traces.
    reidentification_rate
        Share of synthetic traces whose training user was found; None if synthetic users do not have the ids
        of training users.
    membership_advantage
        How well training users are distinguished from testing users: true positive rate minus false positive
        rate; 0 is a guess.
    membership_accuracy, membership_accuracy_guess
        Share of right decisions, and the share of an attacker who always answers the larger of the two
        groups. Always read both together.
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
        """Draw how far the synthetic traces are from the testing traces, and what they reveal.

        Parameters
        ----------
        baselines
            The result of the function `baselines`, which is marked next to the bars.
        interactive
            Return a Plotly figure in which the reader can zoom, instead of a Matplotlib figure.
        """
        from tracearena.dataframes import load_view

        return load_view("evaluation_picture")(self, baselines or {}, interactive=interactive)


def evaluate(
    synthetic: Traces,
    training: Traces,
    testing: Traces,
    *,
    bounds: Box | None = None,
    legacy_ppmtf: bool = False,
    against: Against = "testing",
) -> Evaluation:
    """Measure the utility and privacy of synthetic traces ([ppmtf] section 4.3).

    Parameters
    ----------
    synthetic
        Traces under the ids of the training users they were made from, one trace per day.
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
    real = select_comparison(TraceCounts.of(training), TraceCounts.of(testing), against)
    return Evaluation(
        utility=measure_utility(TraceCounts.of(synthetic, by_day=True), *real, bounds),
        **measure_leakage(synthetic, training, testing, legacy_ppmtf=legacy_ppmtf),
    )


def measure_leakage(
    synthetic: Traces, training: Traces, testing: Traces, *, legacy_ppmtf: bool = False
) -> dict[str, Any]:
    """Return what attackers learn from synthetic traces, under the names of `Evaluation`."""
    attack = MembershipInference(legacy_ppmtf=legacy_ppmtf).fit(training, testing)
    membership = attack.evaluate(synthetic)
    rate = None
    if np.isin(*to_comparable_ids(synthetic.user_ids, training.user_ids)).all():
        rate = SyntheticIdentification().fit(training).rate(synthetic)
    return {
        "reidentification_rate": rate,
        "membership_advantage": membership.advantage,
        "membership_accuracy": membership.accuracy,
        "membership_accuracy_guess": membership.guess,
    }


def baselines(
    training: Traces, testing: Traces, *, bounds: Box | None = None, against: Against = "testing"
) -> dict[str, Utility]:
    """Return the utility of real traces, and of uniformly random places.

    Measured against the testing traces, the real traces are the ``training`` traces, which a synthesizer
    without any privacy would release. Measured against the training traces, they are the ``testing`` traces.
    ``uniform`` is the utility of uniformly random places.
    """
    return measure_baselines(
        TraceCounts.of(training), TraceCounts.of(testing), bounds=bounds, against=against
    )


def compare_halves(
    training: Traces, testing: Traces, *, bounds: Box | None = None, halvings: int = 10, seed: SeedLike = 0
) -> HalvesComparison | None:
    """Compare half of the training users with the other half, several times.

    The halves differ only by chance, so a distance of synthetic traces that is not larger than theirs is no
    evidence against them. The value holds for samples of half the training users on both sides; with more
    users, the effect of chance is smaller. It is not scaled to other sizes, because a total variation near
    its maximum does not shrink with the square root of the sample size.

    Parameters
    ----------
    testing
        Decides which metrics are defined for the data, as in `baselines`.
    halvings
        How often the users are divided at random, at least 1.

    Returns
    -------
    Halves or None
        None if there are fewer than two training users.
    """
    people = WholeTraces(training)
    counts = people.count_events(), TraceCounts.of(testing)
    return compare_user_halves(people, *counts, bounds=bounds, halvings=halvings, seed=seed)


# Utility, from counts of both data sets.

Against = Literal["testing", "training"]
"""What utility is measured against."""

T = TypeVar("T")
_TOP = 50


@dataclass(frozen=True)
class Utility(Result):
    """Distances to the testing (or training) traces: 0 means equal, None undefined.

    Attributes
    ----------
    tp_tv, tp_tv_top50
        Total variation of the population of each slot; over the 50 most visited places only.
    tp_emd_sliced
        Earth mover's distance of the population of each slot, in all directions (TP-SWD).
    tm_tv
        Total variation of the next place; None in the same cases as those below.
    tm_emd_x, tm_emd_y, tm_emd_sliced
        Earth mover's distance of the next place, in twentieths of the city's width, of its height, and in all
        directions (TM-SWD). None if the reference traces have no transition.
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
class HalvesComparison(Result):
    """Distance of two random halves of the same users: the effect of finite samples.

    Attributes
    ----------
    mean, spread
        Mean and standard deviation of each metric over the halvings.
    users
        Number of users in each half.
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


def select_comparison(training: T, testing: T, against: Against) -> tuple[T, T]:
    """Return the real traces that are compared, and those that they are compared with."""
    require_choice("against", against, get_args(Against))
    return (training, testing) if against == "testing" else (testing, training)


def measure_utility(
    traces: TraceCounts | None, other: TraceCounts, reference: TraceCounts, bounds: Box | None
) -> Utility:
    """Measure how near traces are to the reference.

    Parameters
    ----------
    traces
        What is judged, of synthetic traces each day by itself; None is the uniform baseline.
    other
        Real traces other than the reference: places count in `vf_tv` that are visited in both.
    """
    weighted_comparable(reference, traces)
    measure = _ReferenceDistances(reference, other, bounds)
    chosen = [reference.uniform()] if traces is None else traces.days()
    found = [measure.distances(one) for one in chosen]
    values: dict[str, Any] = {name: [one[name] for one in found] for name in found[0]}
    for name, column in values.items():
        values[name] = None if None in column else float(np.mean(column))
    return Utility(**values)


class _ReferenceDistances:
    """What is true of a reference, in all the forms in which others are compared with it."""

    def __init__(self, reference: TraceCounts, other: TraceCounts, bounds: Box | None) -> None:
        from tracearena.io.ppmtf import is_people_flow

        self.truth = reference.on_day(0)
        self.top = most_visited(self.truth.population, _TOP)
        self.slices = Slices.of(reference.places, bounds)
        y, x = find_bins(reference.places, bounds)
        on_bins = {"x": one_hot(x, BINS), "y": one_hot(y, BINS), "sliced": self.slices.on_cells}
        self.moves = {name: (bins, project_rows(self.truth.moves, bins)) for name, bins in on_bins.items()}
        self.has_moves = reference.has_moves
        counting = self.truth.fractions.sum(axis=1) > 0
        counting &= other.fractions_on(0).sum(axis=1) > 0
        # Samples at fixed times say how long people stay, not how often they come.
        sampled = reference.is_complete or is_people_flow(reference.clock)
        self.counting = None if sampled or not counting.any() else counting

    def distances(self, one: Distributions) -> dict[str, float | None]:
        """Measure by all metrics, under the names of `Utility`."""
        truth, cells = self.truth, self.slices.on_cells
        moves: dict[str, float | None] = dict.fromkeys(("tm_tv", "tm_emd_x", "tm_emd_y", "tm_emd_sliced"))
        if self.has_moves:
            apart = {name: own - project_rows(one.moves, bins) for name, (bins, own) in self.moves.items()}
            moves = {
                "tm_tv": matrix_tv(truth.moves, one.moves),
                "tm_emd_x": axis_emd(apart["x"]),
                "tm_emd_y": axis_emd(apart["y"]),
                "tm_emd_sliced": self.slices.distance(apart["sliced"]),
            }
        return {
            "tp_tv": population_tv(truth.population, one.population),
            "tp_tv_top50": population_tv(truth.population, one.population, self.top),
            "tp_emd_sliced": self.slices.distance(np.asarray((truth.population - one.population) @ cells)),
            **moves,
            "vf_tv": None
            if self.counting is None
            else fraction_tv(truth.fractions, one.fractions, self.counting),
        }


def measure_baselines(
    training: TraceCounts, testing: TraceCounts, *, bounds: Box | None = None, against: Against = "testing"
) -> dict[str, Utility]:
    """Return the utility of real traces, and of uniformly random places: see `baselines`."""
    other, reference = select_comparison(training, testing, against)
    real = "training" if against == "testing" else "testing"
    return {
        real: measure_utility(other, other, reference, bounds),
        "uniform": measure_utility(None, other, reference, bounds),
    }


def compare_user_halves(
    people: Countable,
    training: TraceCounts,
    testing: TraceCounts,
    *,
    bounds: Box | None = None,
    halvings: int = 10,
    seed: SeedLike = 0,
) -> HalvesComparison | None:
    """Compare half of the training users with the other half, several times: see `compare_halves`.

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
        one = people.count_events(users=split_users(people.n_users, cut, rng)[0])
        found.append(measure_utility(one, one, training - one, bounds).to_dict())
    known = measure_utility(None, training, testing, bounds).to_dict()
    mean: dict[str, Any] = dict.fromkeys(known)
    spread = dict(mean)
    for name in known:
        values = [one[name] for one in found if one[name] is not None]
        if values and known[name] is not None:
            mean[name], spread[name] = float(np.mean(values)), float(np.std(values))
    return HalvesComparison(Utility(**mean), Utility(**spread), (cut, people.n_users - cut), halvings)


def worse_than_uniform(found: Mapping[str, Utility]) -> list[str]:
    """Return the metrics in which real traces are no better than uniform places.

    For these metrics the data has too few events per place, so that they mainly measure chance.

    Parameters
    ----------
    found
        What `baselines` returned.
    """
    real, uniform = (utility.to_dict() for utility in found.values())
    return [name for name, value in real.items() if value is not None and value >= uniform[name]]


# Choosing a synthesizer and its settings by cross-validation over people.

METRICS = tuple(field.name for field in fields(Utility))
"""What a synthesizer may be chosen by."""
PRIVACY = ("reidentification_rate", "membership_advantage")


@dataclass(frozen=True)
class SynthesizerResult(Result):
    """One synthesizer over all folds.

    Attributes
    ----------
    name
        Its name with its parameters.
    mean, spread
        Mean and standard deviation over the folds, by metric; metrics that are not defined for the data are
        left out.
    allowed
        Whether it keeps the given limits of privacy on average.
    """

    name: str
    mean: dict[str, float]
    spread: dict[str, float]
    allowed: bool


@dataclass(frozen=True)
class SynthesizerChoice(Result):
    """The result of `choose_synthesizer`.

    Attributes
    ----------
    best
        Name of the allowed synthesizer with the lowest mean; None if none is allowed.
    by
        The metric it was chosen by.
    tried
        Every synthesizer, best first.
    folds
        Number of folds.
    """

    best: str | None
    by: str
    tried: tuple[SynthesizerResult, ...]
    folds: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        tried = [one.to_dict() for one in self.tried]
        return {"best": self.best, "by": self.by, "folds": self.folds, "tried": tried}


def choose_synthesizer(
    names: Sequence[str],
    traces: Traces,
    *,
    by: str = "tp_tv",
    folds: int = 5,
    traces_per_user: int = 1,
    limits: Mapping[str, float] = {},
    seed: SeedLike = None,
) -> SynthesizerChoice:
    """Select a synthesizer by cross-validation over people.

    Each fold is compared with people who were not used for training, so a synthesizer gains nothing by
    copying people.

    Parameters
    ----------
    names
        Synthesizers with their parameters, such as ``PPMTF(16,200)`` and ``PPMTF(32,200)``.
    traces
        Traces of all people; each person is in the testing part once.
    by
        Metric to minimise, one of `METRICS`; 0 is best.
    folds
        Number of parts, at least 2.
    traces_per_user
        Synthetic traces of each user.
    limits
        The largest allowed ``reidentification_rate`` and ``membership_advantage``, from 0 to 1. A synthesizer
        whose mean is larger is not chosen.
    seed
        Seed of the folds, the training and the traces. All synthesizers use the same folds.

    Notes
    -----
    [ppmtf] mentions cross-validation, but chooses α and z by hand.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> people = simulate(users=40, days=1, seed=1)
    >>> choose_synthesizer(["Uniform", "SGD"], people, by="tm_emd_x", folds=2, seed=1).best
    'SGD'
    """
    if not names:
        raise ParameterError("there is no synthesizer to try")
    require_choice("by", by, METRICS)
    require_whole("folds", folds, at_least=2, at_most=max(traces.n_users, 2))
    require_whole("traces_per_user", traces_per_user, at_least=1)
    for name, limit in limits.items():
        require_choice("limits", name, PRIVACY)
        require_number(name, limit, at_least=0, at_most=1)
    if traces.n_users < folds:
        raise DataError(f"{traces.n_users} users cannot be cut into {folds} parts")
    root = seed_sequence(seed)
    parts = np.array_split(generator(child_seed(root, 0)).permutation(traces.n_users), folds)
    work = [(name, fold) for name in names for fold in range(folds)]
    found: dict[str, list[Evaluation]] = {name: [] for name in names}
    for name, fold in track_progress(work, len(work)):
        training = traces.take_users(np.sort(np.concatenate([*parts[:fold], *parts[fold + 1 :]])))
        testing = traces.take_users(np.sort(parts[fold]))
        model = catalogue.create(name, "synthesizer").fit(training, seed=child_seed(root, 1, fold, 0))
        made = model.synthesize(traces_per_user, seed=child_seed(root, 1, fold, 1))
        found[name].append(evaluate(made, training, testing))
    tried = []
    for name, results in found.items():
        tables = [result.to_dict() for result in results]
        known = [key for key in (*METRICS, *PRIVACY) if all(table[key] is not None for table in tables)]
        mean = {key: float(np.mean([table[key] for table in tables])) for key in known}
        spread = {key: float(np.std([table[key] for table in tables])) for key in known}
        allowed = all(mean.get(key, 0.0) <= limit for key, limit in limits.items())
        tried.append(SynthesizerResult(name, mean, spread, allowed))
    if any(by not in one.mean for one in tried):
        raise ParameterError(f"{by} cannot be computed for these traces")
    order = sorted(tried, key=lambda one: (not one.allowed, one.mean[by]))
    best = order[0].name if order[0].allowed else None
    return SynthesizerChoice(best, by, tuple(order), folds)
