"""[geo-ind] Figure 3: traffic offloaded by hotspots against the noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, counted, titled
from tracearena.engine import report
from tracearena.figures.data import NOISE_M, Source, gps_data
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import six_digits
from tracearena.files import write_csv
from tracearena.metrics.applications import hotspots
from tracearena.obfuscation import GeoInd
from tracearena.pages.html import COLOURS, MARKERS

RUNS = 3
PAPER = {250: (0.96, 0.98), 500: (0.95, None), 1000: (0.89, 0.93)}
"""Values that the text of [geo-ind] names: empirical, after the update."""
MARGIN_KM = 5.0
"""Around the area; hardly any point is carried further by 1,000 m of expected noise."""
_COLUMNS = (
    "offloaded",
    "offloaded_after_update",
    "cells_found",
    "cells_found_after_update",
)


def make(out: Path, source: Source, tell: Tell | None, *, runs: int = RUNS) -> list[Path]:
    """Draw the share of original points served, before and after the Bayesian update.

    The numbers also have the cells found, and all of it on a grid that ends with the area (``clipped``)
    and on one that goes on for some kilometres (``margin``).
    """
    gps = gps_data(source)
    both = np.empty((2, len(_COLUMNS), len(NOISE_M), runs))
    for at, noise in enumerate(NOISE_M):
        for run in range(runs):
            released = GeoInd(expected_noise=noise).transform(gps.traces, seed=source.seed * 1000 + run)
            for wide, margin in enumerate((0.0, MARGIN_KM)):
                one = hotspots(gps.traces, released, area=gps.area, expected_noise_m=noise, margin_km=margin)
                both[wide, :, at, run] = [getattr(one, name) for name in _COLUMNS]
            report(at * runs + run + 1, len(NOISE_M) * runs)
    found = both[:, :2]
    gains = [*findings(found[0]), *margin_findings(found)]
    announce(gains, tell)
    with canvas(7, 4.6) as (figure, axes):
        names = ("chosen by the noisy counts", "after the Bayesian update")
        for k, name in enumerate(names):
            mine = found[0, k]
            mean, low, high = mine.mean(axis=1), mine.min(axis=1), mine.max(axis=1)
            axes.fill_between(NOISE_M, low, high, color=COLOURS[k], alpha=0.25, linewidth=0)
            axes.plot(NOISE_M, mean, color=COLOURS[k], marker=MARKERS[k].matplotlib, label=name)
            padded = f"the same, {MARGIN_KM:g} km around the area too"
            axes.plot(NOISE_M, found[1, k].mean(axis=1), ":", color=COLOURS[k], label=padded)
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
        axes.set(xlabel="expected noise, m", ylabel="traffic offloaded (1 = all)")
        axes.set_ylim(min(0.8, found.min() - 0.01), 1.005)
        axes.legend(frameon=False, fontsize=8.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.13))
        title = f"Traffic offloaded against the noise ({gps.name})"
        axes.set_title(titled(title, gains, width=78), fontsize=10, loc="left")
        picture = save(figure, out / "geo-3.png")
    rows = [
        (grid, noise, run, *both[wide, :, at, run].tolist())
        for wide, grid in enumerate(("clipped", "margin"))
        for at, noise in enumerate(NOISE_M)
        for run in range(runs)
    ]
    header = ["grid", "expected_noise_m", "run", *_COLUMNS]
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


def margin_findings(found: NDArray[np.float64]) -> list[Finding]:
    """Compare the update on a grid that ends with the area and on one that goes on around it.

    Parameters
    ----------
    found
        Shares by (clipped or with a margin, before or after the update, noise, run).
    """
    gain = 100 * (found[1, 1] - found[0, 1]).mean(axis=1)
    shown = ", ".join(f"{one:+.2f} at {noise} m" for noise, one in zip(NOISE_M, gain, strict=True))
    return [
        Finding(
            "heaping what leaves the area on its border costs traffic after the update",
            bool(gain.mean() > 0),
            f"points won by a margin of {MARGIN_KM:g} km: {shown}",
            float(gain.mean()),
        )
    ]
