"""The memory of a process that holds a secret: not on the disk after a crash, not open to its neighbours."""

from __future__ import annotations

import resource

from tracearena.server import libc


def hide() -> None:
    """Let this process write no core file, and no other process of its user look into its memory.

    What it starts writes no core file either, but must hide itself: a new program begins visible.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if libc.is_linux():
        libc.prctl(libc.PR_SET_DUMPABLE, 0)
