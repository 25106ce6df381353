"""The parent of web and judges is killed: nothing is left that holds the port, the key or the contest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.server.conftest import Held

from tracearena.errors import DataError
from tracearena.server.processes.supervisor import find_free_port
from tracearena.server.store import folder

PATIENCE_S = 120


@contextmanager
def served(held: Held, port: int) -> Iterator[subprocess.Popen[str]]:
    """Serve a contest by the command, and wait until it says where."""
    command = [sys.executable, "-c", "from tracearena.cli import main; main()", "contest", "serve"]
    options = ["--port", str(port), "--workers", "1", "--judge-key", str(held.judge_key)]
    with subprocess.Popen(
        [*command, str(held.folder.path), *options], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        try:
            while not parent.stdout.readline().startswith("The contest is at"):
                assert parent.poll() is None
            yield parent
        finally:
            parent.kill()


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_killed_parent_takes_web_and_judges_with_it(held: Held) -> None:
    """The contest can be served again on its port; nobody moves it while one of them still works."""
    held.anonymization()
    port = find_free_port()
    with served(held, port) as parent:
        slow = _children(parent)[0]
        os.kill(slow, signal.SIGSTOP)
        parent.kill()
        parent.wait()
        # It was told nothing of a move, and would go on in the database that was left.
        with pytest.raises(DataError, match="is being served"):
            _be_alone(held)
        os.kill(slow, signal.SIGCONT)
    _wait_until_nobody_serves(held)
    with served(held, port):
        pass


def _children(parent: subprocess.Popen[str]) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()]


def _be_alone(held: Held) -> None:
    with folder.lock_exclusively(held.folder):
        pass


def _wait_until_nobody_serves(held: Held) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return _be_alone(held)
        except DataError:
            assert time.monotonic() < end, "somebody still serves"
            time.sleep(0.1)
