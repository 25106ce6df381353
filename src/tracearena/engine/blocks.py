"""Fixed blocks of work on threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar

from tracearena.errors import ParameterError

T = TypeVar("T")


class Summable(Protocol):
    """Anything that can be added to its like."""

    def __add__(self, other: Any, /) -> Any:
        """Return the sum."""


S = TypeVar("S", bound=Summable)
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of blocks done and the number of all."""


def thread_count(threads: int | None = None) -> int:
    """Return how many threads to use: the argument, TRACEARENA_THREADS, or every core we may use."""
    if threads is None:
        setting = os.environ.get("TRACEARENA_THREADS", "")
        if not setting:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        try:
            threads = int(setting)
        except ValueError:
            raise ParameterError.of("TRACEARENA_THREADS", setting, "a whole number of at least 1") from None
    if threads < 1:
        raise ParameterError.of("threads", threads, "at least 1")
    return threads


def blocks(total: int, size: int) -> list[tuple[int, int]]:
    """Cut 0..total into consecutive ranges of `size`; the last may be shorter.

    >>> blocks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    if size < 1:
        raise ParameterError.of("size", size, "at least 1")
    return [(first, min(first + size, total)) for first in range(0, total, size)]


def run_blocks(
    work: Callable[[int, int, int], T],
    ranges: Sequence[tuple[int, int]],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[T]:
    """Call ``work(block, first, stop)`` for every range and return the results in order.

    `work` should release the GIL (NumPy, or Numba with ``nogil=True``) and write only to its own
    part of any shared array.
    """
    count = thread_count(threads)
    if count == 1 or len(ranges) <= 1:
        return _collected(
            (work(block, *limits) for block, limits in enumerate(ranges)), len(ranges), progress
        )
    with ThreadPoolExecutor(min(count, len(ranges))) as pool:
        futures = [pool.submit(work, block, *limits) for block, limits in enumerate(ranges)]
        try:
            return _collected((future.result() for future in futures), len(ranges), progress)
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def fold_blocks(
    work: Callable[[int, int, int], S], ranges: Sequence[tuple[int, int]], *, threads: int | None = None
) -> S:
    """Call ``work(block, first, stop)`` for every range and return the sum, added in block order.

    Only as many results as there are threads are held at a time, whatever the number of blocks.
    """
    if not ranges:
        raise ParameterError("there is no block to sum")
    count = thread_count(threads)
    numbered = [(block, *limits) for block, limits in enumerate(ranges)]
    if count == 1 or len(ranges) == 1:
        total = work(*numbered[0])
        for piece in numbered[1:]:
            total = total + work(*piece)
        return total
    with ThreadPoolExecutor(min(count, len(ranges))) as pool:
        waiting = iter(numbered)
        running: deque[Future[S]] = deque(pool.submit(work, *piece) for piece in islice(waiting, count + 1))
        try:
            total = _next_result(running, waiting, pool, work)
            while running:
                total = total + _next_result(running, waiting, pool, work)
            return total
        except BaseException:
            for future in running:
                future.cancel()
            raise


def _next_result(
    running: deque[Future[S]],
    waiting: Iterable[tuple[int, int, int]],
    pool: ThreadPoolExecutor,
    work: Callable[[int, int, int], S],
) -> S:
    result = running.popleft().result()
    for piece in islice(waiting, 1):
        running.append(pool.submit(work, *piece))
    return result


def _collected(results: Iterable[T], total: int, progress: Progress | None) -> list[T]:
    collected = []
    for result in results:
        collected.append(result)
        if progress is not None:
            progress(len(collected), total)
    return collected
