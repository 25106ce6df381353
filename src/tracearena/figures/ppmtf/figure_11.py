"""[ppmtf] Figure 11: how much of their time people spend at a park, a bar, an office or a university."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.figures.data import Source, check_ins, kept_days
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.metrics import category_fractions
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF, SGD
from tracearena.synthesis.ppmtf import measure_deniability
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CATEGORIES = ("Park", "Bar", "Office", "University")
K = 10
ITERATIONS = 100
BINS_SHOWN = 12


def make(
    out: Path, source: Source, tell: Tell | None, *, k: int = K, iterations: int = ITERATIONS
) -> list[Path]:
    """Write ppmtf-11.svg and ppmtf-11.csv: visit fractions of places of four categories.

    Categories that the data lacks give way to those with the most visitors in the testing traces.
    """
    training, testing = check_ins(source)
    if training.places.categories is None:
        raise DataError("the places of the data have no categories, which this figure is about")
    root = seed_sequence(source.seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    made = model.synthesize(1, seed=child_seed(root, 1))
    passed = measure_deniability(model, made, k=k, early_stop=True, seed=child_seed(root, 2)).passed
    shown = {
        "testing": testing,
        "PPMTF": made,
        f"PPMTF, k = {k}": kept_days(made, passed),
        "SGD": SGD().fit(training).synthesize(1, seed=child_seed(root, 3)),
    }
    rows = _rows(shown)
    found = findings(rows)
    announce(found, tell)
    return [_draw(out / "ppmtf-11.svg", rows, found), write_records(out / "ppmtf-11.csv", rows)]


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Compare PPMTF and SGD by the total variation of each category from the testing traces.

    [ppmtf] Figure 11: SGD's people concentrate at 1/24 of their time, and the distribution of PPMTF
    is similar to that of the testing traces. PPMTF must be nearer in every category; and SGD must have
    at least half of a category's visitors in the lowest bin, in every category.
    """
    far = {(row["category"], row["method"]): row["total_variation"] for row in rows}
    lowest: dict[str, float] = {}
    for row in rows:
        if row["method"] == "SGD":
            lowest.setdefault(row["category"], row["share"])
    return [
        counted(
            "PPMTF's people come back to their places more as real ones do than SGD's",
            [far[category, "PPMTF"] < far[category, "SGD"] for category in lowest],
            "categories have a histogram nearer to that of the testing traces",
        ),
        counted(
            "SGD's people mostly come once",
            [share >= 0.5 for share in lowest.values()],
            "categories have half of their visitors in the lowest bin",
        ),
    ]


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


def _draw(path: Path, rows: list[dict[str, Any]], found: list[Finding]) -> Path:
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
        head(figure, "Visit fractions at places of four categories", found)
        return save(figure, path)


def _panel(panel: Axes, rows: list[dict[str, Any]], category: str) -> None:
    for number, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        mine = [row for row in rows if row["method"] == method][:BINS_SHOWN]
        x, y = [row["up_to"] for row in mine], [row["share"] for row in mine]
        label = method if mine[0]["visitors"] else f"{method} (nobody)"
        panel.plot(x, y, marker=MARKERS[number].matplotlib, ms=4, color=COLOURS[number], label=label)
    panel.set_title(category.rpartition("/")[2], fontsize=10)
    panel.set_xticks([2 / 24, 6 / 24, 10 / 24], ["2/24", "6/24", "10/24"])
