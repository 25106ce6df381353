"""The report of a contest as one page: `contest_report` and the sections it is made of.

Awards and board, the matrices of attacks, privacy and usefulness, cheating, further attacks after the
awards, and what the data sets look like on a map.
"""

from __future__ import annotations

import platform
from html import escape
from importlib.metadata import version
from typing import Any

import numpy as np

from tracearena import __version__
from tracearena.arena.claims import check_shuffling_hides_names
from tracearena.arena.sweep import SweepRow
from tracearena.contest.board import AttackKind, Award, BoardRow, Role
from tracearena.contest.report_data import DataSetView, ReportData, select_compared_rows
from tracearena.contest.simulation import FEW
from tracearena.pages import Page, place_map
from tracearena.pages.contest_data import (
    DEFENCES,
    QUESTIONS,
    SAMPLE,
    UNKNOWN,
    TeamStyle,
    assign_team_styles,
    build_attack_table,
    build_score_axis,
    count_noon_crowds,
    describe_attack_table,
    describe_costs,
    describe_privacies,
    draw_dots,
    escape_plotly,
    find_tied_teams,
    format_badge,
    join_names,
    select_challenge_rows,
    sum_losses_by_place,
)
from tracearena.pages.contest_days import show_days
from tracearena.pages.html import BLUE, GREEN, GREY, VERMILION

_HEADER = [
    "defence", "utility", "s_T_min_contest", "strongest_T_contest", "s_T_min", "strongest_T",
    "s_T_estimate", "s_T_ceiling", "s_R_min_contest", "s_R_min", "strongest_R",
]  # fmt: skip


def show_afterwards(page: Page, held: ReportData) -> None:
    """Show what the contest's attacks leave beside what further ones leave; nothing if none were made."""
    rows, old = held.afterwards, (_list_attacks(held.samples[0]) if held.samples else [])
    if not rows:
        return
    further = [name for name in _list_attacks(rows[0]) if name not in old]
    page.heading("After the awards")
    page.text(
        "The teams met the attacks that they had chosen and those of 2019. A spy need not stop there. So the "
        f"judge took {min(FEW, held.rules.users)} people of a sample team, defended them in the way of every "
        f"team, and attacked again, also with {join_names(further) or 'nothing else'}. The grey bar says "
        "between "
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
             [_find_least(row.scores.trace_inference, old) for row in rows]),
            ("all attacks", "circle", VERMILION, [row.scores.s_T_min for row in rows]),
        )
    ]  # fmt: skip
    layout = {
        "height": 160 + 42 * len(rows),
        "xaxis": build_score_axis("whereabouts hidden (s<sub>T,min</sub>), right is better"),
        "yaxis": {"categoryorder": "array", "categoryarray": names[::-1], "type": "category"},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }
    page.figure(
        {"data": [*bands, *points], "layout": layout},
        _describe_afterwards(rows, old),
        table=(_HEADER, [_build_number_row(row, old) for row in rows]),
        name="afterwards",
    )


def _list_attacks(row: SweepRow) -> list[str]:
    return [*row.scores.reidentification, *row.scores.trace_inference]


def _find_least(scores: dict[str, float], names: list[str]) -> float | None:
    return min((scores[name] for name in names if name in scores), default=None)


def _describe_afterwards(rows: tuple[SweepRow, ...], old: list[str]) -> str:
    """Say what the picture shows, in numbers."""
    known = [(row, _find_least(row.scores.trace_inference, old)) for row in rows]
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
            f" Against the attacks of the contest {join_names(over)} would seem to hide more than habits "
            "alone "
            "leave, which no release can: such a figure says that the attacks were weak."
        )
    return told.strip() or "The further attacks find out no more than those of the contest."


def _build_number_row(row: SweepRow, old: list[str]) -> list[Any]:
    scores, band = row.scores, row.band or (None, None)
    before = {name: score for name, score in scores.trace_inference.items() if name in old}
    return [
        *(
            row.defence,
            row.utility,
            _find_least(before, old),
            min(before, key=before.__getitem__, default=None),
        ),
        *(scores.s_T_min, scores.strongest[1], *band),
        *(_find_least(scores.reidentification, old), scores.s_R_min, scores.strongest[0]),
    ]


# The page as a whole.


_VERSIONS = ("numpy", "scipy", "numba", "plotly")


def contest_report(held: ReportData) -> Page:
    """Assemble the page of a contest: whatever the account has to tell.

    Parameters
    ----------
    held
        The contest, as it was held by files, by tables of scores or as a rehearsal.
    """
    page, styles = Page(held.title, lead=held.lead), assign_team_styles(held.board.roster)
    show_awards(page, held, styles)
    show_board(page, held, styles)
    show_refused(page, held)
    show_matrices(page, held)
    show_privacy(page, held, styles)
    show_usefulness(page, held, styles)
    show_cheating(page, held)
    show_afterwards(page, held)
    sights = _choose_views(held)
    if sights:
        show_days(page, held, sights, styles)
        show_population(page, held, sights[0])
    page.heading("The rules in plain words")
    page.html_part("<ul>" + "".join(f"<li>{escape(rule)}</li>" for rule in held.rules.explain()) + "</ul>")
    _show_origin(page, held)
    return page


def _choose_views(held: ReportData) -> list[DataSetView]:
    """Choose whose data is shown: the best team, and the best that uses sets or hides events."""
    if held.look is None:
        return []
    last = held.rules.data_sets
    ranked = [row for row in held.board.rows if row.valid and row.role is Role.TEAM and row.data_set == last]
    best: DataSetView | None = None
    hiding: DataSetView | None = None
    for row in ranked:
        sight = held.look(row)
        if sight is None:
            continue
        best = best or sight
        if sight.obfuscated.is_set.any():
            return [best] if sight is best else [best, sight]
        hiding = hiding or (sight if sight.obfuscated.is_deleted.any() else None)
    return [one for one in dict.fromkeys((best, hiding)) if one is not None]


def _show_origin(page: Page, held: ReportData) -> None:
    page.heading("Where this comes from")
    page.html_part(
        "<p>This command makes the same page again, with any number of processor cores:</p>"
        f"<p><code>{escape(held.command)}</code></p>"
    )
    versions = {"tracearena": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in _VERSIONS}
    page.cards(({} if held.seed is None else {"seed": str(held.seed)}) | versions)
    if not held.commitments:
        return
    page.text(
        "Before the attacks the judge publishes a salted hash of who is who in each data set, and opens it "
        "afterwards, so that nobody can change the answer in between."
        + (
            ""
            if held.seed is None
            else " In a real contest shuffle and salt come from the operating system; here they come from "
            "the seed."
        )
    )
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{one.digest}</td><td>{one.salt}</td></tr>"
        for name, one in held.commitments.items()
    )
    page.html_part(
        "<details><summary>Hashes and salts</summary><div class='scroll'><table class='commits'><thead><tr>"
        f"<th>team</th><th>SHA-256</th><th>salt</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


# Everybody against everybody: a table of colours, rows attacked and columns attacking.


def show_matrices(page: Page, held: ReportData) -> None:
    """Show the score of every attack of both kinds."""
    page.heading("Everybody against everybody")
    page.text(
        "A row is a team under attack, a column an attacker; dark cells are successful attacks. The "
        "strongest attack on each team is framed, and counts. A hatched cell is an attack that was not "
        "made: it counts 1. Below each team stands the sum that ranks it as an attacker, lower is better."
    )
    for kind, (question, what) in QUESTIONS.items():
        page.heading(question, level=3)
        found = build_attack_table(held.board, kind)
        attackers, table, foot = list(found.attackers), [list(row) for row in found.scores], list(found.sums)
        page.figure(
            _draw_matrix(
                [escape_plotly(name) for name in found.targets],
                [attackers.index(row.team) if row.team in attackers else -1 for row in found.rows],
                [escape_plotly(name) for name in attackers],
                table,
                foot,
                what,
            ),
            describe_attack_table(held.board, found),
            table=(
                ["target", *attackers],
                [[name, *row] for name, row in zip(found.targets, table, strict=True)] + [["sum", *foot]],
            ),
            name=kind.value,
            least_width_px=150 + 46 * len(attackers),
        )  # fmt: skip


def _draw_matrix(
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
        "shapes": [shape for y, row in enumerate(table) for shape in _mark_cells(y, row, own[y])],
        "annotations": [
            {"x": x, "y": count, "text": "–" if total is None else f"<b>{total:.2f}</b>", "showarrow": False,
             "font": {"size": 10 if wide else 12}}
            for x, total in enumerate(foot)
        ],
    }  # fmt: skip
    return {"data": [heat], "layout": layout}


def _mark_cells(y: int, row: list[Any], own: int) -> list[dict[str, Any]]:
    """Frame the strongest attacks of a row and hatch those that were not made."""
    least = min((score for score in row if score is not None), default=1.0)
    shapes: list[dict[str, Any]] = []
    for x, score in enumerate(row):
        if score is None and x != own:
            left, right, top, bottom = x - 0.45, x + 0.45, y - 0.42, y + 0.42
            path = (
                f"M{left},{y} L{x},{top} M{left},{bottom} L{right},{top} M{x},{bottom} L{right},{y} "
                f"M{left},{top} L{right},{top} L{right},{bottom} L{left},{bottom} Z"
            )
            shapes.append({"type": "path", "path": path, "line": {"color": "var(--soft)", "width": 1}})
        elif score is not None and score <= least + 1e-9:
            shapes.append({"type": "rect", "x0": x - 0.46, "x1": x + 0.46, "y0": y - 0.45, "y1": y + 0.45,
                           "line": {"color": VERMILION, "width": 3}})  # fmt: skip
    return shapes


# What a defence does to the map of a city.


def show_population(page: Page, held: ReportData, entrant: DataSetView) -> None:
    """Show what a planner would see in a team's data, and where it fails her."""
    page.heading("What the published data is still good for")
    page.text(
        f"A planner asks how many people are where at noon. On the left what is true, on the right what she "
        f"sees in the data of {entrant.team}."
    )
    crowds = count_noon_crowds(entrant.original, entrant.obfuscated)
    time, before, after = crowds
    largest = float(max(before.max(), after.max(), 10))
    places = entrant.original.places
    ill = crowds.share_at(places.sensitive)
    ids = [str(place) for place in places.ids]
    rows = [list(row) for row in zip(ids, before.tolist(), after.round(3).tolist(), strict=True)]
    page.html_part('<div class="pair">')
    page.figure(
        place_map(places, before, what=f"people at {time}, all days", height=480, largest=largest),
        f"Before: the true crowds at noon; {ill[0]:.1%} of them are in a region with a hospital.",
    )
    page.figure(
        place_map(places, after, what=f"people at {time}, all days", height=480, largest=largest),
        f"After: {crowds.off:.0%} of the crowd would have to move to make both maps equal; {ill[1]:.1%} "
        "seem to be in a region with a hospital.",
        table=(["region", "true", "published"], rows),
        name="noon",
    )
    page.html_part("</div>")
    original = entrant.original
    losses = sum_losses_by_place(original, entrant.obfuscated, held.rules.utility_limit_km)
    events, share = losses.events, losses.share
    rows = [[str(original.places.ids[i]), int(events[i]), float(share[i])] for i in np.flatnonzero(events)]
    page.figure(
        place_map(original.places, share, what="of the usefulness lost", height=520, share=True),
        f"Where usefulness was lost by {entrant.team}: {losses.total:.0%} in the whole city, "
        f"{losses.at_busiest:.0%} at the busiest twentieth of the regions.",
        table=(["region", "events", "share lost"], rows),
        name="losses",
    )


# Podium, awards with their margins, and the board.


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


def show_awards(page: Page, held: ReportData, styles: dict[str, TeamStyle]) -> None:
    """Show who won what, and by how much."""
    page.heading("Who won")
    defence = held.awards[0]
    by_place = {place: [p for p in defence.places if p.place == place] for place in (1, 2, 3)}
    steps = []
    for place in (2, 1, 3):
        if not by_place[place]:
            continue
        names = "<br>".join(format_badge(p.team, styles[p.team]) for p in by_place[place])
        colour = styles[by_place[place][0].team].colour
        steps.append(
            f'<li><div class="name">{names}</div><small>{by_place[place][0].value:.3f}</small>'
            f'<div class="step" style="border-color:{colour};height:{_STEPS[place]}">{place}</div></li>'
        )
    page.html_part(f'<p><b>{escape(defence.title)}</b></p><ol class="podium">{"".join(steps)}</ol>')
    page.html_part(
        '<ul class="awards">'
        + "".join(_format_award_card(award, held, styles) for award in held.awards)
        + "</ul>"
    )
    for award in held.awards:
        if award.name in DEFENCES and award.places:
            symbol = "s_T_min" if award is defence else "s_R_min"
            error = {"type": "constant", "value": held.margin, "thickness": 2, "width": 7}
            data = [
                draw_dots(p.team, styles[p.team], [p.value], [escape_plotly(p.team)], showlegend=False)
                | {
                    "error_x": error | {"color": styles[p.team].colour},
                    "hovertemplate": f"%{{y}}: %{{x:.3f}} ± {held.margin:.3f}<extra></extra>",
                }
                for p in award.places
            ]
            top = max((p.value for p in award.places), default=0) + 3 * held.margin
            frame = {
                "height": 90 + 32 * len(award.places),
                "xaxis": {"title": {"text": _AXES[award.name]},
                          "range": [-2 * held.margin, max(top, 0.1)], "zeroline": False},
                "yaxis": {"categoryorder": "array",
                    "categoryarray": [escape_plotly(p.team) for p in award.places][::-1],
                          "type": "category"},
            }  # fmt: skip
            page.figure(
                {"data": data, "layout": frame},
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
        bars = {
            "type": "bar",
            "orientation": "h",
            "x": [p.value for p in award.places],
            "y": [escape_plotly(p.team) for p in award.places],
            "marker": {"color": [styles[p.team].colour for p in award.places]},
            "text": [f"{p.value:.2f}" for p in award.places],
            "textposition": "auto",
            "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
        }
        layout = {
            "height": 90 + 30 * len(award.places),
            "xaxis": {"title": {"text": "privacy left, all targets together"}},
            "yaxis": {"categoryorder": "array",
                "categoryarray": [escape_plotly(p.team) for p in award.places][::-1],
                      "type": "category"},
        }  # fmt: skip
        page.figure(
            {"data": [bars], "layout": layout},
            f"{award.title}: the shorter the bar, the less privacy the attacker left; 0 would mean that "
            "everything was found out.",
            table=(["place", "team", "sum"], [[p.place, p.team, p.value] for p in award.places]),
            name=award.name,
        )
    page.html_part("</div>")


def _format_award_card(award: Award, held: ReportData, styles: dict[str, TeamStyle]) -> str:
    winners = [format_badge(name, styles[name]) for name in award.winners]
    value = f"{award.places[0].value:.3f}" if award.places else "–"
    known = (held.method(name, _METHODS.get(award.name, "defence")) for name in award.winners)
    how = ", ".join(dict.fromkeys(method for method in known if method is not None))
    close = find_tied_teams(award, held.margin) if award.name in DEFENCES else []
    tie = f"<br><small>Within the margin of luck: {escape(join_names(close))}.</small>" if close else ""
    return (
        f"<li><small>{escape(award.title)}</small><b>{' '.join(winners) or 'nobody'}</b>"
        f"{f'{escape(how)}<br>' if how else ''}<small>{value} = {_MEANING[award.name]}</small>{tie}</li>"
    )


def show_board(page: Page, held: ReportData, styles: dict[str, TeamStyle]) -> None:
    """Show every data set with its defence, utility and privacy."""
    page.heading("The board")
    page.text(
        "Each team wants its data to stay useful and its people to stay private. Both kinds of privacy are "
        "what the strongest attacker left: 1 is untouched, 0 is found out."
    )
    head = "".join(f"<th>{name}</th>" for name in _list_columns(held))
    rows = "".join(_format_board_row(row, held, styles) for row in held.board.rows)
    page.html_part(
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _list_columns(held: ReportData) -> list[str]:
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


def _format_board_row(row: BoardRow, held: ReportData, styles: dict[str, TeamStyle]) -> str:
    places = {p.team: p.place for p in held.awards[0].places}
    counts = row.role is Role.TEAM and row.data_set == held.rules.data_sets
    mark = places.get(row.team, "–") if counts else ""
    cells = [str(mark), format_badge(row.team, styles.get(row.team, UNKNOWN))]
    if held.players:
        idea = held.method(row.team, "idea") or "changes nothing but the names"
        cells.append(f"{escape(idea)}<br><small>{escape(held.method(row.team, 'defence') or 'No')}</small>")
    if held.rules.data_sets > 1:
        cells.append(str(row.data_set))
    cells.append("–" if row.utility is None else _format_bar(row.utility))
    if row.valid:
        scores = {
            attacker: score
            for (attacker, target, number, kind), score in held.board.attacks.items()
            if (target, number) == (row.team, row.data_set) and kind is AttackKind.TRACE_INFERENCE
        }
        best = [name for name, score in scores.items() if score <= row.s_T_min + 1e-9]
        teams = [name for name in best if held.board.roster.role(name) is Role.TEAM]
        cells += [
            _format_bar(row.s_R_min),
            _format_bar(row.s_T_min),
            escape(join_names(teams or [f"the judge ({name})" for name in best[:1]]) or "nobody"),
        ]
    else:
        why = "nothing handed in" if row.utility is None else f"below {held.rules.utility_threshold:g}"
        cells += ["0", "0", f"<small>invalid: {why}</small>"]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _format_bar(value: float) -> str:
    return f'{value:.3f}<span class="bar"><i style="width:{100 * value:.1f}%"></i></span>'


def show_refused(page: Page, held: ReportData) -> None:
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


# Privacy against privacy, usefulness against privacy, and what cheating gains.


_WHO = "people not identified (s<sub>R,min</sub>)<br>right is better"
_WHERE = "whereabouts hidden (s<sub>T,min</sub>)<br>up is better"
_LEGEND_BELOW = {"orientation": "h", "y": -0.25, "yanchor": "top"}


def show_privacy(page: Page, held: ReportData, styles: dict[str, TeamStyle]) -> None:
    """Show both kinds of privacy against each other (Figure 9 of the contest's paper)."""
    page.heading("Two kinds of privacy")
    page.text(
        "An attacker can ask who somebody is, or where everybody was. A good defence is high and to the "
        "right: it answers neither."
    )
    rows = select_compared_rows(held.board)
    page.html_part(_format_legend(held, styles))
    data = _draw_samples(held, lambda row: row.scores.s_R_min)
    data += [
        draw_dots(row.team, styles[row.team], [row.s_R_min], [row.s_T_min])
        | {"error_x": _build_error_bars(held, styles[row.team]), "error_y": _build_error_bars(held,
            styles[row.team]),
           "hovertemplate": f"{escape_plotly(row.team)}: %{{x:.3f}}, %{{y:.3f}}<extra></extra>"}
        for row in rows
    ]  # fmt: skip
    layout = {
        "height": 500,
        "xaxis": build_score_axis(_WHO),
        "yaxis": build_score_axis(_WHERE),
        "showlegend": False,
    }
    page.figure(
        {"data": data, "layout": layout},
        f"{describe_privacies(held.board, held.samples)} In the contest of 2019 R was 0.895 over 18 data "
        "sets. "
        f"Bars: ± {held.margin:.3f}, the luck of the people drawn.".strip(),
        table=_build_table(held),
        name="privacy",
    )


def show_usefulness(page: Page, held: ReportData, styles: dict[str, TeamStyle]) -> None:
    """Show what privacy costs."""
    page.heading("What privacy costs")
    page.html_part(_format_legend(held, styles))
    threshold = held.rules.utility_threshold
    data = _draw_samples(held, lambda row: row.utility)
    shown = [row for row in select_challenge_rows(held.board) if row.utility is not None]
    for row in shown:
        point = draw_dots(row.team, styles[row.team], [row.utility], [row.s_T_min], hollow=not row.valid)
        point["hovertemplate"] = (
            f"{escape_plotly(row.team)}: useful %{{x:.3f}}, hidden %{{y:.3f}}<extra></extra>"
        )
        data.append(point | ({"error_y": _build_error_bars(held, styles[row.team])} if row.valid else {}))
    area = {"type": "rect", "x0": threshold, "x1": 1.04, "y0": -0.04, "y1": 1.04, "layer": "below",
            "fillcolor": "rgba(0,158,115,0.12)", "line": {"width": 0}}  # fmt: skip
    line = {"type": "line", "x0": threshold, "x1": threshold, "y0": -0.04, "y1": 1.04,
            "line": {"color": GREEN, "width": 2, "dash": "dot"}}  # fmt: skip
    label = {"x": 1.02, "y": 1.0, "text": f"valid from {threshold:g} on", "showarrow": False,
             "xanchor": "right", "yanchor": "top", "font": {"color": GREEN}}  # fmt: skip
    layout = {
        "height": 500,
        "xaxis": build_score_axis("usefulness (s<sub>U</sub>)<br>right is better"),
        "yaxis": build_score_axis(_WHERE),
        "shapes": [area, line],
        "annotations": [label],
        "showlegend": False,
    }
    page.figure(
        {"data": data, "layout": layout},
        describe_costs(held.board, held.samples),
        table=_build_table(held),
        name="usefulness",
    )


def show_cheating(page: Page, held: ReportData) -> None:
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
        "xaxis": build_score_axis("people whose traces are swapped", tickformat=".0%"),
        "yaxis": build_score_axis("score"),
        "legend": _LEGEND_BELOW,
    }
    page.figure(
        {"data": data, "layout": layout},
        f"In this contest it {check_shuffling_hides_names([*_select_undefended(held), *held.cheating])}. "
        "The contest "
        "scores both, and awards the defence by whereabouts.",
        table=(
            ["swapped", "s_R_min", "s_T_min", "utility"],
            [[s, r.scores.s_R_min, r.scores.s_T_min, r.utility]
             for s, r in zip(shares, held.cheating, strict=True)],
        ),
        name="cheating",
    )  # fmt: skip


def _select_undefended(held: ReportData) -> list[SweepRow]:
    return [row for row in held.samples if row.defence == "No"]


def _format_legend(held: ReportData, styles: dict[str, TeamStyle]) -> str:
    """Return markup that names every marker; unlike a figure's own legend it fits any width."""
    teams = [format_badge(name, one) for name, one in styles.items()]
    samples = [format_badge("sample defences", SAMPLE)] if held.samples else []
    return f'<p class="legend">{" ".join([*teams, *samples])}</p>'


def _draw_samples(held: ReportData, x: Any) -> list[dict[str, Any]]:
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


def _build_error_bars(held: ReportData, style: TeamStyle) -> dict[str, Any]:
    return {"type": "constant", "value": held.margin, "color": style.colour, "thickness": 1.5, "width": 4}


def _build_table(held: ReportData) -> tuple[list[str], list[list[Any]]]:
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
