"""[contest] Figures 4 and 19: where a team's virtual users are at noon, and when they are at home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, titled
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.figures.data import GENERATOR, Source, generator_training
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import write_records
from tracearena.pages.html import COLOURS
from tracearena.synthesis import PPMTF
from tracearena.traces import Traces

ITERATIONS = 100
NOON_S = 12 * 3600


def make(out: Path, source: Source, tell: Tell | None, *, iterations: int = ITERATIONS) -> list[Path]:
    """Write contest-4.svg, contest-19.svg and their CSV files: 2,000 virtual users with homes."""
    training = generator_training(source)
    root = seed_sequence(source.seed)
    model = PPMTF(factors=32, zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    size = source.sized(GENERATOR)
    users = model.virtual_users(size.users, homes=True, only_seen=True, seed=child_seed(root, 1))
    table = users.draw(size.days)
    homes_of = np.asarray(users.homes)
    share = (table == homes_of[:, None, None]).mean(axis=(0, 1))
    clock, n = training.clock, len(training.places)
    noon = int(np.argmin(np.abs(clock.second_of_day(np.arange(clock.instants_per_day)) - NOON_S)))
    real = training.place_index[clock.time_of_day(training.instants) == noon]
    made = table[:, :, noon].ravel()
    maps = [np.bincount(places, minlength=n) / max(len(places), 1) for places in (real, made)]
    homes = [{"time": clock.label(t), "at_home": float(value)} for t, value in enumerate(share)]
    cells = [
        {"place": int(place), "training": float(a), "synthetic": float(b)}
        for place, a, b in zip(training.places.ids, *maps, strict=True)
    ]
    found = findings(homes)
    announce(found, tell)
    return [
        _draw_maps(out / "contest-4.svg", training, maps, clock.label(noon)),
        write_records(out / "contest-4.csv", cells),
        _draw_homes(out / "contest-19.svg", homes, found),
        write_records(out / "contest-19.csv", homes),
    ]


def findings(homes: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Ask whether virtual users are at home in the morning and in the evening.

    [contest] Figure 19: each user stays at home then "with high probability". It takes more than half
    of them at the first and the last time of day, and fewer in between.
    """
    first, last = homes[0], homes[-1]
    least = min(homes, key=lambda row: float(row["at_home"]))
    ends = min(first["at_home"], last["at_home"])
    shown = ", ".join(f"{row['at_home']:.2f} at {row['time']}" for row in (first, least, last))
    return [
        Finding(
            "people leave home in the morning and come back in the evening",
            ends > 0.5 and least["at_home"] < ends,
            f"{shown}; it takes more than 0.5 at both ends and less between",
            ends,
        )
    ]


def _draw_maps(path: Path, training: Traces, maps: list[NDArray[np.float64]], time: str) -> Path:
    grid = training.places.grid
    if grid is None:
        raise DataError("the map of the population needs the regions of a grid")
    top = max(float(one.max()) for one in maps)
    shrunk = float(np.cos(np.radians(training.places.latitude.mean())))
    with canvas(9.5, 4.4, ncols=2) as (figure, axes):
        for panel, values, title in zip(axes, maps, ("training traces", "virtual users"), strict=True):
            image = panel.imshow(
                values.reshape(grid.rows, grid.columns),
                origin="lower",
                extent=(grid.west, grid.east, grid.south, grid.north),
                vmin=0,
                vmax=top,
                aspect=1 / shrunk,
            )
            panel.grid(False)
            panel.tick_params(labelsize=6)
            panel.set_title(title, fontsize=10)
        figure.colorbar(image, ax=list(axes), label="share of the people", shrink=0.8)
        apart = float(np.abs(maps[0] - maps[1]).sum() / 2)
        title = f"People and virtual users at {time}: {1 - apart:.0%} of the crowd in common"
        figure.suptitle(title, fontsize=11, y=0.99)
        return save(figure, path)


def _draw_homes(path: Path, homes: list[dict[str, Any]], found: list[Finding]) -> Path:
    with canvas(7, 4) as (figure, axes):
        at = range(len(homes))
        axes.plot(at, [row["at_home"] for row in homes], "o-", color=COLOURS[0])
        axes.set_xticks(at, [row["time"] for row in homes], rotation=90, fontsize=7)
        axes.set(ylim=(0, 1), xlabel="time of day", ylabel="share of virtual users at home")
        title = "Virtual users at home, by time of day"
        axes.set_title(titled(title, found, width=80), fontsize=10, loc="left")
        return save(figure, path)
