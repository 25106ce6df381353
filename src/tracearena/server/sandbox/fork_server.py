"""The process that children are forked from: ``python -I -m tracearena.server.sandbox.fork_server``.

It has loaded and compiled all that children need, so a child costs milliseconds and writes nothing. It is
given no key, no folder and no byte of an upload: pipes that lead to a child go through it unread. Its
standard input is a socket; each message asks for a child, and is answered when the child has ended.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from numba.core import caching, dispatcher

from tracearena.server.sandbox import confinement
from tracearena.server.sandbox.messages import KILL, LONGEST_MESSAGE, Work, answer_request

_NEW_NETWORK = 0x40000000
_PIPES = 3
_POLL_S = 0.1
_MOST_THREADS = 1_000
"""Of one child. No limit of the kernel counts the threads of a process alone, nor those of root."""


def serve(prepare: Mapping[str, Callable[..., Work]]) -> None:
    """Fork children, one at a time, until the other end of the socket is closed.

    Parameters
    ----------
    prepare
        For each kind of work a function that loads and compiles what it needs, and returns it. It is
        called once, before the first child, with what the work is about.
    """
    confinement.hide_process_memory()
    # Whoever stops a whole service signals every process of it; the judge says when its child ends.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if confinement.is_linux():
        with suppress(PermissionError):
            confinement.unshare(_NEW_NETWORK)
    control = socket.socket(fileno=os.dup(0))
    ready: dict[tuple[str, ...], Work] = {}
    while True:
        message, pipes, _, _ = socket.recv_fds(control, LONGEST_MESSAGE, _PIPES)
        if not message:
            return
        if message == KILL:  # the child had ended already
            continue
        asked = json.loads(message)
        name, *about = kind = tuple(asked["work"])
        if kind not in ready:
            ready[kind] = prepare[name](*about)
            _require_one_thread()
        child = os.fork()
        if child == 0:
            # Keep Numba from the folder of compiled code: what a child could write there, others would run.
            nothing: Any = lambda *_: None  # noqa: E731
            dispatcher.Dispatcher.enable_caching = nothing  # type: ignore[method-assign]
            caching.Cache.load_overload = caching.Cache.save_overload = nothing  # type: ignore[method-assign]
            answer_request(ready[kind], pipes, asked["memory_mb"], asked["cpu_s"])
        for pipe in pipes:
            os.close(pipe)
        ended = _watch_child(child, control, asked["wall_s"])
        with suppress(BrokenPipeError):  # the judge is dead, as the next message tells
            control.send(json.dumps(ended).encode())


def _watch_child(child: int, control: socket.socket, wall_s: float) -> dict[str, Any]:
    """Wait for the end of a child, or bring it about; nothing else can take its number until then."""
    ended, until = os.pidfd_open(child), time.monotonic() + wall_s
    ready: list[int] = []
    is_crowded = False
    while not ready and not is_crowded and (left_s := until - time.monotonic()) > 0:
        ready, _, _ = select.select([ended, control.fileno()], [], [], min(left_s, _POLL_S))
        is_crowded = _count_threads(child) > _MOST_THREADS
    if ended not in ready:
        os.kill(child, signal.SIGKILL)
    os.close(ended)
    _, status, used = os.wait4(child, 0)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "in_time": bool(ready) or is_crowded,
        "crowded": is_crowded,
        "cpu_s": used.ru_utime + used.ru_stime,
        "rss_mb": used.ru_maxrss / 1024,
    }


def _count_threads(process: int) -> int:
    """Return the number of threads; 0 where /proc hides them, as systemd's ProtectProc does."""
    try:
        # A folder has a link to itself, one from above, and one from each folder in it.
        return os.stat(f"/proc/{process}/task").st_nlink - 2
    except FileNotFoundError:
        return 0


def _require_one_thread() -> None:
    """End rather than fork while another thread may hold a lock that no child would ever get."""
    # A thread that was just joined may take a moment to leave.
    for _ in range(100):
        number = len(os.listdir("/proc/self/task"))
        if number == 1:
            return
        time.sleep(0.01)
    raise SystemExit(f"children cannot be forked from a process with {number} threads")


def _find_preparation(module: str, name: str) -> Callable[..., Work]:
    return lambda *about: getattr(import_module(f"tracearena.server.sandbox.{module}"), name)(*about)


if __name__ == "__main__":
    serve(
        {
            "check": _find_preparation("child", "prepare_check"),
            "score": _find_preparation("child", "prepare_score"),
            "attack": _find_preparation("attack_child", "prepare_attack"),
        }
    )
