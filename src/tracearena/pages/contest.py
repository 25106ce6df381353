"""The report of a contest as one page: `contest_report` computes what ``templates/contest.html`` shows."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from tracearena import __version__
from tracearena.arena.sweep import SweepRow
from tracearena.contest.board import AttackKind, BoardRow, Role
from tracearena.contest.report_data import DataSetView, ReportData
from tracearena.contest.simulation import FEW
from tracearena.pages.contest_data import (
    DEFENCES,
    QUESTIONS,
    UNKNOWN,
    TeamStyle,
    assign_team_styles,
    estimate_award_margin,
    find_liveliest_day,
    find_tied_teams,
    format_badge,
    join_names,
    measure_displacements,
)
from tracearena.pages.html import Page
from tracearena.pages.svg import (
    Picture,
    afterwards_picture,
    cheating_picture,
    crowd_pictures,
    day_picture,
    displacement_picture,
    losses_picture,
    margins_picture,
    matrix_picture,
    podium_picture,
    privacy_picture,
    usefulness_picture,
)

_METHODS = {"best-reidentification": "identification", "best-trace-inference": "inference"}
"""Awards of attackers, and what a team's attack is called."""
_VERSIONS = ("numpy", "scipy", "numba")


def contest_report(held: ReportData) -> Page:
    """Assemble the page of a contest: whatever the report data has to tell.

    Parameters
    ----------
    held
        The contest, as it was held by files, by tables of scores or simulated.
    """
    styles = assign_team_styles(held.board.roster)
    margins = {award.name: estimate_award_margin(held.board, award) for award in held.awards}
    drawn = {
        award.name: margins_picture(award, margins[award.name], styles)
        for award in held.awards
        if award.places
    }
    challenges: list[tuple[int | None, str, str]] = [(None, "", "")]
    if held.rules.data_sets > 1:
        challenges = [(number, held.rules.name_data_set(number), f"-{number}") for number in (1, 2)]
    return Page(
        "pages/templates/contest.html",
        title=held.title,
        held=held,
        badge=lambda team: format_badge(team, styles.get(team, UNKNOWN)),
        join_names=join_names,
        podium=podium_picture(held.awards[0], styles),
        ties={
            award.name: find_tied_teams(award, margin)
            for award in held.awards
            if (margin := margins[award.name]) is not None
        },
        methods={award.name: _list_methods(held, award.name, award.winners) for award in held.awards},
        defence_margins={name: picture for name, picture in drawn.items() if name in DEFENCES},
        attack_sums={name: picture for name, picture in drawn.items() if name in _METHODS},
        places={standing.team: standing.place for standing in held.awards[0].places},
        is_ranked=lambda row: row.role is Role.TEAM and row.data_set == held.rules.data_sets,
        find_strongest=lambda row: _find_strongest(held, row),
        matrices=[
            (
                question,
                [
                    (name, f"{kind.value}{end}", matrix_picture(held.board, kind, number))
                    for number, name, end in challenges
                ],
            )
            for kind, (question, _) in QUESTIONS.items()
        ],
        privacy=privacy_picture(held.board, held.samples),
        costs=[
            (name, f"usefulness{end}", usefulness_picture(held.board, held.samples, number))
            for number, name, end in challenges
        ],
        cheating=_draw_cheating(held),
        versions={"tracearena": __version__, "Python": platform.python_version()}
        | {name: version(name) for name in _VERSIONS},
        **_collect_afterwards(held),
        **_draw_views(held, styles),
    )


def _list_methods(held: ReportData, award: str, winners: Sequence[str]) -> list[str]:
    """Return how the winners did it, as far as it is known."""
    known = (held.method(team, _METHODS.get(award, "defence")) for team in winners)
    return list(dict.fromkeys(method for method in known if method is not None))


def _find_strongest(held: ReportData, row: BoardRow) -> list[str]:
    """Return the teams whose attacks count against a data set, or the judge's attack where no team's does."""
    scores = {
        attacker: score
        for (attacker, target, number, kind), score in held.board.attacks.items()
        if (target, number) == (row.team, row.data_set) and kind is AttackKind.TRACE_INFERENCE
    }
    best = [name for name, score in scores.items() if score <= row.s_T_min + 1e-9]
    teams = [name for name in best if held.board.roster.role(name) is Role.TEAM]
    return teams or [f"the judge ({name})" for name in best[:1]]


def _draw_cheating(held: ReportData) -> Picture | None:
    undefended = [row for row in held.samples if row.defence == "No"]
    return cheating_picture(held.cheating, undefended) if held.cheating else None


def _collect_afterwards(held: ReportData) -> dict[str, Any]:
    """Draw what the contest's attacks leave next to what further ones leave, if further ones were made."""
    if not held.afterwards:
        return {"afterwards": None}
    old = _list_attacks(held.samples[0]) if held.samples else []
    return {
        "afterwards": afterwards_picture(held.afterwards, old, name_defenders(held)),
        "few": min(FEW, held.rules.users),
        "further": [name for name in _list_attacks(held.afterwards[0]) if name not in old],
    }


def name_defenders(held: ReportData) -> dict[str, str]:
    """Return the names of the teams that use a defence, by the defence."""
    named: dict[str, list[str]] = {}
    for team in held.board.roster.teams:
        named.setdefault(held.method(team, "defence") or "No", []).append(team)
    return {defence: join_names(names) for defence, names in named.items()}


def _list_attacks(row: SweepRow) -> list[str]:
    return [*row.scores.reidentification, *row.scores.trace_inference]


def _draw_views(held: ReportData, styles: dict[str, TeamStyle]) -> dict[str, Any]:
    """Draw a day of each team whose data is shown, how far events were moved, and maps of the first team."""
    views = _choose_views(held)
    if not views:
        return {"days": []}
    first, limit = views[0], held.rules.utility_limit_km
    moved = {one.team: measure_displacements(one.original, one.obfuscated, limit) for one in views}
    before, after = crowd_pictures(first.original, first.obfuscated)
    return {
        "days": [_draw_day(held, one, styles[one.team], number) for number, one in enumerate(views, 1)],
        "displacement": displacement_picture(moved, limit, styles),
        "planned_with": first.team,
        # Both maps have the same numbers: they stand once, below the second.
        "before": replace(before, table_header=(), table_rows=()),
        "after": after,
        "losses": losses_picture(first.original, first.obfuscated, limit),
    }


def _draw_day(held: ReportData, view: DataSetView, style: TeamStyle, number: int) -> dict[str, Any]:
    user, day = find_liveliest_day(view.original)
    original = view.original.take_users([user]).take_days(day, day + 1)
    obfuscated = view.obfuscated.take_users([user]).take_days(day, day + 1)
    defence, now = held.method(view.team, "defence"), 3 * original.n_events // 4
    whose = view.team if defence is None else f"{view.team} with {defence}"
    return {
        "picture": day_picture(original, obfuscated, style, now, whose=whose, name=f"day-{number}"),
        "now": now,
        "last": original.n_events - 1,
        "time": original.clock.label(int(original.instants[now])),
        "file_name": f"day-{view.team.lower().replace(' ', '-')}",
    }


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
