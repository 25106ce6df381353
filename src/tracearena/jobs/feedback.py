"""Messages of a running job: notes, progress, and which outputs exist after an interruption.

Notes go to the logger ``tracearena``, unless a program listens to them itself, as the command line does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracearena.engine import Cluster, Progress


class Listener:
    """Receives the messages and the progress of jobs; override its methods to show them in your own way."""

    def note(self, message: str) -> None:
        """Show a note."""
        logging.getLogger("tracearena").warning(message)

    def show_stage(self, what: str) -> AbstractContextManager[Progress | None]:
        """Show that a stage of the work runs, and its progress."""
        return nullcontext()

    def tell_outcome(self, sentence: str) -> None:
        """Print which outputs exist after an interruption."""
        self.note(sentence)

    def delay_stop(self) -> AbstractContextManager[None]:
        """After an interruption, let the work in the block end on its own, because it saves its results."""
        return nullcontext()


_listener: ContextVar[Listener] = ContextVar("listener", default=Listener())  # noqa: B039


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send messages and progress of jobs in the block to a listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def note(message: str) -> None:
    """Say something that is not a result."""
    _listener.get().note(message)


def tell_outcome(sentence: str) -> None:
    """Print which outputs exist after an interruption."""
    _listener.get().tell_outcome(sentence)


def delay_stop() -> AbstractContextManager[None]:
    """After an interruption, let the work in the block end on its own, because it saves its results."""
    return _listener.get().delay_stop()


@contextmanager
def show_progress(what: str, cluster: Cluster | None = None) -> Iterator[None]:
    """Do what is inside in the cluster, if there is one, and show how far it is."""
    from tracearena.engine import use

    with _listener.get().show_stage(what) as progress, use(cluster=cluster, progress=progress):
        yield


@contextmanager
def show_unsaved_progress(what: str, cluster: Cluster | None = None) -> Iterator[None]:
    """Do the same for work that saves nothing on its way: after Ctrl-C, say how to continue."""
    try:
        with show_progress(what, cluster):
            yield
    except KeyboardInterrupt:
        tell_outcome(f"stopped at {what}: nothing was written; run the same command to start again")
        raise


@contextmanager
def join_cluster(cluster: Cluster | str | None) -> Iterator[Cluster | None]:
    """Join a cluster by its address while the block runs, and say where its dashboard is.

    None stays None, and a cluster that was joined already stays so.
    """
    if not isinstance(cluster, str):
        yield cluster
        return
    from tracearena.engine import Cluster

    with Cluster(cluster) as joined:
        workers, threads = len(joined.workers), joined.n_threads
        shown = f"dashboard {joined.dashboard}" if joined.dashboard else "no dashboard"
        note(f"{workers} worker{'s' * (workers > 1)} with {threads} thread{'s' * (threads > 1)}; {shown}")
        yield joined
