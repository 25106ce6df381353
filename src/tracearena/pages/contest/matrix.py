"""Everybody against everybody: a table of colours, rows attacked and columns attacking."""

from __future__ import annotations

from typing import Any

from tracearena.contest.board import AttackKind
from tracearena.contest.report_data import Account
from tracearena.pages import Page
from tracearena.pages.attack_table import QUESTIONS, attack_table, table_message
from tracearena.pages.contest.team_styles import plotted
from tracearena.pages.style import VERMILION


def show_matrices(page: Page, held: Account) -> None:
    """Show the score of every attack of both kinds."""
    page.heading("Everybody against everybody")
    page.text(
        "A row is a team under attack, a column an attacker; dark cells are successful attacks. The "
        "strongest attack on each team is framed, and counts. A hatched cell is an attack that was not "
        "made: it counts 1. Below each team stands the sum that ranks it as an attacker, lower is better."
    )
    for kind, (question, what) in QUESTIONS.items():
        page.heading(question, level=3)
        _show_matrix(page, held, kind, what)


def _show_matrix(page: Page, held: Account, kind: AttackKind, what: str) -> None:
    found = attack_table(held.board, kind)
    attackers, table, foot = list(found.attackers), [list(row) for row in found.scores], list(found.sums)
    page.figure(
        _matrix(
            [plotted(name) for name in found.targets],
            [attackers.index(row.team) if row.team in attackers else -1 for row in found.rows],
            [plotted(name) for name in attackers],
            table,
            foot,
            what,
        ),
        table_message(held.board, found),
        table=(["target", *attackers], [[name, *row] for name, row in zip(found.targets, table, strict=True)]
               + [["sum", *foot]]),
        name=kind.value,
        least_width_px=150 + 46 * len(attackers),
    )  # fmt: skip


def _matrix(
    targets: list[str],
    own: list[int],
    attackers: list[str],
    table: list[list[Any]],
    foot: list[Any],
    what: str,
) -> dict[str, Any]:
    wide = len(attackers) > 14
    heat = {
        "type": "heatmap", "z": table, "zmin": 0, "zmax": 1, "colorscale": "Viridis", "xgap": 2, "ygap": 2,
        "texttemplate": "%{z:.2f}", "textfont": {"size": 10 if wide else 12},
        "hovertemplate": "%{customdata}<extra></extra>",
        "customdata": [
            [f"{attacker} on {target}: {'no attack' if s is None else f'{s:.3f}'}"
             for attacker, s in zip(attackers, row, strict=True)]
            for target, row in zip(targets, table, strict=True)
        ],
        "colorbar": {"title": {"text": what, "side": "top"}, "orientation": "h", "thickness": 10,
                     "len": 0.6, "y": -0.02, "yanchor": "top"},
    }  # fmt: skip
    count = len(targets)
    layout = {
        "height": 240 + 34 * count,
        "xaxis": {"side": "top", "tickvals": list(range(len(attackers))), "ticktext": attackers,
                  "tickangle": -50, "showgrid": False, "zeroline": False},
        "yaxis": {"range": [count + 0.5, -0.5], "tickvals": list(range(count + 1)),
                  "ticktext": [*targets, "<b>sum</b>"], "showgrid": False, "zeroline": False},
        "shapes": [shape for y, row in enumerate(table) for shape in _marks(y, row, own[y])],
        "annotations": [
            {"x": x, "y": count, "text": "–" if total is None else f"<b>{total:.2f}</b>", "showarrow": False,
             "font": {"size": 10 if wide else 12}}
            for x, total in enumerate(foot)
        ],
    }  # fmt: skip
    return {"data": [heat], "layout": layout}


def _least(row: list[Any]) -> float:
    return min((score for score in row if score is not None), default=1.0)


def _marks(y: int, row: list[Any], own: int) -> list[dict[str, Any]]:
    """Frame the strongest attacks of a row and hatch those that were not made."""
    shapes = []
    for x, score in enumerate(row):
        if score is None and x != own:
            shapes.append(_hatch(x, y))
        elif score is not None and score <= _least(row) + 1e-9:
            shapes.append({"type": "rect", "x0": x - 0.46, "x1": x + 0.46, "y0": y - 0.45, "y1": y + 0.45,
                           "line": {"color": VERMILION, "width": 3}})  # fmt: skip
    return shapes


def _hatch(x: int, y: int) -> dict[str, Any]:
    left, right, top, bottom = x - 0.45, x + 0.45, y - 0.42, y + 0.42
    path = (
        f"M{left},{y} L{x},{top} M{left},{bottom} L{right},{top} M{x},{bottom} L{right},{y} "
        f"M{left},{top} L{right},{top} L{right},{bottom} L{left},{bottom} Z"
    )
    return {"type": "path", "path": path, "line": {"color": "var(--soft)", "width": 1}}
