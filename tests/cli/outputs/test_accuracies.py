"""An accuracy that is a guess is seen to be one, and chance is measured where samples are small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena import io
from tracearena.errors import ParameterError
from tracearena.synthesis import SGD
from tracearena.traces import Clock, Grid, Places, Traces

MEMBERS, OTHERS = 863, 215


@pytest.fixture(scope="module")
def gowalla(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample of New York in files: 863 training and 215 testing users, synthetic traces of SGD."""
    folder = tmp_path_factory.mktemp("gowalla")
    people, _ = io.read(
        shared_data / "gowalla-nyc.txt.gz", top=1000, interval="1h", slot="2h", timezone="America/New_York"
    )
    rng = np.random.default_rng(0)
    some = people.take_users(np.sort(rng.permutation(people.n_users)[: MEMBERS + OTHERS]))
    aside = np.isin(np.arange(some.n_users), np.random.default_rng(1).permutation(some.n_users)[:OTHERS])
    training, testing = some.take_users(~aside), some.take_users(aside)
    made = SGD().fit(training).synthesize(2, seed=1)
    for name, traces in (("train", training), ("test", testing), ("synthetic", made)):
        io.write(traces, folder / f"{name}.csv", to="table", places_out=folder / "places.csv")
    return folder


def run(folder: Path, *more: str) -> str:
    files = [
        word
        for name in ("places", "train", "test", "synthetic")
        for word in (f"--{name}", str(folder / f"{name}.csv"))
    ]
    done = tracearena("evaluate", *files, "--interval", "1h", "--slot", "2h", *more)
    assert done.status == 0, done.err
    return done.out


@pytest.fixture(scope="module")
def found(gowalla: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(gowalla, "--json"))
    return answer


@pytest.fixture(scope="module")
def told(gowalla: Path) -> str:
    return run(gowalla)


@pytest.mark.slow
def test_an_accuracy_of_the_larger_share_is_told_to_be_a_guess(found: dict[str, Any], told: str) -> None:
    assert found["membership_accuracy_guess"] == MEMBERS / (MEMBERS + OTHERS)
    assert found["membership_accuracy"] == found["membership_accuracy_guess"]
    assert 0 < found["membership_advantage"] < 0.3
    assert "membership accuracy 0.800557 is no better than always answering the larger group" in told


@pytest.mark.slow
def test_the_advantage_comes_first_and_the_guess_beside_the_accuracy(told: str) -> None:
    lines = [line.split("  ")[0] or line.strip().split("  ")[0] for line in told.splitlines()]
    at = lines.index("membership advantage")
    assert lines[at : at + 3] == ["membership advantage", "membership accuracy", "that of guessing"]


@pytest.mark.slow
def test_training_data_worse_than_uniform_is_named(found: dict[str, Any], told: str) -> None:
    assert found["training"]["vf_tv"] > found["uniform"]["vf_tv"]
    assert found["worse_than_uniform"] == ["vf_tv"]
    assert "vf tv: the training data itself (0.590755) is no better than uniform places (0.581517)" in told


@pytest.mark.slow
def test_halves_of_the_training_users_say_what_chance_alone_makes(found: dict[str, Any], told: str) -> None:
    halves = found["halves"]
    assert halves["users"] == [431, 432]
    assert halves["halvings"] == 10
    assert set(halves["mean"]) == set(found["training"])
    for name, mean in halves["mean"].items():
        # How far whole crowds have to move hangs on a few travellers, and differs most from half to half.
        assert 0 < halves["spread"][name] < (0.2 if name == "tp_emd_sliced" else 0.1) * mean
    # Nearly all that is between the training data and the testing data is chance.
    assert halves["mean"]["tp_tv"] == pytest.approx(0.698, abs=0.02)
    assert halves["mean"]["vf_tv"] == pytest.approx(0.568, abs=0.04)
    assert "halves: 431 random training users against the other 432" in told
    assert "Between 863 training and 215 testing users it is larger" in told


@pytest.mark.slow
def test_the_same_files_give_the_same_halves(gowalla: Path, found: dict[str, Any]) -> None:
    assert json.loads(run(gowalla, "--json")) == found


def people(table: Any) -> Traces:
    grid = Grid(rows=2, columns=10, south=0, west=0, north=1, east=2)
    return Traces.from_dense(table, Places.of_grid(grid), Clock(instants_per_day=6))


def test_halves_of_people_who_are_all_alike_are_equal() -> None:
    alike = people(np.tile([0, 1, 2, 3, 4, 5], (9, 1)))
    halves = ta.arena.compare_halves(alike, alike)
    assert halves is not None
    assert halves.users == (4, 5)
    assert halves.mean.tp_tv == halves.spread.tp_tv == halves.mean.tm_emd_x == 0


def test_halves_grow_nearer_with_more_users() -> None:
    rng = np.random.default_rng(3)
    few, many = (people(rng.integers(0, 20, (users, 6))) for users in (20, 2000))
    near, far = ta.arena.compare_halves(many, many), ta.arena.compare_halves(few, few)
    assert near is not None
    assert far is not None
    assert near.mean.tp_tv < far.mean.tp_tv / 4


def test_one_user_has_no_halves() -> None:
    alone = people([[0, 1, 2, 3, 4, 5]])
    assert ta.arena.compare_halves(alone, alone) is None
    with pytest.raises(ParameterError, match="halvings"):
        ta.arena.compare_halves(alone, alone, halvings=0)


def test_advantage_does_not_depend_on_how_many_there_are_of_each_kind() -> None:
    attack = ta.attacks.MembershipInference()
    members = people([[0, 1, 0, 1, 0, 1]])
    for others in (1, 9):
        result = attack.fit(members, people(np.tile([5, 5, 5, 5, 5, 5], (others, 1)))).evaluate(members)
        assert result.advantage == 1
        assert result.guess == max(1, others) / (1 + others)
