"""One team has more time than the others: it hands in later, everybody sees it, and the judge waits."""

from __future__ import annotations

import json
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.visitors import Program, browser, by_form, joined, organiser, token

from tracearena.contest import verify_archive
from tracearena.errors import DataError, ParameterError
from tracearena.server import results
from tracearena.server.judge.export import export_contest
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.models import AuditEntry, Contest, DataSet, State, Submission
from tracearena.server.operations.schedule import give_extra_time, move_point

MS = timedelta(milliseconds=1)
WHY = {"reason": "their network was down", "actor": "organiser"}
LATER = SCHEDULE.attack_end + DAY / 2


@pytest.mark.slow
def test_the_end_of_a_team_with_extra_time_is_its_own(held: Held) -> None:
    """One millisecond before it is in and the end is late, by form and API; others are late by their own."""
    client, other = joined(held, "003"), Program(token(joined(held, "001")))
    caller = Program(token(client))
    end = SCHEDULE.anonymization_end
    give_extra_time("003", "anonymization_end", end + DAY / 2, **WHY)

    def hand_in(at: datetime) -> list[str]:
        held.at(at)
        key = at.isoformat()
        by_form(client, "obfuscated/1", f"by form {key}".encode(), f"f{key}")
        caller.upload("obfuscated/1", f"by API {key}".encode(), f"a{key}")
        other.upload("obfuscated/1", f"by another {key}".encode(), f"o{key}")
        return list(Submission.objects.order_by("pk").values_list("state", flat=True))[-3:]

    assert hand_in(end - MS) == ["received", "received", "received"]
    assert hand_in(end) == ["received", "received", "late"]
    assert "after the end" not in client.get("/team/uploads/obfuscated/1").content.decode()
    assert hand_in(end + DAY / 2 - MS) == ["received", "received", "late"]
    assert hand_in(end + DAY / 2) == ["late", "late", "late"]


@pytest.mark.slow
def test_the_judge_waits_for_the_last_team_and_the_export_verifies(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither data sets nor scores before; what the team handed in by its own end counts, and is proven."""
    hands.without_children(monkeypatch)
    held.anonymization()
    for team in ("001", "002"):
        hands.defend(held, team, tmp_path)
    give_extra_time("003", "anonymization_end", SCHEDULE.anonymization_end + DAY / 2, **WHY)
    held.at(SCHEDULE.anonymization_end + DAY / 4)
    hands.judged(held)
    assert not DataSet.objects.filter(closed_at__isnull=False).exists()
    hands.defend(held, "003", tmp_path)
    held.at(SCHEDULE.anonymization_end + DAY / 2)
    hands.judged(held)
    assert DataSet.objects.get(team__number="003").released_at is not None

    held.attack()
    hands.attack_table(held, "001", "002", tmp_path, right=3)
    give_extra_time("003", "attack_end", LATER, **WHY)
    held.at(LATER - MS)
    late = hands.attack_table(held, "003", "002", tmp_path, right=9)
    hands.judged(held)
    assert results.find_final_snapshot() is None
    held.at(LATER)
    hands.judged(held)
    assert results.find_final_snapshot() is not None
    late.refresh_from_db()
    assert late.state == State.SCORED
    held.results()
    hands.judged(held)
    export_contest(JudgeFiles(held.folder, held.judge_private_key), tmp_path / "friday.zip")
    found = verify_archive(tmp_path / "friday.zip")
    assert found.is_right, found
    with zipfile.ZipFile(tmp_path / "friday.zip") as archive:
        assert (
            "[extra_time.003]\nanonymization_end = 2026-05-09T12:00:00"
            in archive.read("contest.toml").decode()
        )


def test_extra_time_is_more_time_and_ends_before_the_next_phase(held: Held) -> None:
    """What cannot be given is refused, with what to do; nothing is written down."""
    held.attack()
    acts = AuditEntry.objects.count()
    for team, point, to, problem in (
        ("003", "attack_end", SCHEDULE.attack_end, "Everybody has until"),
        (
            "003",
            "attack_end",
            SCHEDULE.results_begin + MS,
            "before the opening of the results",
        ),
        ("003", "attack_end", SCHEDULE.attack_begin, "is in the past"),
        ("003", "anonymization_end", SCHEDULE.anonymization_end + DAY / 2, "is in the past"),
        ("000", "attack_end", LATER, "one of 001, 002, 003"),
        ("003", "attack_begin", LATER, "one of anonymization_end, attack_end"),
    ):
        with pytest.raises((DataError, ParameterError), match=problem):
            give_extra_time(team, point, to, **WHY)
    assert (AuditEntry.objects.count(), Contest.get_current().extra_time) == (acts, {})
    give_extra_time("003", "attack_end", LATER, **WHY)
    with pytest.raises(DataError, match="team 003 has extra time that ends later"):
        move_point("results_begin", LATER - MS, **WHY)
    move_point("results_begin", LATER, **WHY)


@pytest.mark.slow
def test_no_time_is_given_once_the_judge_has_closed_the_phase(held: Held) -> None:
    """Everybody has seen what was published by then."""
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    with pytest.raises(DataError, match="closed this phase"):
        give_extra_time("003", "anonymization_end", SCHEDULE.attack_begin, **WHY)


@pytest.mark.slow
def test_everybody_sees_extra_time_and_the_team_its_own(
    held: Held, capsys: pytest.CaptureFixture[str]
) -> None:
    """Given in the control room; on the rules page, by the API, on the team's pages, by the command."""
    from tracearena.cli.contest_manage import phase

    boss, team, other = organiser(held), joined(held, "003"), joined(held, "001")
    held.at(SCHEDULE.attack_begin)
    form = {"point": "attack_end", "team": "003", "to": LATER.isoformat(), "reason": WHY["reason"]}
    assert boss.post("/organiser/phases", form | {"to": "2026-05-01T00:00"}).status_code == 409
    assert boss.post("/organiser/phases", form).status_code == 302
    last = AuditEntry.objects.last()
    assert last is not None
    assert (last.actor, last.act, last.details["team"]) == ("person 1", "extra time given", "003")
    for page in (browser().get("/rules"), boss.get("/organiser/phases")):
        assert "for team 003, which has extra time" in page.content.decode()
    assert browser().get("/api/v1/contest").json()["extra_time"] == {"003": {"attack_end": LATER.isoformat()}}
    assert "Your team has extra time" in team.get("/team").content.decode()
    held.anonymization()
    assert "Your team has extra time" not in team.get("/team").content.decode()
    held.at(SCHEDULE.attack_end)
    own = {"Authorization": f"Bearer {token(team)}"}
    assert browser().get("/api/v1/phase", headers=own).json()["phase"] == "attack"
    assert browser().get("/api/v1/phase").json()["phase"] is None
    assert "Your team has extra time" in team.get("/team").content.decode()
    assert LATER.isoformat() in team.get("/team").content.decode()
    assert "extra time" not in other.get("/team").content.decode()
    phase(held.folder.path)
    assert capsys.readouterr().out.splitlines()[-1] == f"attack_end           {LATER.isoformat()}  team 003"
    to = (LATER + DAY / 4).isoformat()
    phase(held.folder.path, "attack_end", "003", to, "their network was down again", True)
    assert json.loads(capsys.readouterr().out)["extra_time"]["003"]["attack_end"] == to
