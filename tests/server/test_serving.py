"""`contest serve`: who may listen where, who is given the key, and what happens when something dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.command_line import tracearena
from tests.server.conftest import Held

from tracearena.errors import DataError, ParameterError
from tracearena.server.operations.demo import wait_for
from tracearena.server.processes.supervisor import (
    ServerOptions,
    _build_commands,
    find_free_port,
    serve_in_background,
)
from tracearena.server.store.folder import Folder, lock_exclusively


def test_the_command_says_the_same(held: Held) -> None:
    done = tracearena(
        "contest", "serve", held.folder.path, "--host", "0.0.0.0", "--judge-key", held.judge_key
    )
    assert (done.status, done.out) == (2, "")
    assert "--allowed-host" in done.err


def test_a_port_that_is_taken_is_named(held: Held) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        serving = ServerOptions(port=one.getsockname()[1])
        with (
            pytest.raises(ParameterError, match="cannot listen there"),
            serve_in_background(held.folder, held.judge_private_key, serving),
        ):
            pass


def test_the_key_is_in_no_command_line(held: Held) -> None:
    """Only judges have a secret, which goes through their pipe."""
    key = held.judge_private_key
    commands = list(_build_commands(held.folder, key, ServerOptions(workers=2)))
    found = [(name.rpartition(" ")[0] or name, secret) for name, _, secret in commands]
    assert found == [("web", None), ("judge 1", key), ("judge 2", key)]
    assert not [word for _, command, _ in commands for word in command if key.hex() in word]
    assert [name for name, _, _ in _build_commands(held.folder, None, ServerOptions())] == ["web"]
    (only,) = _build_commands(held.folder, key, ServerOptions(web=False, workers=1))
    assert only[0].startswith("judge 1 ")


def test_no_two_judges_have_one_name(held: Held) -> None:
    """Not even those of two machines whose processes happen to have the same number."""
    from tracearena.server.models import Worker

    serving = ServerOptions(web=False, workers=2)
    names = [
        name for _ in range(2) for name, _, _ in _build_commands(held.folder, held.judge_private_key, serving)
    ]
    assert len(set(names)) == 4
    assert max(map(len, names)) <= Worker._meta.get_field("name").max_length


@pytest.mark.slow
def test_a_second_server_is_refused_and_says_who_serves(held: Held) -> None:
    """At once, with the process and what to do; halves are added on purpose; links name the right port."""
    port = find_free_port()
    command = [sys.executable, "-m", "tracearena", "contest", "serve", held.folder.path]
    key = ["--judge-key", held.judge_key]
    with _started([*command, *key, "--port", port, "--workers", "1"]) as first:
        second = tracearena("contest", "serve", held.folder.path, "--port", str(find_free_port()), *key)
        assert (second.status, second.out) == (2, "")
        assert f"is already being served by process {first.pid} (" in second.err
        assert "contest serve" in second.err
        assert "--only judges" in second.err
        link = tracearena("contest", "organiser", "add", held.folder.path, "--json")
        added = find_free_port()
        with _started([*command, "--only", "web", "--port", added]):
            assert httpx.get(f"http://127.0.0.1:{added}/").status_code == 200
    assert json.loads(link.out)["link"].startswith(f"http://127.0.0.1:{port}/join#")


@contextmanager
def _started(command: Sequence[object]) -> Iterator[subprocess.Popen[str]]:
    """Run a server, from when it says where it is."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert any(line.startswith("The contest is at ") for line in process.stdout)
            yield process
        finally:
            process.terminate()


@pytest.mark.slow
def test_what_dies_is_started_again_and_all_end_together(held: Held, tmp_path: Path) -> None:
    """Web and judge are killed; both come back; afterwards nobody is left, and the folder is free."""
    with (tmp_path / "log").open("wb") as log:
        serving = ServerOptions(port=find_free_port(), workers=1)
        with serve_in_background(held.folder, held.judge_private_key, serving, log=log) as url:
            assert httpx.get(url).status_code == 200
            with pytest.raises(DataError, match="being served"), lock_exclusively(held.folder):
                pass
            before = _of(held.folder.path)
            assert len(before) == 2
            for pid in before:
                os.kill(pid, signal.SIGKILL)
            wait_for("new processes", lambda: len(_of(held.folder.path) - before) == 2, 60)
            wait_for("the page", lambda: _is_there(url), 60)
        assert _of(held.folder.path) == set()
    # What a killed web had started sees once a second that it is alone.
    wait_for("a free folder", lambda: _is_free(held.folder), 10)


def _is_free(folder: Folder) -> bool:
    try:
        with lock_exclusively(folder):
            return True
    except DataError:
        return False


def _is_there(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


def _of(folder: Path) -> set[int]:
    """The processes that the parent started for a contest, not those that they start themselves."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout
    found = [line.split(None, 2) for line in listed.splitlines() if f" {folder} " in f"{line} "]
    return {int(pid) for pid, parent, _ in found if int(parent) == os.getpid()}
