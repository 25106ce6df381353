"""Who has an account: further organisers, members who are shut out, new passwords; by page and by command."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.server.conftest import Held
from tests.server.hands import judged
from tests.server.visitors import (
    PASSWORD,
    Program,
    browser,
    by_link,
    joined,
    logged_in,
    organiser,
    token,
    tried,
)

from tracearena.errors import DataError, ParameterError
from tracearena.server import accounts
from tracearena.server.models import AuditEntry, Member, Token

NEW = "eight blue bottles"


def _join(secret: str, name: str, password: str = NEW) -> Any:
    return browser().post("/join", {"secret": secret, "name": name, "password": password})


def _link(answer: Any) -> str:
    """Return the secret of the link that a page shows."""
    return re.findall(r"/join#([\w-]+)</code>", answer.content.decode())[0]


def _logged(name: str) -> str:
    """Return what the audit log calls somebody."""
    return f"person {_number(name)}"


def _number(name: str) -> int:
    return int(Member.objects.get(username=name).pk)


@pytest.mark.parametrize("other", ["M001", "m001", "ｍ００１", " M001 "])
def test_names_that_look_the_same_are_one_person(held: Held, other: str) -> None:
    """Nobody joins under another's name in other letters; whoever has it logs in however it is typed."""
    joined(held, "001", "M001")
    assert _join(held.created.invitations["002"], other).status_code == 409
    assert logged_in(other).get("/team").status_code == 200


@pytest.mark.slow
def test_other_letters_give_no_further_tries(held: Held) -> None:
    """Ten failed logins of a name are ten, in whatever case."""
    names = ["annabel", "ANNABEL", "Annabel", "aNNABEL"]
    assert {tried(names[n % 4]).status_code for n in range(10)} == {403}
    assert tried("AnNaBeL").status_code == 429


@pytest.mark.slow
def test_a_new_password_ends_the_tokens_of_its_owner(held: Held) -> None:
    """Those of others in the team stay."""
    client, mate = joined(held, "001", "ann"), joined(held, "001", "bob")
    stolen, other = Program(token(client)), Program(token(mate))
    assert "all your tokens" in client.get("/password").content.decode()
    assert client.post("/password", {"old": PASSWORD, "password": NEW}).status_code == 302
    assert stolen.get("me").status_code == 401
    assert other.get("me").status_code == 200
    assert client.get("/team").status_code == 200
    assert AuditEntry.objects.filter(actor=_logged("ann"), act="password changed").exists()


@pytest.mark.slow
def test_one_member_is_shut_out_and_let_in_again(held: Held) -> None:
    """Login, password, token and the team's open links end; a new password opens the same bundle."""
    boss, client, mate = organiser(held), joined(held, "001", "ann"), joined(held, "001", "bob")
    bundle = b"".join(client.get("/team/data/bundle").streaming_content)
    caller = Program(token(client))
    answer = boss.post(f"/organiser/people/{_number('ann')}/disable")
    assert (answer.status_code, client.get("/team").status_code) == (302, 302)
    assert (tried("ann", PASSWORD).status_code, caller.get("me").status_code) == (403, 401)
    assert _join(held.created.invitations["001"], "ann again").status_code == 410
    assert mate.get("/team").status_code == 200

    secret = _link(boss.post(f"/organiser/people/{_number('ann')}/reset"))
    assert _join(secret, "ann").status_code == 503, "the judge wraps the team's key first"
    judged(held)
    assert _join(secret, "bob").status_code == 400
    assert tried("ann", PASSWORD).status_code == 403
    assert _join(secret, "ANN").status_code == 302
    assert _join(secret, "ann").status_code == 410
    again = logged_in("ann", NEW)
    assert b"".join(again.get("/team/data/bundle").streaming_content) == bundle
    assert caller.get("me").status_code == 401
    acts = AuditEntry.objects.filter(act__in=["shut out", "new password", "password renewed by link"])
    assert [(one.actor, one.act, one.details.get("member")) for one in acts] == [
        (_logged("organiser"), "shut out", _logged("ann")),
        (_logged("organiser"), "new password", _logged("ann")),
        (_logged("ann"), "password renewed by link", None),
    ]


def test_a_password_that_was_ended_is_not_changed_any_more(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has stolen it and changes it at the same moment does not keep the account."""
    client = joined(held, "001", "ann")
    check = accounts._check_password

    def ended_meanwhile(password: str, member: Member) -> None:
        check(password, member)
        accounts.reset_password(accounts.find_member("ann", organiser=False), "command line")

    monkeypatch.setattr(accounts, "_check_password", ended_meanwhile)
    assert client.post("/password", {"old": PASSWORD, "password": NEW}).status_code == 403
    assert tried("ann", NEW).status_code == 403
    assert client.get("/team").status_code == 302


def test_two_organisers_work_at_once_and_one_stays(held: Held) -> None:
    """The second comes by a link of the first; nobody shuts out the last one, or themselves."""
    boss = organiser(held)
    second = by_link(_link(boss.post("/organiser/people")), "second")
    assert [client.get("/organiser").status_code for client in (boss, second)] == [200, 200]
    assert boss.post(f"/organiser/people/{_number('organiser')}/disable").status_code == 409
    assert boss.post(f"/organiser/people/{_number('organiser')}/reset").status_code == 409
    assert second.post(f"/organiser/people/{_number('organiser')}/disable").status_code == 302
    assert boss.get("/organiser").status_code == 302
    with pytest.raises(DataError, match="no other organiser"):
        accounts.shut_out_member(accounts.find_member("SECOND", organiser=True), "command line")
    assert second.get("/organiser").status_code == 200


def test_an_organiser_who_waits_for_a_password_does_not_count_as_another(held: Held) -> None:
    """Their link may never be used."""
    organiser(held)
    by_link(accounts.add_organiser("command line"), "second")
    second = accounts.find_member("second", organiser=True)
    secret = accounts.reset_password(second, "command line")
    with pytest.raises(DataError, match="no other organiser"):
        accounts.shut_out_member(accounts.find_member("organiser", organiser=True), "command line")
    assert _join(secret, "second").status_code == 302
    accounts.shut_out_member(accounts.find_member("organiser", organiser=True), "command line")


def test_two_who_shut_out_each_other_do_not_both_succeed(held: Held) -> None:
    """One organiser is left."""
    from django.db import connection

    organiser(held)
    by_link(accounts.add_organiser("command line"), "second")

    def shut_out(name: str) -> bool:
        try:
            accounts.shut_out_member(accounts.find_member(name, organiser=True), "command line")
        except DataError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(shut_out, ["organiser", "second"])) == [False, True]


@pytest.mark.slow
def test_the_commands_do_the_same(held: Held, capsys: pytest.CaptureFixture[str]) -> None:
    """List, add, reset, disable."""
    import json

    from tracearena.cli import contest_manage

    path = held.folder.path
    organiser(held)
    joined(held, "001", "ann")
    contest_manage.add_organiser(path, "https://example.org/", True)
    said = json.loads(capsys.readouterr().out)
    contest_manage.add_organiser(path, as_json=True)
    assert json.loads(capsys.readouterr().out)["link"].startswith("https://example.org/join#"), "remembered"
    assert said["link"].startswith("https://example.org/join#")
    by_link(said["link"].rpartition("#")[2], "second")
    contest_manage.disable_organiser(path, "organiser")
    contest_manage.disable_member(path, "Ann")
    contest_manage.reset_member(path, "ann", "https://example.org", held.judge_key, None, True)
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert _join(said["link"].rpartition("#")[2], "ann").status_code == 302
    contest_manage.reset_organiser(path, "organiser", as_json=True)
    contest_manage.list_organisers(path, True)
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(one["name"], one["state"]) for one in found] == [("organiser", "waits"), ("second", "in")]
    contest_manage.list_members(path)
    assert capsys.readouterr().out.startswith("ann   001   active, last login 2")
    with pytest.raises(ParameterError, match="member list"):
        contest_manage.disable_member(path, "second")
    assert Token.objects.count() == 0


def test_people_are_the_organisers_alone(held: Held) -> None:
    """A member of a team finds nothing there."""
    client = joined(held, "001", "ann")
    assert client.get("/organiser/people").status_code == 404
    assert organiser(held).get("/organiser/people").status_code == 200
    assert client.post("/organiser/people/1/disable").status_code == 404
    assert logged_in("organiser").post("/organiser/people/999/disable").status_code == 404
