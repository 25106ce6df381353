"""``contest failed``: an organiser sees what the judge could not do, and decides."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from tests.border.command_line import tracearena
from tests.server.conftest import BEGIN, Held

from tracearena.server.models import AuditEntry, Job, JobState
from tracearena.server.settings import configure


@pytest.fixture
def failed(held: Held) -> Held:
    """A contest in which two jobs have failed."""
    for key in ("publish/002/1", "sample/003/1"):
        Job.objects.create(
            kind=key.partition("/")[0],
            key=key,
            state=JobState.FAILED,
            tries=3,
            error="Traceback\nOSError: no space",
            created_at=BEGIN,
            due_at=BEGIN,
            finished_at=BEGIN + timedelta(hours=1),
        )
    return held


def _run(held: Held, *arguments: str) -> tuple[int, str]:
    done = tracearena("contest", "failed", arguments[0], held.folder.path, *arguments[1:])
    configure(held.folder)
    return done.status, done.out + done.err


def test_failed_jobs_are_listed_with_their_last_words(failed: Held) -> None:
    """One line each, and all of it as JSON."""
    status, said = _run(failed, "list")
    assert status == 0
    assert said.splitlines()[0] == "publish/002/1  after 3 tries: OSError: no space"
    listed = json.loads(_run(failed, "list", "--json")[1])
    assert [one["job"] for one in listed] == ["publish/002/1", "sample/003/1"]


def test_a_failed_job_is_tried_again_or_set_aside_with_a_reason(failed: Held) -> None:
    """Both are in the audit log; a publication cannot be set aside, and nothing is done twice."""
    assert _run(failed, "again", "publish/002/1", "--reason", "more room")[0] == 0
    assert Job.objects.get(key="publish/002/1").state == JobState.WAITING
    assert _run(failed, "aside", "sample/003/1", "--reason", "its own fault")[0] == 0
    assert Job.objects.get(key="sample/003/1").state == JobState.DONE
    acts = list(AuditEntry.objects.order_by("-pk").values_list("act", flat=True)[:2])
    assert acts == ["job set aside", "job tried again"]
    status, said = _run(failed, "again", "sample/003/1", "--reason", "once more")
    assert (status, "has not failed" in said) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("aside", "publish/002/1", "--reason", "why not"), "nobody knows what to attack"),
        (("again", "publish/009/1", "--reason", "why not"), "there is no job"),
        (("again", "publish/002/1", "--reason", " "), "--reason"),
    ],
)
def test_what_cannot_be_done_is_said(failed: Held, arguments: tuple[str, ...], named: str) -> None:
    """With status 2, and nothing changes."""
    status, said = _run(failed, *arguments)
    assert (status, named in said) == (2, True)
    assert Job.objects.filter(state=JobState.FAILED).count() == 2
