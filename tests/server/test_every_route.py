"""What holds on every address of the site, enumerated from the site itself."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from tests.server.conftest import Held
from tests.server.routes import VALUES, addresses, api_routes, filled, pages
from tests.server.visitors import Program, browser, joined, organiser, token

from tracearena.server.settings import Address
from tracearena.server.web.middleware import HEADERS, POLICY

_NEVER = ("unsafe-inline", "unsafe-eval", "*", "data:", "http:", "https:")


def _check_headers(answer: Any, address: str) -> None:
    for name, value in HEADERS.items():
        assert answer.headers.get(name) == value, (address, name)
    if not address.startswith("/static/"):
        assert answer.headers["Cache-Control"] == "no-store", address


def test_the_policy_allows_nothing_inline_and_nothing_foreign() -> None:
    """Everything comes from the site itself, and nobody frames it."""
    assert not [word for word in _NEVER if word in POLICY]
    assert "default-src 'none'" in POLICY
    assert "frame-ancestors 'none'" in POLICY


@pytest.mark.slow
def test_headers_on_every_answer(held: Held) -> None:
    """T38: For every address, role and method, errors and static files included."""
    held.anonymization()
    member, boss = joined(held, "001"), organiser(held)
    secret = token(member)
    seen: set[int] = set()
    for address in addresses():
        for who in (browser(), member, boss):
            for answer in (who.get(address), who.options(address)):
                _check_headers(answer, address)
                seen.add(answer.status_code)
                if answer.streaming:
                    answer.close()
        if address.startswith("/api/"):
            answer = browser().get(address, headers={"Authorization": f"Bearer {secret}"})
            _check_headers(answer, address)
            seen.add(answer.status_code)
            if answer.streaming:
                answer.close()
    assert {200, 302, 401, 404, 405, 409} <= seen
    assert not [status for status in seen if status >= 500]


def test_an_answer_to_head_has_no_body(held: Held) -> None:
    """Whether it streams or not; the length is told all the same."""
    from django.http import HttpResponse, StreamingHttpResponse
    from django.test import RequestFactory

    from tracearena.server.web.middleware import SecurityHeadersMiddleware

    for made in (HttpResponse(b"body"), StreamingHttpResponse([b"body"])):
        made.headers["Content-Length"] = "4"
        answer = SecurityHeadersMiddleware(lambda _, made=made: made)(RequestFactory().head("/"))
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert (body, answer.headers["Content-Length"]) == (b"", "4")


def test_headers_on_what_goes_wrong(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """T38: A fault of ours, a wrong host, a form from elsewhere, a body that is none."""
    from tracearena.server import results

    _check_headers(browser(headers={"Host": "evil.example"}).get("/"), "wrong host")
    _check_headers(browser(enforce_csrf_checks=True).post("/login", {}), "forged")
    monkeypatch.setattr(results, "collect_public_board", None)
    quiet = browser(raise_request_exception=False)
    page, shape = quiet.get("/board"), quiet.get("/api/v1/board")
    assert (page.status_code, shape.status_code) == (500, 500)
    assert shape.json()["error"]["code"] == "internal-server-error"
    assert "Traceback" not in page.content.decode() + shape.content.decode()
    _check_headers(page, "500")
    _check_headers(shape, "500 of the API")


def test_behind_https_browsers_are_told_to_stay_there(held: Held, settings_turned: Any) -> None:
    """T38: And cookies are never sent in clear."""
    settings_turned(held, Address(hosts=["contest.example"], secure=True))
    client = joined(held, "001")
    assert "max-age" in client.get("/").headers["Strict-Transport-Security"]
    assert all(client.cookies[name]["secure"] for name in ("sessionid", "unlock", "csrftoken"))


@pytest.fixture
def settings_turned() -> Any:
    """Turns to another address, and back."""
    from tracearena.server.settings import configure

    turned: list[Held] = []

    def turn(held: Held, address: Address) -> None:
        turned.append(held)
        configure(held.folder, address)

    yield turn
    for held in turned:
        configure(held.folder)


@pytest.mark.slow
def test_every_form_wants_its_token(held: Held) -> None:
    """T34: No route takes a POST, PUT, PATCH or DELETE of another site; whoever is logged in."""
    held.anonymization()
    clients = {"member": joined(held, "001"), "organiser": organiser(held), "visitor": browser()}
    taken = set()
    for pattern in pages():
        for address in filled(pattern, {name: values[:1] for name, values in VALUES.items()}):
            for who, client in clients.items():
                for method in ("post", "put", "patch", "delete"):
                    status = getattr(_strict(client), method)(address).status_code
                    assert status in (403, 405), (who, method, address, status)
                    if (method, status) == ("post", 403) and client.get(address).status_code != 405:
                        taken.add(pattern)
    assert {"/login", "/join", "/password", "/team/tokens", "/organiser/publish"} <= taken


def test_a_form_with_its_token_is_taken(held: Held) -> None:
    """T34: So the refusals above are about the token, and about nothing else."""
    client = _strict(joined(held, "001"))
    client.get("/team/tokens")
    csrf = client.cookies["csrftoken"].value
    assert client.post("/team/tokens", {"label": "mine"}).status_code == 403
    form = {"label": "mine", "csrfmiddlewaretoken": csrf}
    assert client.post("/team/tokens", form).status_code == 200
    foreign = client.post("/team/tokens", form, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403


def test_the_api_takes_no_cookies(held: Held) -> None:
    """T34: A page elsewhere that makes a browser send its cookies gets nothing done."""
    held.anonymization()
    client = joined(held, "001")
    posts = [path for method, path in api_routes() if method != "GET"]
    assert len(posts) == 3
    for path in posts:
        for address in filled(path, {**VALUES, "number": ("1",)}):
            headers = {"Idempotency-Key": "k"}
            answer = client.post(address, b"rows", content_type="text/plain", headers=headers)
            assert answer.status_code == 401, address


def _strict(client: Client) -> Client:
    strict = browser(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    return strict


@pytest.mark.slow
def test_every_error_of_the_api_has_one_shape(held: Held) -> None:
    """404, 405, 401, 422, 411, 413: code, message, details."""
    caller = Program(token(joined(held, "001")))
    held.anonymization()
    length = {"CONTENT_LENGTH": ""}
    answers = {
        404: caller.get("nothing"),
        401: browser().get("/api/v1/me"),
        405: browser().delete("/api/v1/board"),
        422: caller.get("submissions?after=x"),
        413: caller.upload("obfuscated/1", (64 * 2**20 + 1) * b"x", "k"),
        411: browser().generic(
            "POST",
            "/api/v1/uploads/obfuscated/1",
            headers={"Authorization": f"Bearer {caller.secret}", "Idempotency-Key": "k"},
            **length,
        ),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert answer.headers["Content-Type"].startswith("application/json")
        assert set(answer.json()) == {"error"}
        assert set(answer.json()["error"]) == {"code", "message", "details"}
    assert answers[405].headers["Allow"] == "GET"


def test_the_page_of_the_api_asks_nobody_else(held: Held) -> None:
    """It is made of the same description, and every route is on it."""
    page = browser().get("/api").content.decode()
    for method, path in api_routes():
        if not path.endswith("openapi.json"):
            assert f"{method} {path}" in page
    example = re.search(r"https?://\w[^/\s]*/api/v1/uploads/obfuscated/1", page)
    assert example is not None, "the example can be copied as it stands"
    assert "//cdn" not in page
    assert browser().get("/api/v1/docs").status_code == 404
    assert browser().get("/api/v1/openapi.json").json()["openapi"].startswith("3.")


@pytest.mark.slow
def test_no_page_holds_script_or_style_of_its_own(held: Held) -> None:
    """The policy would not run it; nor does any page name another site."""
    held.anonymization()
    member, boss = joined(held, "001"), organiser(held)
    for address in addresses():
        for who in (browser(), member, boss):
            answer = who.get(address)
            if answer.streaming:
                answer.close()
            if answer.headers.get("Content-Type", "").startswith("text/html"):
                page = answer.content.decode()
                assert not re.search(r"<script(?! src=\"/static/)|<style|\son\w+=|\sstyle=", page), address
                assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", page), address
