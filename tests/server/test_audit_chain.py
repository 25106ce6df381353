"""The audit log: every act of an organiser is in it, and it is one chain without a gap."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.routes import pages
from tests.server.visitors import joined, organiser, token

from tracearena.server.models import AuditEntry, Job, JobState, Member, Question, Rescoring, Token
from tracearena.server.store.audit_log import find_broken_entry, log_act


def test_many_writers_make_one_chain(held: Held) -> None:
    """Each entry follows from the one before, whoever wrote that."""
    before, errors = AuditEntry.objects.count(), []

    def write(name: str) -> None:
        try:
            for number in range(15):
                log_act(name, "act", number=number)
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()

    writers = [threading.Thread(target=write, args=(f"writer {number}",)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert not errors
    assert AuditEntry.objects.count() == before + 60
    assert find_broken_entry() is None


def test_who_gives_others_access_to_a_team_is_written_down(held: Held) -> None:
    """Tokens and links of members."""
    client = joined(held, "001", "ann")
    token(client)
    number = Token.objects.get().pk
    client.post("/team/members")
    assert client.post(f"/team/tokens/{number}/revoke").status_code == 302
    assert client.post(f"/team/tokens/{number}/revoke").status_code == 404
    acts = AuditEntry.objects.filter(actor=Member.objects.get().log_name).values_list("act", "details")
    assert list(acts)[1:] == [
        ("token made", {"number": number}),
        ("members invited", {"team": "001"}),
        ("token revoked", {"number": number}),
    ]


@pytest.mark.slow
def test_every_form_of_an_organiser_is_written_down(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a name; a form that is added later fails here until it is."""
    hands.without_children(monkeypatch)
    boss, why = organiser(held), {"reason": "a team asks for it"}
    me = Member.objects.get(username="organiser").log_name
    ann = joined(held, "001", "ann")
    held.anonymization()
    failed = Job.objects.get(key=f"check/{hands.defend(held, '001', tmp_path).pk}")
    Job.objects.filter(pk=failed.pk).update(state=JobState.FAILED)
    done: set[str] = set()

    def act(pattern: str, form: dict[str, Any], number: object = "") -> None:
        before = AuditEntry.objects.count()
        answer = boss.post(pattern.replace("<int:number>", str(number)).replace("<str:number>", "002"), form)
        assert answer.status_code in (200, 302), (pattern, answer.content.decode())
        written = AuditEntry.objects.order_by("pk")[before:]
        assert me in [entry.actor for entry in written], pattern
        done.add(pattern)

    act("/organiser/teams", {"name": "Paper Cranes", "team": "003"})
    act("/organiser/teams/<str:number>/reset", {})
    act("/organiser/teams/<str:number>/name", {"name": "Fog Bank"})
    act("/organiser/teams/own-names", {"allowed": "no"})
    act("/organiser/messages", {"text": "The room is 7 now."})
    act("/organiser/information", {"text": "# Venue"})
    ann.post("/team/questions", {"text": "Where?"})
    act("/organiser/questions/<int:number>", {"text": "Room 7."}, Question.objects.get().pk)
    member = Member.objects.get(username="ann").pk
    act("/organiser/people", {})
    act("/organiser/backup", {})
    act("/organiser/people/<int:number>/reset", {}, member)
    act("/organiser/people/<int:number>/disable", {}, member)
    act("/organiser/people/<int:number>/delete", {}, member)
    act("/organiser/jobs/<int:number>", {"act": "again", **why}, failed.pk)
    hands.judged(held)
    later = (SCHEDULE.results_begin + DAY).isoformat()
    act("/organiser/phases", {"point": "results_begin", "to": later, **why})
    held.at(SCHEDULE.attack_end)
    hands.judged(held)
    act("/organiser/ceremony", {})
    for decision in ("apply", "cancel"):
        act("/organiser/rescoring", why)
        hands.judged(held)
        number = Rescoring.objects.order_by("pk").last().pk
        act(f"/organiser/rescoring/<int:number>/{decision}", {}, number)
    held.at(SCHEDULE.results_begin + DAY)
    act("/organiser/publish", {})
    hands.judged(held)
    act("/organiser/export", {"for": "organisers"})
    assert done == _forms(boss)
    assert find_broken_entry() is None


def _forms(boss: Any) -> set[str]:
    """Return the pages of organisers that take a form, seen from their answers to an empty one."""
    own = [pattern for pattern in pages() if pattern.startswith("/organiser")]
    return {
        pattern
        for pattern in own
        if boss.post(pattern.replace("<int:number>", "0").replace("<str:number>", "0")).status_code != 405
    }
