"""The command line, for tests that say which status they expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command_line import tracearena

from tracearena.engine import Cluster, use
from tracearena.io.large.checkpoint import PartsCheckpoint
from tracearena.jobs import chunking


@pytest.fixture
def small_portions() -> Iterator[None]:
    """Stream tables of a few hundred events, as many at a time."""
    with use(chunk_rows=700):
        yield


@pytest.fixture
def portions_of_points() -> Iterator[None]:
    """Stream tables of a few thousand points, as many at a time: some portions have several users."""
    with use(chunk_rows=9_000):
        yield


@pytest.fixture
def workers(cluster: Cluster) -> tuple[str, str]:
    """The option that hands a command's work to worker processes that already run."""
    return ("--cluster", cluster.scheduler)


@pytest.fixture
def run() -> Callable[..., str]:
    """Run a command; return what it prints, or what it says where it ends with another status."""

    def command(*arguments: object, status: int = 0) -> str:
        done = tracearena(*arguments)
        assert done.status == status, done.err
        return done.err if status else done.out

    return command


@pytest.fixture
def stop(run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, int]]:
    """Run a command that is stopped after two parts; return when each of them was written."""
    write = chunking.write_part

    def command(*arguments: object) -> dict[str, int]:
        written: list[Path] = []

        def interrupted(traces: object, part: Path) -> None:
            if len(written) == 2:
                raise KeyboardInterrupt
            write(traces, part)
            written.append(part)

        with monkeypatch.context() as patch:
            patch.setenv("TRACEARENA_THREADS", "1")
            patch.setattr(chunking, "write_part", interrupted)
            assert "with --resume" in run(*arguments, status=130)
        return {part.name: part.stat().st_mtime_ns for part in written}

    return command


@pytest.fixture
def kill_at_the_end(run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run a command that ends when all is written and the folder has not got its name."""

    def killed(parts: object) -> None:
        raise KeyboardInterrupt

    def command(*arguments: object) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(PartsCheckpoint, "finish", killed)
            run(*arguments, status=130)

    return command
