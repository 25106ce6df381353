"""The podium of an award."""

from __future__ import annotations

from tracearena.contest.board import Award, Standing
from tracearena.language import said
from tracearena.pages.contest.team_styles import TeamStyle, enumerated, joined
from tracearena.pages.svg.canvas import WIDTH, Canvas
from tracearena.pages.svg.markers import marker
from tracearena.pages.svg.names import isolated, neutral, shortened
from tracearena.pages.svg.picture import Picture

_STEPS = {2: (0, 100.0), 1: (1, 124.0), 3: (2, 78.0)}
"""Place → where it stands from left to right, and how high; even the lowest has room for its score."""
_GAP, _LINE, _MOST = 6.0, 25.0, 4
_WIDE = (WIDTH - 2 * _GAP - 4) / 3
_ROOM = 18
"""Letters that a name may have: 9 units each where the words of a narrow page are largest."""


def podium_picture(award: Award, styles: dict[str, TeamStyle], *, name: str = "") -> Picture:
    """Draw the first three places of an award; equal teams stand on one step.

    Each step is a group of class ``step`` with ``data-place``, so that a ceremony can show the third before
    the first.
    """
    steps = {place: [one for one in award.places if one.place == place] for place in _STEPS}
    most = max((min(len(teams), _MOST + 1) for teams in steps.values()), default=1)
    bottom = 24 + _LINE * max(most, 1) + max(height for _, height in _STEPS.values())
    caption = _caption(award, steps)
    title = said("Podium: {award}", award=award.title)
    canvas = Canvas(WIDTH, bottom + 4, name=name or f"podium-{award.name}", title=title,
                    description=caption)  # fmt: skip
    for place, teams in steps.items():
        if teams:
            with canvas.group(class_="step", data_place=place):
                _step(canvas, place, teams, bottom, styles)
    canvas.draw("line", x1=8, y1=bottom, x2=WIDTH - 8, y2=bottom, class_="line")
    rows = tuple((one.place, neutral(one.team), one.value) for teams in steps.values() for one in teams)
    return Picture(
        canvas.markup(), caption, (said("place"), said("team"), said("score")), tuple(sorted(rows))
    )


def _step(
    canvas: Canvas, place: int, teams: list[Standing], bottom: float, styles: dict[str, TeamStyle]
) -> None:
    column, height = _STEPS[place]
    left = (WIDTH - 3 * _WIDE - 2 * _GAP) / 2 + column * (_WIDE + _GAP)
    top, middle = bottom - height, left + _WIDE / 2
    colour = styles[teams[0].team].colour
    canvas.draw("rect", x=left, y=top, width=_WIDE, height=height, class_="panel")
    canvas.draw("rect", x=left, y=top, width=_WIDE, height=8, fill=colour)
    canvas.words(middle, top + 40, str(place), text_anchor="middle", class_="huge strong")
    canvas.words(middle, top + 66, f"{teams[0].value:.3f}", text_anchor="middle", class_="soft number")
    lines = teams if len(teams) <= _MOST else teams[: _MOST - 1]
    if len(teams) > len(lines):
        rest = teams[len(lines) :]
        more = said("and {number} more", number=len(rest))
        canvas.words(middle, top - 12, more, text_anchor="middle", class_="soft",
                     whole=said(", ").join(shortened(one.team, 40) for one in rest))  # fmt: skip
    for line, one in enumerate(reversed(lines), len(teams) > len(lines)):
        y, style = top - 12 - _LINE * line, styles[one.team]
        canvas.add(marker(left + 10, y - 5, style.marker, style.colour))
        canvas.name(left + 22, y, one.team, room=_ROOM, class_="strong")


def _caption(award: Award, steps: dict[int, list[Standing]]) -> str:
    if not award.places:
        return said("{award}: nobody earned it.", award=award.title)
    told = [
        said(
            "{place}. {teams} ({score})",
            place=place,
            teams=joined([isolated(one.team) for one in steps[place]]),
            score=f"{steps[place][0].value:.3f}",
        )
        for place in sorted(steps)
        if steps[place]
    ]
    return said("{award}: {places}.", award=award.title, places=enumerated(told))
