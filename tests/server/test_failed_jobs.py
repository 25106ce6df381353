"""What the judge failed at, from the command line: listed, tried again, set aside."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import Held
from typer.testing import CliRunner

from tracearena.cli import build
from tracearena.server.judge import scoring
from tracearena.server.models import AuditEntry, State, Submission


def _said(*words: str) -> tuple[int, str]:
    typed = ["contest", "job", *words]
    done = CliRunner().invoke(build(typed), typed)
    return done.exit_code, done.output


@pytest.mark.slow
def test_a_failed_job_is_listed_and_tried_again(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, with a reason that stands in the audit log."""
    hands.without_children(monkeypatch)
    held.anonymization()
    folder = str(held.folder.path)
    assert _said("list", folder) == (0, "no job has failed\n")
    with monkeypatch.context() as broken:
        broken.setattr(scoring, "score_upload", lambda *given: 1 / 0)
        submission = hands.defend(held, "001", tmp_path)
        hands.judged(held)
    key = f"check/{submission.pk}"
    status, listed = _said("list", folder)
    assert (status, listed) == (0, f"{key}: ZeroDivisionError: division by zero\n")
    assert _said("again", folder, key, "--reason", "a new disk")[0] == 0
    last = AuditEntry.objects.last()
    assert (last.actor, last.act, last.details["reason"]) == ("command line", "job tried again", "a new disk")
    hands.judged(held)
    assert Submission.objects.get().state == State.SCORED
    assert _said("list", folder, "--json") == (0, "[]\n")


def test_only_what_has_failed_is_set_aside(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And never without a reason, nor by a name that is none."""
    hands.without_children(monkeypatch)
    held.anonymization()
    submission = hands.defend(held, "001", tmp_path)
    hands.judged(held)
    for words in (
        ["set-aside", f"check/{submission.pk}", "--reason", "why not"],
        ["set-aside", "check/999", "--reason", "why not"],
        ["again", f"check/{submission.pk}", "--reason", " "],
    ):
        act, *others = words
        assert _said(act, str(held.folder.path), *others)[0] != 0, words
