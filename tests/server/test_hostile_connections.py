"""T29: whoever is slow, silent or never reads is alone with it; pages are answered and files received."""

from __future__ import annotations

import io
import select
import socket
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import gevent
import httpx
import numpy as np
import pytest
from tests.server import hostile
from tests.server.conftest import Held
from tests.server.visitors import (
    Site,
    joined,
    memory_mb,
    page_times,
    served,
    token,
    upload_headers,
    upload_time,
)

from tracearena.server.operations.demo import wait_for
from tracearena.server.processes.wsgi import HEADER_S, MOST_FROM_ONE_ADDRESS, LimitingGeventWorker

MB = 2**20
TIMES = pytest.mark.parametrize("times", [5, pytest.param(1, marks=pytest.mark.long)])
"""All waits are so many times shorter, those of the server and those of the test."""


@pytest.fixture
def secret(held: Held) -> str:
    """The token of a team that may upload."""
    held.anonymization()
    return token(joined(held, "001"))


@pytest.mark.slow
@TIMES
def test_pages_and_uploads_come_through(held: Held, secret: str, times: int) -> None:
    """However many connections of all kinds are hostile."""
    with served(held, times=times) as site, ExitStack() as hostilities:
        for kind in hostile.KINDS.values():
            hostilities.enter_context(hostile.attack(site.url, kind(site.url)))
        time.sleep(hostile.BITE_S / times)
        page_times(site.url, 12)
        upload_time(site.url, secret, "upload")


@pytest.mark.slow
def test_bodies_that_are_not_wanted_take_no_memory(held: Held, secret: str) -> None:
    """200 connections say that they bring 64 MB each, most of them without a right to; 300 MB is the most."""
    others = [token(joined(held, team)) for team in ("002", "003")]
    with served(held) as site:
        page_times(site.url, 12)
        before_mb = memory_mb(site)
        with hostile.attack(site.url, hostile.large_bodies([secret, *others])):
            page_times(site.url, 12)
            time.sleep(2)
            more_mb = memory_mb(site) - before_mb
    print(f"{more_mb:.0f} MB more")
    assert more_mb < 300


def _begin(site: Site, head: str, *, length: int = 64 * MB) -> socket.socket:
    """Send the header of a request, and nothing of its body."""
    address = urlsplit(site.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    connection.sendall(f"POST {head}\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode())
    return connection


def _status(connection: socket.socket) -> int:
    with connection:
        return int(connection.recv(100).split()[1])


def _upload_head(secret: str, key: str) -> str:
    headers = "".join(f"\r\n{name}: {value}" for name, value in upload_headers(secret, key).items())
    return f"/api/v1/uploads/obfuscated/1 HTTP/1.1{headers}"


@pytest.mark.slow
def test_the_header_decides(held: Held, secret: str) -> None:
    """Where to, how large and from whom: the answer comes though nothing of the body does."""
    with served(held) as site:
        assert _status(_begin(site, "/login HTTP/1.1", length=2**16 + 1)) == 413
        assert _status(_begin(site, "/team/uploads/obfuscated/1 HTTP/1.1")) == 403
        assert _status(_begin(site, "/team/targets/archive HTTP/1.1")) == 403
        assert _status(_begin(site, "/nothing HTTP/1.1")) == 404
        assert _status(_begin(site, "/rules HTTP/1.1")) in (403, 405, 413)
        assert _status(_begin(site, _upload_head("wrong", "k"))) == 401
        assert _status(_begin(site, _upload_head(secret, "k"), length=65 * MB)) == 413


@pytest.mark.slow
@TIMES
def test_who_is_too_slow_is_given_up(held: Held, secret: str, times: int) -> None:
    """Bodies, small and large, are answered 408 and leave nothing; an answer is not offered for ever."""
    with served(held, times=times) as site:
        unread = _begin(site, "/nothing HTTP/1.1", length=0)
        unread.sendall(5_000 * b"GET /static/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
        small, large = _begin(site, "/login HTTP/1.1", length=500), _begin(site, _upload_head(secret, "k"))
        for connection in (small, large):
            connection.sendall(100 * b"x")
        assert [_status(small), _status(large)] == [408, 408]
        wait_for("an empty folder", lambda: not list(held.folder.incoming.iterdir()))
        wait_for("the end of what is not read", lambda: _is_over(unread), 60)
        unread.close()
        assert "Traceback" not in site.log.read_text()


def _is_over(connection: socket.socket) -> bool:
    """Whether the server has ended a connection, of which nothing is read."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


@pytest.mark.slow
@pytest.mark.parametrize("proxies", [(), ("--trusted-proxy", "127.0.0.1")], ids=["visitors", "a proxy"])
def test_one_address_has_a_limit_of_connections_and_a_proxy_has_none(held: Held, proxies: Any) -> None:
    """Whoever has waited longest makes room, so the newest is answered."""
    with served(held, *proxies) as site, ExitStack() as opened:
        address = urlsplit(site.url)
        waiting = [
            opened.enter_context(socket.create_connection((address.hostname, address.port)))
            for _ in range(MOST_FROM_ONE_ADDRESS + 20)
        ]
        assert httpx.get(f"{site.url}/rules", timeout=60).status_code == 200
        over = [_is_over(one) for one in waiting]
        assert any(over) is not bool(proxies)
        assert not any(over[50:])


@pytest.mark.slow
def test_an_end_does_not_wait_for_idle_connections(held: Held) -> None:
    """Browsers keep theirs open for a while."""
    with served(held) as site, httpx.Client(base_url=site.url) as client:
        assert client.get("/rules").status_code == 200
        site.process.terminate()
        begin = time.monotonic()
        assert site.process.wait(60) == 0
        assert time.monotonic() - begin < HEADER_S


def test_an_end_during_an_answer_does_not_wait_for_the_next_request() -> None:
    """The connection was not idle when the end came, and becomes idle after it."""
    worker = object.__new__(LimitingGeventWorker)
    worker.cfg, worker.alive = SimpleNamespace(keepalive=HEADER_S), False
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(5)
        worker._clients, worker._waiting = {gevent.getcurrent(): ("127.0.0.1", near)}, {}
        with worker.timeout_ctx():
            assert near.recv(1) == b""


@pytest.mark.slow
def test_what_is_made_while_it_is_sent_comes_whole(held: Held) -> None:
    """Even if some of its pieces are empty."""
    for number in range(3):
        (held.folder.everybody / f"large-{number}.csv").write_bytes(MB * b"x")
    cookies = {name: one.value for name, one in joined(held, "001").cookies.items()}
    with served(held) as site:
        answer = httpx.get(f"{site.url}/team/data/everybody", cookies=cookies, timeout=60)
    assert zipfile.ZipFile(io.BytesIO(answer.content)).read("large-2.csv") == MB * b"x"


@pytest.mark.slow
def test_who_is_refused_sees_the_answer(held: Held, secret: str) -> None:
    """Though most of the body is still on its way, the connection is not reset before."""
    with served(held) as site:
        for _ in range(5):
            answer = httpx.post(f"{site.url}/login", content=4 * MB * b"x", timeout=60)
            assert answer.status_code == 413
            assert "64 KB" in answer.text


@pytest.mark.slow
def test_a_team_has_four_large_transfers_at_a_time(held: Held, secret: str) -> None:
    """A fifth waits for one of them; other teams do not."""
    from tracearena.server.models import Submission

    other = token(joined(held, "002"))
    with served(held) as site, ThreadPoolExecutor(1) as pool:
        slow = [_begin(site, _upload_head(secret, f"slow-{number}")) for number in range(4)]
        wait_for("four files that come in", lambda: len(list(held.folder.incoming.iterdir())) == 4)
        fifth = pool.submit(upload_time, site.url, secret, "fifth")
        upload_time(site.url, other, "other")
        time.sleep(0.5)
        assert Submission.objects.count() == 1
        slow[0].close()
        fifth.result()
        assert Submission.objects.count() == 2
        for connection in slow:
            connection.close()


@pytest.mark.parametrize(("workers", "at_once"), [(1, 4), (2, 2), (4, 1), (16, 1)])
def test_a_team_has_no_more_transfers_with_more_web_processes(workers: int, at_once: int) -> None:
    """Each process has fewer threads then, so one team has fewer of them."""
    from tracearena.server.processes.wsgi import ThreadPoolApplication

    turn = ThreadPoolApplication(lambda environ, start: b"", workers)._turns["001"]
    assert [turn.acquire(blocking=False) for _ in range(at_once + 1)] == [True] * at_once + [False]


@pytest.mark.slow
def test_slow_bytes_make_the_same_request(held: Held) -> None:
    """Bytes that come one by one; the connection serves a second request."""
    with served(held) as site:
        address = urlsplit(site.url)
        with socket.create_connection((address.hostname, address.port), timeout=60) as line:
            for _ in range(2):
                for byte in b"GET /api/v1/phase HTTP/1.1\r\nHost: localhost\r\n\r\n":
                    line.sendall(bytes([byte]))
                    time.sleep(0.001)
                assert line.recv(100).startswith(b"HTTP/1.1 200 OK")
                while b"}" not in line.recv(10_000):
                    pass


@pytest.mark.long
@pytest.mark.parametrize("kind", hostile.TWO_HUNDRED)
def test_pages_within_half_a_second_and_three_megabytes_within_fifteen(
    held: Held, secret: str, kind: str
) -> None:
    """T29: p95 of 200 pages below 500 ms; an upload in 15 s."""
    with served(held) as site, hostile.attack(site.url, hostile.TWO_HUNDRED[kind](site.url)):
        time.sleep(2)
        p95 = float(np.quantile(page_times(site.url, 200), 0.95))
        uploads = [upload_time(site.url, secret, f"upload-{number}") for number in range(3)]
    print(f"{kind}: p95 {p95 * 1000:.0f} ms, uploads {max(uploads):.1f} s")
    assert p95 < 0.5
    assert max(uploads) <= 15
