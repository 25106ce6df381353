"""Awards with the luck that is in them, so that ties look like ties."""

from __future__ import annotations

from tracearena.contest.board import Award, Standing
from tracearena.language import marked, said
from tracearena.pages.contest.team_styles import TeamStyle, joined
from tracearena.pages.style import GREY
from tracearena.pages.svg.axes import ROOM_FOR_MARKERS, SCORE_TICKS, Area, Ticks, axis_below
from tracearena.pages.svg.canvas import WIDTH, Canvas
from tracearena.pages.svg.markers import marker
from tracearena.pages.svg.names import isolated, shortened
from tracearena.pages.svg.picture import Picture
from tracearena.pages.told import DEFENCES, tied

_LEFT, _TOP, _LANE, _FOOT = 186.0, 10.0, 34.0, 56.0
_NUMBER = 66.0
_SCORES = {
    "best-anonymization": (marked("whereabouts hidden"), "s_T,min"),
    "best-anonymization-reidentification": (marked("people not identified"), "s_R,min"),
}
_SUMS = {
    "best-reidentification": marked("privacy left to all targets"),
    "best-trace-inference": marked("privacy left to all targets"),
    "overall": marked("total of both kinds of privacy"),
}


def margins_picture(award: Award, margin: float, styles: dict[str, TeamStyle], *, name: str = "") -> Picture:
    """Draw the teams that compete for an award, best first.

    A defence's score is a marker on an axis from 0 to 1, with the band of ± `margin` in which it would lie
    with other people; grey is where luck alone may have kept a team from winning. Sums of attackers, who
    all had the same targets, are bars.
    """
    scored = award.name in _SCORES
    caption = _caption(award, margin)
    area = _area(award, scored)
    canvas = Canvas(WIDTH, area.bottom + _FOOT, name=name or f"award-{award.name}", title=award.title,
                    description=caption)  # fmt: skip
    if scored and award.places:
        _tie_band(canvas, area, award.places[0].value, margin)
    if scored:
        words, symbol = _SCORES[award.name]
        axis_below(canvas, area, SCORE_TICKS, said(words), symbol, said("right is better"))
    else:
        good = said("right is better") if award.name == "overall" else said("left is better")
        axis_below(canvas, area, _ticks(area.across[1]), said(_SUMS[award.name]), "", good)
    for lane, place in enumerate(award.places):
        y = area.top + _LANE * (lane + 0.5)
        _names(canvas, place, y)
        _score(canvas, area, place, y, styles[place.team], margin if scored else None)
    rows = tuple((place.place, shortened(place.team, 40), place.value) for place in award.places)
    header = (said("place"), said("team"), said("score") if scored else said("sum"))
    return Picture(canvas.markup(), caption, header, rows)


def _area(award: Award, scored: bool) -> Area:
    width, height = WIDTH - _LEFT - _NUMBER, _LANE * max(len(award.places), 1)
    largest = max((place.value for place in award.places), default=1.0)
    return Area(_LEFT, _TOP, width, height, ROOM_FOR_MARKERS if scored else (0.0, max(largest, 1e-9)))


def _ticks(top: float) -> Ticks:
    """Return about four round numbers from 0 up to a sum."""
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if top / step <= 5 or step == 100)
    return [(step * i, f"{step * i:g}") for i in range(int(top / step + 1e-9) + 1)]


def _tie_band(canvas: Canvas, area: Area, best: float, margin: float) -> None:
    left = area.x(max(best - 2 * margin, area.across[0]))
    canvas.draw("rect", x=left, y=area.top, width=area.x(best) - left, height=area.height, fill=GREY,
                fill_opacity=0.25, class_="tie-band")  # fmt: skip


def _names(canvas: Canvas, place: Standing, y: float) -> None:
    canvas.words(22, y + 5, f"{place.place}", text_anchor="end", class_="strong number")
    canvas.name(30, y + 5, place.team, room=15)
    canvas.draw("line", x1=_LEFT, y1=y, x2=WIDTH - _NUMBER, y2=y, class_="grid")


def _score(
    canvas: Canvas, area: Area, place: Standing, y: float, style: TeamStyle, margin: float | None
) -> None:
    x, words = area.x(place.value), f"{isolated(place.team)}: {place.value:.3f}"
    if margin is None:
        canvas.draw("rect", x=area.left, y=y - 9, width=x - area.left, height=18, fill=style.colour,
                    class_="mark")  # fmt: skip
    else:
        left, right = (area.x(place.value + sign * margin) for sign in (-1, 1))
        canvas.draw("rect", x=left, y=y - 12, width=right - left, height=24, fill=style.colour,
                    fill_opacity=0.6, class_="margin")  # fmt: skip
        canvas.add(marker(x, y, style.marker, style.colour, title=f"{words} ± {margin:.3f}"))
    canvas.words(WIDTH - 4, y + 5, f"{place.value:.3f}", text_anchor="end", class_="number")


def _caption(award: Award, margin: float) -> str:
    if not award.places:
        return said("{award}: nobody earned it.", award=award.title)
    told = said(
        "{award}: {teams} with {score}.",
        award=award.title,
        teams=joined([isolated(name) for name in award.winners]),
        score=f"{award.places[0].value:.3f}",
    )
    if award.name not in DEFENCES:
        return told
    close, luck = [isolated(name) for name in tied(award, margin)], f"{margin:.3f}"
    if not close:
        return said(
            "{told} Bands: ± {margin}, the luck of the people drawn; nobody else comes so near that it could "
            "be a tie.",
            told=told,
            margin=luck,
        )
    return said(
        "{told} Bands: ± {margin}, the luck of the people drawn; within it, and so as good as tied: {teams}.",
        told=told,
        margin=luck,
        teams=joined(close),
    )
