"""When something is wrong: every page says in a sentence what it is, and what to do."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import Program, browser, joined, organiser, token


def _check(answer: Any, status: int, *words: str) -> None:
    text = answer.content.decode()
    assert answer.status_code == status
    for word in (*words, f'<p class="soft">{status}</p>', '<a class="button" href="/">'):
        assert word in text, word
    assert text.count("<h1>") == 1


def test_what_is_not_there_and_what_is_not_allowed(held: Held) -> None:
    """404, 403, 405."""
    _check(browser().get("/nothing"), 404, "There is nothing at this address", "Check the address")
    _check(joined(held, "001").get("/organiser"), 404, "not allowed to see it")
    _check(browser(enforce_csrf_checks=True).post("/login", {}), 403, "reload the page")


def test_what_is_too_large(held: Held) -> None:
    """413 says where the limit stands."""
    from tracearena.server.errors import render_error

    class Request:
        path = "/team"

    _check(render_error(Request(), 413), 413, "too large", "The rules say how large")
    _check(render_error(Request(), 429), 429, "Too many requests", "Wait a few minutes")


def test_a_fault_of_ours(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 tells nothing of the fault."""
    from tracearena.server import results

    monkeypatch.setattr(results, "collect_public_board", None)
    quiet = browser(raise_request_exception=False)
    _check(quiet.get("/board"), 500, "Something went wrong on the server", "tell the organiser")


def test_a_database_that_is_away(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 for people and for programs, whoever asks."""
    from django.db import OperationalError
    from django.db.models.query import QuerySet

    caller, boss = Program(token(joined(held, "001"))), organiser(held)

    def away(*_: Any, **__: Any) -> Any:
        raise OperationalError("connection refused")

    monkeypatch.setattr(QuerySet, "get", away)
    for client in (browser(), boss):
        _check(client.get("/"), 503, "is not answering at the moment", "in a minute")
    shaped = caller.get("board")
    assert (shaped.status_code, shaped.json()["error"]["code"]) == (503, "database-away")


@pytest.mark.slow
def test_too_many_logins(held: Held) -> None:
    """429 stands above the form, with how long to wait."""
    client = browser()
    for _ in range(11):
        answer = client.post("/login", {"name": "nobody", "password": "wrong wrong wrong"})
    assert answer.status_code == 429
    assert "Wait 15 minutes" in answer.content.decode()


def test_pages_of_a_contest_in_which_nothing_happened(held: Held) -> None:
    """No upload, no judge, everything over: sentences, no empty tables."""
    from tracearena.server.models import Team

    boss = organiser(held)
    for at in (SCHEDULE.anonymization_begin, SCHEDULE.attack_end, SCHEDULE.results_begin):
        held.at(at)
        for address in ("/", "/board", "/organiser", "/organiser/submissions", "/organiser/teams"):
            text = boss.get(address).content.decode()
            assert "<tbody>\n</tbody>" not in text, address
    assert "Nothing has been handed in yet." in boss.get("/organiser/submissions").content.decode()
    assert "No judge has started yet." in boss.get("/organiser").content.decode()
    Team.objects.filter(role="team").update(role="sample")
    assert "There are no teams yet." in browser().get("/").content.decode()
