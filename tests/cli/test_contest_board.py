"""The judge's desk on the command line."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contest.small_contest import DEFENCES, attack, charter, defend, hashes, make_contest

from tracearena.contest import format_contest_file, read_submissions, release_all

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_contest(tmp_path_factory.mktemp("contest") / "friday")
    for team, defence in DEFENCES.items():
        defend(folder, team, defence)
    release_all(read_submissions(folder), seed=3)
    for target in ("000", "002", "004"):
        attack(folder, "001", target, "VisitProb-R")
    attack(folder, "002", "001", "Replay-T")
    return folder


@pytest.fixture
def folder(held: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(held, tmp_path / "friday"))


def tables(data: Path) -> list[object]:
    names = ("reidentification", "trace_inference", "utility")
    return [word for name in names for word in (f"--{name.replace('_', '-')}", data / f"final_{name}.csv")]


def test_the_final_of_2019_comes_out_of_one_command(run: Run, shared_data: Path, tmp_path: Path) -> None:
    data = shared_data / "pwscup2019-results"
    told = run("contest", "board", *tables(data), "--json")
    assert told.status == 0, told.err
    assert "column SecI is the minimum of each row" in told.err
    result = told.json
    assert [award["winners"] for award in result["awards"]] == [["009"], ["001"], ["004"], ["002"]]
    assert (result["valid"], round(result["correlation"], 4)) == (17, 0.8952)
    with (data / "final_sums.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            sums = result["sums"]
            assert sums["reidentification"][row["team"]] == pytest.approx(
                float(row["reidentification"]), abs=1e-6
            )
            assert sums["trace-inference"][row["team"]] == pytest.approx(
                float(row["trace_inference"]), abs=1e-6
            )
    assert result["files"] == []
    people = run("contest", "board", *tables(data), "--out", tmp_path / "2019")
    assert "R = 0.8952 over 18 data sets" in people.out
    assert "Best anonymization" in people.out
    page = (tmp_path / "2019" / "board.html").read_text()
    assert "re-identification challenge and trace-inference challenge" in page


@pytest.mark.slow
def test_ranking_rules_are_options_and_rules_alike(run: Run, shared_data: Path, tmp_path: Path) -> None:
    data, rules = shared_data / "pwscup2019-results", tmp_path / "contest.toml"
    first = run("contest", "board", *tables(data), "--overall", "--out", tmp_path / "one", "--json").json
    overall = first["awards"][-1]
    assert overall["name"] == "overall"
    assert overall["winners"] == ["001"]
    assert overall["places"][0]["value"] == pytest.approx(0.8 + 0.70906430317205604)
    assert "--overall" in (tmp_path / "one" / "board.html").read_text()
    both = run(
        "contest", "board", *tables(data), "--overall", "--preliminary", tmp_path / "one" / "totals.csv",
        "--final-weight", 4, "--json",
    ).json  # fmt: skip
    assert both["awards"][-1]["places"][0]["value"] == pytest.approx(5 * overall["places"][0]["value"])
    rules.write_text("[rules]\ndata_sets = 2\noverall_total = true\nwinner_takes_attack_awards = false\n")
    apart = run("contest", "board", *tables(data), "--rules", rules, "--json").json
    for award in apart["awards"][2:4]:
        assert "001" not in [place["team"] for place in award["places"]]
    for bad in (
        ["--final-weight", 3],
        ["--no-winner-attacks"],
        ["--preliminary", tmp_path / "one" / "totals.csv"],
    ):
        assert run("contest", "board", *tables(data), *bad).status == 2


@pytest.mark.slow
def test_the_board_of_a_folder_names_what_does_not_count(run: Run, folder: Path) -> None:
    bad = folder / "submissions" / "etable_team001-002_data01_IDP.csv"
    bad.write_text(bad.read_text().replace("\n", "\n+", 1))
    done = run("contest", "board", folder)
    assert done.status == 0, done.err
    assert f"does not count: submissions/{bad.name}: row 1 (line 2), column user_id: got '+" in done.err
    assert "regions are sensitive" in done.err
    assert "trace-inference challenge: 3 of 5 teams valid" in done.out
    assert {path.name for path in (folder / "results").iterdir()} == {
        "awards.csv", "board.csv", "board.html", "board.json", "refused.csv", "reidentification.csv",
        "sums.csv", "trace_inference.csv", "utility.csv",
    }  # fmt: skip
    told = json.loads((folder / "results" / "board.json").read_text())
    assert [one["code"] for one in told["refused"]] == ["sign"]
    assert told["challenge"] == "trace-inference challenge"
    assert bad.name in (folder / "results" / "board.html").read_text()


@pytest.mark.slow
def test_judge_runs_the_sample_attacks_and_a_second_run_changes_no_byte(run: Run, folder: Path) -> None:
    done = run("contest", "judge", folder, "--json")
    assert done.status == 0, done.err
    assert done.json["sensitive_places"] > 0
    samples = {one["attacker"] for one in done.json["attacks"]} - {"001", "002"}
    assert samples == set(charter().rules.sample_attacks)
    before = hashes(folder)
    for command in ("judge", "board", "release"):
        assert run("contest", command, folder).status == 0
        assert hashes(folder) == before


@pytest.mark.slow
def test_the_tables_of_a_folder_make_the_same_board(run: Run, folder: Path) -> None:
    first = run("contest", "board", folder, "--json").json
    out = folder / "results"
    again = run(
        "contest", "board", "--reidentification", out / "reidentification.csv",
        "--trace-inference", out / "trace_inference.csv", "--utility", out / "utility.csv", "--json",
    ).json  # fmt: skip
    assert again["awards"] == first["awards"]
    assert again["sums"] == first["sums"]


def test_names_from_the_contests_file_are_harmless_on_the_page(run: Run, folder: Path) -> None:
    named = (
        format_contest_file(charter())
        + '\n[names]\n001 = "<script>alert(1)</script>"\n002 = "=HYPERLINK(1)"\n'
    )
    (folder / "contest.toml").write_text(named)
    assert run("contest", "board", folder).status == 0
    page = (folder / "results" / "board.html").read_text()
    assert "<script>alert(1)" not in page
    assert "001 &lt;script&gt;alert(1)" in page
    for path in (folder / "results").glob("*.csv"):
        assert "HYPERLINK" not in path.read_text()


@pytest.mark.slow
def test_release_says_what_came_of_every_team(run: Run, tmp_path: Path) -> None:
    folder = make_contest(tmp_path / "friday")
    for team, defence in DEFENCES.items():
        defend(folder, team, defence)
    path = folder / "submissions" / "anotraces_team004_data01_IDP.csv"
    path.write_text(path.read_text().replace("\n", "\n0", 1))
    done = run("contest", "release", folder)
    assert done.status == 0, done.err
    assert "team 003, data set 1: utility 0." in done.err
    assert "team 005, data set 1: no valid submission" in done.err
    assert "does not count: submissions/anotraces_team004_data01_IDP.csv: row 1 (line 2)" in done.err
    assert "released now     2" in done.out
    assert "received.csv is missing: files are not compared with the schedule" in done.err
    told = run("contest", "release", folder, "--json").json
    assert told["released"] == []
    assert set(told["commitments"]) == {f"ptable_team{n}_data01_IDP.csv" for n in ("000", "001", "002")}
    assert "salt" not in json.dumps(told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["board"], "name the folder of the contest, or all three"),
        (["board", "nowhere"], "this folder does not exist"),
        (["board", ".", "--utility", "x.csv"], "not both"),
        (["board", "--utility", "x.csv"], "name the folder of the contest, or all three"),
        (["board", "."], "holds no orgtraces"),
        (["judge", "."], "holds no orgtraces"),
        (["release", "nowhere"], "this folder does not exist"),
        (["board", ".", "--rules", "no.toml"], "no.toml"),
    ],
)
def test_a_mistake_is_one_message_and_status_2(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("contest", *words)
    assert done.status == 2
    assert told in done.err
    assert "Traceback" not in done.err
    assert not any(tmp_path.iterdir())


def test_one_folder_of_files_cannot_be_released(run: Run, folder: Path, tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    shutil.copytree(folder / "judge", flat)
    done = run("contest", "release", flat)
    assert done.status == 2
    assert "has no folders judge and submissions" in done.err
    assert run("contest", "board", flat).status == 0


@pytest.mark.slow
def test_a_judge_that_is_killed_again_and_again_ends_where_an_undisturbed_one_does(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    quiet = Path(shutil.copytree(folder, tmp_path / "quiet" / "friday"))
    assert run("contest", "judge", "friday", folder=quiet.parent).status == 0
    command = [sys.executable, "-m", "tracearena", "contest", "judge", "friday"]
    ledger = folder / "judge" / "scores.jsonl"
    lines = killed = 0
    for _ in range(2):
        process = subprocess.Popen(
            command, cwd=folder.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None:
            if ledger.is_file() and ledger.read_bytes().count(b"\n") > lines:
                process.kill()
            time.sleep(0.002)
        lines = ledger.read_bytes().count(b"\n")
        killed += process.returncode == -signal.SIGKILL
    assert killed >= 1
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert hashes(folder) == hashes(quiet)
