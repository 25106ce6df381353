"""What further attacks leave of the teams' defences, and between which values it must lie."""

from __future__ import annotations

from typing import Any

from tracearena.arena.sweep import SweepRow
from tracearena.contest.report_data import Account
from tracearena.contest.simulation import FEW
from tracearena.pages import Page
from tracearena.pages.contest.team_styles import joined, score_axis
from tracearena.pages.style import BLUE, GREY, VERMILION

_HEADER = [
    "defence", "utility", "s_T_min_contest", "strongest_T_contest", "s_T_min", "strongest_T",
    "s_T_estimate", "s_T_ceiling", "s_R_min_contest", "s_R_min", "strongest_R",
]  # fmt: skip


def show_afterwards(page: Page, held: Account) -> None:
    """Show what the contest's attacks leave beside what further ones leave; nothing if none were made."""
    rows, old = held.afterwards, _of_the_contest(held)
    if not rows:
        return
    further = [name for name in _made(rows[0]) if name not in old]
    page.heading("After the awards")
    page.text(
        "The teams met the attacks that they had chosen and those of 2019. A spy need not stop there. So the "
        f"judge took {min(FEW, held.rules.users)} people of a sample team, defended them in the way of every "
        f"team, and attacked again, also with {joined(further) or 'nothing else'}. The grey bar says between "
        "which values any figure must lie: at its right end is what habits alone leave, the published data "
        "not even read; at its left end is an estimate of what is left when somebody betrays who is who."
    )
    names = [row.defence for row in rows]
    bands = [
        {"type": "scatter", "mode": "lines", "x": [*row.band], "y": [row.defence] * 2, "showlegend": False,
         "line": {"color": GREY, "width": 9}, "opacity": 0.45, "hovertemplate":
         f"{row.defence}: from {row.band.estimate:.3f} (estimate) to {row.band.ceiling:.3f}<extra></extra>"}
        for row in rows if row.band is not None
    ]  # fmt: skip
    points = [
        {"type": "scatter", "mode": "markers", "name": name, "y": names, "x": values,
         "marker": {"symbol": symbol, "color": colour, "size": 13, "line": {"width": 2, "color": colour}},
         "hovertemplate": f"%{{y}}, {name}: %{{x:.3f}}<extra></extra>"}
        for name, symbol, colour, values in (
            ("attacks of the contest", "circle-open", BLUE,
             [_least(row.scores.trace_inference, old) for row in rows]),
            ("all attacks", "circle", VERMILION, [row.scores.s_T_min for row in rows]),
        )
    ]  # fmt: skip
    layout = {
        "height": 160 + 42 * len(rows),
        "xaxis": score_axis("whereabouts hidden (s<sub>T,min</sub>), right is better"),
        "yaxis": {"categoryorder": "array", "categoryarray": names[::-1], "type": "category"},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }
    page.figure(
        {"data": [*bands, *points], "layout": layout},
        _found(rows, old),
        table=(_HEADER, [_numbers(row, old) for row in rows]),
        name="afterwards",
    )


def _of_the_contest(held: Account) -> list[str]:
    """Return the attacks of the contest: those of the sample defences' rows."""
    return _made(held.samples[0]) if held.samples else []


def _made(row: SweepRow) -> list[str]:
    return [*row.scores.reidentification, *row.scores.trace_inference]


def _least(scores: dict[str, float], names: list[str]) -> float | None:
    return min((scores[name] for name in names if name in scores), default=None)


def _found(rows: tuple[SweepRow, ...], old: list[str]) -> str:
    """Say what the picture shows, in numbers."""
    known = [(row, _least(row.scores.trace_inference, old)) for row in rows]
    lost = [
        (before - row.scores.s_T_min, row.defence)
        for row, before in known
        if before is not None and row.scores.s_T_min is not None
    ]
    if not lost:
        return "No attack of the contest asked where people were."
    most, defence = max(lost)
    told = f"The further attacks take most from {defence}: {most:.3f}." if most > 0 else ""
    over = [row.defence for row, before in known if row.band and before and before > row.band.ceiling]
    if over:
        told += (
            f" Against the attacks of the contest {joined(over)} would seem to hide more than habits alone "
            "leave, which no release can: such a figure says that the attacks were weak."
        )
    return told.strip() or "The further attacks find out no more than those of the contest."


def _numbers(row: SweepRow, old: list[str]) -> list[Any]:
    scores, band = row.scores, row.band or (None, None)
    before = {name: score for name, score in scores.trace_inference.items() if name in old}
    return [
        *(row.defence, row.utility, _least(before, old), min(before, key=before.__getitem__, default=None)),
        *(scores.s_T_min, scores.strongest[1], *band),
        *(_least(scores.reidentification, old), scores.s_R_min, scores.strongest[0]),
    ]
