"""No process that holds a secret leaves its memory on the disk when it crashes."""

from __future__ import annotations

import resource


def forbid() -> None:
    """Let this process, and all that it starts, write no core file, whatever the system's settings."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
