"""Everybody against everybody, drawn cell by cell, so that a ceremony can open them one at a time."""

from __future__ import annotations

from typing import Any

from tracearena.contest.board import NOT_ATTACKED, Board
from tracearena.contest.records import AttackKind
from tracearena.pages.attack_table import QUESTIONS, AttackTable, attack_table, table_message
from tracearena.pages.contest.team_styles import TeamStyle, team_styles
from tracearena.pages.style import VERMILION, YELLOW
from tracearena.pages.svg.amounts import ink_on, viridis
from tracearena.pages.svg.canvas import Canvas, element, hint
from tracearena.pages.svg.markers import marker
from tracearena.pages.svg.names import isolated, shortened
from tracearena.pages.svg.picture import Picture

_ROOM = 16
_NAMES, _LEFT, _TOP = 142.0, 222.0, 138.0
_CELL, _ROW = 46.0, 32.0
_FOOT = 62.0
_SIDE = 96.0
"""Room for the names of the last columns, which lean to the right."""


def matrix_picture(board: Board, kind: AttackKind, *, closed: bool = False, name: str = "") -> Picture:
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
    """
    table = attack_table(board, kind)
    question, what = QUESTIONS[kind]
    caption = _caption(board, table, what)
    width = _LEFT + _CELL * len(table.attackers) + _SIDE
    height = _TOP + _ROW * len(table.targets) + _FOOT
    canvas = Canvas(width, height, name=name or f"matrix-{kind.value}", title=f"Attacks: {question}",
                    description=caption, own_size=True)  # fmt: skip
    styles = team_styles(board.roster)
    _heads(canvas, table, styles)
    hatching = canvas.hatching()
    order = {cell: number for number, cell in enumerate(_opening(table), 1)}
    for row, column in table.cells():
        canvas.add(_cell(table, row, column, order[row, column], closed, hatching))
    _minima(canvas, table, closed)
    _sums(canvas, table, closed)
    return Picture(canvas.markup(), caption, *_numbers(table), wide=True)


def _caption(board: Board, table: AttackTable, what: str) -> str:
    if not table.targets:
        return "There is no valid data set to attack yet."
    flagged = sum(table.is_far_below(row, column) for row, column in table.cells())
    told = (
        f"Each number is the share of {what}; the strongest attack on a target is framed and counts, a "
        f"hatched cell is no attack and counts 1. {table_message(board, table, isolated)}"
    )
    if flagged:
        told += (
            f" {flagged} attack{' is' if flagged == 1 else 's are'} flagged: far below all others on the "
            "same target."
        )
    return told


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


def _cell(table: AttackTable, row: int, column: int, order: int, closed: bool, hatching: str) -> str:
    score, least = table.scores[row][column], table.is_least(row, column)
    x, y = _LEFT + _CELL * column + 1, _TOP + _ROW * row + 1
    box: dict[str, Any] = {"x": x, "y": y, "width": _CELL - 2, "height": _ROW - 2}
    who, whom = shortened(table.attackers[column]), shortened(table.targets[row])
    if score is None:
        parts = hint(f"{who} did not attack {whom}") + element("rect", fill=hatching, **box)
    else:
        parts = hint(f"{who} on {whom}: {score:.3f}") + element("rect", fill=viridis(score), **box)
        parts += element("text", f"{score:.2f}", x=x + _CELL / 2 - 1, y=y + 20, text_anchor="middle",
                         class_=f"number {ink_on(score)}")  # fmt: skip
    far = table.is_far_below(row, column)
    if least:
        parts += element("rect", fill="none", stroke=VERMILION, stroke_width=3, **box)
    if far:
        corner = x + _CELL - 3.5
        parts += element("path", d=f"M{corner - 12:.1f} {y + 1.5:.1f}h12v12z", fill=YELLOW, class_="flag")
    names = ["cell", "missing" * (score is None), "strongest" * least, "far" * far, "closed" * closed]
    return element(
        "g", parts, class_=" ".join(name for name in names if name), data_row=row, data_column=column,
        data_order=order, data_score=None if score is None else f"{score:.6g}",
    )  # fmt: skip


def _minima(canvas: Canvas, table: AttackTable, closed: bool) -> None:
    """Write what the strongest attack left beside the name of each target."""
    x = _LEFT - 12
    canvas.words(x, _TOP - 9, "minimum", text_anchor="end", class_="soft")
    for row in range(len(table.targets)):
        canvas.words(
            x, _TOP + _ROW * (row + 0.5) + 5, f"{table.minima[row]:.3f}", data_row=row, text_anchor="end",
            class_=f"least strong number{' closed' if closed else ''}",
        )  # fmt: skip


def _sums(canvas: Canvas, table: AttackTable, closed: bool) -> None:
    """Write the sum of each team at the foot; the judge's own attacks have none."""
    y = _TOP + _ROW * len(table.targets) + 22
    canvas.words(_LEFT - 12, y, "sum, lower is better", text_anchor="end", class_="soft")
    for column, total in enumerate(table.sums):
        canvas.words(
            _LEFT + _CELL * (column + 0.5), y, "–" if total is None else f"{total:.2f}", text_anchor="middle",
            data_column=column, class_=f"sum strong number{' closed' if closed else ''}",
        )  # fmt: skip
    _key(canvas, y + 28)


def _key(canvas: Canvas, y: float) -> None:
    """Say what dark and bright mean."""
    canvas.words(_LEFT - 12, y, "0 found out", text_anchor="end", class_="soft")
    for step in range(20):
        canvas.draw("rect", x=_LEFT + 4 * step, y=y - 11, width=4.4, height=13, fill=viridis(step / 19))
    canvas.words(_LEFT + 90, y, "1 untouched", class_="soft")


def _numbers(table: AttackTable) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    header = ("target", *(shortened(one, 40) for one in table.attackers), "minimum")
    rows = tuple(
        (shortened(target, 40), *scores, table.minima[row])
        for row, (target, scores) in enumerate(zip(table.targets, table.scores, strict=True))
    )
    return header, (*rows, ("sum", *table.sums, None))
