"""Privacy against privacy, usefulness against privacy, and what cheating gains."""

from __future__ import annotations

from typing import Any

from tracearena.arena.claims import shuffling_hides_names_only
from tracearena.arena.sweep import SweepRow
from tracearena.contest.report_data import Account, compared
from tracearena.pages import Page
from tracearena.pages.contest.team_styles import SAMPLE, TeamStyle, badge, dots, plotted, score_axis
from tracearena.pages.style import BLUE, GREEN, GREY, VERMILION
from tracearena.pages.told import challenge_rows, costs_told, privacies_told

_WHO = "people not identified (s<sub>R,min</sub>)<br>right is better"
_WHERE = "whereabouts hidden (s<sub>T,min</sub>)<br>up is better"
_LEGEND_BELOW = {"orientation": "h", "y": -0.25, "yanchor": "top"}


def show_privacy(page: Page, held: Account, styles: dict[str, TeamStyle]) -> None:
    """Show both kinds of privacy against each other (Figure 9 of the contest's paper)."""
    page.heading("Two kinds of privacy")
    page.text(
        "An attacker can ask who somebody is, or where everybody was. A good defence is high and to the "
        "right: it answers neither."
    )
    rows = compared(held.board)
    page.html_part(_legend(held, styles))
    data = _samples(held, lambda row: row.scores.s_R_min)
    data += [
        dots(row.team, styles[row.team], [row.s_R_min], [row.s_T_min])
        | {"error_x": _error(held, styles[row.team]), "error_y": _error(held, styles[row.team]),
           "hovertemplate": f"{plotted(row.team)}: %{{x:.3f}}, %{{y:.3f}}<extra></extra>"}
        for row in rows
    ]  # fmt: skip
    layout = {
        "height": 500,
        "xaxis": score_axis(_WHO),
        "yaxis": score_axis(_WHERE),
        "showlegend": False,
    }
    page.figure(
        {"data": data, "layout": layout},
        f"{privacies_told(held.board, held.samples)} In the contest of 2019 R was 0.895 over 18 data sets. "
        f"Bars: ± {held.margin:.3f}, the luck of the people drawn.".strip(),
        table=_table(held),
        name="privacy",
    )


def show_usefulness(page: Page, held: Account, styles: dict[str, TeamStyle]) -> None:
    """Show what privacy costs."""
    page.heading("What privacy costs")
    page.html_part(_legend(held, styles))
    threshold = held.rules.utility_threshold
    data = _samples(held, lambda row: row.utility)
    shown = [row for row in challenge_rows(held.board) if row.utility is not None]
    for row in shown:
        point = dots(row.team, styles[row.team], [row.utility], [row.s_T_min], hollow=not row.valid)
        point["hovertemplate"] = f"{plotted(row.team)}: useful %{{x:.3f}}, hidden %{{y:.3f}}<extra></extra>"
        data.append(point | ({"error_y": _error(held, styles[row.team])} if row.valid else {}))
    area = {"type": "rect", "x0": threshold, "x1": 1.04, "y0": -0.04, "y1": 1.04, "layer": "below",
            "fillcolor": "rgba(0,158,115,0.12)", "line": {"width": 0}}  # fmt: skip
    line = {"type": "line", "x0": threshold, "x1": threshold, "y0": -0.04, "y1": 1.04,
            "line": {"color": GREEN, "width": 2, "dash": "dot"}}  # fmt: skip
    label = {"x": 1.02, "y": 1.0, "text": f"valid from {threshold:g} on", "showarrow": False,
             "xanchor": "right", "yanchor": "top", "font": {"color": GREEN}}  # fmt: skip
    layout = {
        "height": 500,
        "xaxis": score_axis("usefulness (s<sub>U</sub>)<br>right is better"),
        "yaxis": score_axis(_WHERE),
        "shapes": [area, line],
        "annotations": [label],
        "showlegend": False,
    }
    page.figure(
        {"data": data, "layout": layout},
        costs_told(held.board, held.samples),
        table=_table(held),
        name="usefulness",
    )


def show_cheating(page: Page, held: Account) -> None:
    """Show the counter-example: privacy by name only."""
    if not held.cheating:
        return
    page.heading("The cheating team")
    page.text(
        "Take whole traces and hand them out to other people. Whoever looks for a name should find the wrong "
        "one. But an attacker who asks where you were need not care under which name it was released: every "
        "trace is there, unchanged. The lines show how far that goes here."
    )
    shares = [float(row.defence.partition("(")[2].rstrip(")")) for row in held.cheating]
    lines = [
        (
            "people not identified (s_R,min)",
            [row.scores.s_R_min for row in held.cheating],
            BLUE,
            "solid",
        ),
        ("whereabouts hidden (s_T,min)", [row.scores.s_T_min for row in held.cheating], VERMILION, "solid"),
        ("usefulness (s_U)", [row.utility for row in held.cheating], GREY, "dot"),
    ]
    data = [
        {"type": "scatter", "mode": "lines+markers", "name": name, "x": shares, "y": values,
         "line": {"color": colour, "width": 3, "dash": dash}, "marker": {"size": 9},
         "hovertemplate": f"%{{x:.0%}} swapped: %{{y:.3f}}<extra>{name}</extra>"}
        for name, values, colour, dash in lines
    ]  # fmt: skip
    layout = {
        "height": 420,
        "xaxis": score_axis("people whose traces are swapped", tickformat=".0%"),
        "yaxis": score_axis("score"),
        "legend": _LEGEND_BELOW,
    }
    page.figure(
        {"data": data, "layout": layout},
        f"In this contest it {shuffling_hides_names_only([*_undefended(held), *held.cheating])}. The contest "
        "scores both, and awards the defence by whereabouts.",
        table=(
            ["swapped", "s_R_min", "s_T_min", "utility"],
            [[s, r.scores.s_R_min, r.scores.s_T_min, r.utility]
             for s, r in zip(shares, held.cheating, strict=True)],
        ),
        name="cheating",
    )  # fmt: skip


def _undefended(held: Account) -> list[SweepRow]:
    return [row for row in held.samples if row.defence == "No"]


def _legend(held: Account, styles: dict[str, TeamStyle]) -> str:
    """Return markup that names every marker; unlike a figure's own legend it fits any width."""
    teams = [badge(name, one) for name, one in styles.items()]
    samples = [badge("sample defences", SAMPLE)] if held.samples else []
    return f'<p class="legend">{" ".join([*teams, *samples])}</p>'


def _samples(held: Account, x: Any) -> list[dict[str, Any]]:
    if not held.samples:
        return []
    grey = {
        "type": "scatter",
        "mode": "markers",
        "name": "sample defences",
        "x": [x(row) for row in held.samples],
        "y": [row.scores.s_T_min for row in held.samples],
        "text": [row.defence for row in held.samples],
        "hovertemplate": "%{text}: %{x:.3f}, %{y:.3f}<extra></extra>",
        "marker": {"color": GREY, "size": 8, "opacity": 0.8},
    }
    return [grey]


def _error(held: Account, style: TeamStyle) -> dict[str, Any]:
    return {"type": "constant", "value": held.margin, "color": style.colour, "thickness": 1.5, "width": 4}


def _table(held: Account) -> tuple[list[str], list[list[Any]]]:
    rows: list[list[Any]] = [
        [held.label(row.team, row.data_set), held.method(row.team, "defence"), row.utility,
         str(row.valid).lower(), row.s_R_min, row.s_T_min]
        for row in held.board.rows
    ]  # fmt: skip
    rows += [
        ["sample", row.defence, row.utility, str(row.valid).lower(), row.scores.s_R_min, row.scores.s_T_min]
        for row in held.samples
    ]
    return ["team", "defence", "utility", "valid", "s_R_min", "s_T_min"], rows
