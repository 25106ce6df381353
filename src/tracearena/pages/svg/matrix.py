"""Everybody against everybody, drawn cell by cell, so that a ceremony can open them one at a time."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from tracearena.contest.board import NOT_ATTACKED, AttackKind, Board
from tracearena.language import counted, in_a_row, said
from tracearena.pages.attack_table import QUESTIONS, AttackTable, attack_table, table_message
from tracearena.pages.contest.team_styles import TeamStyle, team_styles
from tracearena.pages.style import VERMILION, YELLOW
from tracearena.pages.svg.amounts import DECIMALS, ink_on, viridis
from tracearena.pages.svg.canvas import Canvas, element
from tracearena.pages.svg.markers import marker
from tracearena.pages.svg.names import isolated, shortened
from tracearena.pages.svg.picture import Picture

_ROOM = 16
_NAMES, _LEFT, _TOP = 142.0, 222.0, 138.0
_CELL, _ROW = 46.0, 32.0
_FOOT = 62.0
_SIDE = 96.0
"""Room for the names of the last columns, which lean to the right."""
_BOX = {"width": _CELL - 2, "height": _ROW - 2}
_FRAME = element("rect", fill="none", stroke=VERMILION, stroke_width=3, **_BOX)
_FLAG = element("path", d=f"M{_CELL - 15.5:g} 1.5h12v12z", fill=YELLOW, class_="flag")


def matrix_picture(
    board: Board, kind: AttackKind, *, closed: bool = False, name: str = "", decimals: int = DECIMALS
) -> Picture:
    """Draw what every attacker left to every target: 0 is dark and found out, 1 is bright and untouched.

    The strongest attack on each target is framed; an attack that was not made is hatched and counts 1; a
    flag marks a score far below the others on its target. At the foot stands the sum of each team.

    Every cell is a group of class ``cell`` with ``data-row``, ``data-column``, ``data-score`` and
    ``data-order``: the order in which a ceremony may open cells, from the lowest row of the board to the
    highest and in each row from the weakest attack to the strongest, so that the minimum falls. The words
    beside the name of a target have the class ``least``: what counts.

    Parameters
    ----------
    closed
        Cells, minima and sums begin with the class ``closed`` and show nothing until it is taken away.
    name
        Beginning of the ids; by default the kind of the attacks.
    decimals
        With how many a score is written; cells have room for two.
    """
    table = attack_table(board, kind)
    question, what = QUESTIONS[kind]
    caption = _caption(board, table, said(what))
    width = _LEFT + _CELL * len(table.attackers) + _SIDE
    height = _TOP + _ROW * len(table.targets) + _FOOT
    title = said("Attacks: {question}", question=said(question))
    canvas = Canvas(width, height, name=name or f"matrix-{kind.value}", title=title, description=caption,
                    own_size=True)  # fmt: skip
    styles = team_styles(board.roster)
    _heads(canvas, table, styles)
    hatched = element("rect", fill=canvas.hatching(), **_BOX)
    attackers = [escape(isolated(name, _ROOM)) for name in table.attackers]
    targets = [escape(isolated(name, _ROOM)) for name in table.targets]
    # Translated once: a board of fifty teams has thousands of cells.
    pair, missing = (
        said("{attacker} on {target}", attacker="{attacker}", target="{target}"),
        said("no attack"),
    )
    for order, (row, column) in enumerate(_opening(table), 1):
        words = pair.format(attacker=attackers[column], target=targets[row])
        canvas.add(_cell(table, row, column, order, closed, hatched, words, missing, decimals))
    _minima(canvas, table, closed, decimals)
    _sums(canvas, table, closed)
    return Picture(canvas.markup(), caption, *_numbers(table), wide=True)


def _caption(board: Board, table: AttackTable, what: str) -> str:
    if not table.targets:
        return said("There is no valid data set to attack yet.")
    flagged = sum(table.is_far_below(row, column) for row, column in table.cells())
    told = [
        said(
            "Each number is the share of {what}; the strongest attack on a target is framed and counts, a "
            "hatched cell is no attack and counts 1.",
            what=what,
        ),
        table_message(board, table, isolated),
    ]
    if flagged:
        told.append(
            counted(
                "{count} attack is flagged: far below all others on the same target.",
                "{count} attacks are flagged: far below all others on the same target.",
                flagged,
            )
        )
    return in_a_row(told)


def _opening(table: AttackTable) -> list[tuple[int, int]]:
    """Return the cells in the order of a ceremony."""

    def key(cell: tuple[int, int]) -> tuple[int, float, int]:
        row, column = cell
        score = table.scores[row][column]
        return -row, -(NOT_ATTACKED if score is None else score), column

    return sorted(table.cells(), key=key)


def _heads(canvas: Canvas, table: AttackTable, styles: dict[str, TeamStyle]) -> None:
    """Write the names of targets and attackers, teams with their markers."""
    for row, (data_set, label) in enumerate(zip(table.rows, table.targets, strict=True)):
        y = _TOP + _ROW * (row + 0.5)
        canvas.name(_NAMES - 14, y + 5, label, room=_ROOM, text_anchor="end")
        canvas.add(_mark(_NAMES, y, styles.get(data_set.team)))
    for column, attacker in enumerate(table.attackers):
        x = _LEFT + _CELL * (column + 0.5)
        canvas.add(_mark(x, _TOP - 14, styles.get(attacker)))
        y, role = _TOP - 30, "ink" if attacker in styles else "soft"
        canvas.name(x + 4, y, attacker, room=_ROOM, transform=f"rotate(-50 {x + 4:.0f} {y:.0f})", class_=role)


def _mark(x: float, y: float, style: TeamStyle | None) -> str:
    return "" if style is None else marker(x, y, style.marker, style.colour)


def _cell(
    table: AttackTable,
    row: int,
    column: int,
    order: int,
    closed: bool,
    hatched: str,
    words: str,
    missing: str,
    decimals: int,
) -> str:
    """Return one cell; `hatched` and `missing` stand for no score, `words` name attacker and target."""
    score, least = table.scores[row][column], table.is_least(row, column)
    far = table.is_far_below(row, column)
    names = ("cell", "missing" * (score is None), "strongest" * least, "far" * far, "closed" * closed)
    told, value = (missing, "") if score is None else (f"{score:.{decimals}f}", f' data-score="{score:.6g}"')
    # Written out, not by `element`: a board of fifty teams has thousands of cells.
    return (
        f'<g class="{" ".join(filter(None, names))}" data-row="{row}" data-column="{column}" '
        f'data-order="{order}"{value} '
        f'transform="translate({_LEFT + _CELL * column + 1:g} {_TOP + _ROW * row + 1:g})">'
        f"<title>{words}: {told}</title>{hatched if score is None else _score(round(score, 2))}"
        f"{_FRAME if least else ''}{_FLAG if far else ''}</g>"
    )


@cache
def _score(score: float) -> str:
    """Return the tile and the number of a score of two decimals; a matrix has many equal ones."""
    number = element("text", f"{score:.2f}", x=_CELL / 2 - 1, y=20, text_anchor="middle",
                     class_=f"number {ink_on(score)}")  # fmt: skip
    return element("rect", fill=viridis(score), **_BOX) + number


def _minima(canvas: Canvas, table: AttackTable, closed: bool, decimals: int) -> None:
    """Write what the strongest attack left beside the name of each target."""
    x = _LEFT - 12
    canvas.words(x, _TOP - 9, said("minimum"), text_anchor="end", class_="soft")
    for row in range(len(table.targets)):
        told = f"{table.minima[row]:.{decimals}f}"
        canvas.words(
            x, _TOP + _ROW * (row + 0.5) + 5, told, data_row=row, text_anchor="end",
            class_=f"least strong number{' closed' if closed else ''}",
        )  # fmt: skip


def _sums(canvas: Canvas, table: AttackTable, closed: bool) -> None:
    """Write the sum of each team at the foot; the judge's own attacks have none."""
    y = _TOP + _ROW * len(table.targets) + 22
    canvas.words(_LEFT - 12, y, said("sum, lower is better"), text_anchor="end", class_="soft")
    for column, total in enumerate(table.sums):
        canvas.words(
            _LEFT + _CELL * (column + 0.5), y, "–" if total is None else f"{total:.2f}", text_anchor="middle",
            data_column=column, class_=f"sum strong number{' closed' if closed else ''}",
        )  # fmt: skip
    _key(canvas, y + 28)


def _key(canvas: Canvas, y: float) -> None:
    """Say what dark and bright mean."""
    canvas.words(_LEFT - 12, y, said("0 found out"), text_anchor="end", class_="soft")
    for step in range(20):
        canvas.draw("rect", x=_LEFT + 4 * step, y=y - 11, width=4.4, height=13, fill=viridis(step / 19))
    canvas.words(_LEFT + 90, y, said("1 untouched"), class_="soft")


def _numbers(table: AttackTable) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    header = (said("target"), *(shortened(one, 40) for one in table.attackers), said("minimum"))
    rows = tuple(
        (shortened(target, 40), *scores, table.minima[row])
        for row, (target, scores) in enumerate(zip(table.targets, table.scores, strict=True))
    )
    return header, (*rows, (said("sum"), *table.sums, None))
