"""Blocks of work on the workers of a Dask cluster.

Everything that a task needs is an argument of this task or of one that it depends on, so that the scheduler
can compute it again. If a worker dies, the work takes longer, but the result is the same.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from os import PathLike, fspath
from os.path import isdir
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import context
from tracearena.engine.blocks import (
    BroadcastValue,
    Node,
    PairwiseSum,
    S,
    block_ranges,
    iter_block_arguments,
    join_sums,
    one_library_thread,
    sum_blocks,
)
from tracearena.errors import ClusterError, ParameterError

T = TypeVar("T")
CHUNKS_PER_THREAD = 4
"""Tasks for each thread of the workers: enough to even out, few enough to cost nothing."""
SUMS_PER_TASK = 4
"""Lists of sums that one task joins: with more workers, sums are joined in a tree."""
_LOOK_S = 1.0
"""Seconds between two looks at the workers while results are awaited."""
_for_good = ExitStack()


class Cluster:
    """The workers of a Dask cluster.

    Use it as a context manager. Results do not depend on the number of workers, and equal those of one
    machine. Scheduler and workers need the same version of this package.

    Parameters
    ----------
    address
        ``tcp://HOST:PORT`` of a running scheduler, ``tls://HOST:PORT`` if Dask's settings name the TLS files,
        or ``local:N`` to start N worker processes on this machine until the context ends.
    timeout_s
        Seconds to wait for an answer of the scheduler, and for the first worker.
    worker_timeout_s
        Seconds to wait while no worker is connected; if a worker returns in time, the work continues.

    Notes
    -----
    Equal bytes need equal arithmetic: machines whose processors or NumPy builds differ may differ in
    the last digit of a matrix product, within the cluster as well as outside.
    """

    def __init__(self, address: str, *, timeout_s: float = 10.0, worker_timeout_s: float = 60.0) -> None:
        self.address, self.timeout_s, self.worker_timeout_s = address, timeout_s, worker_timeout_s
        with ExitStack() as opened:
            self._client: Any = opened.enter_context(connect_client(address, opened, timeout_s))
            self._check_versions(version("tracearena"))
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect from the cluster; workers that this object started end."""
        self._opened.close()

    @property
    def dashboard(self) -> str | None:
        """Address of the dashboard of the scheduler, if it has one."""

        def has_pages(dask_scheduler: Any) -> bool:  # a scheduler names their address in any case
            return bool(dask_scheduler.http_application.applications)

        if not self._client.run_on_scheduler(has_pages):
            return None
        try:
            link = self._client.dashboard_link
        except KeyError:
            return None
        return None if link is None else str(link)

    @property
    def scheduler(self) -> str:
        """Address of the scheduler."""
        return str(self._client.scheduler.address)

    @property
    def workers(self) -> list[str]:
        """Addresses of the current workers; waits until there is at least one."""
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
                raise ClusterError(
                    f"{where} has {has}, but this is tracearena {ours}: install the same version"
                )

    def run(
        self,
        work: Callable[..., T],
        ranges: Sequence[tuple[int, int]],
        *,
        rows: Sequence[NDArray[Any]] = (),
        report: bool = False,
        finished: Callable[[int, T], None] | None = None,
    ) -> list[T]:
        """Do the same as `run_blocks`."""
        if finished is not None:
            return self._run_one_by_one(work, ranges, rows, report, finished)
        found: list[T] = []
        for part in self._chunks(_run, work, ranges, rows):
            found.extend(part)
            if report:
                context.report(len(found), len(ranges))
        return found

    def _run_one_by_one(
        self,
        work: Callable[..., T],
        ranges: Sequence[tuple[int, int]],
        rows: Sequence[NDArray[Any]],
        report: bool,
        finished: Callable[[int, T], None],
    ) -> list[T]:
        """Make every block a task of its own, and report each as soon as it is finished."""
        from distributed import as_completed

        shared = self.keep(work)
        number = {}
        for block, (first, stop) in enumerate(ranges):
            own = pack([array[first:stop] for array in rows])
            number[self.submit(_run, shared, block, [(first, stop)], own)] = block
        found: dict[int, T] = {}
        completed = as_completed(list(number), loop=self._client.loop)
        while len(found) < len(number):
            future = self._wait(completed.__anext__)
            ((result,),) = self.gather([future])
            found[number[future]] = result
            finished(number[future], result)
            if report:
                context.report(len(found), len(ranges))
        return [found[block] for block in range(len(ranges))]

    def fold(
        self,
        work: Callable[..., S],
        ranges: Sequence[tuple[int, int]],
        *,
        rows: Sequence[NDArray[Any]] = (),
        given: Sequence[BroadcastValue[Any]] = (),
        report: bool = False,
    ) -> S:
        """Do the same as `fold_blocks`: every task adds its own blocks, and the sums are added here."""
        sums: PairwiseSum[S] = PairwiseSum()
        for part in self._chunks(_fold, work, ranges, rows, given):
            sums.join(part)
            if report:
                context.report(part[-1].first + part[-1].size, len(ranges))
        return sums.total()

    def _chunks(
        self,
        task: Callable[..., Any],
        work: Callable[..., Any],
        ranges: Sequence[tuple[int, int]],
        rows: Sequence[NDArray[Any]],
        given: Sequence[BroadcastValue[Any]] = (),
    ) -> Iterator[Any]:
        """Yield the results of a few consecutive blocks at a time, in order."""
        if not ranges:
            return
        shared, others = self.keep(work), [one.in_cluster(self) for one in given]
        futures = []
        for begin, end in split_evenly(len(ranges), CHUNKS_PER_THREAD * self.n_threads):
            mine = list(ranges[begin:end])
            first, stop = mine[0][0], mine[-1][1]
            own = pack([array[first:stop] for array in rows])
            futures.append(self.submit(task, shared, begin, mine, own, *others))
        for at, future in enumerate(futures):
            futures[at] = None
            yield self.gather([future])[0]

    def keep(self, value: Any) -> Any:
        """Send a value to the cluster, and return it as an argument for tasks."""
        return self.submit(unpack, pack(value))

    def submit(self, task: Callable[..., Any], *arguments: Any, worker: str | None = None) -> Any:
        """Run a task, on the given worker if it is alive; the result stays there until it is gathered."""
        import dask

        # Large arguments are meant to be kept by the scheduler: no warning about them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._client.submit(
                _run_task,
                task,
                *arguments,
                key=f"{task.__name__.strip('_')}-{uuid4().hex}",
                workers=None if worker is None else [worker],
                allow_other_workers=worker is not None,
            )

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks."""
        return [message.value for message in self._wait(lambda: self._client.gather(list(futures)))]

    def _wait(self, start: Callable[[], Awaitable[T]]) -> T:
        """Wait for what `start` begins in the client's loop, as long as there are workers to do it."""

        async def watch() -> T:
            waiting, seen_at = asyncio.ensure_future(start()), time.monotonic()
            # When it is given up, it ends with the client, and nobody wants to hear how.
            waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
            while not (await asyncio.wait([waiting], timeout=min(_LOOK_S, self.worker_timeout_s)))[0]:
                # Dask itself would wait for another worker for ever.
                if await self._client.nthreads():
                    seen_at = time.monotonic()
                elif time.monotonic() - seen_at > self.worker_timeout_s:
                    raise ClusterError(
                        f"the Dask scheduler at {self.scheduler} has had no workers for "
                        f"{self.worker_timeout_s:g} s; start some with: dask worker {self.scheduler}, "
                        "and run this again"
                    )
            return waiting.result()

        with self._translate_errors():
            result: T = self._client.sync(watch)
        return result

    def join_sums(self, sums: Sequence[Any]) -> Sequence[Any]:
        """Join sums that tasks return (`PairwiseSum.nodes`), neighbours first, until few lists are left."""
        while len(sums) > SUMS_PER_TASK:
            groups = block_ranges(len(sums), SUMS_PER_TASK)
            sums = [self.submit(_join, *sums[first:stop]) for first, stop in groups]
        return sums

    def can_reach(self, folder: str | PathLike[str]) -> bool:
        """Whether every worker can reach a folder under the same name."""
        with self._translate_errors():
            return all(self._client.run(isdir, fspath(folder)).values())

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise ClusterError(
                f"workers die one after the other, perhaps because they run out of memory: {error}"
            ) from None
        except (CancelledError, CommClosedError) as error:
            raise ClusterError(
                f"lost the connection to the Dask scheduler at {self.address}: {error}"
            ) from None


def split_evenly(total: int, parts: int) -> list[tuple[int, int]]:
    """Cut 0..total into at most `parts` ranges of about the same size.

    They begin at multiples of a power of two, as large as evenness allows, so that a range makes few
    sums of a `PairwiseSum`.

    >>> split_evenly(20, 2), split_evenly(5, 8)
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
def worker_context(threads: int = 1) -> Iterator[None]:
    """Surround what a worker does: its other threads have tasks of their own."""
    _limit_library_threads()
    with context.use(threads=threads):
        yield


@cache
def _limit_library_threads() -> None:
    """Keep this worker's numerical libraries to one thread, as long as it lives."""
    _for_good.enter_context(one_library_thread())


def _run_task(task: Callable[..., Any], *arguments: Any) -> Message:
    return Message(task(*(one.value if isinstance(one, Message) else one for one in arguments)))


def _run(work: Callable[..., T], number: int, ranges: list[tuple[int, int]], own: bytes) -> list[T]:
    with worker_context():
        return [work(*piece) for piece in iter_block_arguments(ranges, unpack(own), number, ranges[0][0])]


def _fold(
    work: Callable[..., S], number: int, ranges: list[tuple[int, int]], own: bytes, *given: Any
) -> list[Node[S]]:
    rows, origin = unpack(own), ranges[0][0]
    with worker_context():
        return sum_blocks(
            lambda *piece: work(*piece, *given), ranges, rows=rows, number=number, origin=origin
        ).nodes


def _join(*sums: list[Node[S]]) -> list[Node[S]]:
    with worker_context():
        return join_sums(sums).nodes


# Messages between processes.


def pack(value: Any) -> bytes:
    """Pickle, functions included, so that a scheduler has bytes to keep and nothing to understand."""
    import cloudpickle

    return bytes(cloudpickle.dumps(value))


def unpack(data: bytes) -> Any:
    """Undo `pack`; arrays get memory of their own."""
    return pickle.loads(data)


class Message:
    """A value whose arrays arrive in memory of their own.

    Dask would leave them wherever their bytes arrive: often at odd addresses, where sums come out
    differently and compiled loops are compiled again.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        import cloudpickle

        if protocol < 5:
            return _read_message, (pack(self.value),)
        buffers: list[Any] = []
        data = cloudpickle.dumps(self.value, protocol=5, buffer_callback=buffers.append)
        return _read_message, (bytes(data), *buffers)

    def __sizeof__(self) -> int:
        from dask.sizeof import sizeof

        return int(sizeof(self.value))


def _read_message(data: bytes, *buffers: Any) -> Message:
    return Message(pickle.loads(data, buffers=[np.array(np.frombuffer(one, np.uint8)) for one in buffers]))


# Joining a Dask scheduler, or starting workers on this machine.

MEMORY_SETTINGS = {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
"""Dask has workers give memory back at once, and so fetch it again for every array: 1.6 times the time."""
QUIET_SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Workers on this machine monitor themselves less often, since they share its cores with the work."""
LOOPBACK = "127.0.0.1"
TLS_FILES = {"ca-file": "CA_FILE", "client.cert": "CLIENT__CERT", "client.key": "CLIENT__KEY"}
"""The files that a client of a TLS cluster needs: Dask's settings, and how the environment names them."""
_ALLOWED = (
    "tcp://HOST:PORT of a Dask scheduler (ports go up to 65535), tls://HOST:PORT of one with TLS, or local:N "
    "for N worker processes on this machine"
)
_REFUSED_BY_US = ("certificate does not match", "certificate_verify_failed")
_ENDED_BY_THEM = ("alert", "(closed)", "reset by peer")


def connect_client(address: str, opened: ExitStack, timeout_s: float) -> Any:
    """Return a client of the scheduler, or of workers that are started here and end with `opened`."""
    local = require_address(address)
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(
            "a cluster needs Dask: install it with pip install 'tracearena[cluster]'"
        ) from None
    # Dask's own lines are kept from our users: what they say, our errors say.
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)
    if local is not None:
        client = Client(opened.enter_context(_start_local_cluster(local)))
        client.register_plugin(_build_interrupt_plugin())
        return client
    if address.startswith("tls://"):
        _check_tls_files(address)
    try:
        return Client(address, timeout=timeout_s)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ClusterError(f"cannot join {address}: {_to_one_line(error)}") from None
    except (OSError, TimeoutError) as error:
        raise ClusterError(_explain_failed_connection(address, _to_one_line(error))) from None


def require_address(address: str) -> int | None:
    """Check an address; return how many workers to start on this machine, or None for a running cluster."""
    local = re.fullmatch(r"local:([1-9]\d{0,3})", address)
    port = re.fullmatch(r"(?:tcp|tls|ucx)://[^/\s]+:(\d+)", address)
    if local is None and (port is None or not 0 < int(port[1]) <= 65_535):
        raise ParameterError.of("cluster", address, _ALLOWED)
    return None if local is None else int(local[1])


def _check_tls_files(address: str) -> None:
    """Refuse settings that name no file, or one that is none of TLS, before Dask says less."""
    for setting, variable in TLS_FILES.items():
        named = _tls_file(setting)
        where = f"distributed.comm.tls.{setting} (DASK_DISTRIBUTED__COMM__TLS__{variable})"
        if named is None:
            raise ClusterError(f"cannot join {address}: name a file in Dask's setting {where}")
        if not Path(named).is_file():
            raise ClusterError(f"cannot join {address}: {named}, from Dask's setting {where}, is not a file")
        if setting == "client.key":
            continue
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(named)
        except (ssl.SSLError, OSError):
            raise ClusterError(
                f"cannot join {address}: {named}, from Dask's setting {where}, has no certificate (PEM)"
            ) from None


def _tls_file(setting: str) -> str | None:
    import dask

    named = dask.config.get(f"distributed.comm.tls.{setting}", None)
    return None if named is None else str(named)


def _explain_failed_connection(address: str, said: str) -> str:
    """Return what keeps us out: certificates where they do, or that nobody answers."""
    if any(sign in said.lower() for sign in _REFUSED_BY_US):
        return f"the certificate of {address} is not signed by {_tls_file('ca-file')}: {said}"
    if address.startswith("tls://") and any(sign in said.lower() for sign in _ENDED_BY_THEM):
        return f"{address} does not accept our certificate {_tls_file('client.cert')}: {said}"
    if address.startswith("tcp://") and any(sign in said.lower() for sign in _ENDED_BY_THEM):
        return f"{address} closes the connection; if it uses TLS, write tls://: {said}"
    return f"no Dask scheduler answers at {address}: {said}"


def _to_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _start_local_cluster(workers: int) -> Any:
    """Start a scheduler and workers to which nobody comes from another machine."""
    import dask
    from distributed import LocalCluster

    memory = {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in MEMORY_SETTINGS.items()}
    with dask.config.set(memory | QUIET_SETTINGS):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            silence_logs=logging.CRITICAL,
        )


def _build_interrupt_plugin() -> Any:
    """Return a plug-in for workers on this machine: Ctrl-C is for us, who may still need their results."""
    import signal

    from distributed import WorkerPlugin

    class DeafToInterrupts(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return DeafToInterrupts()
