"""Where work runs: threads, cluster, progress and chunk size, set by a context manager.

They are set with `use`, and are not parameters of functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tracearena.checks import require_whole
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.engine.cluster import Cluster


T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of pieces done and the number of all."""


@dataclass(frozen=True)
class ExecutionContext:
    """What `use` set last: threads, a cluster, the progress callback, and the rows of a chunk."""

    threads: int | None = None
    cluster: Cluster | None = None
    progress: Progress | None = None
    chunk_rows: int | None = None


_DEFAULT = ExecutionContext()
_current: ContextVar[ExecutionContext] = ContextVar("execution context", default=_DEFAULT)
_as_before: Any = object()


@contextmanager
def use(
    *,
    threads: int | None = _as_before,
    cluster: Cluster | None = _as_before,
    progress: Progress | None = _as_before,
    chunk_rows: int | None = _as_before,
) -> Iterator[None]:
    """Set threads, cluster, progress and chunk size for all calls in the block; results stay the same.

    Settings that are not given stay unchanged, and all are restored when the block ends.

    Parameters
    ----------
    threads
        Number of threads; None for TRACEARENA_THREADS, or all usable cores.
    cluster
        Run work on the workers of this cluster, where possible; None for this machine.
    progress
        Called with the number of pieces done and of all; None for no reports.
    chunk_rows
        Tables with at least this many rows are processed in chunks of users with about this many rows each,
        and a folder of parts has one part per chunk. None: tables with at least 2,000,000 rows are processed
        in chunks of 2²⁰ rows.

    Examples
    --------
    >>> import tracearena as ta
    >>> with ta.engine.use(threads=1):
    ...     ta.engine.thread_count()
    1
    """
    values = {"threads": threads, "cluster": cluster, "progress": progress, "chunk_rows": chunk_rows}
    given: dict[str, Any] = {name: value for name, value in values.items() if value is not _as_before}
    for name in ("threads", "chunk_rows"):
        if given.get(name) is not None:
            require_whole(name, given[name], at_least=1)
    before = _current.set(replace(_current.get(), **given))
    try:
        yield
    finally:
        _current.reset(before)


def thread_count() -> int:
    """Return the number of threads: the value that `use` set, TRACEARENA_THREADS, or all usable cores."""
    threads = _current.get().threads
    if threads is not None:
        return threads
    setting = os.environ.get("TRACEARENA_THREADS", "")
    if not setting:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not (setting.isascii() and setting.isdigit() and int(setting) > 0):
        raise ParameterError.of("TRACEARENA_THREADS", setting, "a whole number of at least 1")
    return int(setting)


def current_cluster() -> Cluster | None:
    """Return the cluster that work should run in, if there is one."""
    return _current.get().cluster


def current_progress() -> Progress:
    """Return the progress callback that `use` set, or one that does nothing."""
    return _current.get().progress or (lambda done, total: None)


def current_chunk_rows(default: int) -> int:
    """Return the number of rows of a chunk: the value that `use` set, or the default."""
    chunk_rows = _current.get().chunk_rows
    return default if chunk_rows is None else chunk_rows


def report(done: int, total: int) -> None:
    """Report how many pieces of all are done."""
    current_progress()(done, total)


def track_progress(items: Iterable[T], total: int) -> Iterator[T]:
    """Iterate over items and report progress after each; calls for one item report nothing.

    >>> with use(progress=lambda done, total: print(done, "of", total)):
    ...     squares = [item**2 for item in track_progress([1, 2], 2)]
    1 of 2
    2 of 2
    """
    progress = current_progress()
    with use(progress=None):
        for done, item in enumerate(items, start=1):
            yield item
            progress(done, total)
