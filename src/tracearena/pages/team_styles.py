"""The style of a team: one colour and one marker for each, through the whole page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tracearena.contest.board import Roster
from tracearena.i18n import translate
from tracearena.pages.html import COLOURS, GREY, MARKERS
from tracearena.pages.svg.canvas import draw_marker, replace_invisible, shorten_name

_BADGE = 28


@dataclass(frozen=True)
class TeamStyle:
    """Colour, and Plotly's name of the marker."""

    colour: str
    marker: str


UNKNOWN = TeamStyle("var(--soft)", "circle")
"""How a sample defence on the board looks."""

SAMPLE = TeamStyle(GREY, "circle")
"""How sample defences look in a picture."""


def assign_team_styles(roster: Roster) -> dict[str, TeamStyle]:
    """Return the style of every team, and a cross for the pseudonymised one.

    Seven colours and eight markers have no common factor, so 56 teams differ.
    """
    colours = COLOURS[:-1]
    given = {}
    for number, team in enumerate(roster.teams):
        shape = MARKERS[number % len(MARKERS)].plotly
        given[team] = TeamStyle(colours[number % len(colours)], shape)
    extra = roster.pseudonymised
    return given if extra is None else given | {extra: TeamStyle("var(--ink)", "x")}


def escape_plotly(name: str) -> str:
    """Return a name as Plotly shows it and takes no part of it for markup.

    >>> escape_plotly("R&D <b>")
    'R&amp;D &lt;b&gt;'
    """
    return escape(name, quote=False)


def format_badge(name: str, style: TeamStyle) -> str:
    """Return markup: the marker in its colour, and the name, in a form that cannot harm what is around it."""
    drawn = draw_marker(0, 0, style.marker, style.colour)
    shape = (
        f'<svg class="badge" viewBox="-9 -9 18 18" width="15" height="15" aria-hidden="true">{drawn}</svg>'
    )
    words, whole = shorten_name(name, _BADGE), replace_invisible(name)
    hint = f' title="{escape(whole)}"' if words != whole else ""
    return f'<span class="team"{hint}>{shape} <bdi>{escape(words)}</bdi></span>'


def draw_dots(
    name: str, style: TeamStyle, x: Sequence[Any], y: Sequence[Any], *, hollow: bool = False, **more: Any
) -> dict[str, Any]:
    """Return a Plotly trace of one team's points."""
    marker = {
        "symbol": style.marker + ("-open" if hollow else ""),
        "color": style.colour,
        "size": 13,
        "line": {"width": 2 if hollow else 1, "color": style.colour if hollow else "var(--ink)"},
    }
    points = {"type": "scatter", "mode": "markers", "name": escape_plotly(name), "x": x, "y": y}
    return points | {"marker": marker} | more


def build_score_axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis from 0 to 1 that leaves room for the markers at its ends."""
    return {"title": {"text": title}, "range": [-0.04, 1.04], "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1],
            "zeroline": False} | more  # fmt: skip


def join_names(names: Sequence[str]) -> str:
    """Return names as people list them.

    >>> join_names(["a", "b", "c"])
    'a, b and c'
    """
    if len(names) < 2:
        return "".join(names)
    return translate("{names} and {last}", names=list_names(names[:-1]), last=names[-1])


def list_names(names: Sequence[str]) -> str:
    """Return names one after the other.

    >>> list_names(["a", "b", "c"])
    'a, b, c'
    """
    return translate(", ").join(names)
