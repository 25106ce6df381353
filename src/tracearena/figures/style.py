"""One style for all pictures: their canvas, titles, maps, and labels that keep out of each other's way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.arena.claims import Finding, titled
from tracearena.files import replacing
from tracearena.pages.html import scale_length
from tracearena.traces.geodesy import metres_per_degree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tracearena.traces.box import Box

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
        from tracearena.figures.picture import Picture

        figure = Picture(figsize=(width, height))
        yield figure, figure.subplots(**layout)


def head(
    figure: Figure, title: str, findings: Iterable[Finding] = (), *, width: int = 110, top: float = 0.94
) -> None:
    """Write a neutral title above the axes, whose upper end is `top`, and below it what was found."""
    text = titled(title, findings, width=width)
    figure.suptitle(text, fontsize=10.5, x=0.06, y=top, ha="left", va="bottom", linespacing=1.35)


def save(figure: Figure, path: Path) -> Path:
    """Write a picture in the format of its suffix, the same bytes for the same data."""
    import matplotlib

    kind = path.suffix.lstrip(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context(_SETTINGS), replacing(path) as file:
        figure.savefig(file, format=kind, metadata=metadata)
    return path


def draw_ground(axes: Axes, area: Box) -> None:
    """Give a map in degrees the shape of the ground, its borders and a scale bar."""
    north, east = (float(metres) for metres in metres_per_degree((area.south + area.north) / 2))
    axes.set(xlim=(area.west, area.east), ylim=(area.south, area.north))
    axes.set_aspect(north / east)
    axes.grid(False)
    axes.ticklabel_format(useOffset=False)
    axes.locator_params(axis="x", nbins=4)
    scale_bar(axes, east / 1000)


def scale_bar(axes: Axes, km_per_unit: float) -> None:
    """Draw a bar of a round length in the south-west corner of a map that is drawn; north is up."""
    axes.autoscale(False)
    (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
    length_km, words = scale_length((east - west) * km_per_unit)
    x, y = west + 0.04 * (east - west), south + 0.04 * (north - south)
    for colour, width in (("white", 4.5), ("black", 2)):
        ends = [x, x + length_km / km_per_unit], [y, y]
        axes.plot(*ends, color=colour, linewidth=width, solid_capstyle="butt", zorder=4)
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
    axes.annotate(
        words, (x, y), xytext=(0, 5), textcoords="offset points", fontsize=7.5, bbox=ground, zorder=4
    )


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
