"""What organisers see and do: control room, phases, teams, re-scoring, ceremony, log."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.test_public_pages import check_neutral, page, played, with_nasty_names
from tests.server.visitors import browser, by_link, joined, organiser

PAGES = (
    "", "/phases", "/dry-run", "/teams", "/submissions", "/rescoring", "/ceremony", "/publish", "/export",
    "/log",
)  # fmt: skip


def _worker(seen: timedelta) -> None:
    from tracearena.server import clock
    from tracearena.server.models import Worker

    at = clock.machine_now() - seen
    Worker.objects.update_or_create(name="judge-1", defaults={"started_at": at, "seen_at": at})


def test_the_pages_of_organisers_are_theirs_alone(held: Held) -> None:
    """Visitors are asked to log in, for members there is nothing there; names stay neutral."""
    with_nasty_names()
    boss, member, visitor = organiser(held), joined(held, "001"), browser()
    for one in PAGES:
        address = f"/organiser{one}"
        text = page(address, boss)
        check_neutral(text)
        assert f'<a href="{address}" aria-current="page">' in text
        assert member.get(address).status_code == 404
        assert visitor.get(address).headers["Location"] == f"/login?next={address}"


def test_a_judge_that_is_away_is_missed_by_those_who_have_come_in(held: Held) -> None:
    """After a minute without a sign of life; visitors cannot do anything about it."""
    boss, member = organiser(held), joined(held, "001")
    for seen, away in ((timedelta(seconds=5), False), (timedelta(seconds=90), True)):
        _worker(seen)
        assert ("No judge has responded" in page("/organiser", boss)) == away
        assert ("The judge is not running" in page("/", member)) == away
        assert "judge is not running" not in page("/")
        state = "not seen for 1 minute" if away else ">running<"
        assert state in page("/organiser", boss)


def test_the_control_room_counts_what_waits_and_what_failed(held: Held, tmp_path: Path) -> None:
    """The queue with its age, the uploads of the hour, the last errors."""
    from tracearena.server.models import Job, JobState

    boss = organiser(held)
    assert "Nothing is waiting." in page("/organiser", boss)
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    held.at(SCHEDULE.anonymization_begin + DAY + timedelta(minutes=30))
    text = page("/organiser", boss)
    assert "the oldest waits 30 minutes" in text
    assert "1 upload arrived in the last 48 hours" in text
    Job.objects.update(state=JobState.FAILED, error="a <b>fault</b>")
    text = page("/organiser", boss)
    assert "a &lt;b&gt;fault&lt;/b&gt;" in text
    assert "1 failed: the control room says why." in text


def test_a_failed_job_is_tried_again_or_left_out_with_a_reason(held: Held, tmp_path: Path) -> None:
    """And only a failed one; what the contest cannot go on without is not left out."""
    from tracearena.server.models import AuditEntry, Job, JobState

    boss = organiser(held)
    held.anonymization()
    number = hands.defend(held, "001", tmp_path).pk
    job = Job.objects.get(key=f"check/{number}")
    form = {"act": "again", "reason": "the disk was full"}
    address = f"/organiser/jobs/{job.pk}"
    assert boss.post(address, form).status_code == 409
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED, error="no room")
    assert address in page("/organiser", boss)
    assert boss.post(address, form | {"reason": ""}).status_code == 400
    assert boss.post(address, form | {"act": "forget"}).status_code == 404
    assert boss.post("/organiser/jobs/99999", form).status_code == 404
    assert boss.post(address, form).headers["Location"] == "/organiser"
    assert Job.objects.get(pk=job.pk).state == JobState.WAITING
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED, kind="publish")
    assert boss.post(address, form | {"act": "aside"}).status_code == 409
    Job.objects.filter(pk=job.pk).update(kind="check")
    boss.post(address, form | {"act": "aside"})
    assert Job.objects.get(pk=job.pk).state == JobState.DONE
    acts = AuditEntry.objects.order_by("-pk").values_list("act", flat=True)[:2]
    assert list(acts) == ["job set aside", "job tried again"]
    assert address not in page("/organiser", boss)


@pytest.mark.slow
def test_the_checklist_turns_as_things_become_true(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each phase what must be true, and whether it is."""
    from tracearena.server.models import Contest
    from tracearena.server.operations import next_phase

    hands.without_children(monkeypatch)
    boss = organiser(held)

    def unmet() -> set[str]:
        from tracearena.server import clock

        checks = next_phase.build_checklist(held.folder, Contest.get_current(), clock.now())
        text = page("/organiser/phases", boss)
        assert text.count('<li class="met">') == sum(one.met for one in checks)
        assert text.count('<li class="unmet">') == sum(not one.met for one in checks)
        return {one.words for one in checks if not one.met}

    came = "At least one member of every team has joined."
    assert came in unmet()
    for team in ("001", "002", "003"):
        joined(held, team)
    assert came not in unmet()
    assert "A judge is running." in unmet()
    _worker(timedelta(0))
    assert "A judge is running." not in unmet()

    held.anonymization()
    valid, checked = "Every team has handed in a valid data set.", "Every upload is checked."
    for team in ("001", "002", "003"):
        hands.defend(held, team, tmp_path)
    assert {valid, checked} <= unmet()
    hands.judged(held)
    assert not {valid, checked} & unmet()
    drawn = "The judge has drawn the pseudonyms and published every valid data set."
    assert drawn in unmet()
    assert drawn not in page("/organiser", boss)  # nobody can do anything about it before the phase is over
    held.at(SCHEDULE.anonymization_end)
    assert drawn in page("/organiser", boss)
    hands.judged(held)
    assert drawn not in unmet()
    frozen = "Every attack is scored and the final board is frozen."
    held.attack()
    assert frozen in unmet()
    held.at(SCHEDULE.attack_end)
    hands.judged(held)
    assert frozen not in unmet()


def test_a_phase_is_moved_with_a_reason_and_written_down(held: Held) -> None:
    """In UTC; what cannot be is said above the form, and nothing changes."""
    from tracearena.server.models import AuditEntry, Contest

    held.anonymization()
    boss = organiser(held)
    form = {"point": "anonymization_end", "to": "2026-05-09T12:30", "reason": "the <i>power</i> failed"}
    answer = boss.post("/organiser/phases", form)
    assert answer.headers["Location"] == "/organiser/phases"
    assert Contest.get_current().schedule.anonymization_end.isoformat() == "2026-05-09T12:30:00+00:00"
    entry = AuditEntry.objects.order_by("-pk")[0]
    assert (entry.actor, entry.act, entry.details["reason"]) == (
        "person 1",
        "schedule moved",
        "the <i>power</i> failed",
    )
    assert "the &lt;i&gt;power&lt;/i&gt; failed" in page("/organiser/log", boss)
    for wrong, status in (
        ({"to": "2026-05-02T00:00"}, 409),
        ({"to": "tomorrow"}, 400),
        ({"reason": "x" * 201}, 409),
        ({"point": "lunch"}, 409),
    ):
        answer = boss.post("/organiser/phases", form | wrong)
        assert answer.status_code == status
        assert 'role="alert"' in answer.content.decode()
    assert Contest.get_current().schedule.anonymization_end.isoformat() == "2026-05-09T12:30:00+00:00"


@pytest.mark.slow
def test_only_what_can_be_moved_is_offered(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies ahead, then ends that nothing hangs on yet; in the end nothing."""
    hands.without_children(monkeypatch)
    boss = organiser(held)

    def offered() -> list[str]:
        return re.findall(r'<option value="(\w+_(?:begin|end))"', page("/organiser/phases", boss))

    held.anonymization()
    assert offered() == [
        "anonymization_end",
        "attack_begin",
        "attack_end",
        "results_begin",
    ]
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    assert "anonymization_end" in offered()
    hands.judged(held)
    assert "anonymization_end" not in offered()
    held.at(SCHEDULE.attack_end)
    hands.judged(held)
    assert "attack_end" not in offered()


def test_an_organiser_is_told_whose_a_page_of_teams_is(held: Held) -> None:
    """Not to log in, which is done."""
    answer = organiser(held).get("/team")
    assert answer.status_code == 404
    assert "you are in no team" in answer.content.decode()
    assert "logged in" not in answer.content.decode()


def test_the_log_has_no_values_of_a_programming_language(held: Held) -> None:
    from tracearena.server.store.audit_log import log_act

    log_act(
        "organiser", "tried", originals=False, teams=["001", "002"], utility=None, rules={"live_share": 0.3}
    )
    text = page("/organiser/log", organiser(held))
    for told in ("originals: <bdi>no<", "teams: <bdi>001 002<", "utility: <bdi>–<", "<bdi>live share 0.3<"):
        assert told in text
    assert not re.search(r"False|None|\{&#x27;|\[&#x27;", text)


def test_lights_tell_who_needs_help(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never logged in, never uploaded, invalid; and nothing of a score."""
    hands.without_children(monkeypatch)
    boss = organiser(held)
    joined(held, "001")
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.hand_in(held, "002", "obfuscated", b"no traces at all")
    hands.judged(held)
    text = page("/organiser/teams", boss)
    rows = [re.findall(r'class="light (\w+)">([^<]+)<', row) for row in text.split("<tr>")[2:]]
    assert rows == [
        [("good", "active"), ("good", "valid"), ("wait", "not yet")],
        [("bad", "never logged in"), ("bad", "invalid"), ("wait", "not yet")],
        [("bad", "never logged in"), ("bad", "never uploaded"), ("wait", "not yet")],
    ]
    shown = page("/organiser/submissions", boss)
    assert "wrong-header" in shown
    assert page("/organiser/submissions?team=003", boss).count('<th scope="row">') == 0
    assert "Nothing has been handed in yet." in page("/organiser/submissions?team=003", boss)


@pytest.mark.slow
def test_a_re_scoring_is_started_compared_and_decided(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled once, applied once; what cannot be is refused."""
    from tracearena.server.models import Score

    boss = organiser(held)
    played(held, tmp_path, monkeypatch, until="frozen")
    assert boss.post("/organiser/rescoring", {"reason": ""}).status_code == 400
    first = boss.post("/organiser/rescoring", {"reason": "a <u>doubt</u>"}).headers["Location"]
    assert boss.post("/organiser/rescoring", {"reason": "another"}).status_code == 409
    assert "scores remain to be computed" in page(first, boss)
    assert boss.post(f"{first}/apply").status_code == 409
    assert boss.post(f"{first}/cancel").headers["Location"] == first
    assert "the scores stay as they were" in page(first, boss)

    victim = Score.objects.filter(key__startswith="utility/").first()
    assert victim is not None
    Score.objects.filter(pk=victim.pk).update(value=0.75)
    second = boss.post("/organiser/rescoring", {"reason": "a number was wrong"}).headers["Location"]
    hands.judged(held)
    text = page(second, boss)
    assert re.findall(r'<th scope="row">([^<]+)</th><td class="number">([^<]+)<', text) == [
        (victim.key, "0.75")
    ]
    boss.post(f"{second}/apply")
    assert "The new scores have counted since" in page(second, boss)
    assert Score.objects.get(key=victim.key, rescoring=None).value == victim.value
    assert "a &lt;u&gt;doubt&lt;/u&gt;" in page("/organiser/rescoring", boss)
    assert boss.get("/organiser/rescoring/999").status_code == 404


@pytest.mark.slow
def test_the_ceremony_is_closed_until_it_is_asked_for(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a form, after the board is frozen; and that is written down."""
    from tracearena.server.models import AuditEntry

    with_nasty_names()
    boss, member = organiser(held), joined(held, "001")
    assert boss.post("/organiser/ceremony").status_code == 409
    played(held, tmp_path, monkeypatch, until="frozen")
    door = page("/organiser/ceremony", boss)
    assert "data-score" not in door
    assert "The audit log records" in door
    assert member.post("/organiser/ceremony").status_code == 404
    answer: Any = boss.post("/organiser/ceremony")
    text = answer.content.decode()
    check_neutral(text)
    cells = re.findall(r'<g class="(cell[^"]*)"', text)
    assert len(cells) == 2 * (4 * (3 + 2) - 3)
    assert all("closed" in one for one in cells)
    assert text.count("data-scene") == 1 + 2 + 3
    assert AuditEntry.objects.order_by("-pk")[0].act == "ceremony opened"
    assert browser().get("/board").content.decode().count("data-score") == 0


def test_the_organiser_gives_the_next_team_a_name_and_a_link(held: Held) -> None:
    """The judge makes the link ready; a name that is taken, and one too many, are refused with a reason."""
    from tracearena.server.models import AuditEntry

    boss = organiser(held)
    refused = boss.post("/organiser/teams", {"name": "Fog <Bank>"})
    assert (refused.status_code, "may have been sent" in refused.content.decode()) == (409, True)
    text = boss.post("/organiser/teams", {"name": "Fog <Bank>", "team": "001"}).content.decode()
    assert "1 earlier link of this team is no longer valid." in text
    secret = re.search(r"/join#([\w-]+)</code>", text)
    assert secret is not None
    assert "001 Fog &lt;Bank&gt;" in text
    assert AuditEntry.objects.filter(act="team added", actor="person 1").count() == 1
    hands.judged(held)
    assert "Fog &lt;Bank&gt;" in page("/team", by_link(secret[1], "Ann"))
    for name, said in (("Fog <Bank>", "called"), ("", "60 printable"), ("x" * 61, "60 printable")):
        refused = boss.post("/organiser/teams", {"name": name, "team": "002"})
        assert refused.status_code == 409
        assert said in refused.content.decode().partition('role="alert">')[2].partition("</p>")[0]
    for team, name in (("002", "Paper Cranes"), ("003", "Third")):
        assert boss.post("/organiser/teams", {"name": name, "team": team}).status_code == 200
    full = boss.post("/organiser/teams", {"name": "Fourth"}).content.decode()
    assert "every place in the contest has a name" in full
