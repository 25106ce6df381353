"""The same blocks in the workers of a Dask cluster.

Everything that a task needs is an argument of the task or of one that it depends on, so that the
scheduler can have it made again: a worker that dies costs time, not the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from os import PathLike, fspath
from os.path import isdir
from typing import Any, Self, TypeVar
from uuid import uuid4

from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import surroundings
from tracearena.engine.blocks import Shared, numbered
from tracearena.engine.joining import joined
from tracearena.engine.one_thread import one_library_thread
from tracearena.engine.parcels import Parcel, packed, unpacked
from tracearena.engine.summing import Node, PairwiseSum, S, sum_blocks
from tracearena.errors import ClusterError

T = TypeVar("T")
CHUNKS_PER_THREAD = 4
"""So many tasks for each thread of the workers: enough to even out, few enough to cost nothing."""
_for_good = ExitStack()


class Cluster:
    """The workers of a Dask cluster.

    Use it as a context manager. Results do not depend on the number of workers, and are those of
    threads on one machine; scheduler and workers need the same version of this package.

    Parameters
    ----------
    address
        ``tcp://HOST:PORT`` of a scheduler that runs, ``tls://HOST:PORT`` where Dask's settings name the
        files of TLS, or ``local:N`` to start N worker processes on this machine for the time being.
    timeout_s
        Seconds to wait for an answer of the scheduler, and for a first worker.

    Notes
    -----
    Equal bytes need equal arithmetic: machines whose processors or NumPy builds differ may differ in
    the last digit of a matrix product, within the cluster as well as outside.
    """

    def __init__(self, address: str, *, timeout_s: float = 10.0) -> None:
        self.address, self.timeout_s = address, timeout_s
        self._equipped: set[str] = set()
        with ExitStack() as opened:
            self._client: Any = opened.enter_context(joined(address, opened, timeout_s))
            self._check_versions(_version())
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; workers that were started for us end."""
        self._opened.close()

    @property
    def dashboard(self) -> str | None:
        """Address of the page that shows what the workers do, if the scheduler has one."""
        if not self._client.run_on_scheduler(_has_dashboard):
            return None
        try:
            link = self._client.dashboard_link
        except KeyError:
            return None
        return None if link is None else str(link)

    @property
    def scheduler(self) -> str:
        """Address of the scheduler, at which others may join."""
        return str(self._client.scheduler.address)

    @property
    def workers(self) -> list[str]:
        """Addresses of the workers there are now; there is always one, or we wait for it."""
        return sorted(self._threads())

    @property
    def n_threads(self) -> int:
        """Threads of all workers together."""
        return sum(self._threads().values())

    def _threads(self) -> dict[str, int]:
        if not self._client.nthreads():
            try:
                self._client.wait_for_workers(1, timeout=self.timeout_s)
            except TimeoutError:
                advice = f"start some with: dask worker {self.scheduler}"
                raise ClusterError(
                    f"the Dask scheduler at {self.scheduler} has no workers; {advice}"
                ) from None
        return dict(self._client.nthreads())

    def _check_versions(self, ours: str) -> None:
        def installed() -> str | None:  # travels as it is, since it may not be there to import
            from importlib.metadata import PackageNotFoundError, version

            try:
                return version("tracearena")
            except PackageNotFoundError:
                return None

        self._threads()
        found = {"the scheduler": self._client.run_on_scheduler(installed)} | self._client.run(installed)
        for where, theirs in found.items():
            if theirs != ours:
                has = "no tracearena" if theirs is None else f"tracearena {theirs}"
                raise ClusterError(f"{where} has {has}, and this is tracearena {ours}: install the same")

    def run(
        self,
        work: Callable[..., T],
        ranges: Sequence[tuple[int, int]],
        *,
        rows: Sequence[NDArray[Any]] = (),
        report: bool = False,
        finished: Callable[[int, T], None] | None = None,
    ) -> list[T]:
        """Do what `run_blocks` does."""
        if finished is not None:
            return self._run_one_by_one(work, ranges, rows, report, finished)
        found: list[T] = []
        for part in self._chunks(_run, work, ranges, rows):
            found.extend(part)
            if report:
                surroundings.report(len(found), len(ranges))
        return found

    def _run_one_by_one(
        self,
        work: Callable[..., T],
        ranges: Sequence[tuple[int, int]],
        rows: Sequence[NDArray[Any]],
        report: bool,
        finished: Callable[[int, T], None],
    ) -> list[T]:
        """Make every block a task of its own, and tell of each as soon as it is there."""
        from distributed import as_completed

        shared = self.keep(work)
        number = {}
        for block, (first, stop) in enumerate(ranges):
            own = packed([array[first:stop] for array in rows])
            number[self.submit(_run, shared, block, [(first, stop)], own)] = block
        found: dict[int, T] = {}
        for future in as_completed(list(number)):
            ((result,),) = self.gather([future])
            found[number[future]] = result
            finished(number[future], result)
            if report:
                surroundings.report(len(found), len(ranges))
        return [found[block] for block in range(len(ranges))]

    def fold(
        self,
        work: Callable[..., S],
        ranges: Sequence[tuple[int, int]],
        *,
        rows: Sequence[NDArray[Any]] = (),
        given: Sequence[Shared[Any]] = (),
        report: bool = False,
    ) -> S:
        """Do what `fold_blocks` does: every task adds its own blocks, and their sums are added here."""
        sums: PairwiseSum[S] = PairwiseSum()
        for part in self._chunks(_fold, work, ranges, rows, given):
            sums.join(part)
            if report:
                surroundings.report(part[-1].first + part[-1].size, len(ranges))
        return sums.total()

    def _chunks(
        self,
        task: Callable[..., Any],
        work: Callable[..., Any],
        ranges: Sequence[tuple[int, int]],
        rows: Sequence[NDArray[Any]],
        given: Sequence[Shared[Any]] = (),
    ) -> Iterator[Any]:
        """Yield the results of a few consecutive blocks at a time, in order."""
        if not ranges:
            return
        shared, others = self.keep(work), [one.in_cluster(self) for one in given]
        futures = []
        for begin, end in even_ranges(len(ranges), CHUNKS_PER_THREAD * self.n_threads):
            mine = list(ranges[begin:end])
            first, stop = mine[0][0], mine[-1][1]
            own = packed([array[first:stop] for array in rows])
            futures.append(self.submit(task, shared, begin, mine, own, *others))
        for at, future in enumerate(futures):
            futures[at] = None
            yield self.gather([future])[0]

    def keep(self, value: Any) -> Any:
        """Hand a value to the cluster, as something that tasks can take for an argument."""
        return self.submit(unpacked, packed(value))

    def submit(
        self, task: Callable[..., Any], *arguments: Any, worker: str | None = None, strictly: bool = False
    ) -> Any:
        """Have a task done, in a certain worker if it is alive; its result stays there until gathered.

        `strictly` has it wait rather than go to another worker.
        """
        import dask

        # Large arguments are meant to be kept by the scheduler: no warning about them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._client.submit(
                _done,
                task,
                *arguments,
                key=f"{task.__name__.strip('_')}-{uuid4().hex}",
                workers=None if worker is None else [worker],
                allow_other_workers=worker is not None and not strictly,
            )

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks."""
        with self._explained():
            return [parcel.value for parcel in self._client.gather(list(futures))]

    def ended(self, futures: Sequence[Any], patience_s: float) -> list[Any]:
        """Return the tasks that have ended, as soon as one has; none if none does for so long."""
        from distributed import wait

        with self._explained():
            try:
                return list(wait(list(futures), timeout=patience_s, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                return []

    def forget(self, futures: Sequence[Any]) -> None:
        """Have tasks not begun, and keep nothing of those that were."""
        self._client.cancel(list(futures), force=True)

    def reaches(self, folder: str | PathLike[str]) -> bool:
        """Whether every worker finds a folder of ours under its name."""
        with self._explained():
            return all(self._client.run(isdir, fspath(folder)).values())

    def tell(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in every worker at once, beside its tasks; those that die do not matter."""
        with suppress(OSError):
            self._client.run(work, *arguments, on_error="ignore")

    def equip(self, name: str, plugin: Any) -> None:
        """Give a plug-in to all workers that are there or come later."""
        if name not in self._equipped:
            self._client.register_plugin(plugin, name=name)
            self._equipped.add(name)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise ClusterError(
                f"one task after another ended its worker, for want of memory? {error}"
            ) from None
        except (CancelledError, CommClosedError) as error:
            raise ClusterError(f"the Dask scheduler at {self.address} has gone: {error}") from None


def even_ranges(total: int, parts: int) -> list[tuple[int, int]]:
    """Cut 0..total into at most `parts` ranges of about the same size.

    They begin at multiples of a power of two, as large as evenness allows, so that a range makes few
    sums of a `PairwiseSum`.

    >>> even_ranges(20, 2), even_ranges(5, 8)
    ([(0, 10), (10, 20)], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    """
    require_whole("parts", parts, at_least=1)
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
    with surroundings.use(threads=threads):
        yield


@cache
def _settle() -> None:
    """Keep this worker's numerical libraries to one thread, as long as it lives."""
    _for_good.enter_context(one_library_thread())


def _done(task: Callable[..., Any], *arguments: Any) -> Parcel:
    return Parcel(task(*(one.value if isinstance(one, Parcel) else one for one in arguments)))


def _run(work: Callable[..., T], number: int, ranges: list[tuple[int, int]], own: bytes) -> list[T]:
    with task():
        return [work(*piece) for piece in numbered(ranges, unpacked(own), number, ranges[0][0])]


def _fold(
    work: Callable[..., S], number: int, ranges: list[tuple[int, int]], own: bytes, *given: Any
) -> list[Node[S]]:
    def with_given(*piece: Any) -> S:
        return work(*piece, *given)

    with task():
        return sum_blocks(with_given, ranges, rows=unpacked(own), number=number, origin=ranges[0][0]).nodes


def _has_dashboard(dask_scheduler: Any) -> bool:
    """Whether a scheduler shows pages; it names their address in any case."""
    return bool(dask_scheduler.http_application.applications)


def _version() -> str:
    return version("tracearena")
