"""What an organiser does on the command line: teams, phases, status; and what is refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.command_line import tracearena
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.hands import defend, judged, without_children

from tracearena.errors import DataError, ParameterError
from tracearena.server import teams
from tracearena.server.accounts import find_usable_link, withdraw_links
from tracearena.server.models import Team
from tracearena.server.operations.schedule import move_point
from tracearena.server.operations.status import collect_status


def _moved(point: str, days: float) -> None:
    move_point(point, getattr(SCHEDULE, point) + timedelta(days=days), reason="a holiday", actor="test")


def test_an_end_moves_with_a_reason_and_is_written_down(held: Held) -> None:
    """The clock goes by the new end, and the log has both times."""
    from tracearena.server.models import AuditEntry, Contest

    held.anonymization()
    _moved("anonymization_end", 0.5)
    assert Contest.get_current().schedule.anonymization_end == SCHEDULE.anonymization_end + DAY / 2
    entry = AuditEntry.objects.order_by("-pk").first()
    assert (entry.act, entry.details["point"]) == ("schedule moved", "anonymization_end")
    assert entry.details["from"] == SCHEDULE.anonymization_end.isoformat()
    assert entry.details["reason"] == "a holiday"


def test_nothing_is_moved_into_the_past_or_out_of_order(held: Held) -> None:
    """Not a begin that has passed, not an end to a time that has, not an end behind the next end."""
    held.anonymization()
    with pytest.raises(DataError, match="is in the past"):
        _moved("anonymization_end", -6.9)
    with pytest.raises(DataError, match="cannot be undone"):
        _moved("anonymization_begin", 2)
    said = (
        "The end of the anonymization cannot be at 2026-05-18 00:00 UTC: it must be after the start of the "
        r"anonymization \(2026-05-02 00:00 UTC\) and before the end of the attacks \(2026-05-17 00:00 UTC\)."
    )
    with pytest.raises(DataError, match=said):
        _moved("anonymization_end", 9)
    with pytest.raises(ParameterError, match="reason"):
        move_point("attack_end", SCHEDULE.attack_end + DAY, reason="x" * 201, actor="test")
    with pytest.raises(ParameterError, match="point"):
        move_point("dinner", SCHEDULE.attack_end, reason="hunger", actor="test")


def test_a_phase_does_not_go_on_once_its_data_is_published(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the judge has published, an end that has passed may still be put off; after it, not."""
    without_children(monkeypatch)
    held.anonymization()
    defend(held, "001", tmp_path)
    judged(held)
    held.at(SCHEDULE.anonymization_end + timedelta(minutes=1))
    _moved("anonymization_end", 0.5)
    held.at(SCHEDULE.anonymization_end + 0.6 * DAY)
    judged(held)
    with pytest.raises(DataError, match="the judge closed this phase"):
        _moved("anonymization_end", 0.9)


def test_the_next_free_team_gets_a_name_and_a_link(held: Held) -> None:
    """A link that was given before ends only if its place is chosen; then the next free place has none."""
    key, sent = held.judge_private_key, held.created.invitations
    with pytest.raises(DataError, match=r"001, 002, 003 are free, .* may have been sent"):
        teams.add_team("Paper Cranes", key)
    assert all(find_usable_link(secret) for secret in sent.values())
    made = teams.add_team("Paper Cranes", key, "002")
    assert (made.team.number, made.team.name, made.withdrawn) == ("002", "Paper Cranes", 1)
    link = find_usable_link(made.secret)
    assert link is not None
    assert link.team == made.team
    assert find_usable_link(sent["002"]) is None
    withdraw_links(team=Team.objects.get(number="003"))
    with pytest.raises(ParameterError, match="already"):
        teams.add_team("Paper Cranes", key)
    third = teams.add_team("Fog Bank", key)
    assert (third.team.number, third.withdrawn) == ("003", 0)
    assert find_usable_link(sent["001"]) is not None
    with pytest.raises(ParameterError, match="a free one: 001"):
        teams.add_team("Card Sharps", key, "003")
    teams.add_team("Card Sharps", key, "001")
    with pytest.raises(DataError, match="contest new --teams"):
        teams.add_team("One too many", key)


def test_a_reset_ends_old_links_and_if_asked_members_and_tokens(held: Held) -> None:
    """The new link opens the team's bundle, as the first one did."""
    from tracearena.server import accounts
    from tracearena.server import accounts as tokens
    from tracearena.server.models import Member

    member, private = accounts.redeem_link(held.created.invitations["002"], "Ann", "a long password")
    token = tokens.make_token(member, "mine", private)
    first = teams.reset_team("002", held.judge_private_key, everything=False).secret
    assert tokens.find_caller(token) is not None
    second = teams.reset_team("002", held.judge_private_key, everything=True).secret
    assert find_usable_link(first) is None
    assert find_usable_link(second) is not None
    assert tokens.find_caller(token) is None
    assert not Member.objects.get(username="Ann").is_active
    with pytest.raises(ParameterError, match="one of 001, 002, 003"):
        teams.reset_team("004", held.judge_private_key, everything=False)


def test_the_status_tells_what_waits_and_what_failed(held: Held, tmp_path: Path) -> None:
    """A job that waits has an age; nothing is made up where nothing is known."""
    held.anonymization()
    defend(held, "001", tmp_path)
    held.at(SCHEDULE.anonymization_begin + DAY + timedelta(minutes=5))
    found = collect_status(held.folder)
    assert found["queue"]["waiting"] == 1
    assert found["queue"]["oldest_s"] == 300
    assert found["phase"] == "anonymization"
    assert found["clock_is_driven"]
    assert found["last_error"] is None
    assert found["uploads"] == {"received": 1}
    assert found["disk_free_bytes"] > 0


def test_the_commands_say_the_same(held: Held) -> None:
    """Through the front door, for people and for programs."""
    folder = held.folder.path
    assert tracearena("contest", "status", folder, "--json").json["teams"] == 3
    assert "before the start" in tracearena("contest", "phase", folder).out
    add = ("contest", "team", "add", folder, "Cranes", "--judge-key", held.judge_key)
    full = tracearena(*add)
    assert (full.status, "may have been sent" in full.err) == (2, True)
    added = tracearena(*add, "--team", "001", "--json")
    assert added.json["number"] == "001"
    assert "1 earlier link of team 001 is no longer valid" in added.err
    assert added.json["link"].startswith("http://127.0.0.1:8000/join#")
    assert "001   Cranes" in tracearena("contest", "team", "list", folder).out
    refused = tracearena(
        "contest", "phase", folder, "attack_end", "--to", "2030-01-01", "--reason", "why not"
    )
    assert (refused.status, "with its zone" in refused.err) == (2, True)
    nowhere = tracearena("contest", "status", folder.parent)
    assert (nowhere.status, "contest new" in nowhere.err) == (2, True)


def test_the_key_of_another_contest_is_refused(held: Held, tmp_path: Path) -> None:
    from tracearena.server.store.crypto import write_judge_key

    write_judge_key(tmp_path / "other", None)
    words = ["contest", "team", "reset", held.folder.path, "001", "--judge-key", tmp_path / "other"]
    done = tracearena(*words)
    assert (done.status, "another contest" in done.err) == (2, True)


@pytest.mark.slow
def test_an_export_is_refused_while_a_job_is_open(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T17: And before the results are published; the archive does not appear."""
    from tracearena.server.judge.export import export_contest
    from tracearena.server.judge.scoring import JudgeFiles
    from tracearena.server.store import queue

    without_children(monkeypatch)
    bench = JudgeFiles(held.folder, held.judge_private_key)
    held.anonymization()
    defend(held, "001", tmp_path)
    judged(held)
    with pytest.raises(DataError, match="not published"):
        export_contest(bench, tmp_path / "out.zip")
    held.attack()
    judged(held)
    held.results()
    judged(held)
    queue.enqueue("check", "check/again")
    with pytest.raises(DataError, match="1 jobs"):
        export_contest(bench, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()
