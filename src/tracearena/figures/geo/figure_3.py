"""[geo-ind] Figure 3: traffic offloaded by hotspots against the noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.findings import Finding, Tell, announce, counted, titled
from tracearena.engine import report
from tracearena.figures.data import NOISE_M, Source, gps_data
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import six_digits
from tracearena.files import write_csv
from tracearena.metrics.applications import hotspots
from tracearena.obfuscation import GeoInd
from tracearena.pages.style import COLOURS, MARKERS

RUNS = 3
PAPER = {250: (0.96, 0.98), 500: (0.95, None), 1000: (0.89, 0.93)}
"""Values that the text of [geo-ind] names: empirical, after the update."""


def make(out: Path, source: Source, tell: Tell | None, *, runs: int = RUNS) -> list[Path]:
    """Draw the share of original points served, before and after the Bayesian update."""
    gps = gps_data(source)
    found = np.empty((2, len(NOISE_M), runs))
    for at, noise in enumerate(NOISE_M):
        for run in range(runs):
            released = GeoInd(expected_noise=noise).transform(gps.traces, seed=source.seed * 1000 + run)
            one = hotspots(gps.traces, released, area=gps.area, expected_noise_m=noise)
            found[:, at, run] = one.offloaded, one.offloaded_after_update
            report(at * runs + run + 1, len(NOISE_M) * runs)
    gains = findings(found)
    announce(gains, tell)
    with canvas(7, 4.6) as (figure, axes):
        names = ("chosen by the noisy counts", "after the Bayesian update")
        for k, name in enumerate(names):
            mean, low, high = found[k].mean(axis=1), found[k].min(axis=1), found[k].max(axis=1)
            axes.fill_between(NOISE_M, low, high, color=COLOURS[k], alpha=0.25, linewidth=0)
            axes.plot(NOISE_M, mean, color=COLOURS[k], marker=MARKERS[k].matplotlib, label=name)
        for k in (0, 1):
            shown = [(noise, value[k]) for noise, value in PAPER.items() if value[k] is not None]
            x, y = zip(*shown, strict=True)
            label = None if k else "[geo-ind], all of GeoLife"
            axes.scatter(
                x,
                y,
                marker=MARKERS[k].matplotlib,
                facecolors="none",
                edgecolors="#444444",
                label=label,
                zorder=3,
            )
        axes.set(xlabel="expected noise, m", ylabel="traffic offloaded (1 = all)", ylim=(0.8, 1.005))
        axes.legend(frameon=False, fontsize=9)
        title = f"Traffic offloaded against the noise ({gps.name})"
        axes.set_title(titled(title, gains, width=78), fontsize=10, loc="left")
        picture = save(figure, out / "geo-3.png")
    rows = [
        (noise, run, float(found[0, at, run]), float(found[1, at, run]))
        for at, noise in enumerate(NOISE_M)
        for run in range(runs)
    ]
    header = ["expected_noise_m", "run", "offloaded", "offloaded_after_update"]
    return [picture, write_csv(out / "geo-3.csv", header, six_digits(rows))]


def findings(found: NDArray[np.float64]) -> list[Finding]:
    """Compare the mean over the runs before and after the update, at every noise.

    [geo-ind] Figure 3: the update "improves the performance of the hotspots deployed, on average, by
    2 percentage points". It must offload more at every noise.

    Parameters
    ----------
    found
        Shares by (before or after the update, noise, run).
    """
    gain = found[1].mean(axis=1) - found[0].mean(axis=1)
    return [
        counted(
            "the update wins back part of what noise costs",
            (gain > 0).tolist(),
            f"noises have more traffic offloaded after it, on average {100 * gain.mean():+.1f} points",
        )
    ]
