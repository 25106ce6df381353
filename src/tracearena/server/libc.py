"""Calls of the system that Python has no name for."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, *values: Any) -> int:
    """Change something about this process, or raise `OSError`."""
    given = [value if isinstance(value, ctypes._SimpleCData) else ctypes.c_ulong(value) for value in values]
    padding = [ctypes.c_ulong(0)] * (4 - len(given))
    return _checked(_libc.prctl(option, *given, *padding))


def syscall(number: int, *values: Any) -> int:
    """Make a call of the system by its number, or raise `OSError`."""
    _libc.syscall.restype = ctypes.c_long
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
    return _checked(_libc.syscall(ctypes.c_long(number), *given))


def unshare(namespaces: int) -> None:
    """Leave the namespaces that the flags name for new ones, or raise `OSError`."""
    _checked(_libc.unshare(namespaces))


def is_linux() -> bool:
    """Whether these calls are there at all."""
    return sys.platform == "linux"


def _checked(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
