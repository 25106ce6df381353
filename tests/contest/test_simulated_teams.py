"""The script of a simulated contest: everybody defends once and attacks everybody else, in time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from tracearena.contest import SIMULATED_TEAMS, Schedule
from tracearena.contest.simulated_teams import plan_hand_ins

SCHEDULE = Schedule.weeks(datetime(2026, 5, 4, 12, tzinfo=UTC))
COUNTS = (2, 3, 7, len(SIMULATED_TEAMS))


@pytest.mark.parametrize("teams", COUNTS)
def test_everybody_defends_once_and_attacks_all_others_once(teams: int) -> None:
    numbers = {f"{number:03d}" for number in range(1, teams + 1)}
    made = Counter((one.team, one.target) for one in plan_hand_ins(teams))
    wanted = {(team, target) for team in numbers for target in {None, "000", *numbers} - {team}}
    assert set(made) == wanted
    assert set(made.values()) == {1}


@pytest.mark.parametrize("teams", COUNTS)
@pytest.mark.parametrize("incidents", [False, True])
def test_all_comes_in_order_and_within_its_phase(teams: int, incidents: bool) -> None:
    """But for the file that is late."""
    script = plan_hand_ins(teams, incidents=incidents)
    times = [one.find_time(SCHEDULE) for one in script]
    assert times == sorted(times)
    for one, at in zip(script, times, strict=True):
        if one.target is not None:
            assert SCHEDULE.attack_begin <= at < SCHEDULE.attack_end
        elif one.file != "late.csv":
            assert SCHEDULE.anonymization_begin < at < SCHEDULE.anonymization_end


def test_things_go_wrong_where_that_is_asked_for() -> None:
    """A broken file before the good one, one that is late, and a team that never comes."""
    plain, script = plan_hand_ins(7), plan_hand_ins(7, incidents=True)
    changed = [(one.team, one.file) for one in script if one.cell is not None]
    assert changed == [("001", "broken.csv"), ("003", "late.csv")]
    first = [one.file for one in script if (one.team, one.target) == ("001", None)]
    assert first == ["broken.csv", "obfuscated.csv"]
    assert {one.team for one in plain} - {one.team for one in script} == {"006"}
    assert "006" not in {one.target for one in script}
