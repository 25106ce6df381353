"""T7: the judge is killed at each of its writes, and the next one ends with one table and one commitment."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from tests.server import hands
from tests.server.conftest import Held

from tracearena.contest import verify
from tracearena.contest.data import COMMITMENTS
from tracearena.contest.file_judge import is_release
from tracearena.io import pwscup
from tracearena.server.judge import worker
from tracearena.server.judge.publish import read_obfuscated_traces
from tracearena.server.judge.scoring import JudgeFiles, build_file_name
from tracearena.server.judge.worker import record_failure
from tracearena.server.models import DataSet, Job, Submission
from tracearena.server.processes.judge_process import run_all_jobs
from tracearena.server.store import queue
from tracearena.server.store.folder import read_grid

WRITES = ((os, "fsync"), (os, "link"), (os, "rename"), (os, "replace"), (BaseDatabaseWrapper, "_commit"))
"""Every way in which the judge changes what is on the disk."""
KILLED = 9


def _doomed(write: int) -> None:
    """Let this process die, without a word, when publications are about to make a write of this number."""
    made, publish = count(), worker.JOB_FUNCTIONS["publish"]
    is_publishing = False

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def stand_in(*given: Any, **named: Any) -> Any:
            if is_publishing and next(made) == write:
                os._exit(KILLED)
            return real(*given, **named)

        return stand_in

    def watched(*given: Any) -> None:
        nonlocal is_publishing
        is_publishing = True
        publish(*given)
        is_publishing = False

    worker.JOB_FUNCTIONS["publish"] = watched
    for place, name in WRITES:
        setattr(place, name, counted(getattr(place, name)))


def _judged_in_a_child(held: Held, write: int) -> int:
    """Let a process of its own be the judge, killed before a write; return how it ended."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            _doomed(write)
            run_all_jobs(held.folder, held.judge_private_key, "doomed")
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _restored(held: Held, before: dict[Path, bytes]) -> None:
    """Put folder and database back to the end of the phase."""
    for place in (held.folder.everybody, held.folder.for_judge("")):
        for path in place.iterdir():
            if path not in before:
                path.unlink()
    for path, content in before.items():
        path.write_bytes(content)
    DataSet.objects.update(released_at=None, closed_at=None, commitment="")
    Submission.objects.update(state="scored")
    Job.objects.exclude(kind="check").delete()


def _require_one_truth(bench: JudgeFiles, tables: dict[str, bytes]) -> None:
    """One table, drawn once; one commitment, true of it; public traces that follow from it."""
    everybody = bench.folder.everybody
    places, times = read_grid(bench.folder)
    listed = dict(line.split(",") for line in (everybody / COMMITMENTS).read_text().splitlines()[1:])
    for data_set in DataSet.objects.select_related("team", "counts").all():
        name = build_file_name("ptable", data_set)
        sealed, secret = bench.secret_path(data_set).read_bytes(), bench.read_secret(data_set)
        assert tables.setdefault(name, sealed) == sealed, "a table that was there was drawn again"
        assert data_set.commitment == listed.pop(name) == secret.commitment.digest
        assert verify(data_set.commitment, secret.table, secret.commitment.salt)
        public = pwscup.read_anonymized(everybody / build_file_name("pubtraces", data_set), places, times)
        assert is_release(read_obfuscated_traces(data_set, bench), public, secret.table)
    assert not listed
    assert not Job.objects.exclude(state="done").exists()


@pytest.mark.slow
def test_killed_at_each_write(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T7: From the first write of the publication to the last."""
    hands.without_children(monkeypatch)
    held = holding(teams=1, sample_attacks=())
    bench = JudgeFiles(held.folder, held.judge_private_key)
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.attack()
    places = (held.folder.everybody, held.folder.for_judge(""))
    before = {path: path.read_bytes() for place in places for path in place.iterdir()}
    deaths = drawn = 0
    while (ended := _judged_in_a_child(held, deaths)) == KILLED:
        deaths += 1
        names = [build_file_name("ptable", one) for one in DataSet.objects.select_related("team")]
        there = {name: bench.folder.for_judge(name) for name in names}
        tables = {name: path.read_bytes() for name, path in there.items() if path.exists()}
        drawn += bool(tables)
        queue.requeue_of_worker("doomed", record_failure)
        hands.judged(held)
        _require_one_truth(bench, tables)
        _restored(held, before)
    assert ended == 0
    assert deaths > 15
    assert 5 < drawn < deaths
