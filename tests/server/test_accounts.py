"""Accounts: links, logins, tokens; what is limited, what is renewed, what is never there by default."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.test import Client
from tests.server.conftest import BEGIN, Held
from tests.server.hands import judged
from tests.server.routes import VALUES, filled, pages
from tests.server.visitors import (
    PASSWORD,
    Program,
    browser,
    by_link,
    joined,
    logged_in,
    organiser,
    program,
    token,
    tried,
)

from tracearena.server.store import crypto


@pytest.mark.slow
@pytest.mark.parametrize("password_kib", [None])
def test_passwords_are_hashed_by_argon2_with_19_mib(held: Held) -> None:
    """As the stored hash says itself."""
    from tracearena.server.models import Member

    joined(held, "001", "ann")
    assert Member.objects.get().password.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")


def test_the_login_cookie_is_renewed_at_login(held: Held) -> None:
    """T35: Whoever knew the cookie before knows nothing after; the token of the forms is new as well."""
    from tracearena.server.accounts import SessionStore

    joined(held, "001", "ann")
    client = browser()
    planted = SessionStore()
    planted.create()
    client.cookies["sessionid"] = planted.session_key
    client.get("/login")
    forms = client.cookies["csrftoken"].value
    client.post("/login", {"name": "ann", "password": PASSWORD})
    renewed = client.cookies["sessionid"].value
    assert renewed != planted.session_key
    assert client.cookies["csrftoken"].value != forms
    thief = browser()
    thief.cookies["sessionid"] = planted.session_key
    assert thief.get("/team").status_code == 302
    again = client.post("/login", {"name": "ann", "password": PASSWORD})
    assert again.status_code == 302
    assert client.cookies["sessionid"].value != renewed


def test_logout_kills_both_cookies(held: Held) -> None:
    """T35: The old ones open nothing, even if somebody kept them."""
    client = joined(held, "001", "ann")
    kept = {name: one.value for name, one in client.cookies.items()}
    assert {"sessionid", "unlock"} <= set(kept)
    assert client.get("/team/data/bundle").status_code == 200
    answer = client.post("/logout")
    assert answer.cookies["unlock"].value == answer.cookies["sessionid"].value == ""
    thief = browser()
    for name, value in kept.items():
        thief.cookies[name] = value
    assert thief.get("/team/data/bundle").status_code == 302


def test_cookies_are_for_the_server_alone(held: Held) -> None:
    """T35: No script reads them, no other site sends them."""
    client = joined(held, "001")
    for name, same_site in (("sessionid", "Lax"), ("unlock", "Strict"), ("csrftoken", "Lax")):
        assert client.cookies[name]["httponly"], name
        assert client.cookies[name]["samesite"] == same_site


def test_neither_the_session_nor_its_cookie_alone_opens_the_bundle(held: Held) -> None:
    """It takes the second cookie, which no table holds."""
    from django.contrib.sessions.models import Session

    client = joined(held, "001", "ann")
    secret = client.cookies["unlock"].value
    stored = Session.objects.get()
    assert secret not in str(stored.get_decoded())
    del client.cookies["unlock"]
    answer = client.get("/team/data/bundle")
    assert (answer.status_code, "log out and log in again" in answer.content.decode()) == (403, True)
    client.cookies["unlock"] = crypto.make_secret()
    assert client.get("/team/data/bundle").status_code == 403


def test_whoever_reads_the_database_is_not_logged_in(held: Held) -> None:
    """T35: Neither table nor backup holds a cookie that a browser could send."""
    from tracearena.server.operations import backup

    client = joined(held, "001", "ann")
    rows = b"".join(backup.dump_rows()).decode()
    assert "django_session" in rows
    for name in ("sessionid", "unlock", "csrftoken"):
        assert client.cookies[name].value not in rows, name
    from django.contrib.sessions.models import Session

    thief = browser()
    thief.cookies["sessionid"] = Session.objects.get().pk
    assert thief.get("/team").status_code == 302


@pytest.mark.slow
def test_a_new_password_opens_the_bundle_and_ends_other_logins(held: Held) -> None:
    """The key is wrapped anew; the old password opens nothing more."""
    client, other = joined(held, "001", "ann"), logged_in("ann")
    new = "eight blue bottles"
    assert client.post("/password", {"old": "wrong", "password": new}).status_code == 403
    assert client.post("/password", {"old": PASSWORD, "password": "short"}).status_code == 400
    assert client.post("/password", {"old": PASSWORD, "password": new}).status_code == 302
    assert client.get("/team/data/bundle").status_code == 200
    assert other.get("/team").status_code == 302
    assert tried("ann", PASSWORD).status_code == 403
    assert logged_in("ann", new).get("/team/data/bundle").status_code == 200


def test_tokens_are_hashed_and_shown_once(held: Held) -> None:
    """T36: No table holds the secret, no page shows it again."""
    from tracearena.server.models import Token

    client = joined(held, "001")
    secret = token(client)
    assert len(secret) == len("tracearena_") + 43  # 256 bits
    assert secret not in client.get("/team/tokens").content.decode()
    row = Token.objects.values().get()
    assert secret not in str(row)
    assert secret.encode() not in bytes(row["wrapped_key"])
    assert row["digest"] == crypto.hash_secret(secret)


def test_tokens_are_scoped_and_revocable(held: Held) -> None:
    """T36.

    A token is its own team, opens its own bundle, and ends when it is revoked, by its own team only.
    """
    from tracearena.server.models import Token

    client, other = joined(held, "001"), joined(held, "002")
    caller = Program(token(client))
    assert caller.get("me").json()["team"] == "001"
    assert caller.get("data/bundle").status_code == 200
    number = Token.objects.get().pk
    assert other.post(f"/team/tokens/{number}/revoke").status_code == 404
    assert caller.get("me").status_code == 200
    assert client.post(f"/team/tokens/{number}/revoke").status_code == 302
    assert caller.get("me").status_code == 401
    assert client.post(f"/team/tokens/{number}/revoke").status_code == 404


def test_nothing_but_a_good_token_counts_in_the_api(held: Held) -> None:
    """T36: No login cookie, no link, no password, no token of thin air; and the answer has the one shape."""
    client = joined(held, "001")
    assert client.get("/api/v1/me").status_code == 401
    for secret in ("", "x", held.created.invitations["001"], "tracearena_" + 43 * "A"):
        refused = Program(secret).get("me")
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")


@pytest.mark.slow
def test_there_is_no_default_account(held: Held) -> None:
    """T37: A new contest has links and nobody in it."""
    from tracearena.server.models import Member, Token

    assert not Member.objects.exists()
    assert not Token.objects.exists()
    for name in ("admin", "root", "organiser", "organizer", "team001", "001", "test", ""):
        for password in (name, "admin", "password", ""):
            assert tried(name, password, REMOTE_ADDR=f"name {name}").status_code in (403, 429)
    assert browser().get("/admin").status_code == 404


def test_an_organisers_link_is_good_once(held: Held) -> None:
    """And an account of it is an organiser's, of no team."""
    client = organiser(held)
    assert client.get("/organiser").status_code == 200
    form = {"secret": held.created.organiser, "name": "second", "password": PASSWORD}
    assert browser().post("/join", form).status_code == 410


def test_links_expire_after_72_hours(held: Held) -> None:
    """To the millisecond."""
    held.at(BEGIN + timedelta(hours=72) - timedelta(milliseconds=1))
    joined(held, "001")
    held.at(BEGIN + timedelta(hours=72))
    form = {"secret": held.created.invitations["002"], "name": "late", "password": PASSWORD}
    assert browser().post("/join", form).status_code == 410


def test_looking_at_a_link_uses_nothing_up(held: Held) -> None:
    """Programs that preview links do not redeem them; a refused form does not either."""
    from tracearena.server.models import Link

    before = list(Link.objects.values_list("places", flat=True))
    browser().get("/join")
    secret = held.created.invitations["001"]
    for name, password in (("ann", "short"), ("", PASSWORD), ("a\u202eb", PASSWORD), (61 * "a", PASSWORD)):
        form = {"secret": secret, "name": name, "password": password}
        assert browser().post("/join", form).status_code == 400
    assert list(Link.objects.values_list("places", flat=True)) == before
    joined(held, "001", "ann")
    form = {"secret": secret, "name": "ann", "password": PASSWORD}
    assert browser().post("/join", form).status_code == 409


def test_members_invite_members(held: Held) -> None:
    """By a link of the team's own, which opens the same bundle."""
    page = joined(held, "001").post("/team/members").content.decode()
    found = re.search(r"http://localhost/join#([\w-]{43})", page)
    assert found is not None
    second = by_link(found[1], "second")
    assert second.get("/team/data/bundle").status_code == 200


def test_an_organiser_renews_a_link_through_the_judge(held: Held) -> None:
    """The web cannot open the team's key: the new link is good when the judge has wrapped it."""
    page = organiser(held).post("/organiser/teams/002/reset").content.decode()
    found = re.search(r"http://localhost/join#([\w-]{43})", page)
    assert found is not None
    form = {"name": "new", "password": PASSWORD}
    assert browser().post("/join", {"secret": found[1], **form}).status_code == 503
    old = held.created.invitations["002"]
    assert browser().post("/join", {"secret": old, **form}).status_code == 410
    judged(held)
    assert by_link(found[1], "new").get("/team/data/bundle").status_code == 200


def test_after_the_login_one_goes_to_pages_of_ours_only(held: Held) -> None:
    """No open redirect."""
    joined(held, "001", "ann")
    form = {"name": "ann", "password": PASSWORD}
    for wanted, got in (
        ("/team/data", "/team/data"),
        ("https://evil.example/", "/team"),
        ("//evil.example/", "/team"),
        ("javascript:alert(1)", "/team"),
    ):
        assert browser().post("/login", {**form, "next": wanted})["Location"] == got


@pytest.mark.slow
def test_other_teams_objects_are_404(held: Held) -> None:
    """T20: Uploads and tokens of others, pages of other roles: nothing says that they are there."""
    from tracearena.server.models import Token

    held.anonymization()
    mine, theirs = program(held, "001"), program(held, "002")
    client = logged_in("owner of a token of 001")
    number = theirs.upload("obfuscated/1", b"rows", "k").json()["id"]
    assert theirs.get(f"submissions/{number}").status_code == 200
    missing = mine.get("submissions/4711")
    other = mine.get(f"submissions/{number}")
    assert (other.status_code, other.content) == (404, missing.content)
    assert client.get(f"/team/submissions/{number}").status_code == 404
    assert mine.get("submissions").json() == []
    assert client.get(f"/team/submissions/{number}/state").status_code == 404
    assert f"/team/submissions/{number}" not in client.get("/team/submissions").content.decode()
    token_number = Token.objects.get(team__number="002").pk
    assert client.post(f"/team/tokens/{token_number}/revoke").status_code == 404
    boss = organiser(held)
    for pattern in pages():
        for address in filled(pattern, {**VALUES, "number": (str(number),)}):
            if pattern.startswith("/organiser"):
                assert client.get(address).status_code in (404, 405), address
                assert client.post(address).status_code in (404, 405), address
            elif pattern.startswith("/team"):
                assert boss.get(address).status_code in (404, 405), address
                assert boss.post(address).status_code in (404, 405), address


def test_forwarded_headers_count_from_trusted_proxies(held: Held) -> None:
    """The last address that is no proxy's is the client's; HTTPS is believed, and only from there."""
    from django.http import HttpResponse
    from django.test import RequestFactory, override_settings

    from tracearena.server.settings import Address
    from tracearena.server.web.middleware import ProxyMiddleware

    def seen(**more: str) -> tuple[str, bool]:
        request = RequestFactory().get("/", **more)
        ProxyMiddleware(lambda _: HttpResponse())(request)
        return request.META["REMOTE_ADDR"], request.is_secure()

    said = {"HTTP_X_FORWARDED_FOR": "1.2.3.4, 192.0.2.9, 10.0.0.2", "HTTP_X_FORWARDED_PROTO": "https"}
    with override_settings(CONTEST_ADDRESS=Address(trusted_proxies=["10.0.0.1", "10.0.0.2"])):
        assert seen(REMOTE_ADDR="10.0.0.1", **said) == ("192.0.2.9", True)
        assert seen(REMOTE_ADDR="10.0.0.3", **said) == ("10.0.0.3", False)
        assert seen(REMOTE_ADDR="10.0.0.1") == ("10.0.0.1", False)


def test_an_inactive_member_is_out(held: Held) -> None:
    """Page, login and token."""
    from tracearena.server.models import Member

    client = joined(held, "001", "ann")
    caller = Program(token(client))
    Member.objects.update(is_active=False)
    assert client.get("/team").status_code == 302
    assert tried("ann", PASSWORD).status_code == 403
    assert caller.get("me").status_code == 401


def test_two_who_take_the_last_place_of_a_link(held: Held) -> None:
    """One of them comes in."""
    from django.db import connection

    def one(number: int) -> int:
        client: Client = browser()
        form = {"secret": held.created.organiser, "name": f"organiser {number}", "password": PASSWORD}
        try:
            return client.post("/join", form).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(one, range(4))) == [302, 410, 410, 410]
