"""What organisers tell everybody, what teams ask, and the page that organisers write: text, and only text."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.server.conftest import BEGIN, DAY, SCHEDULE, Held
from tests.server.visitors import browser, joined, organiser, program

from tracearena.errors import DataError, ParameterError
from tracearena.server import announcements
from tracearena.server.models import Announcement, AuditEntry, Question
from tracearena.server.operations.schedule import give_extra_time, move_point

NASTY = "<script>alert(1)</script> \u202eleft\n=HYPERLINK(1)"


@pytest.fixture
def database() -> None:
    """SQLite: what a page says does not depend on the database."""


def _text(client: object, address: str) -> str:
    answer = client.get(address)  # type: ignore[attr-defined]
    assert answer.status_code == 200, address
    return str(answer.content.decode())


def test_an_announcement_is_on_every_page_for_a_week(held: Held) -> None:
    """For visitors, teams and organisers, and by the API; the page of announcements keeps it."""
    boss, member, visitor = organiser(held), joined(held, "001"), browser()
    assert boss.post("/organiser/messages", {"text": "Lunch is at noon."}).status_code == 302
    for client, address in ((visitor, "/"), (visitor, "/rules"), (member, "/team"), (boss, "/organiser")):
        assert "Lunch is at noon." in _text(client, address), address
    (told,) = program(held, "002").get("announcements").json()
    assert (told["text"], told["point"]) == ("Lunch is at noon.", None)
    held.at(BEGIN + 7 * DAY - timedelta(seconds=1))
    assert "Lunch is at noon." in _text(visitor, "/")
    held.at(BEGIN + 7 * DAY)
    assert "Lunch is at noon." not in _text(visitor, "/")
    assert "Lunch is at noon." in _text(visitor, "/announcements")
    assert AuditEntry.objects.filter(act="announced", actor="person 1").count() == 1


def test_what_people_write_is_shown_as_text(held: Held) -> None:
    """Announcements, questions and answers: no markup, no letter that turns the line."""
    boss, member = organiser(held), joined(held, "001")
    boss.post("/organiser/messages", {"text": NASTY})
    member.post("/team/questions", {"text": NASTY})
    boss.post(f"/organiser/questions/{Question.objects.get().pk}", {"text": NASTY, "for": "all"})
    for client, address in (
        (browser(), "/"), (browser(), "/announcements"), (member, "/team/questions"),
        (boss, "/organiser/messages"),
    ):  # fmt: skip
        text = _text(client, address)
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; \ufffdleft<br>=HYPERLINK(1)" in text


def test_a_moved_deadline_is_announced_with_its_reason(held: Held) -> None:
    """For all, or as the extra time of a team; a move that is refused announces nothing."""
    held.anonymization()
    move_point("attack_end", SCHEDULE.attack_end + DAY / 2, reason="The network was down", actor="test")
    text = _text(browser(), "/")
    assert "is now at <time" in text
    assert "The network was down" in text
    give_extra_time("003", "attack_end", SCHEDULE.attack_end + 0.6 * DAY, reason="A power cut", actor="test")
    assert "extra time for team 003 only" in _text(browser(), "/")
    made = Announcement.objects.first()
    assert made is not None
    assert announcements.describe_announcement(made) | {"id": 0, "made_at": ""} == {
        "id": 0,
        "made_at": "",
        "text": "A power cut",
        "question": None,
        "point": "attack_end",
        "moved_to": (SCHEDULE.attack_end + 0.6 * DAY).isoformat(),
        "team": "003",
    }
    with pytest.raises(DataError):
        move_point("anonymization_begin", SCHEDULE.attack_end, reason="too late", actor="test")
    assert Announcement.objects.count() == 2


def test_a_question_is_answered_privately_or_to_all_without_its_team(held: Held) -> None:
    """Other teams see nothing of a private one, and of a public one not who asked; answered once."""
    boss, asker, other = organiser(held), joined(held, "001", "ann"), joined(held, "002", "bob")
    asker.post("/team/questions", {"text": "May we use maps?"})
    asker.post("/team/questions", {"text": "Is our room locked?"})
    maps, room = Question.objects.order_by("pk")
    waiting = _text(boss, "/organiser/messages")
    assert "Messages (2)" in waiting
    assert waiting.index("May we use maps?") < waiting.index("Is our room locked?")
    for question, answer, to in ((maps, "Yes, all.", "all"), (room, "Yes, at six.", "team")):
        address = f"/organiser/questions/{question.pk}"
        assert boss.post(address, {"text": answer, "for": to}).status_code == 302
        assert boss.post(address, {"text": "No.", "for": to}).status_code == 400
    assert "Questions (2)" in _text(asker, "/team")
    own = _text(asker, "/team/questions")
    assert "Questions (" not in _text(asker, "/team")
    assert "Yes, all." in own
    assert "Yes, at six." in own
    for client, address in ((other, "/team/questions"), (browser(), "/announcements"), (other, "/team")):
        text = _text(client, address)
        assert "room locked" not in text
        assert "Yes, at six." not in text
    public = _text(browser(), "/announcements")
    assert "May we use maps?" in public
    assert "Yes, all." in public
    assert "001" not in public.partition("<main")[2].partition("</main>")[0]
    assert asker.post(f"/organiser/questions/{maps.pk}", {"text": "No."}).status_code == 404
    assert boss.post("/organiser/questions/999", {"text": "No."}).status_code == 404
    assert "Messages (" not in _text(boss, "/organiser/messages")


def test_a_program_asks_and_reads_the_answer(held: Held) -> None:
    """Of its team only; a question that waits for an answer is kept once."""
    asker, other, boss = program(held, "001"), program(held, "002"), organiser(held)
    asked = asker.post("questions", {"text": "May we use maps?"})
    assert asked.status_code == 201
    assert asker.post("questions", {"text": " May we use maps?\r\n"}).json() == asked.json()
    (waiting,) = asker.get("questions").json()
    assert (waiting["text"], waiting["answer"], waiting["answered_at"]) == ("May we use maps?", None, None)
    boss.post(f"/organiser/questions/{waiting['id']}", {"text": "Yes.", "for": "team"})
    (answered,) = asker.get("questions").json()
    assert (answered["answer"], answered["for_all"]) == ("Yes.", False)
    assert answered["answered_at"] == BEGIN.isoformat()
    assert asker.post("questions", {"text": "May we use maps?"}).json()["id"] > waiting["id"]
    assert other.get("questions").json() == []
    for text in ("", 2_001 * "x"):
        assert asker.post("questions", {"text": text}).status_code == 400
    assert asker.post("questions", {}).status_code == 422


def test_texts_have_a_length_and_a_team_a_number_of_open_questions(held: Held) -> None:
    """What is refused is said above the form, with the text still in it."""
    boss, member = organiser(held), joined(held, "001")
    for client, address in ((boss, "/organiser/messages"), (member, "/team/questions")):
        for text in ("", "  \r\n ", 2_001 * "x"):
            refused = client.post(address, {"text": text})
            assert (refused.status_code, 'role="alert"' in refused.content.decode()) == (400, True)
        assert client.post(address, {"text": 2_000 * "x"}).status_code == 302
    for number in range(announcements.MOST_OPEN_QUESTIONS - 1):
        assert member.post("/team/questions", {"text": f"Question {number}"}).status_code == 302
    refused = member.post("/team/questions", {"text": "One too many"})
    assert refused.status_code == 400
    assert "One too many" in refused.content.decode()
    assert joined(held, "002").post("/team/questions", {"text": "Ours"}).status_code == 302


def test_the_page_of_the_organiser_is_markdown_without_html(held: Held) -> None:
    """Headings, lists, links and tables; scripts, pictures and links that run something are text."""
    boss = organiser(held)
    assert browser().get("/information").status_code == 404
    assert 'href="/information"' not in _text(browser(), "/")
    page = (
        "# Venue\n\nRoom **7**, [map](https://maps.example/a?b=1&c=2)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "<script>alert(1)</script> <b onclick=x>bold</b>\n\n![picture](https://evil.example/a.png)\n\n"
        "[run](javascript:alert(1)) [data](data:text/html,x) <javascript:alert(1)>\n\n[a]: vbscript:x\n\n[a]"
    )
    assert boss.post("/organiser/information", {"text": page}).headers["Location"] == "/information"
    assert 'href="/information"' in _text(browser(), "/")
    shown = _text(browser(), "/information").partition("<main")[2].partition("</main>")[0]
    assert "<h2>Venue</h2>" in shown
    assert '<a href="https://maps.example/a?b=1&amp;c=2" rel="noreferrer">map</a>' in shown
    assert "<td>2</td>" in shown
    for bad in ("<script", "<b ", "<img", 'href="javascript', 'href="data', 'href="vbscript'):
        assert bad not in shown, bad
    boss.post("/organiser/information", {"text": " "})
    assert browser().get("/information").status_code == 404
    with pytest.raises(ParameterError, match="50000"):
        announcements.write_information(50_001 * "x", "test")


def test_a_deleted_person_is_nowhere_and_the_log_is_whole(held: Held) -> None:
    """Not on pages and not in the log that is exported; what the team handed in stays."""
    import json

    from tests.server.visitors import by_form, token, tried

    from tracearena.server.store.audit_log import find_broken_entry, list_public_entries

    boss, person, mate = organiser(held), joined(held, "001", "Zora Quux"), joined(held, "001", "bob")
    held.anonymization()
    token(person, "laptop of Zora Quux")
    person.post("/team/questions", {"text": "Where is the room?"})
    place = by_form(person, "obfuscated/1", b"reg_id\n", "k")["Location"]
    number = Question.objects.get().member_id
    assert "Zora Quux" in _text(mate, place)
    assert boss.post(f"/organiser/people/{number}/delete").status_code == 302
    assert person.get("/team").status_code == 302
    assert tried("Zora Quux", "seven green bottles").status_code == 403
    for client, address in (
        (mate, place), (mate, "/team/members"), (mate, "/team/tokens"), (mate, "/team/questions"),
        (boss, "/organiser/people"), (boss, "/organiser/log"), (boss, "/organiser/messages"),
        (boss, "/organiser/teams"),
    ):  # fmt: skip
        assert "Zora" not in _text(client, address), address
    assert mate.get(place).status_code == 200
    assert find_broken_entry() is None
    assert "Zora" not in json.dumps([entry.details for entry in AuditEntry.objects.all()])
    assert "Zora" not in json.dumps(list_public_entries())
    last = AuditEntry.objects.last()
    assert last is not None
    assert (last.act, last.details["member"]) == ("person deleted", f"person {number}")


def test_the_last_organiser_is_not_deleted(held: Held) -> None:
    """Nobody could organise the contest any more."""
    from tracearena.server import accounts

    organiser(held)
    with pytest.raises(DataError, match="no other organiser"):
        accounts.delete_member(accounts.find_member("organiser", organiser=True), "test")
    assert accounts.find_member("organiser", organiser=True).is_active
