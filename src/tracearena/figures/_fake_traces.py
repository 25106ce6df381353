"""The experiment behind the figures of [sglt]: real people, and fakes that pass the privacy tests."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.cities import simulate
from tracearena.engine import child_seed, report, seed_sequence, use
from tracearena.figures._people_flow import people_flow
from tracearena.files.whole import replacing
from tracearena.mobility import MobilityProfiles
from tracearena.synthesis.sglt import SGLT, PassRates
from tracearena.traces import Traces

USERS = 300
PLACES_PER_CLASS = 20
"""As in the paper, which has 20 classes of 400 places."""
FAKES_PER_USER = 10


@dataclass(frozen=True, eq=False)
class Experiment:
    """Real traces, a trained model, and its fakes.

    Attributes
    ----------
    training, testing
        Real traces.
    model
        `SGLT` trained on the training traces.
    fakes
        Fakes that passed the tests; each is a user of its own.
    seeds
        Row of ``model.seeds_`` of each fake.
    rates
        How many passed.
    """

    training: Traces
    testing: Traces
    model: SGLT
    fakes: Traces
    seeds: NDArray[np.int64]
    rates: PassRates

    def data_sets(self) -> list[Traces]:
        """Return fake data sets with one fake for each seed that has so many."""
        order = np.argsort(self.seeds, kind="stable")
        ordered = self.seeds[order]
        number = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        return [
            self.fakes.take_users(order[number == k])
            for k in range(FAKES_PER_USER)
            if (number == k).sum() > 1
        ]

    def profiles(self, traces: Traces) -> MobilityProfiles:
        """Return the profiles of one period, as the paper's evaluation has it."""
        return MobilityProfiles.of(traces)


def real_traces(data: Path | None, seed: int, users: int = USERS) -> tuple[Traces, Traces]:
    """Return training and testing traces: a day each of the same people in the city, or published data."""
    if data is not None:
        return people_flow(data, seed)
    return simulate(users, 2, seed=seed).split_days(1)


def classes_of(traces: Traces) -> int:
    """Return the number of classes for so many places."""
    return max(len(traces.places) // PLACES_PER_CLASS, 1)


def experiment(data: Path | None, seed: int) -> Experiment:
    """Train and make ten fakes a user."""
    training, testing = real_traces(data, seed)
    root = seed_sequence(seed)
    model = SGLT(classes=classes_of(training)).fit(training, seed=child_seed(root, 0))
    report(1, 3)
    with use(progress=None):
        made, rows, verdicts = model.pool(FAKES_PER_USER, seed=child_seed(root, 1))
    report(2, 3)
    assert verdicts is not None
    good = verdicts.passed
    fakes = Traces.from_dense(made.places[good], training.places, model.clock_)
    return Experiment(training, testing, model, fakes, rows[good], PassRates.of([verdicts]))


def write_rows(path: Path, header: list[str], rows: Iterable[Iterable[Any]]) -> Path:
    """Write the numbers behind a picture."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue().encode())
    return path
