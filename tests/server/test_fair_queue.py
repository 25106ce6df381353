"""T4: however much one team hands in, another one's file comes next."""

from __future__ import annotations

from tests.server.conftest import Held

from tracearena.server.models import Team
from tracearena.server.store import queue


def _put(team: str, count: int) -> None:
    by = Team.objects.get(number=team)
    for number in range(count):
        queue.enqueue("check", f"check/{team}/{number}", team=by)


def _served() -> str:
    taken = queue.take_job("judge")
    assert taken is not None
    with queue.finish_job(taken):
        return taken.key.split("/")[1]


def test_a_flood_holds_nobody_up(held: Held) -> None:
    """T4: Fifty files of one team, then two of another: these are served at every second turn."""
    _put("001", 50)
    assert [_served() for _ in range(3)] == ["001", "001", "001"]
    _put("002", 2)
    assert [_served() for _ in range(5)] == ["002", "001", "002", "001", "001"]


def test_a_team_with_nothing_in_work_goes_first(held: Held) -> None:
    """T4: Workers are spread over the teams, whoever was served last."""
    _put("001", 10)
    _put("002", 1)
    _put("003", 1)
    held_by = [queue.take_job(f"judge {number}") for number in range(3)]
    teams = [taken.key.split("/")[1] for taken in held_by if taken is not None]
    assert sorted(teams) == ["001", "002", "003"]


def test_a_teams_own_files_keep_their_order(held: Held) -> None:
    """T4: The oldest of its files is its next."""
    _put("001", 3)
    keys = []
    while (taken := queue.take_job("judge")) is not None:
        with queue.finish_job(taken):
            keys.append(taken.key)
    assert keys == ["check/001/0", "check/001/1", "check/001/2"]
