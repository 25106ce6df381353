"""T29: whoever is slow is alone with it; 200 slow connections keep nobody from a page."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from tests.server.conftest import Held
from tests.server.visitors import joined, served, token

from tracearena.server.site.patience import kind_of

SLOW = 200
PAGES = ("/", "/rules", "/board", "/login")
Openings = list[tuple[bytes, int]]


def openings(secret: str) -> Openings:
    """How slow connections begin, and how many bytes they send a second from then on."""
    upload = (
        "POST /api/v1/uploads/obfuscated/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n"
        f"Authorization: Bearer {secret}\r\nIdempotency-Key: slow\r\nX-File-Name: a.csv\r\n\r\nreg_id\n"
    )
    form = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nname="
    file = b"POST /team/uploads/obfuscated/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n"
    page = b"GET /rules HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return [(b"", 0), (b"GET / HTTP/1.1\r\nX: ", 1), (form, 1), (upload.encode(), 1), (file, 1), (page, 0)]


@contextmanager
def slow_connections(url: str, among: Openings) -> Iterator[list[socket.socket]]:
    """Keep so many connections open that send next to nothing and read nothing."""
    address = urlsplit(url)
    lines: list[tuple[socket.socket, int]] = []
    for number in range(SLOW):
        first, pace = among[number % len(among)]
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        line.connect((address.hostname, address.port))
        line.sendall(first)
        lines.append((line, pace))
    stop = threading.Event()
    drip = threading.Thread(target=_drip, args=(lines, stop))
    drip.start()
    try:
        yield [line for line, _ in lines]
    finally:
        stop.set()
        drip.join()
        for line, _ in lines:
            line.close()


def _drip(lines: list[tuple[socket.socket, int]], stop: threading.Event) -> None:
    while not stop.wait(1):
        for line, pace in lines:
            with contextlib.suppress(OSError):
                line.sendall(pace * b"x")


def _times(url: str, count: int) -> list[float]:
    taken = []
    with httpx.Client(base_url=url, timeout=60) as visitor:
        for number in range(count):
            begin = time.perf_counter()
            assert visitor.get(PAGES[number % len(PAGES)]).status_code == 200
            taken.append(time.perf_counter() - begin)
    return taken


@pytest.fixture
def slowly(held: Held) -> Callable[[], Openings]:
    """The ways of being slow, one of them with a token that is good."""
    held.anonymization()
    secret = token(joined(held, "001"))
    return lambda: openings(secret)


@pytest.mark.slow
def test_pages_come_while_two_hundred_connections_are_slow(
    held: Held, slowly: Callable[[], Openings]
) -> None:
    """And whoever is slow to the end of patience has not used a thread meanwhile."""
    with served(held) as site, slow_connections(site.url, slowly()):
        assert len(_times(site.url, 12)) == 12


@pytest.mark.long
def test_t29_two_hundred_slow_connections_leave_pages_under_half_a_second(
    held: Held, slowly: Callable[[], Openings]
) -> None:
    """p95 below 500 ms."""
    with served(held) as site, slow_connections(site.url, slowly()):
        time.sleep(2)
        p95 = float(np.quantile(_times(site.url, 200), 0.95))
    assert p95 < 0.5


@pytest.mark.slow
def test_a_slow_form_is_answered_when_it_is_whole(held: Held) -> None:
    """Bytes that come one by one make the same request; the connection serves a second one."""
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


def test_requests_behind_one_another_are_told_apart() -> None:
    """What is still coming waits; what is large, in parts or a file to save takes no thread of pages."""
    head = b"POST /login HTTP/1.1\r\nHost: a\r\n"
    assert kind_of(head) == kind_of(b"") == "coming"
    assert kind_of(head + b"\r\n") == "small"
    assert kind_of(head + b"content-length: 3\r\n\r\nab") == "coming"
    assert kind_of(head + b"CONTENT-LENGTH:3\r\n\r\nabc") == "small"
    assert kind_of(head + b"Content-Length: 3\r\n\r\nabcGET / HTTP/1.1") == "small"
    assert kind_of(head + b"Content-Length: 99999999999\r\n\r\n") == "large"
    assert kind_of(head + b"Transfer-Encoding: chunked\r\n\r\n") == "large"
    assert kind_of(head + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n") == "large"
    assert kind_of(b"GET /files/info_region.csv HTTP/1.1\r\n\r\n") == "large"
    assert kind_of(64 * 1024 * b"x") == "large"


@pytest.mark.parametrize(
    "address",
    [
        "/files/info_region.csv",
        "/team/data/bundle",
        "/team/data/everybody",
        "/board/opened/team001.zip",
        "/archive/spring.zip/download",
        "/organiser/export/1.zip",
        "/api/v1/files/info_region.csv",
        "/api/v1/data/bundle",
    ],
)
def test_files_to_save_do_not_take_the_threads_of_pages(address: str) -> None:
    """Whoever reads one slowly keeps nobody from a page."""
    assert kind_of(f"GET {address} HTTP/1.1\r\nHost: a\r\n\r\n".encode()) == "large"


@pytest.mark.parametrize("address", ["/archive", "/archive/spring.zip", "/organiser/export", "/api/v1/data"])
def test_pages_about_files_are_pages(address: str) -> None:
    """They are small, and are answered as pages are."""
    assert kind_of(f"GET {address} HTTP/1.1\r\nHost: a\r\n\r\n".encode()) == "small"
