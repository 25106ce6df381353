"""Privacy against privacy, and usefulness against privacy: one marker a team."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tracearena.arena.sweep import SweepRow
from tracearena.contest.board import Board, BoardRow, Role
from tracearena.contest.report_data import compared, margin
from tracearena.language import counted, said
from tracearena.pages.contest.team_styles import SAMPLE, TeamStyle, badge, team_styles
from tracearena.pages.style import GREEN, GREY
from tracearena.pages.svg.amounts import DECIMALS
from tracearena.pages.svg.axes import ROOM_FOR_MARKERS, SCORE_TICKS, Area, axis_below, axis_left
from tracearena.pages.svg.canvas import WIDTH, Canvas, element, hint
from tracearena.pages.svg.markers import marker
from tracearena.pages.svg.names import isolated, shortened
from tracearena.pages.svg.picture import Picture, legend
from tracearena.pages.told import challenge_rows, costs_told, privacies_told

_AREA = Area(66, 12, WIDTH - 84, 400, ROOM_FOR_MARKERS, ROOM_FOR_MARKERS)
_HEIGHT = 464
_CAP = 4.0


class _Grey(NamedTuple):
    """A sample defence."""

    name: str
    utility: float | None
    valid: bool
    s_R_min: float | None
    s_T_min: float | None


def privacy_picture(
    board: Board, samples: Sequence[SweepRow] = (), *, name: str = "privacy", decimals: int = DECIMALS
) -> Picture:
    """Draw s_R,min × s_T,min of the valid data sets ([contest] Figure 9).

    One marker a team with bars for the luck of the people drawn, a cross for the pseudonymised team, grey
    dots for sample defences: those of the board, and `samples`.
    """
    rows, greys = compared(board), _greys(board, samples)
    luck = margin(board.rules.users)
    caption = _privacy_caption(board, samples, len(rows), luck)
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title=said("Two kinds of privacy"), description=caption)
    axis_below(canvas, _AREA, SCORE_TICKS, said("people not identified"), "s_R,min", said("right is better"))
    axis_left(canvas, _AREA, SCORE_TICKS, said("whereabouts hidden"), "s_T,min", said("up is better"))
    _draw_greys(canvas, ((one.name, one.s_R_min, one.s_T_min) for one in greys))
    styles = team_styles(board.roster)
    for row in rows:
        style = styles[row.team]
        canvas.add(_bars(row.s_R_min, row.s_T_min, luck, style, across=True))
        canvas.add(_dot(row, row.s_R_min, f"{row.s_R_min:.{decimals}f}", decimals, style))
    shown = [row for row in challenge_rows(board) if row.valid]
    return Picture(canvas.markup(), caption, _header(), _table(shown, greys), _legend(shown, greys, styles))


def usefulness_picture(
    board: Board, samples: Sequence[SweepRow] = (), *, name: str = "usefulness", decimals: int = DECIMALS
) -> Picture:
    """Draw usefulness × privacy; the area in which data sets are valid is shaded, invalid ones are hollow."""
    rows = [row for row in challenge_rows(board) if row.utility is not None]
    greys, caption = _greys(board, samples), costs_told(board, samples)
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title=said("What privacy costs"), description=caption)
    _shade(canvas, board.rules.utility_threshold)
    axis_below(canvas, _AREA, SCORE_TICKS, said("usefulness"), "s_U", said("right is better"))
    axis_left(canvas, _AREA, SCORE_TICKS, said("whereabouts hidden"), "s_T,min", said("up is better"))
    _label(canvas, board.rules.utility_threshold)
    _draw_greys(canvas, ((one.name, one.utility, one.s_T_min) for one in greys))
    styles, luck = team_styles(board.roster), margin(board.rules.users)
    for row in rows:
        assert row.utility is not None
        style = styles[row.team]
        if row.valid:
            canvas.add(_bars(row.utility, row.s_T_min, luck, style, across=False))
        canvas.add(_dot(row, row.utility, f"{row.utility:.3f}", decimals, style))
    return Picture(canvas.markup(), caption, _header(), _table(rows, greys), _legend(rows, greys, styles))


def _privacy_caption(board: Board, samples: Sequence[SweepRow], valid: int, luck: float) -> str:
    if not valid:
        return said("No valid data set yet.")
    told = privacies_told(board, samples) or counted(
        "{count} valid data set: too few to say what goes together.",
        "{count} valid data sets: too few to say what goes together.",
        valid,
    )
    return said("{told} Bars: ± {margin}, the luck of the people drawn.", told=told, margin=f"{luck:.3f}")


def _header() -> tuple[str, ...]:
    return (
        said("team"),
        said("usefulness s_U"),
        said("valid"),
        said("people not identified s_R,min"),
        said("whereabouts hidden s_T,min"),
    )


def _greys(board: Board, samples: Sequence[SweepRow]) -> list[_Grey]:
    on_board = (row for row in board.rows if row.role is Role.SAMPLE)
    own = [_Grey(row.team, row.utility, row.valid, row.s_R_min, row.s_T_min) for row in on_board]
    tried = (
        _Grey(row.defence, row.utility, row.valid, row.scores.s_R_min, row.scores.s_T_min) for row in samples
    )
    return [*own, *tried]


def _draw_greys(canvas: Canvas, points: Iterable[tuple[str, float | None, float | None]]) -> None:
    for name, x, y in points:
        if x is not None and y is not None:
            words = hint(f"{isolated(name)}: {x:.3f}, {y:.3f}")
            canvas.draw("circle", words, cx=_AREA.x(x), cy=_AREA.y(y), r=4.5, fill=GREY, class_="sample")


def _dot(row: BoardRow, x: float, told: str, decimals: int, style: TeamStyle) -> str:
    """Draw a team's marker; `told` is the value across as words, which may have more decimals than s_T."""
    words = f"{isolated(row.team)}: {told}, {row.s_T_min:.{decimals}f}"
    at = _AREA.x(x), _AREA.y(row.s_T_min)
    return marker(*at, style.marker, style.colour, hollow=not row.valid, title=words)


def _bars(x: float, y: float, luck: float, style: TeamStyle, *, across: bool) -> str:
    """Draw a bar of twice the luck with its caps, from bottom to top and, where asked, from left to right."""
    left, right, middle = _AREA.x(x - luck), _AREA.x(x + luck), _AREA.x(x)
    low, high, level = _AREA.y(y - luck), _AREA.y(y + luck), _AREA.y(y)
    path = _capped(middle, low, middle, high) + (_capped(left, level, right, level) if across else "")
    colour = {"class_": "line"} if style.colour.startswith("var") else {"stroke": style.colour}
    return element("path", d=path, fill="none", stroke_width=1.6, **colour)


def _capped(x1: float, y1: float, x2: float, y2: float) -> str:
    a, b = (_CAP, 0) if x1 == x2 else (0, _CAP)
    ends = "".join(f"M{x - a:.1f} {y - b:.1f}L{x + a:.1f} {y + b:.1f}" for x, y in ((x1, y1), (x2, y2)))
    return f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}{ends}"


def _shade(canvas: Canvas, threshold: float) -> None:
    x = _AREA.x(threshold)
    canvas.draw("rect", x=x, y=_AREA.top, width=_AREA.right - x, height=_AREA.height, fill=GREEN,
                fill_opacity=0.14, class_="valid-area")  # fmt: skip


def _label(canvas: Canvas, threshold: float) -> None:
    x = _AREA.x(threshold)
    canvas.draw("line", x1=x, y1=_AREA.top, x2=x, y2=_AREA.bottom, stroke=GREEN, stroke_width=2,
                stroke_dasharray="4 4")  # fmt: skip
    left = threshold > 0.6
    words = said("valid from {threshold} on", threshold=f"{threshold:g}")
    canvas.words(x - 8 if left else x + 8, _AREA.top + 22, words, text_anchor="end" if left else "start",
                 class_="strong halo")  # fmt: skip


def _table(rows: Sequence[BoardRow], greys: Sequence[_Grey]) -> tuple[tuple[Any, ...], ...]:
    own = [(row.team, row.utility, row.valid, row.s_R_min, row.s_T_min) for row in rows]
    lines, told = [*own, *greys], {True: said("yes"), False: said("no")}
    return tuple((shortened(name, 40), u, told[bool(valid)], r, t) for name, u, valid, r, t in lines)


def _legend(rows: Sequence[BoardRow], greys: Sequence[_Grey], styles: dict[str, TeamStyle]) -> str:
    badges = [badge(row.team, styles[row.team]) for row in rows]
    return legend([*badges, *([badge(said("sample defences"), SAMPLE)] if greys else [])])
