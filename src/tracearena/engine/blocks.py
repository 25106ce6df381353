"""Fixed blocks of work on threads, or in the workers of a cluster, and sums over blocks.

`run_blocks` returns the results of all blocks, `fold_blocks` their sum, added in a fixed tree. The
results do not depend on the number of threads or workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import context
from tracearena.engine.context import current_cluster, thread_count, use
from tracearena.engine.seeding import stream
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.engine.cluster import Cluster


T = TypeVar("T")
_DRAWS_PER_BLOCK = 2**16


class BroadcastValue(Generic[T]):
    """A value that the blocks of several calls need (`fold_blocks`).

    Values that a function refers to are sent to a cluster with every call. A `BroadcastValue` is sent once,
    and stays there as long as this object exists.
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self._there: WeakKeyDictionary[Cluster, Any] = WeakKeyDictionary()

    def in_cluster(self, cluster: Cluster) -> Any:
        """Return the value as an argument for tasks; it is sent to the cluster on first use."""
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
        Should release the GIL (NumPy, or Numba with ``nogil=True``) and write only to its own part of a
        shared array. In a cluster it is sent to the workers with all values that it refers to, and must
        return its result, because arrays that it writes to are copies there.
    ranges
        Ascending ranges that do not overlap.
    rows
        Arrays of which a block needs only the rows ``first:stop``; in a cluster only these are sent.
    anywhere
        Whether the work may run on the workers of the cluster that `use` set, with the same results.
    report
        Report finished blocks to the progress callback that `use` set. Calls inside a block report nothing.
    finished
        Called with the number and the result of each finished block, in any order, but never by two threads
        at the same time.
    """
    cluster = current_cluster() if anywhere else None
    if cluster is not None:
        return cluster.run(work, ranges, rows=rows, report=report, finished=finished)
    one_at_a_time = Lock()

    def work_and_call(block: int, *piece: Any) -> T:
        result = work(block, *piece)
        if finished is not None:
            with one_at_a_time:
                finished(block, result)
        return result

    pieces = list(iter_block_arguments(ranges, rows))
    return list(run_in_order(work_and_call, pieces, report, ahead=len(ranges)))


def uniforms(
    root: np.random.SeedSequence, count: int, columns: int = 1, *, first: int = 0
) -> NDArray[np.float64]:
    """Draw `count` rows of numbers from [0, 1), block by block, each block from its own stream.

    The first rows do not depend on `count` or on the number of threads. With `first`, the rows are those from
    that number on.
    """
    before, skipped = divmod(first, _DRAWS_PER_BLOCK)
    numbers = np.empty((skipped + count, columns))

    def fill(block: int, begin: int, stop: int) -> None:
        stream(root, before + block).random(out=numbers[begin:stop])

    run_blocks(fill, block_ranges(len(numbers), _DRAWS_PER_BLOCK))
    return numbers[skipped:, 0] if columns == 1 else numbers[skipped:]


def iter_block_arguments(
    ranges: Sequence[tuple[int, int]], rows: Sequence[NDArray[Any]], number: int = 0, origin: int = 0
) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of every block; row 0 of `rows` is that of `origin`."""
    for block, (first, stop) in enumerate(ranges, start=number):
        yield block, first, stop, *(array[first - origin : stop - origin] for array in rows)


def run_in_order(
    work: Callable[..., T], pieces: list[tuple[Any, ...]], report: bool, *, ahead: int
) -> Iterator[T]:
    """Yield the results in order, working on at most `ahead` blocks at a time."""
    results = _iter_block_results(work, pieces, ahead)
    for done, result in enumerate(results, start=1):
        if report:
            context.report(done, len(pieces))
        yield result


def _iter_block_results(work: Callable[..., T], pieces: list[tuple[Any, ...]], ahead: int) -> Iterator[T]:
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
            running.extend(_submit_block(pool, work, piece) for piece in islice(waiting, ahead))
            while running:
                result = running.popleft().result()
                running.extend(_submit_block(pool, work, piece) for piece in islice(waiting, 1))
                yield result
        finally:
            for future in running:
                future.cancel()


def _submit_block(pool: ThreadPoolExecutor, work: Callable[..., T], piece: tuple[Any, ...]) -> Future[T]:
    """Hand a block to a thread, which sees what `use` set here, except progress and cluster."""
    with use(cluster=None, progress=None):
        return pool.submit(copy_context().run, work, *piece)


# Sums of numbered pieces that do not depend on the order of the additions.


class Summable(Protocol):
    """Anything that can be added to its like."""

    def __add__(self, other: Any, /) -> Any:
        """Return the sum."""


S = TypeVar("S", bound=Summable)


class Node(NamedTuple, Generic[S]):
    """The sum of pieces ``first`` up to but not including ``first + size``."""

    first: int
    size: int
    value: S


class PairwiseSum(Generic[S]):
    """Adds pieces pairwise, in a tree that depends only on the numbers of the pieces.

    Floating-point sums depend on the order of the additions. Here pieces 2i and 2i + 1 are added to a pair,
    two neighbouring pairs to a group of four, and so on. Any thread or machine can therefore add any range of
    pieces, and sums that are joined later have the same bits. At most about log₂ n sums are held at a time.

    Parameters
    ----------
    nodes
        Sums to start with, in ascending order; they are not changed.

    Examples
    --------
    >>> here, there = PairwiseSum(), PairwiseSum()
    >>> for number, value in enumerate([0.1, 0.2, 0.3, 0.4]):
    ...     (here if number < 3 else there).add(number, value)
    >>> [(node.first, node.size) for node in here.nodes]
    [(0, 2), (2, 1)]
    >>> PairwiseSum([*here.nodes, *there.nodes]).total() == (0.1 + 0.2) + (0.3 + 0.4)
    True
    """

    def __init__(self, nodes: Iterable[Node[S]] = ()) -> None:
        self._nodes: list[Node[S]] = []
        self._are_ours: list[bool] = []
        self.join(nodes)

    @property
    def nodes(self) -> list[Node[S]]:
        """The sums that wait for a neighbour."""
        return list(self._nodes)

    def add(self, number: int, value: S) -> None:
        """Add the next piece, in ascending order without gaps. The sum may change the value."""
        self._push(Node(number, 1, value), is_ours=True)

    def join(self, nodes: Iterable[Node[S]]) -> None:
        """Add other sums, which are not changed."""
        for node in nodes:
            self._push(node, is_ours=False)

    def _push(self, node: Node[S], *, is_ours: bool) -> None:
        nodes, ours = self._nodes, self._are_ours
        if nodes and nodes[-1].first + nodes[-1].size != node.first:
            raise ParameterError(
                f"piece {node.first} does not follow piece {nodes[-1].first + nodes[-1].size - 1}"
            )
        nodes.append(node)
        ours.append(is_ours)
        # Equal neighbours are added if the left one begins a pair: its number is even at this size.
        while len(nodes) > 1 and nodes[-2].size == node.size and nodes[-2].first % (2 * node.size) == 0:
            right, left = nodes.pop(), nodes.pop()
            ours.pop()
            if ours[-1]:
                both = left.value
                both += right.value
            else:
                both = left.value + right.value
            ours[-1] = True
            node = Node(left.first, 2 * left.size, both)
            nodes.append(node)

    def total(self) -> S:
        """Return the sum of all pieces; sums without a neighbour are added from the right."""
        if not self._nodes:
            raise ParameterError("there is no block to sum")
        total = self._nodes[-1].value
        for node in reversed(self._nodes[:-1]):
            total = node.value + total
        return total


def join_sums(parts: Iterable[list[Node[S]]]) -> PairwiseSum[S]:
    """Join the sums of ranges of pieces that follow each other."""
    return PairwiseSum(node for part in parts for node in part)


def fold_blocks(
    work: Callable[..., S],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    given: Sequence[BroadcastValue[Any]] = (),
    anywhere: bool = False,
    report: bool = False,
) -> S:
    """Call ``work(block, first, stop, *its_rows, *given)`` for every range and return the sum.

    The results are added in a fixed tree (`PairwiseSum`), and only few are held at a time, whatever
    the number of blocks. Parameters are those of `run_blocks`, and `given`: what all blocks need in
    several calls, which a cluster is sent once.
    """
    cluster = current_cluster() if anywhere else None
    if cluster is not None:
        return cluster.fold(work, ranges, rows=rows, given=given, report=report)
    values = [one.value for one in given]
    return sum_blocks(lambda *piece: work(*piece, *values), ranges, rows=rows, report=report).total()


def sum_blocks(
    work: Callable[..., S],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    number: int = 0,
    origin: int = 0,
    report: bool = False,
) -> PairwiseSum[S]:
    """Do the same as `fold_blocks` for the blocks from `number` on; return sums that can be joined.

    Row 0 of `rows` is that of `origin`.
    """
    sums: PairwiseSum[S] = PairwiseSum()
    pieces = list(iter_block_arguments(ranges, rows, number, origin))
    for done, result in enumerate(run_in_order(work, pieces, report, ahead=thread_count() + 1)):
        sums.add(number + done, result)
    return sums


# Numerical libraries on one thread, so that their sums have one order.

_lock = Lock()
_inside = 0
_limits: list[Any] = []


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread inside the block.

    With several threads, sums are added in the order in which threads end. The limit holds for the whole
    process: entering the context sets it for all libraries that are loaded by then, and leaving the last
    context lifts it.
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
