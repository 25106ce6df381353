"""Bars of several methods side by side, a panel a metric, city by city where there are several."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tracearena.arena.claims import ClaimResult
from tracearena.pages.html import COLOURS
from tracearena.papers.data import HALVES, TITLES
from tracearena.papers.style import open_canvas, save_figure, write_head

_INCHES_PER_BAR = 0.21


def draw_bars(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    title: str,
    findings: Sequence[ClaimResult] = (),
    spread: Mapping[str, Mapping[str, float | None]] | None = None,
) -> Path:
    """Draw a panel a metric and a bar a method, whose name stands once, at the left; it keeps its colour.

    Rows may name a `city`; those of one city stand together, below its name. `spread` is that of the
    halves by city ("" where none is named), whose mean is a line through the bars of the city.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cities = [str(row.get("city", "")) for row in rows]
    at = _place_bars(cities)
    height = _INCHES_PER_BAR * (max(at) + 2) + 0.8
    with open_canvas(2.5 * len(names) + 1, height, ncols=len(names), sharey=True) as (figure, panels):
        for panel, name in zip(panels, names, strict=True):
            shown = [(place, row) for place, row in zip(at, rows, strict=True) if row[name] is not None]
            colours = [_choose_colour(row["method"], methods) for _, row in shown]
            panel.barh([place for place, _ in shown], [row[name] for _, row in shown], color=colours)
            for place, row in shown:
                if row["method"] == HALVES:
                    city = str(row.get("city", ""))
                    mine = [one for one, other in zip(at, cities, strict=True) if other == city]
                    ends = min(mine) - 0.5, max(mine) + 0.5
                    panel.vlines(row[name], *ends, color="#555555", linestyle="-.", linewidth=1)
                    error = (spread or {}).get(city, {}).get(name)
                    panel.errorbar(row[name], place, xerr=error, color="#222222", capsize=3)
            panel.set_title(TITLES[name], fontsize=10)
            panel.set_xlabel("0 is best", fontsize=8)
            panel.tick_params(axis="x", labelsize=8)
            panel.grid(False, axis="y")
        panels[0].set_yticks(at, [row["method"] for row in rows], fontsize=8)
        panels[0].set_ylim(max(at) + 0.7, min(at) - (1.7 if any(cities) else 0.7))
        for place, city, former in zip(at, cities, ["", *cities], strict=False):
            if city != former:
                x = panels[0].get_yaxis_transform()
                panels[0].text(-0.02, place - 0.9, city, transform=x, ha="right", va="center", weight="bold")
        figure.subplots_adjust(wspace=0.12, top=1 - 0.3 / height, bottom=0.5 / height)
        write_head(figure, title, findings, width=36 * len(names), top=1.0)
        return save_figure(figure, path)


def _place_bars(cities: Sequence[str]) -> list[float]:
    """Return where each bar stands, with room above each further city for its name.

    >>> _place_bars(["a", "a", "b"])
    [0.0, 1.0, 4.0]
    """
    at: list[float] = []
    for city, former in zip(cities, [*cities[:1], *cities], strict=False):
        at.append(at[-1] + (1.0 if city == former else 3.0) if at else 0.0)
    return at


def _choose_colour(method: str, methods: Sequence[str]) -> str:
    return "#aaaaaa" if method == HALVES else COLOURS[methods.index(method) % len(COLOURS)]


# A figure of Matplotlib that a notebook shows by itself.


_DPI = 110


class StandaloneFigure(Figure):
    """A figure on a canvas of its own: no window, no global state, nothing to close."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        """Return the picture as notebooks ask for it."""
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=_DPI, bbox_inches="tight")
        return out.getvalue()
