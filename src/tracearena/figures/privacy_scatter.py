"""Privacy against re-identification × privacy against trace inference, one point a defence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracearena.arena.claims import Finding, titled
from tracearena.arena.sweep import SweepRow
from tracearena.errors import ParameterError
from tracearena.figures.style import canvas, families, label_points, save
from tracearena.files import replacing
from tracearena.pages.html import COLOURS, GREY, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Scale(NamedTuple):
    """What an axis shows of a row: in words, in short, and the number; None where there is none."""

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
_ESTIMATE = "told who is who"
USEFULNESS = Scale("usefulness, s_U (1 = nothing was changed)", "s_U", lambda row: row.utility)


def draw(rows: Sequence[SweepRow], path: Path, *, threshold: float = 0.7) -> Path:
    """Write the picture: SVG, PNG or PDF, or an HTML page to move about in.

    Hollow points are defences whose utility is below the threshold. Where the rows have bands, a line marks
    the ceiling, and a stroke joins each point to its estimate for an attacker who is told who is who.
    """
    check_suffix(path)
    if path.suffix == ".html":
        figure = interactive(rows, threshold=threshold)
        with replacing(path) as file:
            # A name of our own: Plotly's would be drawn at random, and no two pages alike.
            file.write(figure.to_html(include_plotlyjs=True, div_id="privacy").encode())
        return path
    return save(static(rows, threshold=threshold), path)


def static(
    rows: Sequence[SweepRow], x: Scale = NAMES, y: Scale = WHEREABOUTS, *, threshold: float = 0.7
) -> Figure:
    """Return the picture as a figure of Matplotlib."""
    with canvas(8, 6) as (figure, axes):
        scatter(axes, rows, x, y)
        axes.set_title(
            f"{len(_shown(rows, x, y))} defences; hollow: utility below {threshold:g}{_left_out(rows, x, y)}",
            fontsize=9,
            loc="left",
            pad=24,
        )
        drawn: Figure = figure
        return drawn


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
        _ceiling(ceiling), (1, ceiling), xycoords=("axes fraction", "data"), xytext=(-4, 3),
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


def _ceiling(value: float) -> str:
    return f"habits alone leave {value:.3f}: no defence is worth more"


def _strokes(rows: Sequence[SweepRow]) -> dict[str, Any]:
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


def interactive(
    rows: Sequence[SweepRow], x: Scale = NAMES, y: Scale = WHEREABOUTS, *, threshold: float = 0.7
) -> Any:
    """Return the picture as a figure of Plotly."""
    import plotly.graph_objects as go

    figure = go.Figure()
    left_out, rows = _left_out(rows, x, y), _shown(rows, x, y)
    if not rows:
        figure.add_annotation(text=_nothing(x), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    for family, k in families(row.defence for row in rows).items():
        own = [row for row in rows if row.defence.partition("(")[0] == family]
        symbol = MARKERS[k % len(MARKERS)].plotly
        figure.add_scatter(
            **(_strokes(own) if y is WHEREABOUTS else {}),
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
        text = f"{_ceiling(max(ceilings))}; strokes: to the estimate, {_ESTIMATE}"
        figure.add_hline(y=max(ceilings), line_dash="dash", line_color=GREY, annotation_text=text)
    figure.update_layout(
        title=f"Privacy of {len(rows)} defences (hollow: utility below {threshold:g}{left_out})",
        xaxis_title=x.title,
        yaxis_title=y.title,
        template="plotly_white",
    )
    return figure


def draw_found(rows: Sequence[SweepRow], path: Path, title: str, found: Sequence[Finding]) -> Path:
    """Write the picture of a paper's figure: its title, and below it what was found."""
    with canvas(8, 6) as (figure, axes):
        scatter(axes, rows)
        axes.set_title(titled(title, found), fontsize=10, loc="left", pad=24)
        return save(figure, path)


def check_suffix(path: Path) -> None:
    """Refuse a file name from which no format follows."""
    if path.suffix not in (".svg", ".png", ".pdf", ".html"):
        raise ParameterError(f"{path}: a picture ends in .svg, .png, .pdf or .html")


def scatter(axes: Axes, rows: Sequence[SweepRow], x: Scale = NAMES, y: Scale = WHEREABOUTS) -> None:
    """Draw the points, their labels and the legend of families; nothing for what has no score."""
    rows = _shown(rows, x, y)
    axes.set(xlabel=x.title, ylabel=y.title)
    if not rows:
        axes.text(0.5, 0.5, _nothing(x), transform=axes.transAxes, ha="center", va="center", wrap=True)
        return
    number = families(row.defence for row in rows)
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


def _shown(rows: Sequence[SweepRow], x: Scale, y: Scale) -> list[SweepRow]:
    """Return the rows that have both scores: no attack of a kind is no score of 1."""
    return [row for row in rows if x.of(row) is not None and y.of(row) is not None]


def _nothing(x: Scale) -> str:
    both = "by both kinds of attack (-R and -T)" if x is NAMES else "by any attack"
    return f"no defence was attacked {both}"


def _left_out(rows: Sequence[SweepRow], x: Scale, y: Scale) -> str:
    missing = len(rows) - len(_shown(rows, x, y))
    return f"; {missing} without both scores are left out" if missing else ""
