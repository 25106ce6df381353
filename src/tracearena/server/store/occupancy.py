"""Who works on a contest's folder: many may serve it, and whoever moves it must be alone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tracearena.errors import DataError
from tracearena.server.store.folder import Folder


@contextmanager
def serving(folder: Folder) -> Iterator[int]:
    """Serve a contest together with others; nobody moves it meanwhile.

    The descriptor that it gives is the lock: a process that inherits it holds it too.
    """
    with _locked(folder, fcntl.LOCK_SH, "is being moved; wait until that is done") as handle:
        yield handle


@contextmanager
def alone(folder: Folder) -> Iterator[None]:
    """Work on a contest that nobody serves."""
    with _locked(folder, fcntl.LOCK_EX, "is being served; end that first (Ctrl-C, or SIGTERM)"):
        yield


@contextmanager
def _locked(folder: Folder, kind: int, problem: str) -> Iterator[int]:
    # The lock goes with the process, however it ends; the file stays and means nothing.
    handle = os.open(folder.lock, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"{folder.path}: {problem}") from None
        yield handle
    finally:
        os.close(handle)
