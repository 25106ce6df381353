"""A process that ends when its parent does, even if the parent is killed and can tell nobody.

The parent holds the writing end of a pipe open. However it ends, the system closes that end.
"""

from __future__ import annotations

import os
import signal
import threading

_STDIN = 0


def end_with_parent() -> None:
    """Send this process SIGTERM when the other end of its standard input is closed."""
    threading.Thread(target=_watch, name="lifeline", daemon=True).start()


def _watch() -> None:
    while os.read(_STDIN, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
