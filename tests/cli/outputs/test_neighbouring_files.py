"""What a command writes beside its output changes nobody else's files, and inputs are never outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.arena import run_sweep
from tracearena.cities import simulate_gps
from tracearena.io import pwscup
from tracearena.traces import Traces

BROKEN = """
from dataclasses import dataclass
from tracearena.algorithms import ReidentificationAttack
from tracearena.traces import IdTable

@dataclass(kw_only=True)
class Broken(ReidentificationAttack):
    name = "Broken-R"

    def fit(self, reference):
        self.users_ = reference.user_ids
        return self

    def identify(self, anonymized, *, seed=None):
        if anonymized.n_users > 3:
            raise KeyError("x")
        return IdTable(anonymized.user_ids, self.users_[: anonymized.n_users])
"""


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("points") / "points.csv"
    ta.write(simulate_gps(users=3, days=2, seed=1), file)
    return file


def test_a_new_clock_is_not_put_beside_files_of_the_contest(
    points: Path, tmp_path: Path, make_walks: Callable[..., Traces]
) -> None:
    walks = make_walks(users=3)
    pwscup.write_traces(walks, tmp_path / "org.csv")
    done = tracearena("convert", points, tmp_path / "new.csv", "--to", "pwscup", "--grid", "4x4")
    assert done.status == 2
    assert "org.csv next to it" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["org.csv"]


def test_contest_files_on_a_new_grid_come_with_their_regions(points: Path, tmp_path: Path) -> None:
    done = tracearena("convert", points, tmp_path / "new.csv", "--to", "pwscup", "--grid", "4x4")
    assert done.status == 0, done.err
    assert "the grid covers" in done.err
    done = tracearena("describe", tmp_path / "new.csv")
    assert done.status == 0, done.err
    assert "16" in done.out
    done = tracearena("convert", points, tmp_path / "finer.csv", "--to", "pwscup", "--grid", "5x5")
    assert done.status == 2
    assert "--places-out" in done.err


@pytest.mark.parametrize("resample", [(), ("--resample", "last")])
def test_points_outside_the_grid_are_counted_however_they_are_sampled(
    points: Path, tmp_path: Path, resample: tuple[str, ...]
) -> None:
    middle = np.median(np.loadtxt(points, delimiter=",", skiprows=1, usecols=(2, 3)), axis=0)
    bounds = f"{middle[0] - 1},{middle[1] - 1},{middle[0]},{middle[1] + 1}"
    what = ("--grid", "4x4", f"--bounds={bounds}", *resample)
    done = tracearena("convert", points, tmp_path / "new.csv", *what)
    assert done.status == 0, done.err
    assert "outside the bounds" in done.err


@pytest.mark.parametrize("command", [("obfuscate", "GeoInd(100m)"), ("attack", "Smooth(9)")])
def test_points_that_are_read_are_not_overwritten(
    points: Path, tmp_path: Path, command: tuple[str, str]
) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes(points.read_bytes())
    words = (*command, file, file) if command[0] == "obfuscate" else (*command, file, "--anonymized", file)
    done = tracearena(*words)
    assert done.status == 2
    assert "is an input" in done.err
    assert file.read_bytes() == points.read_bytes()


def test_an_attack_that_fails_leaves_the_scores_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_walks: Callable[..., Traces]
) -> None:
    (tmp_path / "own_attack.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    reference, original = make_walks(users=12, days=4).split_days(2)
    attacks = ["own_attack:Broken", "VisitProb-R"]
    (row,) = run_sweep(reference, original, defences=["No"], attacks=attacks, seed=1)
    assert row.utility == 1
    assert row.valid
    assert list(row.scores.reidentification) == ["VisitProb-R"]
    assert row.error is not None
    assert "Broken.identify raised KeyError" in row.error
