"""Do a thing on so many threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tracearena.engine import use

T = TypeVar("T")


def on_threads(count: int, work: Callable[[], T]) -> T:
    """Return what `work` returns when it may use `count` threads."""
    with use(threads=count):
        return work()
