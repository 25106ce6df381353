"""The application that gunicorn runs: Django in threads, and only bodies that are wanted and come in time.

A body up to 64 KB is awaited whole, from anybody, and costs no thread meanwhile. A larger one is read only
for a team, whose token or login is looked up first, and is passed on to Django while it comes: in memory,
through a pair of sockets. What is not wanted is refused by its header. An answer is sent piece by piece,
and a client that takes it slowly holds no thread either.
"""

from __future__ import annotations

import errno
import io
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gevent
import gevent.socket
import gevent.ssl
from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.wsgi import WSGIRequest
from django.db import InterfaceError, OperationalError
from django.urls import Resolver404, resolve
from gevent.lock import BoundedSemaphore
from gevent.threadpool import ThreadPool
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

from tracearena.server.errors import API
from tracearena.server.settings import network_of
from tracearena.server.uploads import FORM_BYTES, GIVEN_UP, too_many, too_slow

GRACE_S, BYTES_PER_S = 10.0, 16 * 1024
"""After the grace a body must come at this rate, or faster."""
PAGE_THREADS = 24
UPLOAD_THREADS = 48
"""Of all web processes. Together fewer than the 100 connections that PostgreSQL takes by default."""
MOST_PER_TEAM = 4
"""Large uploads at a time, also of all web processes: some teams cannot take the threads of one of them."""
WAIT_S = 60.0
"""Seconds that a large body waits, unread, until others of its team or of all teams have come in."""
LINGER_S, LINGER_BYTES = 2.0, 8 * 2**20
"""How much of a refused body is thrown away, so that its sender sees the answer instead of a reset."""
MOST_CONNECTIONS = 4_096
MOST_FROM_ONE_ADDRESS = 512
"""A class room behind one address has room; one computer does not fill the server."""
HEADER_S = 10
"""Seconds in which the whole header of a request must come; an idle connection is kept as long."""
SEND_S = 15
"""Seconds in which a client must take a piece of an answer."""
PIECE_BYTES = 64 * 1024
"""How much of a body or an answer is in memory at a time."""

Environ = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the application said: all of it, or pieces that it makes when they are asked for."""

    status: str
    headers: list[tuple[str, str]]
    pieces: Any
    is_whole: bool


class ThreadPoolApplication:
    """Runs Django in threads, for requests whose bodies it has.

    Parameters
    ----------
    application
        Django. It refuses by the header what is too large or not allowed, without reading it.
    workers
        Number of processes that share the threads.
    """

    def __init__(self, application: Callable[[Environ, Callable[..., Any]], Any], workers: int = 1) -> None:
        self._application = application
        self._pages = ThreadPool(max(1, PAGE_THREADS // workers))
        self._uploads = ThreadPool(max(1, UPLOAD_THREADS // workers))
        at_once = max(1, MOST_PER_TEAM // workers)
        self._turns: defaultdict[str, BoundedSemaphore] = defaultdict(lambda: BoundedSemaphore(at_once))

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterator[bytes]:
        body = _Body(environ)
        # Pieces of files go through the threads too, so that a slow reader holds none.
        environ = {name: value for name, value in environ.items() if name != "wsgi.file_wrapper"}
        if body.is_small:
            come = io.BytesIO()
            if body.pass_on(come.write):
                come.seek(0)
                answer = self._run_on_page_thread(environ, come)
            else:
                answer = self._answer_refusal(environ, too_slow)
        else:
            answer = self._answer_large(environ, body)
        start_response(answer.status, answer.headers)
        yield from self._send_answer(answer)
        if body.is_left:
            _drain_body(environ["gunicorn.socket"])

    def _answer_large(self, environ: Environ, body: _Body) -> Answer:
        team = self._pages.apply(find_uploading_team, (environ,))
        if team is None:
            return self._run_on_page_thread(environ, io.BytesIO())
        turn = self._turns[team]
        if not turn.acquire(timeout=WAIT_S):
            return self._answer_refusal(environ, too_many)
        try:
            return self._stream_body(environ, body)
        finally:
            turn.release()

    def _stream_body(self, environ: Environ, body: _Body) -> Answer:
        """Run the application while its body comes."""
        near, far = socket.socketpair()
        with closing(gevent.socket.socket(fileno=near.detach())) as pipe:
            running = None
            with gevent.Timeout(WAIT_S, False):
                running = self._uploads.spawn(self._run_from_socket, environ, far)
            if running is None:
                far.close()
                return self._answer_refusal(environ, too_many)
            passing = gevent.spawn(body.pass_on, pipe.sendall)
            # Django may have its answer before the body has come, or any of it.
            running.rawlink(lambda _: passing.kill(block=False))
            try:
                is_in_time = passing.get()
            finally:
                passing.kill()
            pipe.close()
            answer: Answer = running.get()
        return answer if is_in_time else self._answer_refusal(environ, too_slow)

    def _run_from_socket(self, environ: Environ, far: socket.socket) -> Answer:
        with far, far.makefile("rb", PIECE_BYTES) as come:
            return self._run({**environ, "wsgi.input": come})

    def _run_on_page_thread(self, environ: Environ, come: io.BytesIO) -> Answer:
        answer: Answer = self._pages.apply(self._run, ({**environ, "wsgi.input": come},))
        return answer

    def _answer_refusal(self, environ: Environ, reason: Any) -> Answer:
        return self._run_on_page_thread({**environ, GIVEN_UP: reason}, io.BytesIO())

    def _run(self, environ: Environ) -> Answer:
        said: list[tuple[str, list[tuple[str, str]]]] = []
        found = self._application(environ, lambda status, headers, *_: said.append((status, headers)))
        status, headers = said[0]
        length = next((int(value) for name, value in headers if name == "Content-Length"), None)
        if found.streaming and (length is None or length > PIECE_BYTES):
            return Answer(status, headers, found, is_whole=False)
        with closing(found):
            whole = b"".join(found)
        if length is None:
            headers.append(("Content-Length", str(len(whole))))
        return Answer(status, headers, whole, is_whole=True)

    def _send_answer(self, answer: Answer) -> Iterator[bytes]:
        if answer.is_whole:
            yield from _split_pieces(answer.pieces)
            return
        following = iter(answer.pieces)
        try:
            while (piece := self._pages.apply(next, (following, None))) is not None:
                yield from _split_pieces(piece)
        finally:
            self._pages.apply(answer.pieces.close)


def find_uploading_team(environ: Environ) -> str | None:
    """Return the number of the team that sends a file where files are taken; None if there is no such."""
    # Tables can be imported once Django is configured, which the process that loads this module does later.
    from tracearena.server.accounts import SessionStore
    from tracearena.server.api import Bearer

    request = WSGIRequest(environ)
    try:
        takes_a_file = getattr(resolve(request.path_info).func, "takes_a_file", False)
        if request.path_info.startswith(API):
            caller = Bearer()(request)
            return None if caller is None else caller.team.number
        if not takes_a_file:
            return None
        request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
        team = getattr(get_user(request), "team", None)
        return None if team is None else team.number
    except (Resolver404, InterfaceError, OperationalError):
        return None  # Django comes to the same end, and says so


class _Body:
    """The body of a request, while it comes.

    Attributes
    ----------
    is_small
        Whether anybody may send it.
    is_left
        Whether a part of it has not been read.
    """

    def __init__(self, environ: Environ) -> None:
        self._incoming = environ["wsgi.input"]
        self._left = int(environ.get("CONTENT_LENGTH") or 0)
        self._has_no_length = "HTTP_TRANSFER_ENCODING" in environ
        self.is_small = self._left <= FORM_BYTES and not self._has_no_length

    @property
    def is_left(self) -> bool:
        return self._left > 0 or self._has_no_length

    def pass_on(self, write: Callable[[bytes], Any]) -> bool:
        """Pass it on until it ends or nobody wants more of it; return whether it came fast enough."""
        allowed_s = GRACE_S
        while self._left:
            begin = time.monotonic()
            try:
                with gevent.Timeout(allowed_s, TimeoutError):
                    piece = self._incoming.read(min(PIECE_BYTES, self._left))
            except TimeoutError:
                return False
            except OSError:
                return True
            # The time that the receiver takes is not the sender's.
            allowed_s += len(piece) / BYTES_PER_S - (time.monotonic() - begin)
            if not piece:
                return True
            try:
                write(piece)
            except OSError:
                return True
            self._left -= len(piece)
        return True


def _split_pieces(whole: bytes) -> Iterable[bytes]:
    if len(whole) <= PIECE_BYTES:
        return (whole,)
    return (whole[start : start + PIECE_BYTES] for start in range(0, len(whole), PIECE_BYTES))


def _drain_body(client: Any) -> None:
    """Throw away some of what is still being sent, then end the connection in both directions."""
    shut_down(client, socket.SHUT_WR)
    left = LINGER_BYTES
    with gevent.Timeout(LINGER_S, False):
        try:
            while left > 0 and (piece := client.recv(PIECE_BYTES)):
                left -= len(piece)
        except OSError:
            pass
    shut_down(client, socket.SHUT_RDWR)


# Connections: how many there may be, and how long they may wait.


class TLSContext(gevent.ssl.SSLContext):
    """Speaks TLS with sockets of gevent; a handshake has the time of the header that follows it."""

    def wrap_socket(self, sock: Any, **options: Any) -> Any:
        """Return a socket whose handshake comes with the first bytes that are read."""
        return super().wrap_socket(sock, **options, do_handshake_on_connect=False)


def make_tls_context(certificate: Path, key: Path) -> TLSContext:
    """Return what speaks TLS 1.2 or later by a certificate, with those that follow it in its file."""
    context = TLSContext(gevent.ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = gevent.ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context


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
        """Answer a request; a client that does not take the answer has hung up, which is nothing to log."""
        try:
            super().handle_request(listener_name, req, sock, addr)
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "the client did not read the answer") from error

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Wait for a request, for a limited time."""
        me = gevent.getcurrent()
        self._waiting[me] = None
        if not self.alive:  # the end came while the request before was answered
            self._close_connection(me)
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
