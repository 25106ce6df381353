"""Numerical libraries on one thread, so that their sums have one order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0
_limits: Any = None


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread while anybody is inside.

    With several threads sums are added in the order in which threads end. The limit is the whole
    process's, so it is set by who comes first and lifted by who leaves last.
    """
    global _inside, _limits
    from threadpoolctl import threadpool_limits

    with _lock:
        if _inside == 0:
            _limits = threadpool_limits(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()
