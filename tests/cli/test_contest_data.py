"""Virtual users and contests on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tracearena.contest import ContestPlan, contest_training, team_traces
from tracearena.engine import child_seed, seed_sequence
from tracearena.io import pwscup
from tracearena.synthesis import PPMTF
from tracearena.traces import Traces

QUICK = ("--factors", 2, "--iterations", 3)


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert f"--users is 7, but {rules} says 6: they must agree" in done.err
    assert not (team / "contest").exists()
    done = run(*common, "--users", 6, *QUICK, "--json")
    assert done.status == 0, done.err
    assert (done.json["teams"], done.json["users"], done.json["days"]) == (1, 6, 2)
    assert [path.name for path in (team / "contest" / "teams").iterdir()] == ["team001"]
    rules.write_text("[rules]\nreference_days = 1\noriginal_days = 4\n")
    assert "they must be equal" in run(*common[:3], team / "other", *common[4:], *QUICK).err
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


def made(run, team: Path, name: str, *options: object, status: int = 0):
    done = run(
        "contest", "data", team / "org.csv", team / name, "--places", team / "places.csv",
        "--reference", team / "ref.csv", "--teams", 1, "--users", 7, "--days", 2, "--seed", 3, *QUICK,
        "--json", *options,
    )  # fmt: skip
    assert done.status == status, done.err
    return done


def test_the_walk_of_earlier_versions_has_a_name(run, team: Path) -> None:
    done = made(run, team, "old", "--walk", "30min")
    assert "invented" not in done.err
    manifest = json.loads((team / "old" / "judge" / "manifest.json").read_text())
    assert "walk" not in manifest["model"]
    places = pwscup.read_places(team / "places.csv")
    training = Traces.concat([pwscup.read_traces(team / name, places) for name in ("ref.csv", "org.csv")])
    root = seed_sequence(3)
    model = PPMTF(factors=2, iterations=3).fit(contest_training(training), seed=child_seed(root, 0))
    plan = ContestPlan(teams=1, users=7, days=2)
    reference, _ = team_traces(model, plan, child_seed(child_seed(root, 1), 1, 0))
    written = pwscup.read_traces(team / "old" / "judge" / "reftraces_team001_data01_IDP.csv", places)
    assert np.array_equal(written.place_index, reference.place_index)


@pytest.mark.slow
def test_what_the_walk_invents_is_said(run, team: Path) -> None:
    done = made(run, team, "new")
    assert "06:00 to 08:00 is made up" in done.err
    walk = json.loads((team / "new" / "judge" / "manifest.json").read_text())["model"]["walk"]
    assert (walk["step_s"], walk["invented"]) == (300, "06:00 to 08:00")
    assert 0 < walk["pace"] <= 1


@pytest.mark.parametrize("walk", ["7min", "fast", "0s", "31min"])
def test_a_walk_that_does_not_fit_is_refused(run, team: Path, walk: str) -> None:
    done = made(run, team, "new", "--walk", walk, status=2)
    assert "walk" in done.err
    assert not (team / "new").exists()


@pytest.mark.slow
def test_zero_cells_are_sampled_on_request(run, team: Path) -> None:
    made(run, team, "sampled", "--zeros", "sampled")
    parameters = json.loads((team / "sampled" / "judge" / "manifest.json").read_text())["model"]["parameters"]
    assert parameters["zeros"] == "sampled"
    assert "zeros" in made(run, team, "none", "--zeros", "some", status=2).err


@pytest.mark.slow
def test_users_with_few_events_are_not_learned_from(run, team: Path) -> None:
    table = (team / "org.csv").read_text().splitlines()
    header, rows = table[0], [line.split(",") for line in table[1:]]
    users = sorted({int(row[0]) for row in rows})
    shorter = [row for row in rows if int(row[0]) != users[0] or int(row[1]) < int(rows[0][1]) + 4]
    (team / "short.csv").write_text("\n".join([header, *map(",".join, shorter)]) + "\n")
    done = run(
        "contest", "data", team / "short.csv", team / "few", "--places", team / "places.csv", "--teams", 1,
        "--users", 7, "--days", 2, "--seed", 3, "--min-events", 10, *QUICK, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert f"1 of {len(users)} users have fewer than 10 events" in done.err
    assert done.json["training_users"] == len(users) - 1
    assert "no user has this many" in made(run, team, "no", "--min-events", 100_000, status=2).err


@pytest.mark.slow
def test_sensitive_regions_come_from_a_file_of_pois(run, team: Path) -> None:
    grid = pwscup.read_places(team / "places.csv")
    points = [
        (1, grid.latitude[3], grid.longitude[3], "building/Hospital/7"),
        (2, grid.latitude[5], grid.longitude[5], "food/Ramen/2"),
    ]
    text = "\n".join(",".join(map(str, point)) for point in points)
    (team / "pois.csv").write_text(f"place,lat,lng,category\n{text}\n")
    options = ("--pois", team / "pois.csv")
    done = made(run, team, "marked", *options, "--sensitive", "category=hospital")
    assert done.json["sensitive_regions"] == 1
    assert np.flatnonzero(
        pwscup.read_places(team / "marked" / "judge" / "info_region.csv").sensitive
    ).tolist() == [3]
    assert "--sensitive" in made(run, team, "none", *options, status=2).err
    unknown = made(run, team, "none", *options, "--sensitive", "category=clinic", status=2)
    assert "'clinic'; the categories are" in unknown.err
    assert "no categories" in made(run, team, "none", "--sensitive", "category=clinic", status=2).err


@pytest.mark.slow
def test_sensitive_regions_come_from_the_places_of_check_ins(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    venues = [(35 + k / 100, 139 + k / 100, "Hospital" if k == 2 else "Bar") for k in range(6)]
    rows = [
        f"{user},2019-04-01 {8 + hour:02d}:00,v{at},{venues[at][0]},{venues[at][1]},{venues[at][2]}"
        for user in range(12)
        for hour, at in enumerate(rng.integers(0, 6, 10))
    ]
    file = tmp_path / "checkins.csv"
    file.write_text("user,time,place,lat,lng,category\n" + "\n".join(rows) + "\n")
    common = ("--grid", "6x6", "--teams", 1, "--users", 5, "--days", 2, "--seed", 1, *QUICK, "--json")
    plain = run("contest", "data", file, tmp_path / "plain", *common)
    assert plain.status == 0, plain.err
    assert plain.json["sensitive_regions"] == 0
    assert "no region is sensitive" in plain.err
    done = run("contest", "data", file, tmp_path / "marked", *common, "--sensitive", "category=hospital")
    assert done.status == 0, done.err
    assert done.json["sensitive_regions"] == 1


@pytest.mark.slow
def test_minutes_are_walked_in_minutes_and_gps_points_have_no_categories(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        f"{user},2019-04-01 {9 + minute // 60:02d}:{minute % 60:02d}:00,{35 + at / 100},{139 + at / 100}"
        for user in range(6)
        for minute, at in enumerate(rng.integers(0, 4, 90))
    ]
    file = tmp_path / "points.csv"
    file.write_text("user,time,lat,lng\n" + "\n".join(rows) + "\n")
    common = (
        "--grid",
        "4x4",
        "--interval",
        "1min",
        "--teams",
        1,
        "--users",
        5,
        "--days",
        2,
        *QUICK,
        "--json",
    )
    wrong = run("contest", "data", file, tmp_path / "new", *common)
    assert wrong.status == 2
    assert "or 60s itself" in wrong.err
    right = run("contest", "data", file, tmp_path / "new", *common, "--walk", "60s", "--seed", 1)
    assert right.status == 0, right.err
    no = run(
        "contest", "data", file, tmp_path / "no", *common, "--walk", "60s", "--sensitive", "category=bar"
    )
    assert no.status == 2
    assert "--pois" in no.err
