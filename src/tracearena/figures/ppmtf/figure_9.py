"""[ppmtf] Figure 9: how the running time grows with users and places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tracearena.arena.claims import Finding, Tell, announce
from tracearena.engine import tracked
from tracearena.figures.data import Source, people_flow
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import growth, timed
from tracearena.files import write_csv
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF, SGLT
from tracearena.traces import Places, Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (100, 200, 400, 600, 800, 1000)
FEW_USERS, PLACES = 100, 400
ITERATIONS = 100
Row: TypeAlias = tuple[str, str, int, int, float]

# Hours that the paper's text states, in seconds: series, varied, users, places, seconds.
PUBLISHED: tuple[Row, ...] = (
    ("SGLT training (published)", "users", 100, 400, 0.47 * 3600),
    ("SGLT training (published)", "users", 1000, 400, 47 * 3600),
    ("SGLT training (published)", "places", 100, 100, 8.1e-3 * 3600),
    ("SGLT training (published)", "places", 100, 1000, 8.4 * 3600),
    ("PPMTF synthesis (published)", "users", 100, 400, 6.3e-5 * 3600),
    ("PPMTF synthesis (published)", "users", 1000, 400, 5.9e-4 * 3600),
    ("PPMTF synthesis (published)", "places", 100, 100, 9.3e-3 * 3600),
    ("PPMTF synthesis (published)", "places", 100, 1000, 0.96 * 3600),
)


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    sizes: Sequence[int] = SIZES,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-9.svg and ppmtf-9.csv; α = 200, z = 16, 100 iterations, one trace a user."""
    training, testing = people_flow(source)
    everybody = _joined(training, testing)
    _timed(_sized(everybody, 50, 50), source.seed, 1)
    _timed_fakes(_sized(everybody, 50, 50), source.seed)
    plan = [("users", users, PLACES) for users in sizes] + [("places", FEW_USERS, n) for n in sizes]
    rows: list[Row] = []
    for varied, users, places in tracked(plan, len(plan)):
        sized = _sized(everybody, users, places)
        seconds = {"PPMTF": _timed(sized, source.seed, iterations), "SGLT": _timed_fakes(sized, source.seed)}
        for method, (fitting, drawing) in seconds.items():
            rows.append((f"{method} training", varied, users, places, fitting))
            rows.append((f"{method} synthesis", varied, users, places, drawing))
    found = findings(rows)
    announce(found, tell)
    rows += PUBLISHED
    header = ["series", "varied", "users", "places", "seconds"]
    return [_draw(out / "ppmtf-9.svg", rows, found), write_csv(out / "ppmtf-9.csv", header, rows)]


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Fit how the measured times of PPMTF grow.

    [ppmtf] section 4.4 says that they are linear in the users, so twice the users may take 2.2 times
    as long, a tenth for measuring. That training hardly depends on the places is our own claim: ten
    times as many may take twice as long.
    """
    found = []
    for series, varied, times, most in (
        ("PPMTF training", "users", 2, 2.2),
        ("PPMTF synthesis", "users", 2, 2.2),
        ("PPMTF training", "places", 10, 2.0),
    ):
        at = 2 if varied == "users" else 3
        slope = growth([(float(row[at]), row[4]) for row in rows if row[:2] == (series, varied)])
        factor = None if slope is None else float(times**slope)
        found.append(
            Finding(
                f"{times} times the {varied} cost {series} at most {most:g} times the time",
                factor is not None and factor <= most,
                "not measured" if factor is None else f"{factor:.2f} times",
                factor,
            )
        )
    return found


def _joined(training: Traces, testing: Traces) -> Traces:
    index = np.concatenate([training.user_index, testing.user_index + training.n_users])
    instants = np.concatenate([training.instants, testing.instants])
    places = np.concatenate([training.place_index, testing.place_index])
    return Traces.from_events(index, instants, places, training.places, training.clock)


def _sized(traces: Traces, users: int, places: int) -> Traces:
    """Repeat or cut the users; fold the places into fewer, or spread them over more."""
    chosen = np.arange(users) % traces.n_users
    some = traces.take_users(chosen).with_user_ids(np.arange(users))
    spread = (some.place_index.astype(np.int64) + 37 * some.user_index) % places
    ground = Places(np.zeros(places), np.linspace(0, 1, places))
    return Traces.from_events(
        some.user_index, some.instants, spread, ground, some.clock, user_ids=np.arange(users)
    )


def _timed(traces: Traces, seed: int, iterations: int) -> tuple[float, float]:
    model = PPMTF(iterations=iterations)
    _, training = timed(lambda: model.fit(traces, seed=seed))
    return training, timed(lambda: model.synthesize(1, seed=seed))[1]


def _timed_fakes(traces: Traces, seed: int) -> tuple[float, float]:
    model = SGLT(classes=len(traces.places) // 4, privacy_tests=False)
    _, training = timed(lambda: model.fit(traces, seed=seed))
    return training, timed(lambda: model.synthesize(1, seed=seed))[1]


def _draw(path: Path, rows: list[Row], found: list[Finding]) -> Path:
    with canvas(11, 4.5, ncols=2, sharey=True) as (figure, axes):
        _panel(axes[0], [row for row in rows if row[1] == "users"], 2, f"users ({PLACES} places)")
        _panel(axes[1], [row for row in rows if row[1] == "places"], 3, f"places ({FEW_USERS} users)")
        axes[0].set_ylabel("processor seconds")
        axes[0].legend(fontsize=8, frameon=False)
        head(figure, "Running time over users and over places", found)
        return save(figure, path)


def _panel(panel: Axes, rows: list[Row], axis: int, label: str) -> None:
    for number, series in enumerate(dict.fromkeys(row[0] for row in rows)):
        mine = [row for row in rows if row[0] == series]
        x, y = [int(row[axis]) for row in mine], [row[4] for row in mine]
        panel.plot(x, y, marker=MARKERS[number].matplotlib, color=COLOURS[number], label=series)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel(label)
