"""Fixed blocks of work on threads, or in the workers of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import surroundings
from tracearena.engine.seeding import stream
from tracearena.engine.surroundings import current_cluster, thread_count, use

if TYPE_CHECKING:
    from tracearena.engine.cluster import Cluster

T = TypeVar("T")
_DRAWS_PER_BLOCK = 2**16


class Shared(Generic[T]):
    """A value that the blocks of one call after the other need (`fold_blocks`).

    What a function refers to travels with it, whenever it does. This is sent to a cluster once, and stays
    there until nobody here holds it any more.
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self._there: WeakKeyDictionary[Cluster, Any] = WeakKeyDictionary()

    def in_cluster(self, cluster: Cluster) -> Any:
        """Return it as something that tasks can take for an argument, handed over if it was not before."""
        if cluster not in self._there:
            self._there[cluster] = cluster.keep(self.value)
        return self._there[cluster]


def block_ranges(total: int, size: int) -> list[tuple[int, int]]:
    """Cut 0..total into consecutive ranges of `size`; the last may be shorter.

    >>> block_ranges(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    require_whole("size", size, at_least=1)
    return [(first, min(first + size, total)) for first in range(0, total, size)]


def run_blocks(
    work: Callable[..., T],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    anywhere: bool = False,
    report: bool = False,
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
    anywhere
        The work can travel: where `use` named a cluster, its workers do it, with the same results.
    report
        Tell whoever asked with `use` of finished blocks. What runs inside a block tells nobody.
    finished
        Called with the number of a block and its result as soon as there is one, in any order, never
        twice at a time.
    """
    cluster = current_cluster() if anywhere else None
    if cluster is not None:
        return cluster.run(work, ranges, rows=rows, report=report, finished=finished)
    if finished is not None:
        work = _telling(work, finished)
    return list(in_order(work, list(numbered(ranges, rows)), report, ahead=len(ranges)))


def uniforms(
    root: np.random.SeedSequence, count: int, columns: int = 1, *, first: int = 0
) -> NDArray[np.float64]:
    """Draw `count` rows of numbers from [0, 1), block by block, each block from its own stream.

    The first rows are the same however many follow, and for any number of threads; rows from `first` on
    are those that stand there among all.
    """
    before, skipped = divmod(first, _DRAWS_PER_BLOCK)
    numbers = np.empty((skipped + count, columns))

    def fill(block: int, begin: int, stop: int) -> None:
        stream(root, before + block).random(out=numbers[begin:stop])

    run_blocks(fill, block_ranges(len(numbers), _DRAWS_PER_BLOCK))
    return numbers[skipped:, 0] if columns == 1 else numbers[skipped:]


def numbered(
    ranges: Sequence[tuple[int, int]], rows: Sequence[NDArray[Any]], number: int = 0, origin: int = 0
) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of every block; row 0 of `rows` is that of `origin`."""
    for block, (first, stop) in enumerate(ranges, start=number):
        yield block, first, stop, *(array[first - origin : stop - origin] for array in rows)


def in_order(
    work: Callable[..., T], pieces: list[tuple[Any, ...]], report: bool, *, ahead: int
) -> Iterator[T]:
    """Yield the results in order, working on at most `ahead` blocks at a time."""
    results = _results(work, pieces, ahead)
    for done, result in enumerate(results, start=1):
        if report:
            surroundings.report(done, len(pieces))
        yield result


def _results(work: Callable[..., T], pieces: list[tuple[Any, ...]], ahead: int) -> Iterator[T]:
    count = min(thread_count(), len(pieces))
    if count <= 1:
        for piece in pieces:
            with use(cluster=None, progress=None):
                result = work(*piece)
            yield result
        return
    with ThreadPoolExecutor(count) as pool:
        waiting = iter(pieces)
        running: deque[Future[T]] = deque()
        try:
            running.extend(_submitted(pool, work, piece) for piece in islice(waiting, ahead))
            while running:
                result = running.popleft().result()
                running.extend(_submitted(pool, work, piece) for piece in islice(waiting, 1))
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


def _submitted(pool: ThreadPoolExecutor, work: Callable[..., T], piece: tuple[Any, ...]) -> Future[T]:
    """Hand a block to a thread, which knows what `use` said here, but neither reports nor sends on."""
    with use(cluster=None, progress=None):
        return pool.submit(copy_context().run, work, *piece)
