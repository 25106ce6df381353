"""T5 and T10: judges are killed at random, and every job ends, once and right, and none hangs."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import Held
from tests.server.test_judge_process import running

from tracearena.contest.file_judge import utility_of
from tracearena.files.whole import Held as InMemory
from tracearena.formats.pwscup import read_obfuscated
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


def _wanted(held: Held, tmp_path: Path, count: int) -> dict[int, float]:
    """Hand in so many files, and return the utility of each as this process finds it."""
    rules, known, wanted = Contest.now_held().rules, {}, {}
    for number in range(count):
        team, defence = TEAMS[number % len(TEAMS)], DEFENCES[number % len(DEFENCES)]
        if (team, defence) not in known:
            content, original = hands.obfuscated(held, team, tmp_path, defence), hands.original(held, team)
            read = read_obfuscated(InMemory("upload.csv", content), original)
            known[team, defence] = content, utility_of(original, read, rules)
        content, utility = known[team, defence]
        wanted[hands.hand_in(held, team, "obfuscated", content, limit=count).pk] = utility
    return wanted


def _killed_at_random(held: Held, kills: int, chance: random.Random) -> float:
    """Run judges, kill one after the other in the middle of its work, and return how long a job took."""
    watch, made = Watch(), 0
    with ExitStack() as stack:
        judges = {name: stack.enter_context(running(held, name)) for name in JUDGES}
        while watch.look():
            time.sleep(chance.uniform(0.05, 0.5))
            busy = Worker.objects.exclude(doing="").values_list("name", flat=True)
            alive = [name for name in busy if judges[name].poll() is None]
            if made < kills and alive:
                name = chance.choice(alive)
                time.sleep(chance.uniform(0, 2))
                os.kill(judges[name].pid, signal.SIGKILL)
                judges[name].wait()
                Worker.objects.filter(name=name).update(doing="")
                judges[name] = stack.enter_context(running(held, name))
                made += 1
    assert made >= kills, "all was done before so many were killed"
    return watch.longest


def _survives(held: Held, tmp_path: Path, count: int, kills: int) -> None:
    held.anonymization()
    wanted = _wanted(held, tmp_path, count)
    longest = _killed_at_random(held, kills, random.Random(count))
    scores = Score.objects.filter(key__startswith="utility/")
    assert dict(scores.values_list("submission", "value")) == wanted
    assert scores.count() == count
    assert set(Submission.objects.values_list("state", flat=True)) == {State.SCORED}
    assert set(Job.objects.values_list("state", flat=True)) == {JobState.DONE}
    assert sum(Job.objects.values_list("fence", flat=True)) > count
    assert longest < LONGEST_OPEN_S


@pytest.mark.long
def test_t05_some_jobs_and_some_kills(held: Held, tmp_path: Path) -> None:
    """Twenty results, none double, none wrong, however five judges were killed."""
    _survives(held, tmp_path, 20, 5)


@pytest.mark.long
def test_t05_t10_four_hundred_jobs_and_a_hundred_kills(held: Held, tmp_path: Path) -> None:
    """400 results, 0 double, 0 wrong; and no job is open for longer than ten minutes once it is begun."""
    _survives(held, tmp_path, 400, 100)
