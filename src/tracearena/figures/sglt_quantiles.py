"""[sglt] Figure 8: fakes are as alike among themselves as real people are."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracearena.engine import Progress
from tracearena.figures._fake_traces import experiment, write_rows
from tracearena.figures.style import OKABE_ITO, canvas, save
from tracearena.metrics.similarity import all_pairs, semantic_similarity

_AT = np.linspace(0, 1, 101)


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write sglt-qq.png and .csv: quantiles of semantic similarity, real–real against fake–fake."""
    found = experiment(data, seed, progress)
    quantiles = []
    for traces in (found.training, found.data_sets()[0]):
        profiles = found.profiles(traces)
        quantiles.append(
            np.quantile(semantic_similarity(profiles, profiles, all_pairs(profiles.n_users)), _AT)
        )
    real, fake = quantiles
    correlation = float(np.corrcoef(real, fake)[0, 1])
    with canvas(5.2, 5.2) as (figure, axes):
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="the same distribution")
        axes.plot(real, fake, "o", markersize=4, color=OKABE_ITO[0], label="percentiles")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_xlabel("semantic similarity of two real people")
        axes.set_ylabel("semantic similarity of two fakes")
        axes.legend(frameon=False, fontsize=8)
        axes.set_title(
            "Likeness among fakes rises with likeness among people\n"
            f"(correlation of the percentiles {correlation:.3f})",
            fontsize=10,
            loc="left",
        )
        picture = save(figure, out / "sglt-qq.png")
    rows = zip(_AT.round(2), real, fake, strict=True)
    return [picture, write_rows(out / "sglt-qq.csv", ["quantile", "real", "fake"], rows)]
