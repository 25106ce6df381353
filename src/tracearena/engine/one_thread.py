"""Numerical libraries on one thread, so that their sums have one order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0
_limits: list[Any] = []


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread while anybody is inside.

    With several threads sums are added in the order in which threads end. The limit is the whole
    process's: everybody who comes in sets it for the libraries that have been loaded since, and who
    leaves last lifts it.
    """
    global _inside
    from threadpoolctl import threadpool_info, threadpool_limits

    with _lock:
        if any(library["num_threads"] > 1 for library in threadpool_info()):
            _limits.append(threadpool_limits(1))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            while _inside == 0 and _limits:
                _limits.pop().restore_original_limits()
