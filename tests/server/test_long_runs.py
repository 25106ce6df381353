"""T5 and T10: judges are killed at random, and every job ends, once and right, and none hangs."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import Held
from tests.server.test_judge_process import running

from tracearena.contest.file_judge import compute_utility
from tracearena.files.io import InMemoryFile as InMemory
from tracearena.io.pwscup import read_obfuscated
from tracearena.server.models import Contest, Job, JobState, Score, State, Submission, Worker

JUDGES = ("judge 1", "judge 2")
TEAMS = ("001", "002", "003")
DEFENCES = ("No", "PL(5,1)", "RR(0.1)", "MRLH(1,1,0.1)")
LONGEST_OPEN_S = 600


class Watch:
    """How long each job is in work, from its first taking to its end."""

    def __init__(self) -> None:
        self.first: dict[int, float] = {}
        self.longest = 0.0

    def look(self) -> int:
        """Note what is in work, and return how many jobs are not finished."""
        now = time.monotonic()
        open_jobs = dict(Job.objects.filter(state__in=("waiting", "running")).values_list("pk", "fence"))
        for pk, fence in open_jobs.items():
            if fence:
                self.first.setdefault(pk, now)
                self.longest = max(self.longest, now - self.first[pk])
        return len(open_jobs)


def _files(held: Held, tmp_path: Path, count: int) -> Iterator[tuple[str, bytes, float]]:
    """Give so many files: the team, what it hands in, and its utility as this process finds it."""
    rules, known = Contest.get_current().rules, {}
    for number in range(count):
        team, defence = TEAMS[number % len(TEAMS)], DEFENCES[number % len(DEFENCES)]
        if (team, defence) not in known:
            content, original = hands.obfuscated(held, team, tmp_path, defence), hands.original(held, team)
            read = read_obfuscated(InMemory("upload.csv", content), original)
            known[team, defence] = content, compute_utility(original, read, rules)
        yield team, *known[team, defence]


def kill_at_random(
    held: Held,
    kills: int,
    chance: random.Random,
    *,
    judges: Sequence[str] = JUDGES,
    hand_in: Callable[[bool], None] = lambda everything: None,
) -> float:
    """Run judges, kill one after the other in the middle of its work, and return how long a job took.

    A job takes some hundredths of a second. More work is handed in when there is none left and after each
    kill, and everything after the last.
    """
    watch, killed = Watch(), 0
    with ExitStack() as stack:
        processes = {name: stack.enter_context(running(held, name)) for name in judges}
        while (waiting := watch.look()) or killed < kills:
            if not waiting:
                hand_in(False)
                assert watch.look(), "all was done before so many were killed"
            busy = Worker.objects.exclude(doing="").values_list("name", flat=True)
            alive = [name for name in busy if processes[name].poll() is None]
            if killed < kills and alive:
                name = chance.choice(alive)
                time.sleep(chance.uniform(0, 0.02))
                os.kill(processes[name].pid, signal.SIGKILL)
                processes[name].wait()
                Worker.objects.filter(name=name).update(doing="")
                processes[name] = stack.enter_context(running(held, name))
                killed += 1
                hand_in(killed == kills)
            time.sleep(0.005)
    return watch.longest


def _survives(held: Held, tmp_path: Path, count: int, kills: int) -> None:
    held.anonymization()
    files, wanted = _files(held, tmp_path, count), {}

    def hand_in(everything: bool) -> None:
        for team, content, utility in islice(files, None if everything else count // kills // 2):
            wanted[hands.hand_in(held, team, "obfuscated", content, limit=count).pk] = utility

    longest = kill_at_random(held, kills, random.Random(count), hand_in=hand_in)
    scores = Score.objects.filter(key__startswith="utility/")
    assert dict(scores.values_list("submission", "value")) == wanted
    assert scores.count() == count
    assert set(Submission.objects.values_list("state", flat=True)) == {State.SCORED}
    assert set(Job.objects.values_list("state", flat=True)) == {JobState.DONE}
    assert sum(Job.objects.values_list("fence", flat=True)) > len(wanted)
    assert longest < LONGEST_OPEN_S


@pytest.mark.long
def test_some_jobs_and_some_kills(held: Held, tmp_path: Path) -> None:
    """T5: Twenty results, none double, none wrong, however five judges were killed."""
    _survives(held, tmp_path, 20, 5)


@pytest.mark.long
def test_four_hundred_jobs_and_a_hundred_kills(held: Held, tmp_path: Path) -> None:
    """T5, T10.

    400 results, 0 double, 0 wrong; and no job is open for longer than ten minutes once it is begun.
    """
    _survives(held, tmp_path, 400, 100)
