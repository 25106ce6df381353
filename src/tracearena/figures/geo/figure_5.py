"""[geo-ind] Figure 5: how far gossip spreads in noisy traces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, counted, titled
from tracearena.attacks import Interpolation
from tracearena.engine import report
from tracearena.errors import DataError
from tracearena.figures.data import NOISE_M, Source, gps_data
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import six_digits
from tracearena.files import write_csv
from tracearena.metrics.applications import gossip
from tracearena.obfuscation import GeoInd
from tracearena.pages.html import COLOURS, MARKERS

WINDOWS_S = (None, 120.0, 300.0, 600.0)
RUNS = 3


def make(out: Path, source: Source, tell: Tell | None, *, runs: int = RUNS) -> list[Path]:
    """Draw the infection rate against the noise; time-dependent noise after interpolation."""
    gps = gps_data(source)
    baseline = gossip(gps.traces).infection_rate
    if baseline is None:
        raise DataError(f"{gps.name}: gossip needs people")
    rates = np.empty((len(WINDOWS_S), len(NOISE_M), runs))
    for done, (w, at, run) in enumerate(np.ndindex(rates.shape)):
        mechanism = GeoInd(expected_noise=NOISE_M[at], window=WINDOWS_S[w])
        released = mechanism.transform(gps.traces, seed=source.seed * 1000 + run)
        if WINDOWS_S[w] is not None:
            released = Interpolation().recover(released)
        rates[w, at, run] = gossip(released).infection_rate
        report(done + 1, rates.size)
    found = findings(baseline, rates)
    announce(found, tell)
    with canvas(7, 4.6) as (figure, axes):
        for w, window in enumerate(WINDOWS_S):
            name = "independent noise" if window is None else f"T = {window / 60:g} min, interpolated"
            low, high = rates[w].min(axis=1), rates[w].max(axis=1)
            axes.fill_between(NOISE_M, low, high, color=COLOURS[w], alpha=0.2, linewidth=0)
            axes.plot(
                NOISE_M, rates[w].mean(axis=1), color=COLOURS[w], marker=MARKERS[w].matplotlib, label=name
            )
        axes.axhline(baseline, color="#222222", linestyle="--", label=f"original: {baseline:.2f}")
        axes.set(xlabel="expected noise, m", ylabel="share of users reached (1 = all)", ylim=(0, 1))
        axes.legend(frameon=False, fontsize=9)
        title = f"Share of users reached by gossip, against the noise ({gps.name})"
        axes.set_title(titled(title, found, width=78), fontsize=10, loc="left")
        picture = save(figure, out / "geo-5.png")
    rows: list[tuple[object, ...]] = [("original", None, None, baseline)]
    rows += [
        (
            "independent" if WINDOWS_S[w] is None else f"{WINDOWS_S[w]:g}",
            NOISE_M[at],
            run,
            float(rates[w, at, run]),
        )
        for w, at, run in np.ndindex(rates.shape)
    ]
    header = ["window_s", "expected_noise_m", "run", "infection_rate"]
    return [picture, write_csv(out / "geo-5.csv", header, six_digits(rows))]


def findings(baseline: float, rates: NDArray[np.float64]) -> list[Finding]:
    """Ask whether gossip spreads farther in noisy traces than in the original ones.

    [geo-ind] Figure 5: "to stronger sanitization corresponds higher average infection rate". The mean
    over the runs with independent noise must be above the original at every noise.

    Parameters
    ----------
    rates
        Infection rates by (window, noise, run); the first window is independent noise.
    """
    mean = rates[0].mean(axis=1)
    return [
        counted(
            "independent noise makes people meet who never met",
            (mean > baseline).tolist(),
            f"noises reach more users than the original's {baseline:.2f}: "
            f"{mean.min():.2f} to {mean.max():.2f}",
        )
    ]
