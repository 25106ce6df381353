"""The judge as a process: its key by a pipe, its end by a signal, its work by children."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.command_line import tracearena
from tests.server import hands
from tests.server.conftest import Held

from tracearena.server.models import Job, JobState, State, Submission, Worker

PATIENCE_S = 120


@contextmanager
def running(
    held: Held,
    name: str = "judge 1",
    *,
    key: str | None = None,
    command: Sequence[str] = ("-m", "tracearena.server.processes.judge_process"),
    before: Sequence[str] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a judge."""
    whole = [*before, sys.executable, *command, str(held.folder.path), "--name", name]
    log = held.folder.path.parent / f"{name}.log"
    with (
        open(log, "ab") as file,
        subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=file, stderr=file) as judge,
    ):
        assert judge.stdin is not None
        judge.stdin.write((key or held.judge_private_key.hex()).encode() + b"\n")
        judge.stdin.close()
        try:
            yield judge
        finally:
            judge.kill()


def until(true: Callable[[], bool]) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


@pytest.mark.slow
def test_a_judge_works_by_children_and_ends_at_a_signal(held: Held, tmp_path: Path) -> None:
    """It checks and scores what comes while it runs, shows that it is alive, and goes when told."""
    held.anonymization()
    with running(held) as judge:
        good = hands.defend(held, "001", tmp_path)
        bad = hands.hand_in(held, "002", "obfuscated", b"reg_id\n1\n")
        until(lambda: not Job.objects.exclude(state=JobState.DONE).exists())
        assert Submission.objects.get(pk=good.pk).utility == 1.0
        assert Submission.objects.get(pk=bad.pk).state == State.REFUSED
        worker = Worker.objects.get()
        assert (worker.name, worker.error) == ("judge 1", "")
        judge.send_signal(signal.SIGTERM)
        assert judge.wait(PATIENCE_S) == 0
    said = (tmp_path / "judge 1.log").read_text()
    assert held.judge_private_key.hex() not in said


@pytest.mark.slow
def test_the_key_is_in_no_list_of_processes(held: Held) -> None:
    """Neither among its arguments nor in its environment."""
    with running(held) as judge:
        until(lambda: Worker.objects.exists())
        place = Path(f"/proc/{judge.pid}")
        seen = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
        assert held.judge_private_key.hex().encode() not in seen
        assert held.judge_private_key not in seen


@pytest.mark.slow
def test_a_judge_that_crashes_leaves_no_memory_on_the_disk(held: Held) -> None:
    """Whatever the system allows to those who start it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        with running(held) as judge:
            until(lambda: Worker.objects.exists())
            assert resource.prlimit(judge.pid, resource.RLIMIT_CORE) == (0, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


@pytest.mark.slow
def test_a_judge_without_the_right_key_does_nothing(held: Held) -> None:
    """It says so and ends."""
    with running(held, key=64 * "1") as judge:
        assert judge.wait(PATIENCE_S) != 0
    assert not Worker.objects.exists()
    assert "not the judge's key" in (held.folder.path.parent / "judge 1.log").read_text()


@pytest.mark.slow
def test_what_a_killed_judge_held_is_done_by_the_next_of_its_name(held: Held, tmp_path: Path) -> None:
    """At once, not when the lease runs out."""
    held.anonymization()
    submission = hands.defend(held, "001", tmp_path)
    with running(held) as judge:
        until(lambda: Job.objects.filter(state=JobState.RUNNING).exists())
        os.kill(judge.pid, signal.SIGKILL)
        judge.wait()
    assert Job.objects.get().state == JobState.RUNNING
    began = time.monotonic()
    with running(held):
        until(lambda: Submission.objects.get(pk=submission.pk).state == State.SCORED)
    assert Job.objects.get().fence == 2
    assert time.monotonic() - began < PATIENCE_S


def test_a_lease_runs_out_where_not_even_the_failure_can_be_written(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the database is away: the sign of life goes on, the hold on the job does not."""
    from tracearena.server.judge import worker as working
    from tracearena.server.judge.scoring import JudgeFiles
    from tracearena.server.store import queue

    def away(*given: object) -> str:
        raise ConnectionError

    queue.enqueue("check", "check/1", {"submission": 1})
    monkeypatch.setattr(working, "run_job", away)
    worker = working.JudgeWorker(JudgeFiles(held.folder, held.judge_private_key), "judge 1", grace_s=10)
    assert not worker._run_safely(worker._run_next_job)
    assert worker._taken is None
    assert Job.objects.get().state == JobState.RUNNING


_SLOW_JUDGE = """
import sys, time
from pathlib import Path
from tracearena.server.store.folder import Folder
from tracearena.server.settings import configure
configure(Folder(Path(sys.argv[1])))
from tracearena.server.judge import worker
from tracearena.server.processes.judge_process import run_judge
worker.JOB_FUNCTIONS["check"] = lambda taken, bench: time.sleep(600)
run_judge(sys.argv[1:], grace_s=1.0)
"""


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_given_back_at_the_signal(held: Held) -> None:
    """Without blame, and before anybody waits for the end of a lease."""
    from tracearena.server.store import queue

    queue.enqueue("check", "check/1", {"submission": 1})
    with running(held, command=["-c", _SLOW_JUDGE]) as judge:
        until(lambda: Job.objects.get().state == JobState.RUNNING)
        judge.send_signal(signal.SIGTERM)
        assert judge.wait(PATIENCE_S) == 0
    job = Job.objects.get()
    assert (job.state, job.tries, job.worker) == (JobState.WAITING, 0, "")


@pytest.mark.slow
def test_what_a_judges_kernel_lacks_is_in_the_status_and_in_the_log(
    held: Held, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tracearena.server.judge import worker as working
    from tracearena.server.judge.scoring import JudgeFiles

    def read_guards() -> str:
        """Return what the command says of them."""
        (line,) = re.findall(r"^guards +(.+)$", tracearena("contest", "status", held.folder.path).out, re.M)
        return str(line)

    assert read_guards() == "unknown while no judge is running"
    monkeypatch.setattr(working.JudgeWorker, "_send_heartbeats", lambda judge: None)
    told = []

    def look(judge: working.JudgeWorker) -> None:
        told.append(read_guards())
        judge.stop()

    monkeypatch.setattr(working.JudgeWorker, "_enqueue_due", look)
    for missing, said in (("", "all active"), ("This kernel has no Landlock.", "judge 1: This kernel has")):
        monkeypatch.setattr(working, "describe_missing_guards", lambda missing=missing: missing)
        judge = working.JudgeWorker(JudgeFiles(held.folder, held.judge_private_key), "judge 1", grace_s=10)
        judge.run()
        assert told.pop().startswith(said)
        assert ("judge 1: This kernel has no Landlock." in caplog.text) is bool(missing)
