"""Podium, awards with their margins, and the board."""

from __future__ import annotations

from html import escape
from typing import Any

from tracearena.contest.board import AttackKind, Award, BoardRow, Role
from tracearena.contest.report_data import Account
from tracearena.pages import Page
from tracearena.pages.contest.team_styles import UNKNOWN, TeamStyle, badge, dots, joined, plotted
from tracearena.pages.told import DEFENCES, tied

_STEPS = {1: "6.5rem", 2: "4.75rem", 3: "3.5rem"}
_MEANING = {
    "best-anonymization": "whereabouts that stayed hidden from the strongest attacker",
    "best-anonymization-reidentification": "people who stayed unknown to the strongest attacker",
    "best-reidentification": "privacy left to all targets together, by guessing who is who",
    "best-trace-inference": "privacy left to all targets together, by guessing who was where",
    "overall": "people not identified and whereabouts hidden, together",
}
_AXES = {
    "best-anonymization": "whereabouts hidden (s<sub>T,min</sub>)",
    "best-anonymization-reidentification": "people not identified (s<sub>R,min</sub>)",
}
_METHODS = {"best-reidentification": "identification", "best-trace-inference": "inference"}


def show_awards(page: Page, held: Account, styles: dict[str, TeamStyle]) -> None:
    """Show who won what, and by how much."""
    page.heading("Who won")
    defence = held.awards[0]
    page.html_part(_podium(defence, styles))
    page.html_part(
        '<ul class="awards">' + "".join(_card(award, held, styles) for award in held.awards) + "</ul>"
    )
    for award in held.awards:
        if award.name in DEFENCES and award.places:
            symbol = "s_T_min" if award is defence else "s_R_min"
            page.figure(
                _margins(award, held, styles),
                f"{award.title}: scores move by about ± {held.margin:.3f} from one group of "
                f"{held.rules.users:,} people to another; where the bars overlap, call it a tie. To the "
                "right is better.",
                table=(["place", "team", symbol], [[p.place, p.team, p.value] for p in award.places]),
                name=award.name,
            )
    page.html_part('<div class="pair">')
    for award in held.awards:
        if award.name not in _METHODS or not award.places:
            continue
        page.figure(
            _sums(award, styles),
            f"{award.title}: the shorter the bar, the less privacy the attacker left; 0 would mean that "
            "everything was found out.",
            table=(["place", "team", "sum"], [[p.place, p.team, p.value] for p in award.places]),
            name=award.name,
        )
    page.html_part("</div>")


def _podium(award: Award, styles: dict[str, TeamStyle]) -> str:
    by_place = {place: [p for p in award.places if p.place == place] for place in (1, 2, 3)}
    steps = []
    for place in (2, 1, 3):
        if not by_place[place]:
            continue
        names = "<br>".join(badge(p.team, styles[p.team]) for p in by_place[place])
        colour = styles[by_place[place][0].team].colour
        steps.append(
            f'<li><div class="name">{names}</div><small>{by_place[place][0].value:.3f}</small>'
            f'<div class="step" style="border-color:{colour};height:{_STEPS[place]}">{place}</div></li>'
        )
    return f'<p><b>{escape(award.title)}</b></p><ol class="podium">{"".join(steps)}</ol>'


def _card(award: Award, held: Account, styles: dict[str, TeamStyle]) -> str:
    winners = [badge(name, styles[name]) for name in award.winners]
    value = f"{award.places[0].value:.3f}" if award.places else "–"
    how = _methods(award, held)
    close = tied(award, held.margin) if award.name in DEFENCES else []
    tie = f"<br><small>Within the margin of luck: {escape(joined(close))}.</small>" if close else ""
    return (
        f"<li><small>{escape(award.title)}</small><b>{' '.join(winners) or 'nobody'}</b>"
        f"{f'{escape(how)}<br>' if how else ''}<small>{value} = {_MEANING[award.name]}</small>{tie}</li>"
    )


def _methods(award: Award, held: Account) -> str:
    known = (held.method(name, _METHODS.get(award.name, "defence")) for name in award.winners)
    return ", ".join(dict.fromkeys(method for method in known if method is not None))


def _margins(award: Award, held: Account, styles: dict[str, TeamStyle]) -> dict[str, Any]:
    error = {"type": "constant", "value": held.margin, "thickness": 2, "width": 7}
    data = [
        dots(p.team, styles[p.team], [p.value], [plotted(p.team)], showlegend=False)
        | {
            "error_x": error | {"color": styles[p.team].colour},
            "hovertemplate": f"%{{y}}: %{{x:.3f}} ± {held.margin:.3f}<extra></extra>",
        }
        for p in award.places
    ]
    top = max((p.value for p in award.places), default=0) + 3 * held.margin
    layout = {
        "height": 90 + 32 * len(award.places),
        "xaxis": {"title": {"text": _AXES[award.name]},
                  "range": [-2 * held.margin, max(top, 0.1)], "zeroline": False},
        "yaxis": {"categoryorder": "array", "categoryarray": [plotted(p.team) for p in award.places][::-1],
                  "type": "category"},
    }  # fmt: skip
    return {"data": data, "layout": layout}


def _sums(award: Award, styles: dict[str, TeamStyle]) -> dict[str, Any]:
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [p.value for p in award.places],
        "y": [plotted(p.team) for p in award.places],
        "marker": {"color": [styles[p.team].colour for p in award.places]},
        "text": [f"{p.value:.2f}" for p in award.places],
        "textposition": "auto",
        "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
    }
    layout = {
        "height": 90 + 30 * len(award.places),
        "xaxis": {"title": {"text": "privacy left, all targets together"}},
        "yaxis": {"categoryorder": "array", "categoryarray": [plotted(p.team) for p in award.places][::-1],
                  "type": "category"},
    }  # fmt: skip
    return {"data": [bars], "layout": layout}


def show_board(page: Page, held: Account, styles: dict[str, TeamStyle]) -> None:
    """Show every data set with its defence, utility and privacy."""
    page.heading("The board")
    page.text(
        "Each team wants its data to stay useful and its people to stay private. Both kinds of privacy are "
        "what the strongest attacker left: 1 is untouched, 0 is found out."
    )
    head = "".join(f"<th>{name}</th>" for name in _columns(held))
    rows = "".join(_board_row(row, held, styles) for row in held.board.rows)
    page.html_part(
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _columns(held: Account) -> list[str]:
    columns = ["", "team"]
    columns += ["how it defends"] if held.players else []
    columns += ["data set"] if held.rules.data_sets > 1 else []
    return [
        *columns,
        "usefulness <small>s_U</small>",
        "people not identified <small>s_R,min</small>",
        "whereabouts hidden <small>s_T,min</small>",
        "broken by",
    ]


def _board_row(row: BoardRow, held: Account, styles: dict[str, TeamStyle]) -> str:
    places = {p.team: p.place for p in held.awards[0].places}
    counts = row.role is Role.TEAM and row.data_set == held.rules.data_sets
    mark = places.get(row.team, "–") if counts else ""
    cells = [str(mark), badge(row.team, styles.get(row.team, UNKNOWN))]
    if held.players:
        cells.append(_defence(row, held))
    if held.rules.data_sets > 1:
        cells.append(str(row.data_set))
    cells.append("–" if row.utility is None else _bar(row.utility))
    if row.valid:
        cells += [_bar(row.s_R_min), _bar(row.s_T_min), escape(_breaker(row, held))]
    else:
        why = "nothing handed in" if row.utility is None else f"below {held.rules.utility_threshold:g}"
        cells += ["0", "0", f"<small>invalid: {why}</small>"]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _defence(row: BoardRow, held: Account) -> str:
    idea = held.method(row.team, "idea") or "changes nothing but the names"
    return f"{escape(idea)}<br><small>{escape(held.method(row.team, 'defence') or 'No')}</small>"


def _bar(value: float) -> str:
    return f'{value:.3f}<span class="bar"><i style="width:{100 * value:.1f}%"></i></span>'


def _breaker(row: BoardRow, held: Account) -> str:
    """Name who left the least of a team's whereabouts; the judge only if no team did as well."""
    scores = {
        attacker: score
        for (attacker, target, number, kind), score in held.board.attacks.items()
        if (target, number) == (row.team, row.data_set) and kind is AttackKind.TRACE_INFERENCE
    }
    best = [name for name, score in scores.items() if score <= row.s_T_min + 1e-9]
    teams = [name for name in best if held.board.roster.role(name) is Role.TEAM]
    return joined(teams or [f"the judge ({name})" for name in best[:1]]) or "nobody"


def show_refused(page: Page, held: Account) -> None:
    """Show which files do not count, and why."""
    if not held.refused:
        return
    page.heading("What does not count")
    page.text(
        "These files were handed in and were refused. An obfuscated file that is refused is as if it had "
        "not come; an attack that is refused was not made, and counts 1 for its attacker."
    )
    items = (
        f"<li><code>{escape(one.file)}</code><br>{escape(one.reason)} "
        f"<small>({escape(one.code)})</small></li>"
        for one in held.refused
    )
    page.html_part(f"<ul>{''.join(items)}</ul>")
