"""A worker of gunicorn that gives a thread to a request once it is there, not while it comes.

A request that arrives slowly waits in the loop that listens, where it costs its bytes and nothing else.
What is large, an upload or a file to save, has threads of its own: however many lines are slow, pages are
answered by threads that never wait for one.
"""

from __future__ import annotations

import re
import selectors
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

LARGE_THREADS = 48
"""Uploads and downloads at a time. With those of pages, fewer than PostgreSQL takes connections."""
_CLOSING_THREADS = 8
SMALL_BYTES = 64 * 1024
"""A request up to this size is awaited whole; the form of every page is smaller."""
PATIENCE_S = 30.0
"""So long may a small request take from its first sign to its end."""
_SILENCE_S = 60
"""A line that neither sends nor takes a byte for so long is given up."""
_PIECE_BYTES = 16 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_IN_PARTS = re.compile(rb"\r\n(?:transfer-encoding|expect):", re.IGNORECASE)
_DOWNLOAD = re.compile(
    rb"GET /(?:files/|team/data/|board/opened/|archive/[^/ ]+/download|organiser/export/"
    rb"|api/v1/(?:files|data)/)"
)


class PatientWorker(ThreadWorker):
    """Threads for requests that have come, and other threads for those that are large."""

    def init_process(self) -> None:
        """Begin to work."""
        self._large = ThreadPoolExecutor(LARGE_THREADS)
        self._closing = ThreadPoolExecutor(_CLOSING_THREADS)
        super().init_process()

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection to a thread if its request has come; otherwise wait for the rest of it."""
        come, is_over = _come(conn)
        pool = self.tpool if is_over else self._pool(come)
        if pool is None:
            self._wait(conn, come)
            return
        conn.init()
        conn.parser.unreader.unread(come)
        conn.come, conn.deadline = b"", None
        if pool is self._large:
            _give_up_silence(conn.sock)
        pool.submit(self.handle, conn).add_done_callback(
            lambda done: self.method_queue.defer(self.finish_request, conn, done)
        )

    def finish_request(self, conn: Any, done: Any) -> None:
        """Keep a connection for the next request, or close it; its other end may take its time for that."""
        if self.alive and done.exception() is None and done.result():
            super().finish_request(conn, done)
            return
        self.nr_conns -= 1
        self._closing.submit(conn.close, graceful=True)

    def is_parent_alive(self) -> bool:
        """Whether gunicorn itself is there; without it this worker ends, and waits for nobody."""
        is_there: bool = super().is_parent_alive()
        if not is_there:
            self.alive = False
        return is_there

    def murder_pending(self) -> None:
        """Close the connections that were slow for too long; when the worker ends, all that wait."""
        now = time.monotonic()
        late = [conn for conn in self.pending_conns if conn.timeout <= now or not self.alive]
        for conn in late:
            self.pending_conns.remove(conn)
            self.poller.unregister(conn.sock)
            self.nr_conns -= 1
            conn.close()

    def _pool(self, come: bytes) -> ThreadPoolExecutor | None:
        """Return who takes a request of which so much has come; None while too little has."""
        return {"large": self._large, "small": self.tpool}.get(kind_of(come))

    def _wait(self, conn: Any, come: bytes) -> None:
        if getattr(conn, "deadline", None) is None:
            conn.deadline = time.monotonic() + PATIENCE_S
        conn.come, conn.timeout = come, conn.deadline
        self.pending_conns.append(conn)
        readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, readable)


def kind_of(come: bytes) -> str:
    r"""Return whether a request is ``"small"`` and here, ``"large"``, or still ``"coming"``.

    >>> kind_of(b"GET /rules HTTP/1.1\r\nHost: a\r\n\r\n"), kind_of(b"GET /rules HTTP/1.1\r\nHo")
    ('small', 'coming')
    >>> kind_of(b"POST /login HTTP/1.1\r\nContent-Length: 9\r\n\r\nname=")
    'coming'
    >>> kind_of(b"POST /team/uploads/obfuscated/1 HTTP/1.1\r\nContent-Length: 900000\r\n\r\n")
    'large'
    """
    end = come.find(b"\r\n\r\n")
    if end < 0:
        return "coming" if len(come) < SMALL_BYTES else "large"
    head = come[: end + 2]
    if _IN_PARTS.search(head) or _DOWNLOAD.match(head):
        return "large"
    length = _LENGTH.search(head)
    whole = end + 4 + (int(length[1]) if length else 0)
    if whole > SMALL_BYTES:
        return "large"
    return "small" if len(come) >= whole else "coming"


def _come(conn: Any) -> tuple[bytes, bool]:
    """Return what has come of a request, and whether nothing more will; a thread tells those apart."""
    come = getattr(conn, "come", b"")
    if conn.parser is not None:
        come += conn.parser.unreader.take_buffered()
    conn.sock.setblocking(False)
    while len(come) <= SMALL_BYTES and kind_of(come) == "coming":
        try:
            piece = conn.sock.recv(_PIECE_BYTES)
        except BlockingIOError:
            return come, False
        except OSError:
            return come, True
        if not piece:
            return come, True
        come += piece
    return come, False


def _give_up_silence(line: socket.socket) -> None:
    """Let a thread that waits for a line get an error after a while instead of nothing for ever."""
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        line.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", _SILENCE_S, 0))
