"""Sweeps: no score without an attack, ties are ties, failures are rows, and nothing finished is lost."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Done, tracearena

from tracearena.arena import best_defences, run_sweep, write_table
from tracearena.arena.ensemble import AttackScores
from tracearena.arena.sweep import SweepRow
from tracearena.engine import Cluster, use
from tracearena.io import pwscup
from tracearena.papers import style
from tracearena.traces import Traces

OWN = """
import os, signal
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import tracearena as ta
from tracearena.traces import ObfuscatedTraces

@dataclass(frozen=True, kw_only=True)
class Counted(ta.algorithms.Obfuscator):
    name: ClassVar[str] = "Counted"
    def transform(self, original, *, seed=None):
        if original.n_users > 3:
            with open("calls", "a") as file:
                file.write("x")
        return ObfuscatedTraces.from_traces(original)

@dataclass(frozen=True, kw_only=True)
class Deadly(ta.algorithms.Obfuscator):
    name: ClassVar[str] = "Deadly"
    def transform(self, original, *, seed=None):
        if Path("armed").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return ta.obfuscation.RandomizedResponse(epsilon=2).transform(original, seed=seed)

@dataclass(frozen=True, kw_only=True)
class Broken(ta.algorithms.Obfuscator):
    name: ClassVar[str] = "Broken"
    def transform(self, original, *, seed=None):
        raise RuntimeError("out of ideas")
"""


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    reference, original = make_walks(users=12, days=4).split_days(2)
    pwscup.write_places(reference.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEARENA_THREADS", "1")


def command(
    *words: str, out: str = "table.csv", defences: tuple[str, ...] = ("No", "RR(2)")
) -> tuple[str, ...]:
    named = [word for defence in defences for word in ("--defences", defence)]
    files = ["--places", "places.csv", "--reference", "ref.csv", "--original", "org.csv"]
    return ("sweep", out, *files, *named, "--json", *words)


def sweep(team: Path, *words: str, **more: Any) -> Done:
    return tracearena(*command(*words, **more), folder=team)


def is_killed(team: Path, *words: str, **more: Any) -> bool:
    """Sweep in a process of its own, which a defence may kill."""
    process = [sys.executable, "-m", "tracearena", *command(*words, **more)]
    return subprocess.run(process, cwd=team, capture_output=True, check=False).returncode == -signal.SIGKILL


def table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("attack", "missing", "there"),
    [("VisitProb-R", "s_T_min", "s_R_min"), ("VisitProb-T", "s_R_min", "s_T_min")],
)
@pytest.mark.slow
@pytest.mark.parametrize("picture", ["p.svg", pytest.param("p.html", marks=pytest.mark.long)])
def test_without_an_attack_of_a_kind_there_is_no_score_of_it(
    team: Path, attack: str, missing: str, there: str, picture: str
) -> None:
    done = sweep(team, "--attacks", attack, "--seed", "1", "--plot", picture)
    assert done.status == 0, done.err
    for row in table(team / "table.csv"):
        assert row[missing] == ""
        assert 0 <= float(row[there]) <= 1
    told = done.json
    assert told[f"best_{missing}"] is None
    assert told[f"best_{there}"] is not None
    assert "no defence was attacked by both kinds" in (team / picture).read_text()


def row(defence: str, s_t: float | None, valid: bool = True) -> SweepRow:
    return SweepRow(defence, 0.9, valid, AttackScores({"a": 0.5}, {} if s_t is None else {"b": s_t}))


def test_ties_are_called_ties(team: Path) -> None:
    assert [r.defence for r in best_defences([row("A", 0.5), row("B", 0.5 + 1e-10), row("C", 0.4)])[1]] == [
        "A",
        "B",
    ]
    assert [
        r.defence for r in best_defences([row("A", 0.5), row("B", 0.6), row("C", 0.9, valid=False)])[1]
    ] == ["B"]
    assert best_defences([row("A", None), row("B", None)])[0] == "s_R_min"
    assert best_defences([]) == (None, [])
    same = ("No", "own:Counted", "MRLH(0,0,0)")
    done = sweep(team, "--attacks", "VisitProb-R", "--seed", "1", defences=same)
    told = done.json
    assert (told["best"], told["tie"]) == (["No", "Counted", "MRLH(0,0,0)"], True)


@pytest.mark.slow
def test_a_defence_that_fails_is_a_row_that_says_why(team: Path) -> None:
    done = sweep(team, "--seed", "1", "--plot", "p.svg", defences=("own:Broken", "No", "PL(4,1)"))
    assert done.status == 0, done.err
    broken, none, laplace = table(team / "table.csv")
    assert "own:Broken.transform raised RuntimeError: out of ideas" in broken["error"]
    assert (broken["utility"], broken["valid"], broken["VisitProb-R"], broken["s_T_min"]) == (
        "",
        "false",
        "",
        "",
    )
    assert (none["error"], laplace["error"]) == ("", "")
    assert float(none["s_R_min"]) < 1
    assert "1 of 3 rows are incomplete" in done.err
    assert done.json["failed"] == 1


def test_the_exit_status_is_1_if_all_of_them_fail(team: Path) -> None:
    done = sweep(team, "--seed", "1", "--plot", "p.html", defences=("own:Broken",))
    assert (done.status, done.json["best"]) == (1, [])
    assert "Traceback" not in done.err
    assert len(table(team / "table.csv")) == 1


@pytest.mark.slow
def test_data_that_a_defence_refuses_is_its_own_row(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    check_ins = make_check_ins()
    rows = run_sweep(check_ins, check_ins, defences=["MRLH(1,1,0.5)", "No"], attacks=["VisitProb-R"], seed=1)
    assert rows[0].error is not None
    assert "grid" in rows[0].error
    assert rows[1].error is None
    write_table(rows, tmp_path / "t.csv")
    assert [line["utility"] for line in table(tmp_path / "t.csv")] == ["", "1.0"]
    style.draw_privacy_scatter(rows, tmp_path / "p.svg")


@pytest.mark.slow
def test_a_killed_sweep_goes_on_to_the_same_bytes(team: Path) -> None:
    defences = ("own:Counted", "RR(2)", "own:Deadly", "PL(4,1)")
    seed = ("--seed", "7")
    assert sweep(team, *seed, out="whole.csv", defences=defences).status == 0
    (team / "calls").unlink()
    (team / "armed").touch()
    assert is_killed(team, *seed, defences=defences)
    assert not (team / "table.csv").exists()
    lines = (team / "table.csv.unfinished").read_text().splitlines()
    assert [json.loads(line)["row"]["defence"] for line in lines[1:]] == ["Counted", "RR(2)"]
    with open(team / "table.csv.unfinished", "a") as file:
        file.write('{"key": "half a li')
    (team / "armed").unlink()
    assert sweep(team, *seed, defences=defences).status == 0
    assert (team / "table.csv").read_bytes() == (team / "whole.csv").read_bytes()
    assert (team / "calls").read_text() == "x"
    assert not (team / "table.csv.unfinished").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    ["seed", *(pytest.param(n, marks=pytest.mark.long) for n in ("none", "attacks", "input", "code"))],
)
def test_a_row_is_taken_over_only_if_all_it_depends_on_is_the_same(team: Path, changed: str) -> None:
    defences = ("own:Counted", "own:Deadly")
    (team / "armed").touch()
    words = ["--seed", "7", "--attacks", "VisitProb-R"]
    assert is_killed(team, *words, defences=defences)
    (team / "armed").unlink()
    if changed == "seed":
        words[1] = "8"
    elif changed == "attacks":
        words[3] = "HomeProb-R"
    elif changed == "input":
        lines = (team / "org.csv").read_text().splitlines()
        first = lines[1].split(",")
        first[-1] = "1" if first[-1] != "1" else "2"
        (team / "org.csv").write_text("\n".join([lines[0], ",".join(first), *lines[2:]]) + "\n")
    elif changed == "code":
        (team / "own.py").write_text(OWN + "\n# another version\n")
    assert sweep(team, *words, defences=defences).status == 0
    assert (team / "calls").read_text() == ("x" if changed == "none" else "xx")


@pytest.mark.slow
def test_a_sweep_without_a_seed_goes_on_with_the_one_it_was_begun_with(team: Path) -> None:
    (team / "armed").touch()
    assert is_killed(team, defences=("own:Counted", "own:Deadly"))
    (team / "armed").unlink()
    assert sweep(team, defences=("own:Counted", "own:Deadly")).status == 0
    assert (team / "calls").read_text() == "x"


@pytest.mark.slow
def test_in_a_cluster_finished_rows_are_kept_as_well(
    cluster: Cluster, make_walks: Callable[..., Traces], tmp_path: Path
) -> None:
    pair = make_walks(users=12, days=4).split_days(2)
    defences = ["No", "RR(1)", "RR(2)", "PL(4,1)", "PL(1,1)", "Cheat(1)"]
    whole = run_sweep(*pair, defences=defences, seed=3)
    kept = tmp_path / "t.unfinished"

    class Stopped(BaseException):
        pass

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped), use(cluster=cluster, progress=stop):
        run_sweep(*pair, defences=defences, seed=3, unfinished=kept)
    assert len(kept.read_text().splitlines()) == 3
    counted: list[int] = []
    with use(cluster=cluster, progress=lambda done, total: counted.append(total)):
        again = run_sweep(
            *pair,
            defences=defences,
            seed=3,
            unfinished=kept,
        )
    assert (again, set(counted)) == (whole, {4})
