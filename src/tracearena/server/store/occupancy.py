"""Who works on a contest's folder: several may serve it, and anyone who moves it must be alone."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracearena.errors import DataError
from tracearena.server.store.folder import Folder

_LONGEST_COMMAND = 200
_ENDING_S = 15.0
"""Processes of a server that was killed notice that they are alone, and have this long to end."""


@contextmanager
def serving(folder: Folder, *, first: bool = False) -> Iterator[int]:
    """Serve a contest together with others; nobody moves it meanwhile.

    The descriptor that it gives is the lock: a process that inherits it holds it too.

    Parameters
    ----------
    folder
        The contest.
    first
        Refuse a contest that somebody else serves already.
    """
    with _opened(folder) as handle:
        if first and not _is_free(handle):
            raise DataError(
                f"{folder.path}: is being served already{_by_whom(handle)}; end that first "
                "(Ctrl-C, or SIGTERM), or add to it with --only judges or --only web"
            )
        if not _is_locked(handle, fcntl.LOCK_SH):
            raise DataError(f"{folder.path}: is being moved{_by_whom(handle)}; wait until that is done")
        yield handle


@contextmanager
def alone(folder: Folder) -> Iterator[None]:
    """Work on a contest that nobody serves."""
    with _opened(folder) as handle:
        if not _is_locked(handle, fcntl.LOCK_EX):
            raise DataError(
                f"{folder.path}: is being served{_by_whom(handle)}; end that first (Ctrl-C, or SIGTERM)"
            )
        yield


@contextmanager
def _opened(folder: Folder) -> Iterator[int]:
    # The lock goes with the process, however it ends; the file stays and means nothing.
    handle = os.open(folder.lock, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _is_locked(handle: int, kind: int) -> bool:
    """Whether the lock is ours now."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(handle: int) -> bool:
    """Whether nobody else serves the contest; what is left of a server that was killed is waited for."""
    until = time.monotonic() + _ENDING_S
    while not (is_free := _is_locked(handle, fcntl.LOCK_EX)):
        if _by_whom(handle) or time.monotonic() >= until:
            break
        time.sleep(0.1)
    return is_free


def _by_whom(handle: int) -> str:
    """Return which processes hold the lock, as far as the kernel tells: none of other machines."""
    place = os.fstat(handle).st_ino
    found = []
    with suppress(OSError):
        # Such as: 1: FLOCK  ADVISORY  READ  4711 fe:00:1049127 0 EOF
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.replace("->", "").split()
            if words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(place):
                found.append(int(words[4]))
    described = [f"process {pid} ({command})" for pid in found if (command := _command_of(pid))]
    return f" by {' and '.join(described)}" if described else ""


def _command_of(process: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        return " ".join(words).strip()[:_LONGEST_COMMAND]
    return ""
