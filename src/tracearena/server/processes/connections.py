"""Connections of the web process: how many there may be, and how long they may wait.

gunicorn's gevent worker gives every connection a greenlet, so a slow one costs its buffers and no thread.
Nothing is monkey-patched: Django runs in threads of the system (`tracearena.server.wsgi`).
"""

from __future__ import annotations

import errno
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import gevent
import gevent.socket
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

from tracearena.server.settings import network_of

MOST_CONNECTIONS = 4_096
MOST_FROM_ONE_ADDRESS = 512
"""A class room behind one address has room; one computer does not fill the server."""
HEADER_S = 10
"""Seconds in which the whole header of a request must come; an idle connection is kept as long."""
SEND_S = 15
"""Seconds in which a client must take a piece of an answer."""
PIECE_BYTES = 64 * 1024
"""How much of a body or an answer is in memory at a time."""


class LimitingGeventWorker(GeventWorker):
    """gunicorn's gevent worker with limits on connections, and without monkey-patching.

    When an address, or the server, has all the connections it may have, a new one takes the place of the
    one that has waited longest for a request. So idle connections keep nobody out.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._from: Counter[str] = Counter()
        self._clients: dict[Any, tuple[str, Any]] = {}
        self._waiting: dict[Any, None] = {}

    def patch(self) -> None:
        """Listen with sockets of gevent; nothing else changes, as Django runs in threads of the system."""
        self.sockets: list[Any] = [
            gevent.socket.socket(one.FAMILY, socket.SOCK_STREAM, fileno=one.sock.detach())
            for one in self.sockets
        ]

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve a connection, if there is room for it."""
        me, address = gevent.getcurrent(), network_of(addr[0])
        is_exempt = addr[0] in self.app.trusted_proxies
        if not self._has_room(None if is_exempt else address):
            client.close()
            return
        self._from[address] += 1
        self._clients[me] = (address, client)
        try:
            client.settimeout(SEND_S)
            # Answers to requests that nobody reads wait in here, so it is no larger than it must be.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE_BYTES)
            # Not by way of GeventWorker, which would take the timeout away.
            AsyncWorker.handle(self, listener, client, addr)
        finally:
            del self._clients[me]
            self._from[address] -= 1
            if not self._from[address]:
                del self._from[address]

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> None:
        """Answer a request; whoever does not take the answer has hung up, which is nothing to log."""
        try:
            super().handle_request(listener_name, req, sock, addr)
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "the answer was not taken") from error

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Wait for a request, for a limited time."""
        me = gevent.getcurrent()
        self._waiting[me] = None
        try:
            with gevent.Timeout(self.cfg.keepalive, False):
                yield
        finally:
            self._waiting.pop(me, None)

    def handle_exit(self, sig: Any, frame: Any) -> None:
        """End: those who are being answered get their answer, those who only wait are not waited for."""
        super().handle_exit(sig, frame)
        for one in list(self._waiting):
            self._close_connection(one)

    def _has_room(self, address: str | None) -> bool:
        """Whether a connection can be served, if need be instead of one that waits."""
        if address is not None and self._from[address] >= MOST_FROM_ONE_ADDRESS:
            longest = next((one for one in self._waiting if self._clients[one][0] == address), None)
        elif len(self._clients) >= MOST_CONNECTIONS - 1:
            longest = next(iter(self._waiting), None)
        else:
            return True
        if longest is None:
            return False
        self._close_connection(longest)
        return True

    def _close_connection(self, one: Any) -> None:
        self._waiting.pop(one, None)
        shut_down(self._clients[one][1], socket.SHUT_RDWR)


def shut_down(client: Any, way: int) -> None:
    """End a connection, or one direction of it, if its other end has not."""
    with suppress(OSError):
        client.shutdown(way)
