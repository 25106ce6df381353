"""Fixed blocks of work on threads, or in the workers of a cluster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from numpy.typing import NDArray

from tracearena.engine.summing import PairwiseSum, S
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.engine.cluster import Cluster

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of blocks done and the number of all."""

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def thread_count(threads: int | None = None) -> int:
    """Return how many threads to use: the argument, TRACEARENA_THREADS, or every core we may use."""
    if threads is None:
        threads = _limit.get()
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


@contextmanager
def at_most_threads(count: int) -> Iterator[None]:
    """Let everything that is called inside, and names no number of threads, use so many."""
    before = _limit.set(count)
    try:
        yield
    finally:
        _limit.reset(before)


def blocks(total: int, size: int) -> list[tuple[int, int]]:
    """Cut 0..total into consecutive ranges of `size`; the last may be shorter.

    >>> blocks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    if size < 1:
        raise ParameterError.of("size", size, "at least 1")
    return [(first, min(first + size, total)) for first in range(0, total, size)]


def run_blocks(
    work: Callable[..., T],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    threads: int | None = None,
    cluster: Cluster | None = None,
    progress: Progress | None = None,
    finished: Callable[[int, T], None] | None = None,
) -> list[T]:
    """Call ``work(block, first, stop, *its_rows)`` for every range and return the results in order.

    Parameters
    ----------
    work
        Should release the GIL (NumPy, or Numba with ``nogil=True``) and write only to its own part
        of any shared array. In a cluster it travels to the workers with all it refers to, and must
        return what it makes: arrays that it writes to are copies there.
    ranges
        Ascending and apart from each other.
    rows
        Arrays of which a block needs rows ``first:stop`` alone; a cluster sends it no others.
    cluster
        Run in its workers instead of threads here, with the same results.
    finished
        Called with the number of a block and its result as soon as there is one, in any order, never
        twice at a time.
    """
    if cluster is not None:
        return cluster.run(work, ranges, rows=rows, progress=progress, finished=finished)
    if finished is not None:
        work = _telling(work, finished)
    pieces = numbered(ranges, rows)
    count = thread_count(threads)
    if count == 1 or len(ranges) <= 1:
        return _collected((work(*piece) for piece in pieces), len(ranges), progress)
    with ThreadPoolExecutor(min(count, len(ranges))) as pool:
        futures = [pool.submit(work, *piece) for piece in pieces]
        try:
            return _collected((future.result() for future in futures), len(ranges), progress)
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def fold_blocks(
    work: Callable[..., S],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    threads: int | None = None,
    cluster: Cluster | None = None,
    progress: Progress | None = None,
) -> S:
    """Call ``work(block, first, stop, *its_rows)`` for every range and return the sum.

    The results are added in a fixed tree (`PairwiseSum`), and only few are held at a time, whatever
    the number of blocks. Parameters are those of `run_blocks`.
    """
    if cluster is not None:
        return cluster.fold(work, ranges, rows=rows, progress=progress)
    return sum_blocks(work, ranges, rows=rows, threads=threads, progress=progress).total()


def sum_blocks(
    work: Callable[..., S],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    number: int = 0,
    origin: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PairwiseSum[S]:
    """Do what `fold_blocks` does for the blocks from `number` on; return sums that can be joined.

    Row 0 of `rows` is that of `origin`.
    """
    sums: PairwiseSum[S] = PairwiseSum()
    results = _in_order(work, list(numbered(ranges, rows, number, origin)), thread_count(threads))
    for done, result in enumerate(results):
        sums.add(number + done, result)
        if progress is not None:
            progress(done + 1, len(ranges))
    return sums


def numbered(
    ranges: Sequence[tuple[int, int]], rows: Sequence[NDArray[Any]], number: int = 0, origin: int = 0
) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of every block; row 0 of `rows` is that of `origin`."""
    for block, (first, stop) in enumerate(ranges, start=number):
        yield block, first, stop, *(array[first - origin : stop - origin] for array in rows)


def _in_order(work: Callable[..., S], pieces: list[tuple[Any, ...]], count: int) -> Iterator[S]:
    """Yield the results in order, working on a few blocks ahead."""
    if count == 1 or len(pieces) <= 1:
        for piece in pieces:
            yield work(*piece)
        return
    with ThreadPoolExecutor(min(count, len(pieces))) as pool:
        waiting = iter(pieces)
        running: deque[Future[S]] = deque(pool.submit(work, *piece) for piece in islice(waiting, count + 1))
        try:
            while running:
                result = running.popleft().result()
                for piece in islice(waiting, 1):
                    running.append(pool.submit(work, *piece))
                yield result
        finally:
            for future in running:
                future.cancel()


def _telling(work: Callable[..., T], finished: Callable[[int, T], None]) -> Callable[..., T]:
    one_at_a_time = Lock()

    def told(block: int, *piece: Any) -> T:
        result = work(block, *piece)
        with one_at_a_time:
            finished(block, result)
        return result

    return told


def _collected(results: Iterable[T], total: int, progress: Progress | None) -> list[T]:
    collected = []
    for result in results:
        collected.append(result)
        if progress is not None:
            progress(len(collected), total)
    return collected
