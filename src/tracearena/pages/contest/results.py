"""Podium, awards with their margins, and the board."""

from __future__ import annotations

from html import escape
from typing import Any

from tracearena.contest.awards import Award
from tracearena.contest.board import BoardRow
from tracearena.contest.records import AttackKind, Role
from tracearena.contest.rehearsal import Rehearsal, defence_of
from tracearena.pages import Page
from tracearena.pages.contest.team_styles import TeamStyle, badge, dots, joined

_STEPS = {1: "6.5rem", 2: "4.75rem", 3: "3.5rem"}
_MEANING = {
    "best-anonymization": "whereabouts that stayed hidden from the strongest attacker",
    "best-anonymization-reidentification": "people who stayed unknown to the strongest attacker",
    "best-reidentification": "privacy left to all targets together, by guessing who is who",
    "best-trace-inference": "privacy left to all targets together, by guessing who was where",
}


def tied(award: Award, margin: float) -> list[str]:
    """Return the teams behind the winner that luck alone may have kept from winning.

    Two scores that are each uncertain by the margin differ only beyond its double.
    """
    if not award.places:
        return []
    best = award.places[0].value
    return [p.team for p in award.places if p.place > 1 and abs(p.value - best) <= 2 * margin]


def show_awards(page: Page, held: Rehearsal, styles: dict[str, TeamStyle]) -> None:
    """Show who won what, and by how much."""
    page.heading("Who won")
    defence, *attacks = held.awards
    page.html_part(_podium(defence, styles))
    page.html_part(
        '<ul class="awards">' + "".join(_card(award, held, styles) for award in held.awards) + "</ul>"
    )
    page.figure(
        _margins(defence, held, styles),
        f"Scores move by about ± {held.margin:.3f} from one group of {held.rules.users:,} people to another: "
        "where the bars overlap, call it a tie. To the right is better.",
        table=(["place", "team", "s_T_min"], [[p.place, p.team, p.value] for p in defence.places]),
        name="best-anonymization",
    )
    page.html_part('<div class="pair">')
    for award in attacks:
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


def _card(award: Award, held: Rehearsal, styles: dict[str, TeamStyle]) -> str:
    winners = [badge(name, styles[name]) for name in award.winners]
    value = f"{award.places[0].value:.3f}" if award.places else "–"
    how = _methods(award, held)
    close = tied(award, held.margin) if award.name.startswith("best-anonymization") else []
    tie = f"<br><small>Within the margin of luck: {escape(joined(close))}.</small>" if close else ""
    return (
        f"<li><small>{escape(award.title)}</small><b>{' '.join(winners) or 'nobody'}</b>"
        f"{escape(how)}<br><small>{value} = {_MEANING[award.name]}</small>{tie}</li>"
    )


def _methods(award: Award, held: Rehearsal) -> str:
    attribute = {"best-reidentification": "identification", "best-trace-inference": "inference"}.get(
        award.name, "defence"
    )
    players = (held.entrant(name).player for name in award.winners)
    return ", ".join(dict.fromkeys(str(getattr(player, attribute)) for player in players))


def _margins(award: Award, held: Rehearsal, styles: dict[str, TeamStyle]) -> dict[str, Any]:
    error = {"type": "constant", "value": held.margin, "thickness": 2, "width": 7}
    data = [
        dots(p.team, styles[p.team], [p.value], [p.team], showlegend=False)
        | {
            "error_x": error | {"color": styles[p.team].colour},
            "hovertemplate": f"%{{y}}: %{{x:.3f}} ± {held.margin:.3f}<extra></extra>",
        }
        for p in award.places
    ]
    top = max((p.value for p in award.places), default=0) + 3 * held.margin
    layout = {
        "height": 90 + 32 * len(award.places),
        "xaxis": {"title": {"text": "whereabouts hidden (s<sub>T,min</sub>)"},
                  "range": [-2 * held.margin, max(top, 0.1)], "zeroline": False},
        "yaxis": {"categoryorder": "array", "categoryarray": [p.team for p in award.places][::-1],
                  "type": "category"},
    }  # fmt: skip
    return {"data": data, "layout": layout}


def _sums(award: Award, styles: dict[str, TeamStyle]) -> dict[str, Any]:
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [p.value for p in award.places],
        "y": [p.team for p in award.places],
        "marker": {"color": [styles[p.team].colour for p in award.places]},
        "text": [f"{p.value:.2f}" for p in award.places],
        "textposition": "auto",
        "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
    }
    layout = {
        "height": 90 + 30 * len(award.places),
        "xaxis": {"title": {"text": "privacy left, all targets together"}},
        "yaxis": {"categoryorder": "array", "categoryarray": [p.team for p in award.places][::-1],
                  "type": "category"},
    }  # fmt: skip
    return {"data": [bars], "layout": layout}


def show_board(page: Page, held: Rehearsal, styles: dict[str, TeamStyle]) -> None:
    """Show every data set with its defence, utility and privacy."""
    page.heading("The board")
    page.text(
        "Each team wants its data to stay useful and its people to stay private. Both kinds of privacy are "
        "what the strongest attacker left: 1 is untouched, 0 is found out."
    )
    head = (
        "<th></th><th>team</th><th>how it defends</th><th>usefulness <small>s_U</small></th>"
        "<th>people not identified <small>s_R,min</small></th>"
        "<th>whereabouts hidden <small>s_T,min</small></th><th>broken by</th>"
    )
    rows = "".join(_board_row(row, held, styles) for row in held.board.rows)
    page.html_part(
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _board_row(row: BoardRow, held: Rehearsal, styles: dict[str, TeamStyle]) -> str:
    entrant = held.entrant(row.team)
    places = {p.team: p.place for p in held.awards[0].places}
    idea = entrant.player.idea if entrant.player else "changes nothing but the names"
    scores = (
        f"<td>{_bar(row.s_R_min)}</td><td>{_bar(row.s_T_min)}</td><td>{escape(_breaker(row, held))}</td>"
        if row.valid
        else f"<td>0</td><td>0</td><td><small>invalid: below {held.rules.utility_threshold:g}</small></td>"
    )
    mark = "" if row.role is not Role.TEAM else places.get(row.team, "–")
    return (
        f"<tr><td>{mark}</td><td>{badge(row.team, styles[row.team])}</td>"
        f"<td>{escape(idea)}<br><small>{escape(defence_of(entrant))}</small></td>"
        f"<td>{_bar(row.utility or 0.0)}</td>{scores}</tr>"
    )


def _bar(value: float) -> str:
    return f'{value:.3f}<span class="bar"><i style="width:{100 * value:.1f}%"></i></span>'


def _breaker(row: BoardRow, held: Rehearsal) -> str:
    """Name who left the least of a team's whereabouts; the judge only if no team did as well."""
    scores = {
        attacker: score
        for (attacker, target, _, kind), score in held.board.attacks.items()
        if target == row.team and kind is AttackKind.TRACE_INFERENCE
    }
    best = [name for name, score in scores.items() if score <= row.s_T_min + 1e-9]
    teams = [name for name in best if held.board.roster.role(name) is Role.TEAM]
    return joined(teams or [f"the judge ({name})" for name in best[:1]])
