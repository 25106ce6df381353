"""[ppmtf] Figure 11: how much of their time people spend at a park, a bar, an office or a university."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.engine import Progress, child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.figures._check_ins import check_ins
from tracearena.figures._deniable import kept_days
from tracearena.figures._rows import write_rows
from tracearena.figures.style import MARKERS, OKABE_ITO, canvas, save
from tracearena.metrics import category_fractions
from tracearena.synthesis import PPMTF, SGD
from tracearena.synthesis.ppmtf import deniability
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CATEGORIES = ("Park", "Bar", "Office", "University")
K = 10
BINS_SHOWN = 12


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write ppmtf-11.svg and ppmtf-11.csv: visit fractions of places of four categories.

    Categories that the data lacks give way to those with the most visitors in the testing traces.
    """
    training, testing = check_ins(data, seed)
    if training.places.categories is None:
        raise DataError("the places of the data have no categories, which this figure is about")
    root = seed_sequence(seed)
    model = PPMTF(zeros="all").fit(training, seed=child_seed(root, 0), progress=progress)
    made = model.synthesize(1, seed=child_seed(root, 1))
    passed = deniability(model, made, k=K, early_stop=True, seed=child_seed(root, 2)).passed
    shown = {
        "testing": testing,
        "PPMTF": made,
        f"PPMTF, k = {K}": kept_days(made, passed),
        "SGD": SGD().fit(training).synthesize(1, seed=child_seed(root, 3)),
    }
    rows = _rows(shown)
    return [_draw(out / "ppmtf-11.svg", rows), write_rows(out / "ppmtf-11.csv", rows)]


def _rows(shown: dict[str, Traces]) -> list[dict[str, Any]]:
    counts = {method: category_fractions(traces) for method, traces in shown.items()}
    visitors = {name: int(found.sum()) for name, found in counts["testing"].items()}
    rows = []
    for category in _chosen(visitors):
        shares = {method: _shares(found[category]) for method, found in counts.items()}
        for method, share in shares.items():
            variation = float(np.abs(share - shares["testing"]).sum() / 2)
            told = int(counts[method][category].sum())
            rows += [
                {
                    "category": category,
                    "method": method,
                    "visitors": told,
                    "total_variation": variation,
                    "up_to": (number + 1) / len(share),
                    "share": value,
                }
                for number, value in enumerate(share.tolist())
            ]
    return rows


def _chosen(visitors: dict[str, int]) -> list[str]:
    """Return the paper's categories, by any part of their names, and the most visited for the rest."""
    busy = sorted(visitors, key=lambda name: (-visitors[name], name))
    named = [next((name for name in busy if want in name.split("/")), None) for want in CATEGORIES]
    found = [name for name in named if name is not None and visitors[name]]
    return (found + [name for name in busy if name not in found])[: len(CATEGORIES)]


def _shares(counts: Any) -> Any:
    return counts / max(counts.sum(), 1)


def _draw(path: Path, rows: list[dict[str, Any]]) -> Path:
    categories = list(dict.fromkeys(row["category"] for row in rows))
    with canvas(3.1 * len(categories), 3.6, ncols=len(categories), sharey=True, squeeze=False) as made:
        figure, axes = made
        for panel, category in zip(axes[0], categories, strict=True):
            _panel(panel, [row for row in rows if row["category"] == category], category)
        axes[0, 0].set(ylim=(0, 1), ylabel="share of a place's visitors")
        figure.supxlabel(
            "part of a visitor's events at the place (upper end of the bin)", fontsize=10, y=-0.03
        )
        axes[0, 0].legend(frameon=False, fontsize=8)
        figure.suptitle(
            "Real people come back to their places, and so do PPMTF's; SGD's mostly come once",
            fontsize=11, y=1.0,
        )  # fmt: skip
        return save(figure, path)


def _panel(panel: Axes, rows: list[dict[str, Any]], category: str) -> None:
    for number, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        mine = [row for row in rows if row["method"] == method][:BINS_SHOWN]
        x, y = [row["up_to"] for row in mine], [row["share"] for row in mine]
        label = method if mine[0]["visitors"] else f"{method} (nobody)"
        panel.plot(x, y, marker=MARKERS[number], ms=4, color=OKABE_ITO[number], label=label)
    panel.set_title(category.rpartition("/")[2], fontsize=10)
    panel.set_xticks([2 / 24, 6 / 24, 10 / 24], ["2/24", "6/24", "10/24"])
