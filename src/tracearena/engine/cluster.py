"""The same blocks in the workers of a Dask cluster.

Everything that a task needs is an argument of the task or of one that it depends on, so that the
scheduler can have it made again: a worker that dies costs time, not the result.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from tracearena.engine.blocks import Progress, at_most_threads, numbered, sum_blocks
from tracearena.engine.one_thread import one_library_thread
from tracearena.engine.summing import Node, PairwiseSum, S
from tracearena.errors import ParameterError

T = TypeVar("T")
CHUNKS_PER_THREAD = 4
"""So many tasks for each thread of the workers: enough to even out, few enough to cost nothing."""
PATIENCE_S = 10
MEMORY_SETTINGS = {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
"""Dask has workers give memory back at once, and so fetch it anew for every array: nearly twice the time."""
_ALLOWED = "tcp://HOST:PORT of a Dask scheduler, or local:N for N worker processes on this machine"


class Cluster:
    """The workers of a Dask cluster.

    Use it as a context manager. Results do not depend on the number of workers, and are those of
    threads on one machine; scheduler and workers need the same version of this package.

    Parameters
    ----------
    address
        ``tcp://HOST:PORT`` of a scheduler that runs, or ``local:N`` to start N worker processes on
        this machine for the time being.

    Notes
    -----
    Equal bytes need equal arithmetic: machines whose processors or NumPy builds differ may differ in
    the last digit of a matrix product, within the cluster as well as outside.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise ParameterError(
                "a cluster needs Dask: install it with pip install 'tracearena[cluster]'"
            ) from None
        self.address = address
        self._local: Any = None
        self._client: Any = None
        if address.startswith("local:"):
            self._local = _started(_count(address))
            self._client = distributed.Client(self._local)
        else:
            self._client = _joined(address)
        try:
            self._check_workers(_version())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; workers that were started for us end."""
        for part in (self._client, self._local):
            if part is not None:
                part.close()
        self._client = self._local = None

    @property
    def dashboard(self) -> str:
        """Address of the page that shows what the workers do."""
        return str(self._client.dashboard_link)

    @property
    def scheduler(self) -> str:
        """Address of the scheduler, at which others may join."""
        return str(self._client.scheduler.address)

    @property
    def workers(self) -> list[str]:
        """Addresses of the workers there are now."""
        return sorted(self._client.scheduler_info(n_workers=-1)["workers"])

    @property
    def n_threads(self) -> int:
        """Threads of all workers together."""
        return sum(self._client.nthreads().values())

    def _check_workers(self, ours: str) -> None:
        if not self.workers:
            self._client.wait_for_workers(1, timeout=PATIENCE_S)
        for worker, theirs in self._client.run(_version).items():
            if theirs != ours:
                raise ParameterError(f"worker {worker} has tracearena {theirs}, and this is {ours}")

    def run(
        self,
        work: Callable[..., T],
        ranges: Sequence[tuple[int, int]],
        *,
        rows: Sequence[NDArray[Any]] = (),
        progress: Progress | None = None,
    ) -> list[T]:
        """Do what `run_blocks` does."""
        found: list[T] = []
        for part in self._chunks(_run, work, ranges, rows):
            found.extend(part)
            if progress is not None:
                progress(len(found), len(ranges))
        return found

    def fold(
        self,
        work: Callable[..., S],
        ranges: Sequence[tuple[int, int]],
        *,
        rows: Sequence[NDArray[Any]] = (),
        progress: Progress | None = None,
    ) -> S:
        """Do what `fold_blocks` does: every task adds its own blocks, and their sums are added here."""
        nodes: list[Node[S]] = []
        for part in self._chunks(_fold, work, ranges, rows):
            nodes.extend(part)
            if progress is not None:
                progress(nodes[-1].first + nodes[-1].size, len(ranges))
        return PairwiseSum(nodes).total()

    def _chunks(
        self,
        task: Callable[..., Any],
        work: Callable[..., Any],
        ranges: Sequence[tuple[int, int]],
        rows: Sequence[NDArray[Any]],
    ) -> Iterator[Any]:
        """Yield the results of a few consecutive blocks at a time, in order."""
        if not ranges:
            return
        shared = self.keep(work)
        futures = []
        for begin, end in shares(len(ranges), CHUNKS_PER_THREAD * self.n_threads):
            mine = list(ranges[begin:end])
            first, stop = mine[0][0], mine[-1][1]
            own = packed([array[first:stop] for array in rows])
            futures.append(self.submit(task, shared, begin, mine, own))
        for at, future in enumerate(futures):
            futures[at] = None
            yield self.gather([future])[0]

    def keep(self, value: Any) -> Any:
        """Hand a value to the cluster, as something that tasks can take for an argument."""
        return self.submit(unpacked, packed(value))

    def submit(self, task: Callable[..., Any], *arguments: Any, worker: str | None = None) -> Any:
        """Have a task done, in a certain worker if it is alive; its result stays there until gathered."""
        import dask

        # Large arguments are meant to be kept by the scheduler: no warning about them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._client.submit(
                _done,
                task,
                *arguments,
                key=f"{task.__name__.strip('_')}-{uuid4().hex}",
                workers=None if worker is None else [worker],
                allow_other_workers=worker is not None,
            )

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks."""
        return [parcel.value for parcel in self._client.gather(list(futures))]


class Parcel:
    """A value on its way between processes, whose arrays arrive in memory of their own.

    Left to itself Dask would leave them wherever their bytes arrive: often at odd addresses, where
    sums come out differently and compiled loops are compiled again.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        import cloudpickle

        if protocol < 5:
            return _parcel, (packed(self.value),)
        buffers: list[Any] = []
        data = cloudpickle.dumps(self.value, protocol=5, buffer_callback=buffers.append)
        return _parcel, (bytes(data), *buffers)

    def __sizeof__(self) -> int:
        from dask.sizeof import sizeof

        return int(sizeof(self.value))


def _parcel(data: bytes, *buffers: Any) -> Parcel:
    return Parcel(pickle.loads(data, buffers=[np.array(np.frombuffer(one, np.uint8)) for one in buffers]))


def _done(task: Callable[..., Any], *arguments: Any) -> Parcel:
    return Parcel(task(*(one.value if isinstance(one, Parcel) else one for one in arguments)))


def shares(total: int, parts: int) -> list[tuple[int, int]]:
    """Cut 0..total into at most `parts` ranges of about the same size.

    They begin at multiples of a power of two, as large as evenness allows, so that a range makes few
    sums of a `PairwiseSum`.

    >>> shares(20, 2), shares(5, 8)
    ([(0, 10), (10, 20)], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    """
    if total == 0:
        return []
    step = 1
    while 8 * parts * step <= total:
        step *= 2
    units = -(-total // step)
    parts = min(parts, units)
    cuts = [round(units * part / parts) * step for part in range(parts)] + [total]
    return list(pairwise(cuts))


def worker_threads() -> int:
    """Return how many threads the worker has in which this task runs."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


@contextmanager
def task(threads: int = 1) -> Iterator[None]:
    """Surround what a worker does: its other threads have tasks of their own."""
    _settle()
    with at_most_threads(threads):
        yield


@cache
def _settle() -> None:
    """Keep this worker's numerical libraries to one thread, once and for all."""
    one_library_thread().__enter__()


def _run(work: Callable[..., T], number: int, ranges: list[tuple[int, int]], own: bytes) -> list[T]:
    with task():
        return [work(*piece) for piece in numbered(ranges, unpacked(own), number, ranges[0][0])]


def _fold(work: Callable[..., S], number: int, ranges: list[tuple[int, int]], own: bytes) -> list[Node[S]]:
    with task():
        return sum_blocks(
            work, ranges, rows=unpacked(own), number=number, origin=ranges[0][0], threads=1
        ).nodes


def packed(value: Any) -> bytes:
    """Pickle, functions included, so that the scheduler has bytes to keep and nothing to understand."""
    import cloudpickle

    return bytes(cloudpickle.dumps(value))


def unpacked(data: bytes) -> Any:
    """Undo `packed`; arrays get memory of their own."""
    return pickle.loads(data)


def _version() -> str:
    return version("tracearena")


def _count(address: str) -> int:
    found = re.fullmatch(r"local:([1-9]\d{0,3})", address)
    if found is None:
        raise ParameterError.of("cluster", address, _ALLOWED)
    return int(found[1])


def _started(workers: int) -> Any:
    import dask
    from distributed import LocalCluster

    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in MEMORY_SETTINGS.items()}):
        return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0")


def _joined(address: str) -> Any:
    from distributed import Client

    if not re.fullmatch(r"(tcp|tls|ucx)://[^/\s]+:\d+", address):
        raise ParameterError.of("cluster", address, _ALLOWED)
    try:
        return Client(address, timeout=PATIENCE_S)
    except (OSError, TimeoutError) as error:
        raise ParameterError(f"no Dask scheduler answers at {address}: {error}") from None
