"""A log in a file that may be renamed at any time, as logrotate does: the next line goes to a new file."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import IO

_PATIENCE_S = 5.0


@contextmanager
def log_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a pipe for other processes; each line that comes through it is added to the file.

    What this process logs goes there too.
    """
    handler = WatchedFileHandler(path, encoding="utf-8", errors="backslashreplace")
    root = logging.getLogger()
    before, root.handlers = root.handlers, [handler]
    reading, writing = os.pipe()
    copying = threading.Thread(target=_copy, args=(reading, handler), daemon=True)
    copying.start()
    try:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            yield pipe
        # A process that outlives its parent for a moment may hold the other end.
        copying.join(_PATIENCE_S)
    finally:
        root.handlers = before
        handler.close()


def _copy(reading: int, handler: logging.Handler) -> None:
    with os.fdopen(reading, encoding="utf-8", errors="backslashreplace") as lines:
        for line in lines:
            handler.handle(logging.LogRecord("", logging.INFO, "", 0, line.rstrip("\n"), None, None))
