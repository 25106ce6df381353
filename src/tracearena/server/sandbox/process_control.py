"""Calls of the system that Python has no name for."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, *values: Any) -> int:
    """Change something about this process, or raise `OSError`."""
    given = [value if isinstance(value, ctypes._SimpleCData) else ctypes.c_ulong(value) for value in values]
    padding = [ctypes.c_ulong(0)] * (4 - len(given))
    return _check_result(_libc.prctl(option, *given, *padding))


def syscall(number: int, *values: Any) -> int:
    """Make a call of the system by its number, or raise `OSError`."""
    _libc.syscall.restype = ctypes.c_long
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
    return _check_result(_libc.syscall(ctypes.c_long(number), *given))


def unshare(namespaces: int) -> None:
    """Leave the namespaces that the flags name for new ones, or raise `OSError`."""
    _check_result(_libc.unshare(namespaces))


def is_linux() -> bool:
    """Whether these calls are there at all."""
    return sys.platform == "linux"


def _check_result(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


# The memory of a process that holds a secret: not on the disk after a crash, not open to its
# neighbours.


def hide_process_memory() -> None:
    """Let this process write no core file, and no other process of its user look into its memory.

    What it starts writes no core file either, but must hide itself: a new program begins visible.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if is_linux():
        prctl(PR_SET_DUMPABLE, 0)


# A process that ends when its parent does, even if the parent is killed and can tell nobody.


_STDIN = 0


def exit_with_parent() -> None:
    """Send this process SIGTERM when the other end of its standard input is closed."""
    threading.Thread(target=_watch_parent, name="lifeline", daemon=True).start()


def _watch_parent() -> None:
    while os.read(_STDIN, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
