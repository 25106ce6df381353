"""Virtual users and contests on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tracearena.formats import pwscup

QUICK = ("--factors", 2, "--iterations", 3)


def test_a_contest_is_made_of_one_teams_traces(run, team: Path) -> None:
    done = run(
        "contest", "data", team / "org.csv", team / "contest", "--places", team / "places.csv",
        "--reference", team / "ref.csv", "--teams", 2, "--users", 7, "--days", 4, "--seed", 3,
        "--model", team / "model.npz", *QUICK, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.json["teams"] == 2
    assert done.json["seed"] == 3
    names = {path.name for path in (team / "contest" / "judge").iterdir()}
    assert {"info_region.csv", "info_time.csv", "manifest.json"} <= names
    assert {f"reftraces_team{number:03d}_data01_IDP.csv" for number in range(5)} <= names
    assert done.json["files"] == len(names)
    manifest = json.loads((team / "contest" / "judge" / "manifest.json").read_text())
    assert manifest["plan"]["homes"] is True
    again = run(
        "contest", "data", team / "org.csv", team / "again", "--places", team / "places.csv",
        "--reference", team / "ref.csv", "--teams", 2, "--users", 7, "--days", 4, "--seed", 3, *QUICK,
    )  # fmt: skip
    assert again.status == 0, again.err
    assert json.loads((team / "again" / "judge" / "manifest.json").read_text()) == manifest


def test_the_contests_file_says_how_much_data_there_is(run, team: Path) -> None:
    rules = team / "contest.toml"
    rules.write_text(
        "teams = 1\n[rules]\nusers = 6\nreference_days = 1\noriginal_days = 1\nsample_teams = 0\n"
    )
    common = (
        "contest", "data", team / "org.csv", team / "contest", "--places", team / "places.csv",
        "--rules", rules, "--seed", 1,
    )  # fmt: skip
    done = run(*common, "--users", 7, *QUICK)
    assert done.status == 2
    assert f"--users says 7, and {rules} 6: they must agree" in done.err
    assert not (team / "contest").exists()
    done = run(*common, "--users", 6, *QUICK, "--json")
    assert done.status == 0, done.err
    assert (done.json["teams"], done.json["users"], done.json["days"]) == (1, 6, 2)
    assert [path.name for path in (team / "contest" / "teams").iterdir()] == ["team001"]
    rules.write_text("[rules]\nreference_days = 1\noriginal_days = 4\n")
    assert "contest data makes halves" in run(*common[:3], team / "other", *common[4:], *QUICK).err
    rules.write_text("[rules]\nuser = 1\n")
    done = run(*common[:3], team / "other", *common[4:], *QUICK)
    assert done.status == 2
    assert "line 2, rules.user: there is no rule" in done.err


def test_a_contest_does_not_write_over_a_folder(run, team: Path) -> None:
    done = run("contest", "data", team / "org.csv", team, "--places", team / "places.csv")
    assert done.status == 2
    assert "not an empty folder" in done.err


def test_virtual_users_are_synthesized(run, team: Path) -> None:
    done = run(
        "synthesize", "PPMTF(2,iterations=3)", team / "org.csv", team / "virtual.csv",
        "--places", team / "places.csv", "--virtual-users", 9, "--traces-per-user", 3, "--homes", "--seed", 1,
        "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert (done.json["users"], done.json["traces_per_user"]) == (9, 3)
    traces = pwscup.read_traces(team / "virtual.csv", pwscup.read_places(team / "places.csv"))
    assert traces.user_ids.tolist() == list(range(1, 10))
    assert traces.is_complete
    days = traces.dense().reshape(9, 3, 20)
    home = [np.bincount(days[user, :, :2].ravel()).max() for user in range(9)]
    assert np.mean(home) > 5
