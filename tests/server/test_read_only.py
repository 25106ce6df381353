"""A folder that cannot be written, as after a fault of the disk: a sentence, nothing lost, and it goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.test_judge_process import running, until
from tests.server.visitors import program, served, upload_headers

from tracearena.server.judge import worker
from tracearena.server.models import DataSet, Job, JobState, Quota, Submission
from tracearena.server.store import queue

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def _read_only(held: Held) -> list[str]:
    """Return what stands before a command that sees the contest's folder as read-only."""
    before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", READ_ONLY]
    before.append(str(held.folder.path))
    can = shutil.which("unshare") and subprocess.run(
        [*before, "true"], capture_output=True, check=False
    ).returncode == 0  # fmt: skip
    if not can:
        pytest.skip("this system does not let us mount a folder as read-only: run as root, with unshare")
    return before


@pytest.mark.slow
def test_serve_says_that_the_folder_cannot_be_written(held: Held) -> None:
    """In one sentence, before anything is started."""
    serve = [sys.executable, "-m", "tracearena", "contest", "serve", str(held.folder.path)]
    key = ["--judge-key", str(held.judge_key)]
    done = subprocess.run([*_read_only(held), *serve, *key], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert f"{held.folder.path}: cannot be written" in done.stderr


@pytest.mark.slow
def test_an_upload_to_a_read_only_folder_is_refused_with_a_sentence(held: Held) -> None:
    """Nothing of it is kept, no upload is used up, and pages go on where the database can be written."""
    if held.database is None:
        pytest.skip("SQLite lies in the folder: there `contest serve` does not start")
    caller = program(held, "001")
    held.anonymization()
    with served(held, before=_read_only(held)) as site:
        answer = httpx.post(
            f"{site.url}/api/v1/uploads/obfuscated/1",
            content=b"reg_id\n1\n",
            headers=upload_headers(caller.secret, "k"),
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (507, "read-only")
        assert httpx.get(f"{site.url}/rules").status_code == 200
    assert not Submission.objects.exists()
    assert not Quota.objects.filter(used__gt=0).exists()
    assert "Traceback" not in site.log.read_text()


@pytest.mark.slow
def test_a_judge_that_cannot_write_fails_at_its_job_and_can_try_it_again(held: Held, tmp_path: Path) -> None:
    """What was to be released is released, once, when the folder can be written again."""
    if held.database is None:
        pytest.skip("SQLite lies in the folder: there `contest serve` does not start")
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    with running(held, before=_read_only(held)):
        until(
            lambda: (
                Job.objects.filter(key="publish/001/1", state=JobState.FAILED).exists()
                and not queue.find_open_jobs().exists()
            )
        )
    job = Job.objects.get(key="publish/001/1")
    assert "Read-only file system" in job.error
    for one in Job.objects.filter(state=JobState.FAILED):
        worker.retry_job(one, "organiser", "the disk can be written again")
    hands.judged(held)
    assert DataSet.objects.get(team__number="001").released_at is not None
    assert not Job.objects.exclude(state=JobState.DONE).exists()
