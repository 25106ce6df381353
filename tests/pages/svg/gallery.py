"""Boards, traces and one picture of every kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from xml.etree.ElementTree import Element

import numpy as np
from defusedxml.ElementTree import fromstring

from tracearena import cities
from tracearena.algorithms import catalogue, validation
from tracearena.arena.ensemble import AttackScores
from tracearena.arena.sweep import SweepRow
from tracearena.contest import (
    AttackKind,
    AttackRecord,
    Board,
    Roster,
    Rules,
    Schedule,
    UtilityRecord,
    make_awards,
    make_board,
)
from tracearena.contest.report_data import estimate_margin
from tracearena.io.pwscup import PWS_CLOCK
from tracearena.pages import svg
from tracearena.pages.contest_data import (
    Displacements,
    TeamStyle,
    assign_team_styles,
    measure_displacements,
)
from tracearena.pages.svg import Picture
from tracearena.traces import ObfuscatedTraces, Traces

SVG = "{http://www.w3.org/2000/svg}"
NASTY = (
    "<script>alert(1)</script>",
    '=HYPERLINK("https://example.org")',
    "x" * 10_000,
    "a\u200bb\u2060",
    "\u202eexe.gnp",
    "فريق",
    'a" onload="alert(1)',
    "nul\x00bell\x07",
    "東京プライバシー研究会合同チーム",
    "z" + "\u0301" * 500,
)
PLAIN = tuple("abcdefghij")
SCHEDULE = Schedule.from_dict({
    "anonymization_begin": "2026-05-08T00:00Z", "anonymization_end": "2026-05-15T00:00Z",
    "attack_begin": "2026-05-16T00:00Z", "attack_end": "2026-05-23T00:00Z",
    "results_begin": "2026-05-24T00:00Z",
})  # fmt: skip
NOW = datetime(2026, 5, 10, 6, 30, tzinfo=UTC)
SAMPLES = (
    SweepRow("No", 1.0, True, AttackScores({"A-R": 0.1}, {"A-T": 0.05})),
    SweepRow("PL(1,1)", 0.3, False, AttackScores({"A-R": 0.8}, {"A-T": 0.6})),
    SweepRow("RR(1)", 0.75, True, AttackScores({"A-R": 0.5}, {"A-T": 0.3})),
)

CHEATING = (
    SweepRow("Cheat(0)", 1.0, True, AttackScores({"A-R": 0.1}, {"A-T": 0.05})),
    SweepRow("Cheat(0.5)", 0.8, True, AttackScores({"A-R": 0.6}, {"A-T": 0.06})),
    SweepRow("Cheat(1)", 0.6, False, AttackScores({"A-R": 0.99}, {"A-T": 0.07})),
)


def board(teams: tuple[str, ...] = PLAIN, *, data_sets: int = 1, users: int = 2000, seed: int = 1) -> Board:
    """A contest in which the last team is invalid, every fifth attack is missing and one is far too good."""
    random = np.random.default_rng(seed)
    roster = Roster(teams=teams, pseudonymised="000", samples=["VisitProb-R", "VisitProb-T"])
    sets = range(1, data_sets + 1)
    utilities = [
        UtilityRecord(
            team=team, utility=0.5 if team == teams[-1] else 0.7 + 0.2 * number / len(teams), data_set=n
        )
        for number, team in enumerate(teams)
        for n in sets
    ]
    attacks = []
    for number, target in enumerate((*teams[:-1], "000")):
        for attacker in (*teams, *roster.samples):
            for kind in AttackKind:
                far_too_good = (attacker, target) == (teams[0], teams[1])
                score = 0.02 if far_too_good else 0.3 + 0.5 * number / len(teams) + 0.02 * random.random()
                if attacker != target and (far_too_good or random.random() > 0.2):
                    attacks.append(AttackRecord(attacker=attacker, target=target, kind=kind, score=score))
    return make_board(Rules(users=users, data_sets=data_sets), roster, utilities, attacks)


@cache
def people() -> Traces:
    """Residents of the embedded city at the contest's times."""
    return cities.simulate(users=40, days=2, clock=PWS_CLOCK, seed=1)


@cache
def released(defence: str = "PL(4,1)") -> ObfuscatedTraces:
    """The same people, defended."""
    return validation.run_transform(catalogue.create(defence, "obfuscator"), people(), seed=1)


def displacements(teams: Sequence[str]) -> dict[str, Displacements]:
    """What each of some teams did to the same people: the first moved them, the others left them there."""
    kept = ObfuscatedTraces.from_traces(people())
    return {
        team: measure_displacements(people(), kept if number else released(), 2.0)
        for number, team in enumerate(teams)
    }


def one_day(style: TeamStyle, defence: str = "PL(4,1)", *, now: int = 15) -> Picture:
    """The first day of the first person, released with a defence."""
    before, after = (one.take_users([0]).take_days(0, 1) for one in (people(), released(defence)))
    return svg.day_picture(before, after, style, now, whose="Somebody")


def pictures(teams: tuple[str, ...] = PLAIN) -> dict[str, Picture]:
    """One picture of every kind, by the ids that they begin with."""
    shown = board(teams)
    styles, awards, luck = (
        assign_team_styles(shown.roster),
        make_awards(shown),
        estimate_margin(shown.rules.users),
    )
    before, after = svg.crowd_pictures(people(), released())
    return {
        "timeline": svg.timeline_picture(SCHEDULE, NOW),
        "gauge": svg.gauge_picture(0.81, shown.rules),
        **{f"matrix-{kind}": svg.matrix_picture(shown, kind) for kind in AttackKind},
        "privacy": svg.privacy_picture(shown, SAMPLES),
        "usefulness": svg.usefulness_picture(shown, SAMPLES),
        **{f"award-{one.name}": svg.margins_picture(one, luck, styles) for one in awards},
        **{f"podium-{one.name}": svg.podium_picture(one, styles) for one in awards},
        "noon-before": before,
        "noon-after": after,
        "losses": svg.losses_picture(people(), released(), 2.0),
        "cheating": svg.cheating_picture(CHEATING, SAMPLES[:1]),
        "afterwards": svg.afterwards_picture(SAMPLES, ["A-T"]),
        "displacement": svg.displacement_picture(displacements(teams[:2]), 2.0, styles),
        "day": one_day(styles[teams[0]]),
        "activity": svg.activity_picture([NOW - timedelta(hours=h) for h in (0, 1, 1, 5)], NOW),
    }


def tree(picture: Picture) -> Element:
    """Parse a drawing."""
    parsed: Element = fromstring(picture.svg)
    return parsed


def of_class(picture: Picture, name: str) -> list[Element]:
    """Return the elements of a class."""
    return [one for one in tree(picture).iter() if name in one.get("class", "").split()]


def numbers(text: str) -> list[float]:
    """Return the numbers of a sentence, per cents as shares."""
    found = re.findall(r"(\d+(?:\.\d+)?)\s?(%?)", text)
    return [float(number) / 100 if percent else float(number) for number, percent in found]
