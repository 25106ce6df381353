"""[contest] Figure 7: the two functions that make scores of distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce
from tracearena.figures.data import Source
from tracearena.figures.style import canvas, head, save
from tracearena.files import write_csv
from tracearena.metrics import trace_inference_score, utility_score
from tracearena.pages.html import COLOURS
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces

LIMIT_KM = 2.0
DISTANCES_KM = np.arange(0, 4.01, 0.1).round(1)


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write contest-7.svg and contest-7.csv: what one event scores at each distance."""
    useful, private = scores(DISTANCES_KM)
    found = findings(useful, private)
    announce(found, tell)
    rows = zip(DISTANCES_KM, useful, private, strict=True)
    table = write_csv(out / "contest-7.csv", ("distance_km", "g_U", "g_T"), rows)
    return [_draw(out / "contest-7.svg", useful, private, found), table]


def scores(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return g_U and g_T: utility of an event released so far away, and privacy of one guessed so far away.

    >>> scores(np.array([0.0, 1.0, 3.0]))[0].tolist()
    [1.0, 0.5, 0.0]
    """
    places = Places(np.zeros(len(distances) + 1), [0, *distances], km_per_degree=(1, 1))
    original = Traces.from_dense([[0]], places, Clock(instants_per_day=1))
    useful, private = [], []
    for at in range(1, len(places)):
        released = ObfuscatedTraces.like(original, [at])
        useful.append(utility_score(original, released, limit_km=LIMIT_KM).utility)
        private.append(trace_inference_score(original, original.with_places([at])).trace_inference)
    return np.array(useful), np.array(private)


def findings(useful: NDArray[np.float64], private: NDArray[np.float64]) -> list[Finding]:
    """Test that the two are what [contest] section 3.4 defines: 1 - d / 2 km and d / 2 km, then flat."""
    wanted = np.minimum(DISTANCES_KM / LIMIT_KM, 1)
    error = float(max(np.abs(useful - (1 - wanted)).max(), np.abs(private - wanted).max()))
    return [
        Finding(
            "both scores are straight lines up to 2 km and flat beyond",
            error < 1e-9,
            f"largest difference {error:.1e}, it takes less than 1e-9",
            error,
        )
    ]


def _draw(
    path: Path, useful: NDArray[np.float64], private: NDArray[np.float64], found: list[Finding]
) -> Path:
    panels = (
        (useful, "utility g_U of an event", "distance of the released place (km)"),
        (private, "privacy g_T of an event", "distance of the inferred place (km)"),
    )
    with canvas(9, 3.4, ncols=2) as (figure, both):
        for number, (axes, (values, name, distance)) in enumerate(zip(both, panels, strict=True)):
            axes.plot(DISTANCES_KM, values, color=COLOURS[number], linewidth=2)
            axes.set(xlabel=distance, ylabel=f"{name} (1 is best)", ylim=(-0.03, 1.03))
        figure.subplots_adjust(wspace=0.3)
        head(figure, "Scores over distances", found)
        return save(figure, path)
