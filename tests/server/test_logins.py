"""T33: logins are limited by name and by address, and a failure tells nothing about who is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from tests.server.conftest import BEGIN, Held
from tests.server.visitors import PASSWORD, joined, organiser, tried

from tracearena.server import accounts
from tracearena.server.accounts import Argon2
from tracearena.server.store import crypto

ELSEWHERE = "192.0.2.7"
AN_ADDRESS = pytest.mark.parametrize("tries", [20, pytest.param(300, marks=pytest.mark.long)])
"""Tries from one address: fewer than there are, and in a long test as many."""


@pytest.mark.slow
def test_ten_tries_a_name_then_none_for_a_while(held: Held) -> None:
    """T33.

    Not even the right password; after a quarter of an hour again. Unknown names get the same answers.
    """
    joined(held, "001", "ann")
    for name in ("ann", "nobody"):
        statuses = [tried(name).status_code for _ in range(12)]
        assert statuses == 10 * [403] + 2 * [429], name
    assert tried("ann", PASSWORD).status_code == 429
    held.at(BEGIN + accounts.TRY_WINDOW)
    assert tried("ann", PASSWORD).status_code == 302


def test_a_class_of_thirty_has_300_tries_from_one_address() -> None:
    """T33: Ten each."""
    assert (accounts.TRIES_A_NAME, accounts.TRIES_AN_ADDRESS) == (10, 300)


@pytest.mark.slow
@AN_ADDRESS
def test_one_address_has_a_limit_of_its_own(held: Held, monkeypatch: pytest.MonkeyPatch, tries: int) -> None:
    """T33: However many names are tried; other addresses are not touched."""
    monkeypatch.setattr(accounts, "TRIES_AN_ADDRESS", tries)
    joined(held, "001", "ann")
    there = {"REMOTE_ADDR": "192.0.2.8"}
    statuses = [tried(f"name {number}", **there).status_code for number in range(tries + 2)]
    assert statuses == tries * [403] + 2 * [429]
    assert tried("ann", PASSWORD, **there).status_code == 429
    assert tried("ann", PASSWORD, REMOTE_ADDR=ELSEWHERE).status_code == 302


@pytest.mark.slow
def test_nobody_locks_a_class_out_behind_one_address(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """T33: Who has come in from there before has ten tries of their own, however many others have used up."""
    monkeypatch.setattr(accounts, "TRIES_AN_ADDRESS", 20)
    joined(held, "001", "ann")
    joined(held, "002", "bob")
    assert [tried(f"name {n}").status_code for n in range(21)] == 20 * [403] + [429]
    assert tried("ann", PASSWORD).status_code == 302
    assert [tried("bob").status_code for _ in range(11)] == 10 * [403] + [429]
    assert tried("bob", PASSWORD).status_code == 429
    assert tried("ann", PASSWORD).status_code == 302
    assert tried("a newcomer").status_code == 429


def test_a_forwarded_address_is_not_believed(held: Held) -> None:
    """T33: Nobody gets new tries by inventing where they come from."""
    from tracearena.server.models import LoginTry

    for number in range(3):
        tried("ann", headers={"X-Forwarded-For": f"192.0.2.{number}"})
    assert LoginTry.objects.count() == 2


@pytest.mark.slow
def test_tries_at_once_are_all_counted(held: Held) -> None:
    """T33: Thirty at the same time are ten tries and twenty refusals."""
    from django.db import connection

    def one(_: int) -> int:
        try:
            return tried("ann").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(one, range(30)))
    assert statuses == 10 * [403] + 20 * [429]


@pytest.mark.slow
def test_a_login_that_succeeds_costs_nothing(held: Held) -> None:
    """T33: People log in as often as they like."""
    joined(held, "001", "ann")
    for _ in range(9):
        tried("ann")
    for _ in range(12):
        assert tried("ann", PASSWORD).status_code == 302


@pytest.mark.slow
def test_every_failure_is_as_much_work_and_the_same_answer(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T33: Two computations of Argon2, for who is not there as for who is; the page tells nothing apart."""
    from tracearena.server.models import Member

    joined(held, "001", "ann")
    joined(held, "001", "gone")
    organiser(held)
    Member.objects.filter(username="gone").update(is_active=False)
    done: list[str] = []
    _count(monkeypatch, done)
    pages = {}
    for name in ("nobody", "ann", "organiser", "gone"):
        done.clear()
        password = PASSWORD if name == "gone" else "wrong password"
        page = tried(name, password).content.decode()
        assert len(done) == 2, (name, done)
        pages[re.sub(r'value="[^"]*"', "", page)] = name
    assert len(pages) == 1
    done.clear()
    assert tried("ann", PASSWORD).status_code == 302
    assert len(done) == 2


def _count(monkeypatch: pytest.MonkeyPatch, done: list[str]) -> None:
    def counted(call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def calling(*args: Any, **named: Any) -> Any:
            done.append(name)
            return call(*args, **named)

        return calling

    monkeypatch.setattr(Argon2, "encode", counted(Argon2.encode, "encode"))
    monkeypatch.setattr(Argon2, "verify", counted(Argon2.verify, "verify"))
    monkeypatch.setattr(crypto, "hash_secret_raw", counted(crypto.hash_secret_raw, "raw"))


@pytest.mark.slow
def test_nobody_locks_an_owner_out(held: Held) -> None:
    """T33: Strangers use up the tries of a name; where its owner has come in before, it has its own."""
    joined(held, "001", "ann")
    assert [tried("ann", REMOTE_ADDR=ELSEWHERE).status_code for _ in range(11)] == 10 * [403] + [429]
    assert tried("ann", PASSWORD, REMOTE_ADDR=ELSEWHERE).status_code == 429
    assert tried("ann", PASSWORD).status_code == 302
    assert tried("ann", PASSWORD, REMOTE_ADDR=ELSEWHERE).status_code == 429
    held.at(BEGIN + timedelta(days=31))
    assert [tried("ann", REMOTE_ADDR=ELSEWHERE).status_code for _ in range(11)] == 10 * [403] + [429]
    assert tried("ann", PASSWORD).status_code == 429, "who has not come for a month is a stranger"


@pytest.mark.slow
@AN_ADDRESS
def test_all_addresses_of_one_ipv6_network_are_one(
    held: Held, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    """T33: A customer has 2^64 of them; the neighbour's are others."""
    monkeypatch.setattr(accounts, "TRIES_AN_ADDRESS", tries)
    statuses = [tried(f"name {n}", REMOTE_ADDR=f"2001:db8::{n:x}").status_code for n in range(tries + 1)]
    assert statuses == tries * [403] + [429]
    assert tried("somebody", REMOTE_ADDR="2001:db8:0:1::1").status_code == 403
