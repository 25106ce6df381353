"""What a killed judge leaves behind: re-scorings and restored backups end as if nobody had been killed."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from tests.server import hands
from tests.server.conftest import Held
from tests.server.test_long_runs import kill_at_random

from tracearena.server import results
from tracearena.server.judge import scoring
from tracearena.server.judge.worker import record_failure
from tracearena.server.models import Rescoring, RescoringState, Score
from tracearena.server.operations.backup import restore_backup, write_backup
from tracearena.server.processes.judge_process import run_all_jobs
from tracearena.server.settings import configure
from tracearena.server.store import queue

WRITES = ((os, "fsync"), (os, "link"), (os, "rename"), (os, "replace"), (BaseDatabaseWrapper, "_commit"))
"""Every way in which the judge changes what is on the disk."""
KILLED = 9


def _killed(held: Held, write: int) -> bool:
    """Let a process of its own be the judge, killed before a write of this number; False if it made fewer."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            made = count()

            def counted(real: Callable[..., Any]) -> Callable[..., Any]:
                def stand_in(*given: Any, **named: Any) -> Any:
                    if next(made) == write:
                        os._exit(KILLED)
                    return real(*given, **named)

                return stand_in

            for place, name in WRITES:
                setattr(place, name, counted(getattr(place, name)))
            run_all_jobs(held.folder, held.judge_private_key, "doomed")
            os._exit(0)
        finally:
            os._exit(1)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, KILLED)
    return ended == KILLED


def _attacked(held: Held, tmp_path: Path) -> None:
    held.anonymization()
    for team, defence in (("001", "No"), ("002", "PL(5,1)"), ("003", "MRLH(1,1,0.1)")):
        hands.defend(held, team, tmp_path, defence)
    hands.judged(held)
    held.attack()
    hands.judged(held)
    for attacker, target, right in (("001", "002", 3), ("002", "003", 9), ("003", "001", 6)):
        hands.attack_table(held, attacker, target, tmp_path, right=right)
    hands.attack_traces(held, "003", "000", tmp_path)
    hands.judged(held)


def _staged(made: Rescoring) -> dict[str, float]:
    made.refresh_from_db()
    assert made.state == RescoringState.COMPARED
    return dict(made.scores.values_list("key", "value"))


def _undisturbed(held: Held) -> tuple[dict[str, float], list[scoring.ScoreDifference]]:
    """Change a score by hand, and return what a re-scoring without kills says."""
    Score.objects.filter(key__startswith="final/", kind="reidentification").update(value=0.875)
    results.invalidate_board()
    made = scoring.start_rescoring("organiser", "undisturbed")
    hands.judged(held)
    found = _staged(made), scoring.compare_scores(made)
    scoring.cancel_rescoring(made, "organiser")
    return found


@pytest.mark.slow
def test_a_rescoring_after_kills_is_that_of_an_undisturbed_run(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge dies before every kind of write; each score is there once, and the same."""
    hands.without_children(monkeypatch)
    _attacked(held, tmp_path)
    held.results()
    hands.judged(held)
    wanted, differences = _undisturbed(held)
    assert len(differences) == 3
    made = scoring.start_rescoring("organiser", "with kills")
    deaths, chance = 0, random.Random(1)
    while _killed(held, chance.randrange(4, 12)):
        deaths += 1
        queue.requeue_of_worker("doomed", record_failure)
    assert deaths > 5
    assert (_staged(made), scoring.compare_scores(made)) == (wanted, differences)
    result = scoring.compare_results(made)
    scoring.apply_rescoring(made, "organiser")
    assert scoring.compare_results(made) == result


@pytest.mark.long
def test_a_rescoring_by_processes_that_are_killed(held: Held, tmp_path: Path) -> None:
    """The same with judges as processes of their own, killed by SIGKILL in the middle of their work."""
    _attacked(held, tmp_path)
    held.results()
    hands.judged(held)
    wanted, differences = _undisturbed(held)
    made = scoring.start_rescoring("organiser", "with kills")
    kill_at_random(held, 5, random.Random(5), judges=("judge 1",))
    hands.judged(held)
    assert (_staged(made), scoring.compare_scores(made)) == (wanted, differences)


@pytest.mark.slow
def test_a_backup_taken_when_the_judge_was_killed_comes_to_the_same_result(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any write of the final scoring: what is restored goes on, and ends with the same bytes."""
    hands.without_children(monkeypatch)
    _attacked(held, tmp_path)
    held.results()

    def result_of(number: int) -> bytes:
        write_backup(held.folder, tmp_path / f"{number}.tar")
        folder = restore_backup(tmp_path / f"{number}.tar", tmp_path / f"again {number}")
        try:
            again = Held(folder, held.created, held.judge_key, held.clock_file, None)
            hands.judged(again)
            final = results.find_final_snapshot()
            assert final is not None
            assert not queue.find_open_jobs().exists()
            return bytes(final.content)
        finally:
            connections.close_all()
            configure(held.folder)

    wanted = result_of(0)
    deaths = 0
    # Each lives a little longer than the one before: some jobs make more writes than the first ones live for.
    while _killed(held, 7 + 3 * deaths):
        deaths += 1
        assert result_of(deaths) == wanted
        queue.requeue_of_worker("doomed", record_failure)
    assert deaths > 3
    final = results.find_final_snapshot()
    assert final is not None
    assert bytes(final.content) == wanted
