"""A contest with the results of many teams, without anybody having played it."""

from __future__ import annotations

import numpy as np
from tests.server.conftest import Held

from tracearena.contest import AttackKind, AttackRecord, Role, Roster, UtilityRecord, make_board
from tracearena.server import clock, results
from tracearena.server.models import Contest, Team

TEAMS = 50


def publish(held: Held, teams: int = TEAMS) -> None:
    """Freeze and publish a result in which every team attacks every other one in both ways."""
    held.results()
    rng, rules = np.random.default_rng(1), Contest.get_current().rules
    numbers = tuple(f"{number:03d}" for number in range(1, teams + 1))
    for number in numbers:
        given = {"name": f"Team of number {number}", "role": Role.TEAM, "created_at": clock.now()}
        Team.objects.update_or_create(number=number, defaults=given)
    roster = Roster(teams=numbers, pseudonymised="000", samples=rules.sample_attacks)
    utilities = [UtilityRecord(team=number, utility=rng.uniform(0.7, 1)) for number in (*numbers, "000")]
    attacks = [
        AttackRecord(attacker=attacker, target=target, kind=kind, score=rng.random())
        for kind in AttackKind
        for attacker in (*numbers, *rules.sample_attacks)
        for target in (*numbers, "000")
        if attacker != target
    ]
    results.freeze_snapshot(
        results.FINAL, results.build_result(make_board(rules, roster, utilities, attacks))
    )
    Contest.objects.update(published_at=clock.now())
