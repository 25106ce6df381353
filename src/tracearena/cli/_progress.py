"""How long work is shown, and what its interruption means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracearena.cli._console import working
from tracearena.cli._stopping import say_outcome

if TYPE_CHECKING:
    from tracearena.engine import Cluster


@contextmanager
def shown(what: str, cluster: Cluster | None = None) -> Iterator[None]:
    """Show on a terminal how far the work inside is; say after Ctrl-C how to go on.

    For work that keeps nothing of itself: the same command begins it anew.
    """
    try:
        with working(what, cluster):
            yield
    except KeyboardInterrupt:
        say_outcome(f"stopped at {what}: nothing is written, and the same command begins anew")
        raise
