"""Privacy against re-identification × privacy against trace inference, one point a defence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.arena.findings import Finding, titled
from tracearena.arena.sweep import SweepRow
from tracearena.errors import ParameterError
from tracearena.figures.style import canvas, families, label_points, save
from tracearena.files import replacing
from tracearena.pages.style import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

X_TITLE = "privacy against re-identification, s_R,min (1 = nobody identified)"
Y_TITLE = "privacy against trace inference, s_T,min (1 = no place found)"
_NOTHING = "no defence was attacked by both kinds of attack (-R and -T)"


def draw(rows: Sequence[SweepRow], path: Path, *, threshold: float = 0.7) -> Path:
    """Write the picture: SVG, PNG or PDF, or an HTML page to move about in.

    Hollow points are defences whose utility is below the threshold.
    """
    check_suffix(path)
    if path.suffix == ".html":
        return _draw_html(rows, path, threshold)
    with canvas(8, 6) as (figure, axes):
        scatter(axes, rows)
        axes.set_title(
            f"{len(_shown(rows))} defences; hollow: utility below {threshold:g}{_left_out(rows)}",
            fontsize=9,
            loc="left",
            pad=24,
        )
        return save(figure, path)


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


def scatter(axes: Axes, rows: Sequence[SweepRow]) -> None:
    """Draw the points, their labels and the legend of families; nothing for what has no score."""
    rows = _shown(rows)
    axes.set(xlabel=X_TITLE, ylabel=Y_TITLE)
    if not rows:
        axes.text(0.5, 0.5, _NOTHING, transform=axes.transAxes, ha="center", va="center", wrap=True)
        return
    number = families(row.defence for row in rows)
    for family, k in number.items():
        own = [row for row in rows if row.defence.partition("(")[0] == family]
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)].matplotlib
        axes.scatter(
            [row.scores.minima[0] for row in own],
            [row.scores.minima[1] for row in own],
            marker=marker,
            edgecolors=colour,
            facecolors=[colour if row.valid else "none" for row in own],
            label=family,
            zorder=3,
        )
    axes.margins(0.08)
    axes.legend(
        frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=8, fontsize=8, borderaxespad=0.2
    )
    points = [row.scores.minima for row in rows]
    label_points(axes, points, [row.defence for row in rows], size=6.5)


def _shown(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """Return the rows that have both scores: no attack of a kind is no score of 1."""
    return [row for row in rows if row.scores.s_R_min is not None and row.scores.s_T_min is not None]


def _left_out(rows: Sequence[SweepRow]) -> str:
    missing = len(rows) - len(_shown(rows))
    return f"; {missing} without both scores are left out" if missing else ""


def _draw_html(rows: Sequence[SweepRow], path: Path, threshold: float) -> Path:
    import plotly.graph_objects as go

    figure = go.Figure()
    left_out, rows = _left_out(rows), _shown(rows)
    if not rows:
        figure.add_annotation(text=_NOTHING, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    for family, k in families(row.defence for row in rows).items():
        own = [row for row in rows if row.defence.partition("(")[0] == family]
        symbol = MARKERS[k % len(MARKERS)].plotly
        figure.add_scatter(
            x=[row.scores.s_R_min for row in own],
            y=[row.scores.s_T_min for row in own],
            name=family,
            mode="markers",
            text=[f"{row.defence}<br>utility {row.utility:.3f}" for row in own],
            hovertemplate="%{text}<br>s_R,min %{x:.4f}<br>s_T,min %{y:.4f}<extra></extra>",
            marker={
                "size": 10,
                "color": COLOURS[k % len(COLOURS)],
                "symbol": [symbol if row.valid else f"{symbol}-open" for row in own],
            },
        )
    figure.update_layout(
        title=f"Privacy of {len(rows)} defences (hollow: utility below {threshold:g}{left_out})",
        xaxis_title=X_TITLE,
        yaxis_title=Y_TITLE,
        template="plotly_white",
    )
    with replacing(path) as file:
        # A name of our own: Plotly's would be drawn at random, and no two pages alike.
        file.write(figure.to_html(include_plotlyjs=True, div_id="privacy").encode())
    return path
