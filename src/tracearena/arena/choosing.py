"""Choosing a synthesizer and its settings by cross-validation over people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.arena.evaluation import Evaluation, evaluate
from tracearena.arena.likeness import Utility
from tracearena.checks import require_choice, require_number, require_whole
from tracearena.engine import SeedLike, child_seed, generator, seed_sequence, tracked
from tracearena.errors import DataError, ParameterError
from tracearena.results import Result
from tracearena.traces import Traces

METRICS = tuple(field.name for field in fields(Utility))
"""What a synthesizer may be chosen by."""
PRIVACY = ("reidentification_rate", "membership_advantage")


@dataclass(frozen=True)
class Tried(Result):
    """One synthesizer over all folds.

    Attributes
    ----------
    name
        Its name with its parameters.
    mean, spread
        Mean and standard deviation over the folds, by metric; a metric without meaning for the data is
        left out.
    allowed
        Whether it keeps the bounds of privacy that were asked for, on average.
    """

    name: str
    mean: dict[str, float]
    spread: dict[str, float]
    allowed: bool


@dataclass(frozen=True)
class Choice(Result):
    """What was tried, and what is best.

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
    tried: tuple[Tried, ...]
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
    most_reidentified: float | None = None,
    largest_advantage: float | None = None,
    seed: SeedLike = None,
) -> Choice:
    """Train each synthesizer on most of the people and compare its traces with the others', in turns.

    Nobody who is trained on is compared with, so a setting that copies people gains nothing by it.

    Parameters
    ----------
    names
        Synthesizers with their parameters, such as ``PPMTF(16,200)`` and ``PPMTF(32,200)``.
    traces
        Everybody; each is in the testing part once.
    by
        Metric of utility, 0 is best: one of `METRICS`.
    folds
        Number of parts, at least 2.
    traces_per_user
        Synthetic traces of each user.
    most_reidentified, largest_advantage
        Who betrays more, on average, is not chosen.
    seed
        Of the parts, the training and the traces. All synthesizers get the same parts.

    Notes
    -----
    [ppmtf] chooses α and z by hand; cross-validation is named there and left out.

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
    limits = dict(zip(PRIVACY, (most_reidentified, largest_advantage), strict=True))
    for name, limit in limits.items():
        if limit is not None:
            require_number(name, limit, at_least=0, at_most=1)
    if traces.n_users < folds:
        raise DataError(f"{traces.n_users} users cannot be cut into {folds} parts")
    root = seed_sequence(seed)
    parts = np.array_split(generator(child_seed(root, 0)).permutation(traces.n_users), folds)
    work = [(name, fold) for name in names for fold in range(folds)]
    found: dict[str, list[Evaluation]] = {name: [] for name in names}
    for name, fold in tracked(work, len(work)):
        training = traces.take_users(np.sort(np.concatenate([*parts[:fold], *parts[fold + 1 :]])))
        testing = traces.take_users(np.sort(parts[fold]))
        model = catalogue.create(name, "synthesizer").fit(training, seed=child_seed(root, 1, fold, 0))
        made = model.synthesize(traces_per_user, seed=child_seed(root, 1, fold, 1))
        found[name].append(evaluate(made, training, testing))
    tried = [_tried(name, results, limits) for name, results in found.items()]
    if any(by not in one.mean for one in tried):
        raise ParameterError(f"{by} has no meaning for these traces")
    order = sorted(tried, key=lambda one: (not one.allowed, one.mean[by]))
    best = order[0].name if order[0].allowed else None
    return Choice(best, by, tuple(order), folds)


def _tried(name: str, results: Sequence[Evaluation], limits: dict[str, float | None]) -> Tried:
    tables = [result.to_dict() for result in results]
    known = [key for key in (*METRICS, *PRIVACY) if all(table[key] is not None for table in tables)]
    mean = {key: float(np.mean([table[key] for table in tables])) for key in known}
    spread = {key: float(np.std([table[key] for table in tables])) for key in known}
    kept = all(limit is None or mean.get(key, 0.0) <= limit for key, limit in limits.items())
    return Tried(name, mean, spread, kept)
