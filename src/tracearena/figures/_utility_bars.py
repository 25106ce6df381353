"""Utility of several synthesizers, and bars of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.figures.style import OKABE_ITO, canvas, save
from tracearena.metrics import tm_emd, tm_emd_sliced, tp_tv, vf_tv
from tracearena.traces import Traces

TITLES = {
    "tp_tv": "TP-TV",
    "tp_tv_top50": "TP-TV-Top50",
    "tm_emd_x": "TM-EMD-X",
    "tm_emd_y": "TM-EMD-Y",
    "tm_emd_sliced": "TM-EMD",
    "vf_tv": "VF-TV",
    "reidentification_rate": "re-identification rate",
    "membership_advantage": "membership advantage",
}


def utility(
    reference: Traces,
    traces: Traces | None,
    names: Sequence[str],
    *,
    by_day: bool,
    other: Traces | None = None,
) -> dict[str, Any]:
    """Return the named metrics of traces (None: uniform) against the reference.

    `other` are further real traces: places without visits in them do not count for VF-TV.
    """
    known: dict[str, Callable[[], float | None]] = {
        "tp_tv": lambda: tp_tv(reference, traces, by_day=by_day),
        "tp_tv_top50": lambda: tp_tv(reference, traces, top=50, by_day=by_day),
        "tm_emd_x": lambda: tm_emd(reference, traces, "x", by_day=by_day),
        "tm_emd_y": lambda: tm_emd(reference, traces, "y", by_day=by_day),
        "tm_emd_sliced": lambda: tm_emd_sliced(reference, traces, by_day=by_day),
        "vf_tv": lambda: vf_tv(reference, traces, training=other, by_day=by_day),
    }
    return {name: known[name]() for name in names}


def draw_bars(path: Path, rows: Sequence[Mapping[str, Any]], names: Sequence[str], title: str) -> Path:
    """Draw a panel a metric and a bar a method; a method keeps its colour."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    with canvas(2.7 * len(names), 3.6, ncols=len(names)) as (figure, axes):
        for panel, name in zip(axes, names, strict=True):
            shown = [row for row in rows if row[name] is not None]
            colours = [OKABE_ITO[methods.index(row["method"]) % len(OKABE_ITO)] for row in shown]
            panel.bar(range(len(shown)), [row[name] for row in shown], color=colours)
            panel.set_xticks(range(len(shown)), [row["method"] for row in shown], rotation=90, fontsize=7)
            panel.set_title(TITLES[name], fontsize=10)
        axes[0].set_ylabel("0 is best")
        figure.subplots_adjust(wspace=0.4)
        figure.suptitle(title, fontsize=11, y=1.02)
        return save(figure, path)
