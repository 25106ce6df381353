"""[sglt] Figure 8: fakes are as alike among themselves as real people are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, titled
from tracearena.figures.data import Source, fakes_experiment
from tracearena.figures.style import canvas, save
from tracearena.files import write_csv
from tracearena.metrics.similarity import all_pairs, semantic_similarity
from tracearena.pages.html import BLUE

LARGEST_GAP = 0.1
_AT = np.linspace(0, 1, 101)


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write sglt-qq.png and .csv: quantiles of semantic similarity, real–real against fake–fake."""
    found = fakes_experiment(source)
    quantiles = []
    for traces in (found.training, found.data_sets()[0]):
        profiles = found.profiles(traces)
        quantiles.append(
            np.quantile(semantic_similarity(profiles, profiles, all_pairs(profiles.n_users)), _AT)
        )
    real, fake = quantiles
    said = findings(real, fake)
    announce(said, tell)
    with canvas(5.2, 5.2) as (figure, axes):
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="the same distribution")
        axes.plot(real, fake, "o", markersize=4, color=BLUE, label="percentiles")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_xlabel("semantic similarity of two real people")
        axes.set_ylabel("semantic similarity of two fakes")
        axes.legend(frameon=False, fontsize=8)
        title = "Percentiles of likeness, among people and among fakes"
        axes.set_title(titled(title, said, width=62), fontsize=10, loc="left")
        picture = save(figure, out / "sglt-qq.png")
    rows = zip(_AT.round(2), real, fake, strict=True)
    return [picture, write_csv(out / "sglt-qq.csv", ["quantile", "real", "fake"], rows)]


def findings(real: NDArray[np.float64], fake: NDArray[np.float64]) -> list[Finding]:
    """Ask whether fakes are as alike as people: no percentile may differ by more than 0.1.

    [sglt] calls the line straight. That of two sorted lists always rises, so its correlation
    is given beside and decides nothing.
    """
    gap = float(np.abs(real - fake).max())
    straight = float(np.corrcoef(real, fake)[0, 1]) if np.ptp(real) and np.ptp(fake) else 0.0
    return [
        Finding(
            "two fakes are as alike as two people",
            gap <= LARGEST_GAP,
            f"percentiles differ by up to {gap:.2f}, it takes {LARGEST_GAP:g}; "
            f"their correlation is {straight:.3f}",
            gap,
        )
    ]
