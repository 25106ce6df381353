"""One style for all pictures: their canvas, titles, maps, and labels that keep out of each other's way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import ClaimResult, format_title
from tracearena.arena.sweep import SweepRow
from tracearena.errors import ParameterError
from tracearena.files import replacing
from tracearena.pages.html import COLOURS, GREY, MARKERS, choose_scale_length
from tracearena.traces.geodesy import metres_per_degree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tracearena.traces import Grid
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
def open_canvas(width: float = 7.0, height: float = 5.0, **layout: Any) -> Iterator[tuple[Figure, Any]]:
    """Open a matplotlib figure (inches) in the house style, and close it again."""
    require_matplotlib()
    import matplotlib

    from tracearena.papers.standalone_figure import StandaloneFigure

    with matplotlib.rc_context(_SETTINGS):
        figure = StandaloneFigure(figsize=(width, height))
        yield figure, figure.subplots(**layout)


def write_title(
    figure: Figure,
    axes: Any,
    title: str,
    findings: Iterable[ClaimResult] = (),
    *,
    width: int | None = None,
    top: float = 0.94,
    pad: float | None = None,
) -> None:
    """Write a neutral title and below it what was found, in lines of `width` characters.

    It stands above the axes, by `pad` points, or above several axes, whose upper end is `top`.
    """
    if isinstance(axes, np.ndarray):
        text = format_title(title, findings, width=width or 110)
        figure.suptitle(text, fontsize=10.5, x=0.06, y=top, ha="left", va="bottom", linespacing=1.35)
    else:
        text = format_title(title, findings, width=width or 90)
        axes.set_title(text, fontsize=10, loc="left", pad=pad)


def save_figure(figure: Figure, path: Path) -> Path:
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
    draw_scale_bar(axes, east / 1000)


def draw_scale_bar(axes: Axes, km_per_unit: float) -> None:
    """Draw a bar of a round length in the south-west corner of a map that is drawn; north is up."""
    axes.autoscale(False)
    (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
    length_km, words = choose_scale_length((east - west) * km_per_unit)
    x, y = west + 0.04 * (east - west), south + 0.04 * (north - south)
    for colour, width in (("white", 4.5), ("black", 2)):
        ends = [x, x + length_km / km_per_unit], [y, y]
        axes.plot(*ends, color=colour, linewidth=width, solid_capstyle="butt", zorder=4)
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
    axes.annotate(
        words, (x, y), xytext=(0, 5), textcoords="offset points", fontsize=7.5, bbox=ground, zorder=4
    )


def draw_cells(axes: Axes, grid: Grid, values: NDArray[Any], **look: Any) -> Any:
    """Draw a value for each cell of a grid, and return the image."""
    table = values.reshape(grid.rows, grid.columns)
    extent = (grid.west, grid.east, grid.south, grid.north)
    return axes.imshow(table, origin="lower", extent=extent, **look)


def choose_look(number: int) -> dict[str, Any]:
    """Return the colour and the marker of one of several series."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)].matplotlib}


def number_families(names: Iterable[str]) -> dict[str, int]:
    """Number the families of algorithms (the name before the parenthesis), in order of appearance.

    >>> number_families(["No", "PL(1,1)", "PL(2,1)", "RR(1)"])
    {'No': 0, 'PL': 1, 'RR': 2}
    """
    return {
        family: number
        for number, family in enumerate(dict.fromkeys(name.partition("(")[0] for name in names))
    }


def label_points(
    axes: Axes, points: Sequence[tuple[float, float]], labels: Sequence[str], *, size: float = 7.5
) -> None:
    """Write a label next to each point, where it covers neither a point nor another label."""
    figure: Any = axes.get_figure()
    renderer = figure.canvas.get_renderer()
    points_per_pixel = 72 / figure.dpi
    pixels = axes.transData.transform(np.asarray(points))
    taken: list[tuple[float, float, float, float]] = [(x - 4, y - 4, x + 4, y + 4) for x, y in pixels]
    for (x, y), point, label in zip(pixels, points, labels, strict=True):
        probe = axes.annotate(label, point, xytext=(0, 0), textcoords="offset points", fontsize=size)
        box = probe.get_window_extent(renderer)
        dx, dy, area = _find_free_place(x, y, box.width, box.height, taken)
        taken.append(area)
        probe.set_position((dx * points_per_pixel, dy * points_per_pixel))
        probe.set_annotation_clip(False)


def _find_free_place(
    x: float, y: float, width: float, height: float, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float, tuple[float, float, float, float]]:
    candidates = []
    for distance in (7, 16, 28, 42):
        for ux, uy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
            left = ux * distance + (0 if ux > 0 else -width if ux < 0 else -width / 2)
            low = uy * distance + (0 if uy > 0 else -height if uy < 0 else -height / 2)
            area = (x + left, y + low, x + left + width, y + low + height)
            overlap = sum(
                (
                    max(0.0, min(area[2], other[2]) - max(area[0], other[0]))
                    * max(0.0, min(area[3], other[3]) - max(area[1], other[1]))
                )
                for other in taken
            )
            if overlap == 0:
                return left, low, area
            candidates.append((overlap, left, low, area))
    _, left, low, area = min(candidates, key=lambda one: one[0])
    return left, low, area


# Privacy against re-identification × privacy against trace inference, one point per defence.


class Scale(NamedTuple):
    """What an axis shows of a row: in words, in short, and the number; None if there is none."""

    title: str
    symbol: str
    of: Callable[[SweepRow], Any]


NAMES = Scale(
    "privacy against re-identification, s_R,min (1 = nobody identified)",
    "s_R,min",
    lambda row: row.scores.s_R_min,
)
WHEREABOUTS = Scale(
    "privacy against trace inference, s_T,min (1 = no place found)",
    "s_T,min",
    lambda row: row.scores.s_T_min,
)
_ESTIMATE = "knows the ID table"
USEFULNESS = Scale("usefulness, s_U (1 = nothing was changed)", "s_U", lambda row: row.utility)


def draw_privacy_scatter(rows: Sequence[SweepRow], path: Path, *, threshold: float = 0.7) -> Path:
    """Write the picture: SVG, PNG or PDF, or an HTML page to move about in.

    Hollow points are defences whose utility is below the threshold. Where the rows have bands, a line marks
    the ceiling, and a stroke joins each point to its estimate for an attacker who knows all true identities.
    """
    check_suffix(path)
    if path.suffix == ".html":
        figure = draw_interactive_scatter(rows, threshold=threshold)
        with replacing(path) as file:
            # A name of our own: Plotly's would be drawn at random, and no two pages alike.
            file.write(figure.to_html(include_plotlyjs=True, div_id="privacy").encode())
        return path
    return save_figure(draw_static_scatter(rows, threshold=threshold), path)


def draw_static_scatter(
    rows: Sequence[SweepRow], x: Scale = NAMES, y: Scale = WHEREABOUTS, *, threshold: float = 0.7
) -> Figure:
    """Return the picture as a figure of Matplotlib."""
    with open_canvas(8, 6) as (figure, axes):
        draw_scatter_points(axes, rows, x, y)
        axes.set_title(
            f"{len(_select_scored_rows(rows, x, y))} defences; hollow: utility below "
            f"{threshold:g}{_describe_missing(rows, x, y)}",
            fontsize=9,
            loc="left",
            pad=24,
        )
        return figure


def draw_bands(axes: Axes, rows: Sequence[SweepRow], x: Scale, y: Scale = WHEREABOUTS) -> None:
    """Draw between which values the rows must lie, where they know it: ceiling, and estimates below."""
    if y is not WHEREABOUTS:
        return
    banded = [(x.of(row), y.of(row), row.band) for row in rows if row.band is not None]
    if not banded:
        return
    ceiling = max(band.ceiling for _, _, band in banded)
    axes.axhline(ceiling, color=GREY, linewidth=1.2, linestyle="--", zorder=1)
    axes.annotate(
        _format_ceiling(ceiling), (1, ceiling), xycoords=("axes fraction", "data"), xytext=(-4, 3),
        textcoords="offset points", ha="right", fontsize=7.5, color="#555555",
    )  # fmt: skip
    for across, height, band in banded:
        axes.plot([across, across], [height, band.estimate], color=GREY, linewidth=0.9, zorder=2)
    axes.scatter(
        [across for across, _, _ in banded], [band.estimate for _, _, band in banded],
        marker="_", color=GREY, s=36, linewidths=1.2, zorder=2, label=_ESTIMATE,
    )  # fmt: skip
    bottom, top = axes.get_ylim()
    axes.axhspan(ceiling, top, color=GREY, alpha=0.12, linewidth=0, zorder=0)
    axes.set_ylim(bottom, top)


def _format_ceiling(value: float) -> str:
    return f"habits alone leave {value:.3f}: no defence is worth more"


def _draw_strokes(rows: Sequence[SweepRow]) -> dict[str, Any]:
    """Return strokes from each point to its estimate, for Plotly."""
    gaps = [0.0 if row.band is None else (row.scores.s_T_min or 0.0) - row.band.estimate for row in rows]
    if not any(gaps):
        return {}
    return {
        "error_y": {
            "type": "data", "symmetric": False, "color": GREY, "thickness": 1, "width": 3,
            "array": [max(-gap, 0.0) for gap in gaps], "arrayminus": [max(gap, 0.0) for gap in gaps],
        }
    }  # fmt: skip


def draw_interactive_scatter(
    rows: Sequence[SweepRow], x: Scale = NAMES, y: Scale = WHEREABOUTS, *, threshold: float = 0.7
) -> Any:
    """Return the picture as a figure of Plotly."""
    import plotly.graph_objects as go

    figure = go.Figure()
    left_out, rows = _describe_missing(rows, x, y), _select_scored_rows(rows, x, y)
    if not rows:
        figure.add_annotation(
            text=_describe_nothing(x), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False
        )
    for family, k in number_families(row.defence for row in rows).items():
        own = [row for row in rows if row.defence.partition("(")[0] == family]
        symbol = MARKERS[k % len(MARKERS)].plotly
        figure.add_scatter(
            **(_draw_strokes(own) if y is WHEREABOUTS else {}),
            x=[x.of(row) for row in own],
            y=[y.of(row) for row in own],
            name=family,
            mode="markers",
            text=[f"{row.defence}<br>utility {row.utility:.3f}" for row in own],
            hovertemplate=f"%{{text}}<br>{x.symbol} %{{x:.4f}}<br>{y.symbol} %{{y:.4f}}<extra></extra>",
            marker={
                "size": 10,
                "color": COLOURS[k % len(COLOURS)],
                "symbol": [symbol if row.valid else f"{symbol}-open" for row in own],
            },
        )
    ceilings = [row.band.ceiling for row in rows if row.band is not None and y is WHEREABOUTS]
    if ceilings:
        text = f"{_format_ceiling(max(ceilings))}; strokes: to the estimate, {_ESTIMATE}"
        figure.add_hline(y=max(ceilings), line_dash="dash", line_color=GREY, annotation_text=text)
    figure.update_layout(
        title=f"Privacy of {len(rows)} defences (hollow: utility below {threshold:g}{left_out})",
        xaxis_title=x.title,
        yaxis_title=y.title,
        template="plotly_white",
    )
    return figure


def require_matplotlib() -> None:
    """Refuse to draw without Matplotlib, before any work."""
    if find_spec("matplotlib") is None:
        raise ParameterError("pictures are drawn by Matplotlib: pip install 'tracearena[plots]'")


def check_suffix(path: Path) -> None:
    """Refuse a file name from which no format follows, and a picture if there is nothing to draw it."""
    if path.suffix in (".svg", ".png", ".pdf"):
        require_matplotlib()
    if path.suffix not in (".svg", ".png", ".pdf", ".html"):
        raise ParameterError(f"{path}: the name of a picture must end in .svg, .png, .pdf or .html")


def draw_scatter_points(
    axes: Axes, rows: Sequence[SweepRow], x: Scale = NAMES, y: Scale = WHEREABOUTS
) -> None:
    """Draw the points, their labels and the legend of families; nothing for what has no score."""
    rows = _select_scored_rows(rows, x, y)
    axes.set(xlabel=x.title, ylabel=y.title)
    if not rows:
        axes.text(
            0.5, 0.5, _describe_nothing(x), transform=axes.transAxes, ha="center", va="center", wrap=True
        )
        return
    number = number_families(row.defence for row in rows)
    for family, k in number.items():
        own = [row for row in rows if row.defence.partition("(")[0] == family]
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)].matplotlib
        axes.scatter(
            [x.of(row) for row in own],
            [y.of(row) for row in own],
            marker=marker,
            edgecolors=colour,
            facecolors=[colour if row.valid else "none" for row in own],
            label=family,
            zorder=3,
        )
    axes.margins(0.08)
    draw_bands(axes, rows, x, y)
    axes.legend(
        frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=8, fontsize=8, borderaxespad=0.2
    )
    points: Any = [(x.of(row), y.of(row)) for row in rows]
    label_points(axes, points, [row.defence for row in rows], size=6.5)


def _select_scored_rows(rows: Sequence[SweepRow], x: Scale, y: Scale) -> list[SweepRow]:
    """Return the rows that have both scores: no attack of a kind is no score of 1."""
    return [row for row in rows if x.of(row) is not None and y.of(row) is not None]


def _describe_nothing(x: Scale) -> str:
    both = "by both kinds of attack (-R and -T)" if x is NAMES else "by any attack"
    return f"no defence was attacked {both}"


def _describe_missing(rows: Sequence[SweepRow], x: Scale, y: Scale) -> str:
    missing = len(rows) - len(_select_scored_rows(rows, x, y))
    return f"; {missing} without both scores are left out" if missing else ""
