"""[sglt] Tables 2 to 4: what fake data sets keep of visits and of people's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, counted, titled
from tracearena.engine import generator
from tracearena.figures.data import FakesExperiment, Source, fakes_experiment
from tracearena.figures.style import canvas, save
from tracearena.files import write_csv
from tracearena.metrics.services import time_divergence, visit_divergence
from tracearena.mobility import AggregateMobility
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOP = 50
_COLUMNS = ("fakes", "testing", "uniform", "one place", "random")
Measure = Callable[[Traces | NDArray[np.float64]], float]
Row = tuple[str, str, float, float]


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write sglt-tables.png and .csv: divergences of ten fake data sets beside the baselines."""
    found = fakes_experiment(source)
    rows = divergences(found, source.seed) + aggregate_rows(found)
    said = findings(rows)
    announce(said, tell)
    with canvas(8.5, 4.2) as (figure, axes):
        _draw(axes, [row for row in rows if row[1] in _COLUMNS], said)
        picture = save(figure, out / "sglt-tables.png")
    passed = [("privacy tests", name, share, 0.0) for name, share in found.rates.to_dict().items()]
    return [picture, write_csv(out / "sglt-tables.csv", ["table", "row", "mean", "std"], rows + passed)]


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Compare the fakes with the baselines without people, table by table.

    [sglt]: fakes keep the statistics of visits and of time far better than the baselines. They
    must be nearer to the real data than uniform, one place and random shares, in every table.
    """
    baselines = ("uniform", "one place", "random")
    tables = {row[0] for row in rows if row[1] == "fakes"}
    value = {(row[0], row[1]): row[2] for row in rows}
    kept = [
        all(value[table, "fakes"] < value[table, name] for name in baselines if (table, name) in value)
        for table in sorted(tables)
    ]
    statement = "fakes keep visits and people's time better than the baselines"
    return [counted(statement, kept, "tables have the fakes nearer to the real data")]


def divergences(found: FakesExperiment, seed: int) -> list[Row]:
    """Return (table, data set, mean, standard deviation) of the KL divergences."""
    real, m = found.training, len(found.training.places)
    one_place = np.eye(1, m)[0] * real.n_events
    rng = generator(seed)
    rows: list[Row] = []
    for name, top in (("visits", None), (f"visits, top {TOP}", TOP)):
        extra = {"uniform": np.full(m, real.n_events / m), "one place": one_place}
        rows += _rows(name, found, extra, partial(visit_divergence, real, top=top))
    for rank in (1, 2, 3):
        equal = {"uniform": np.full(real.n_users, 1 / rank), "random": rng.random(real.n_users)}
        rows += _rows(f"time at place {rank}", found, equal, partial(time_divergence, real, rank=rank))
    return rows


def _rows(
    table: str, found: FakesExperiment, baselines: dict[str, NDArray[np.float64]], measure: Measure
) -> list[Row]:
    values = [measure(fakes) for fakes in found.data_sets()]
    rows = [(table, "fakes", float(np.mean(values)), float(np.std(values)))]
    rows.append((table, "testing", measure(found.testing), 0.0))
    return rows + [(table, name, measure(shares), 0.0) for name, shares in baselines.items()]


def aggregate_rows(found: FakesExperiment) -> list[Row]:
    """Return mean, median and spread of the similarity of fake and real aggregate mobility."""
    places = found.training.places
    real = AggregateMobility.of(found.profiles(found.training), places)
    others = [AggregateMobility.of(found.profiles(fakes), places) for fakes in found.data_sets()]
    rows: list[Row] = []
    for name, values in (
        ("aggregate transitions", [other.move_similarity(real) for other in others]),
        ("aggregate visits", [other.visit_similarity(real) for other in others]),
    ):
        rows.append((name, "similarity", float(np.mean(values)), float(np.std(values))))
        rows.append((name, "median similarity", float(np.median(values)), 0.0))
    return rows


def _draw(axes: Axes, rows: list[Row], said: list[Finding]) -> None:
    tables = list(dict.fromkeys(row[0] for row in rows))
    for number, column in enumerate(_COLUMNS):
        mine = [row for row in rows if row[1] == column]
        axes.errorbar(
            [max(row[2], 1e-4) for row in mine],
            [tables.index(row[0]) for row in mine],
            xerr=[row[3] for row in mine],
            fmt=MARKERS[number].matplotlib,
            color=COLOURS[number],
            label=column,
            markersize=7,
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(tables)), tables)
    axes.invert_yaxis()
    axes.set_xlabel("KL divergence from the real training data (0 is best)")
    axes.legend(frameon=False, fontsize=8, ncols=5, loc="lower left", bbox_to_anchor=(0, 1))
    title = "Divergence of ten fake data sets from the real one, beside the baselines"
    axes.set_title(titled(title, said), pad=26, loc="left", fontsize=10)
