"""Many uploads at once, on a server of its own: limits hold, one key is one upload, nothing is half there."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.server.conftest import Held
from tests.server.visitors import Site, program, served, upload_headers

LIMIT = 5
_CLIENT = httpx.Client(timeout=60, limits=httpx.Limits(max_connections=None, max_keepalive_connections=0))


def _send(site: Site, secret: str, key: str, content: bytes) -> httpx.Response:
    path = f"{site.url}/api/v1/uploads/obfuscated/1"
    return _CLIENT.post(path, content=content, headers=upload_headers(secret, key))


def _rush(site: Site, secret: str, name: str, senders: int = 50) -> Counter[int]:
    """Send so many different files at the same moment, and count the answers."""
    gate = threading.Barrier(senders)

    def one(number: int) -> int:
        gate.wait()
        return _send(
            site, secret, f"{name} {number}".replace(" ", "-"), f"{name} {number}".encode()
        ).status_code

    with ThreadPoolExecutor(senders) as pool:
        return Counter(pool.map(one, range(senders)))


def _check_limit(holding: Callable[..., Held], rounds: int, *options: str) -> None:
    from tracearena.server.models import Job, Quota, Submission

    held = holding(obfuscated_uploads=LIMIT)
    held.anonymization()
    secret = program(held, "001").secret
    with served(held, *options) as site:
        for number in range(rounds):
            assert _rush(site, secret, f"round-{number}") == {201: LIMIT, 409: 50 - LIMIT}
            assert Quota.objects.get().used == LIMIT
            assert Submission.objects.count() == Job.objects.count() == LIMIT
            assert {path.name for path in _stored(held)} == set(
                Submission.objects.values_list("sha256", flat=True)
            )
            Job.objects.all().delete()
            Submission.objects.all().delete()
            Quota.objects.all().delete()
            for path in _stored(held):
                path.unlink()
        assert "locked" not in site.log.read_text()


def _stored(held: Held) -> list[Path]:
    return [path for path in held.folder.uploads.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_fifty_uploads_at_once_at_a_limit_of_five(holding: Callable[..., Held]) -> None:
    """T1: Exactly five are taken, and no database is locked."""
    _check_limit(holding, 1)


@pytest.mark.slow
def test_the_limit_holds_over_two_web_processes(holding: Callable[..., Held]) -> None:
    """T1: What counts is in the database, whichever process takes an upload."""
    _check_limit(holding, 1, "--workers", "2")


@pytest.mark.long
def test_fifty_uploads_at_once_twenty_times(holding: Callable[..., Held]) -> None:
    """T1: Always exactly five."""
    _check_limit(holding, 20)


@pytest.mark.slow
def test_one_key_twenty_times_at_once_is_one_submission(holding: Callable[..., Held]) -> None:
    """T2: Everybody gets the same receipt, even where the limit is one."""
    from tracearena.server.models import Quota, Submission

    held = holding(obfuscated_uploads=1)
    held.anonymization()
    secret = program(held, "001").secret
    with served(held) as site, ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: _send(site, secret, "the-same", b"rows"), range(20)))
    assert [answer.status_code for answer in answers] == 20 * [201]
    assert len({answer.text for answer in answers}) == 1
    assert Submission.objects.count() == 1
    assert Quota.objects.get().used == 1


def _broken_off(site: Site, secret: str, content: bytes, after: int) -> socket.socket:
    """Send the beginning of an upload, and leave the rest out."""
    host, port = site.url.removeprefix("http://").split(":")
    headers = upload_headers(secret, f"cut-{after}")
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection = socket.create_connection((host, int(port)))
    connection.sendall(
        f"POST /api/v1/uploads/obfuscated/1 HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Content-Length: {len(content)}\r\n{head}\r\n".encode()
    )
    connection.sendall(content[:after])
    return connection


def _check_kills(held: Held, kills: int, seed: int) -> None:
    from tracearena.server.models import Job, Quota, Submission

    held.anonymization()
    secret = program(held, "001").secret
    rng = random.Random(seed)
    content = rng.randbytes(600_000)
    for number in range(kills):
        with served(held) as site:
            connections = [_broken_off(site, secret, content, rng.randrange(len(content))) for _ in range(3)]
            if number % 2:
                # The other half of the kills hits a server that is still writing.
                _wait_for_parts(held)
            site.kill()
            for connection in connections:
                connection.close()
        assert not Submission.objects.exists()
        assert not Job.objects.exists()
        assert not Quota.objects.filter(used__gt=0).exists()
        assert not _stored(held)
    with served(held) as site:
        assert _send(site, secret, "at-last", content).status_code == 201
    assert len(_stored(held)) == 1


def _wait_for_parts(held: Held) -> None:
    until = time.monotonic() + 5
    while time.monotonic() < until and not any(held.folder.incoming.iterdir()):
        time.sleep(0.01)


@pytest.mark.slow
def test_a_web_that_is_killed_in_uploads_leaves_nothing(held: Held) -> None:
    """T6.

    No half file under a hash, no row, no quota used; the next upload is taken as if nothing had been.
    """
    _check_kills(held, 10 if held.database is None else 4, seed=6)


@pytest.mark.long
def test_a_web_that_is_killed_fifty_times(held: Held) -> None:
    """T6: The same."""
    _check_kills(held, 50, seed=7)


@pytest.mark.slow
def test_a_client_that_hangs_up_costs_no_quota(held: Held) -> None:
    """T6: A cancelled upload leaves no row, no part, and no file."""
    from tracearena.server.models import Quota, Submission

    held.anonymization()
    secret = program(held, "001").secret
    rng = random.Random(3)
    content = rng.randbytes(300_000)
    with served(held) as site:
        for _ in range(10):
            _broken_off(site, secret, content, rng.randrange(len(content))).close()
        _until_gone(held)
        assert not Submission.objects.exists()
        assert not Quota.objects.filter(used__gt=0).exists()
        assert not _stored(held)


def _until_gone(held: Held) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until and any(held.folder.incoming.iterdir()):
        time.sleep(0.05)
    assert not list(held.folder.incoming.iterdir())
