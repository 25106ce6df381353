"""One look for all pictures: colours, markers, and labels that keep out of each other's way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.arena.findings import Finding, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PLOTLY_MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")

_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "savefig.bbox": "tight",
    "savefig.dpi": 160,
    "svg.hashsalt": "tracearena",
    "svg.fonttype": "none",
}


@contextmanager
def canvas(width: float = 7.0, height: float = 5.0, **layout: Any) -> Iterator[tuple[Figure, Any]]:
    """Open a matplotlib figure (inches) in the house style, and close it again."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(**layout)


def head(
    figure: Figure, title: str, findings: Iterable[Finding] = (), *, width: int = 110, top: float = 0.94
) -> None:
    """Write a neutral title above the axes, whose upper end is `top`, and below it what was found."""
    text = titled(title, findings, width=width)
    figure.suptitle(text, fontsize=10.5, x=0.06, y=top, ha="left", va="bottom", linespacing=1.35)


def save(figure: Figure, path: Path) -> Path:
    """Write a picture in the format of its suffix, the same bytes for the same data."""
    from tracearena.files.whole import replacing

    kind = path.suffix.lstrip(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with replacing(path) as file:
        figure.savefig(file, format=kind, metadata=metadata)
    return path


def families(names: Iterable[str]) -> dict[str, int]:
    """Number the families of algorithms (the name before the parenthesis), in order of appearance.

    >>> families(["No", "PL(1,1)", "PL(2,1)", "RR(1)"])
    {'No': 0, 'PL': 1, 'RR': 2}
    """
    return {
        family: number
        for number, family in enumerate(dict.fromkeys(name.partition("(")[0] for name in names))
    }


def label_points(
    axes: Axes, points: Sequence[tuple[float, float]], labels: Sequence[str], *, size: float = 7.5
) -> None:
    """Write a label beside each point, where it covers neither a point nor another label."""
    figure: Any = axes.get_figure()
    renderer = figure.canvas.get_renderer()
    points_per_pixel = 72 / figure.dpi
    pixels = axes.transData.transform(np.asarray(points))
    taken: list[tuple[float, float, float, float]] = [(x - 4, y - 4, x + 4, y + 4) for x, y in pixels]
    for (x, y), point, label in zip(pixels, points, labels, strict=True):
        probe = axes.annotate(label, point, xytext=(0, 0), textcoords="offset points", fontsize=size)
        box = probe.get_window_extent(renderer)
        dx, dy, area = _free_place(x, y, box.width, box.height, taken)
        taken.append(area)
        probe.set_position((dx * points_per_pixel, dy * points_per_pixel))
        probe.set_annotation_clip(False)


def _free_place(
    x: float, y: float, width: float, height: float, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float, tuple[float, float, float, float]]:
    candidates = []
    for distance in (7, 16, 28, 42):
        for ux, uy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
            left = ux * distance + (0 if ux > 0 else -width if ux < 0 else -width / 2)
            low = uy * distance + (0 if uy > 0 else -height if uy < 0 else -height / 2)
            area = (x + left, y + low, x + left + width, y + low + height)
            overlap = sum(_overlap(area, other) for other in taken)
            if overlap == 0:
                return left, low, area
            candidates.append((overlap, left, low, area))
    _, left, low, area = min(candidates, key=lambda one: one[0])
    return left, low, area


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
