"""Time ids mean what the contest's own table of times says, wherever the files of a contest lie."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import tracearena as run

from tracearena.attacks import ReferenceReplay
from tracearena.contest.data import ContestPlan, write_contest_data
from tracearena.io import pwscup
from tracearena.metrics import trace_inference_score
from tracearena.traces import Clock, ObfuscatedTraces, Traces

HOURS = Clock(instants_per_day=8, start_s=9 * 3600, interval_s=3600)
"""Ten such days are 80 times, which are four days of the contest of 2019 as well."""
TEAM = "team001_data01_IDP"


class Routine:
    """Makes people who spend the k-th day of either half at one place, and are seen a few times a day."""

    def __init__(self, places: Any) -> None:
        self.places = places

    def sample_users(self, n: int, days: int, *, seed: Any, **_: Any) -> Traces:
        rng = np.random.default_rng(seed)
        by_day = np.tile(rng.integers(0, len(self.places), (n, days // 2, 1)), (1, 2, 1))
        table = np.repeat(by_day, HOURS.instants_per_day, axis=2)
        strays = rng.random(table.shape) < 0.2
        table[strays] = rng.integers(0, len(self.places), int(strays.sum()))
        # Replay fills a gap from the same day, so it must know where days begin and end.
        unseen = rng.random(table.shape) < 0.6
        unseen[:, days // 2 :] = unseen[..., -1:] = False
        return Traces.from_dense(np.where(unseen, -1, table).reshape(n, -1), self.places, HOURS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, make_walks: Callable[..., Traces]) -> Path:
    """The files of an hourly contest, all in one folder."""
    folder = tmp_path_factory.mktemp("contest") / "all"
    model = Routine(make_walks(users=1).places)
    write_contest_data(folder, model, ContestPlan(teams=1, users=25, days=20), seed=5)
    return folder / "judge"


def replay_by_python(folder: Path, clock: Clock = HOURS) -> float:
    """Return s_T of Replay-T, which looks at no release, by the clock that made the data."""
    places = pwscup.read_places(folder / "info_region.csv")
    reference, original = (
        pwscup.read_traces(folder / f"{kind}traces_{TEAM}.csv", places, clock) for kind in ("ref", "org")
    )
    answer = ReferenceReplay().fit(reference).infer(ObfuscatedTraces.from_traces(original), seed=1)
    return trace_inference_score(original, answer).trace_inference


def test_the_clock_matters_here(made: Path) -> None:
    assert abs(replay_by_python(made) - replay_by_python(made, pwscup.PWS_CLOCK)) > 0.01


def arrange(made: Path, where: Path, layout: str) -> tuple[list[object], Path, Path]:
    """Lay the files out as contests do; return the options of reading, the reference and the original."""
    names = [f"{kind}traces_{TEAM}.csv" for kind in ("ref", "org")]
    if layout == "together":
        folder = Path(shutil.copytree(made, where / "all"))
        return [], folder / names[0], folder / names[1]
    (where / "common").mkdir()
    (where / "judge").mkdir()
    shutil.copy(made / "info_region.csv", where / "common")
    reference = where / ("judge" if layout != "original apart" else "common") / names[0]
    original = where / "judge" / names[1]
    for path in (reference, original):
        shutil.copy(made / path.name, path)
    times = where / "times.csv" if layout == "named" else where / "common" / "info_time.csv"
    if layout == "reference knows":
        times = where / "judge" / "info_time.csv"
    shutil.copy(made / "info_time.csv", times)
    named = ["--times", times] if layout == "named" else []
    return ["--places", where / "common" / "info_region.csv", *named], reference, original


LAYOUTS = ["together", "beside the places", "original apart", "reference knows", "named"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_replay_scores_the_same_on_the_command_line_as_in_python(
    made: Path, tmp_path: Path, layout: str
) -> None:
    wanted = replay_by_python(made)
    options, reference, original = arrange(made, tmp_path, layout)
    swept = run(
        "sweep", tmp_path / "table.csv", "--reference", reference, "--original", original,
        "--defences", "No", "--attacks", "Replay-T", "--seed", 1, *options,
    )  # fmt: skip
    assert swept.status == 0, swept.err
    assert "info_time.csv" not in swept.err
    with open(tmp_path / "table.csv", newline="") as file:
        assert float(next(csv.DictReader(file))["Replay-T"]) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_public_traces_are_attacked_by_the_clock_of_the_contest(
    made: Path, tmp_path: Path, layout: str
) -> None:
    options, reference, original = arrange(made, tmp_path, layout)
    (tmp_path / "public").mkdir()
    public, answer = tmp_path / "public" / "pub.csv", tmp_path / "public" / "etraces.csv"
    assert run("pseudonymise", original, public, "--id-table", tmp_path / "p.csv", *options).status == 0
    assert pwscup.read_times(public.with_name("info_time.csv")).clock == HOURS
    public.with_name("info_time.csv").unlink()
    known = ("--reference", reference, "--anonymized", public, "--seed", 1)
    places = [] if options else ["--places", reference.with_name("info_region.csv")]
    attacked = run("attack", "Replay-T", answer, *known, *options, *places)
    assert attacked.status == 0, attacked.err
    scored = run("score", "trace-inference", "--original", original, "--inferred", answer, "--json", *options)
    assert scored.json["trace_inference"] == pytest.approx(replay_by_python(made), abs=1e-12)


def test_the_contests_clock_is_said_where_it_is_only_assumed(made: Path, tmp_path: Path) -> None:
    options, reference, original = arrange(made, tmp_path, "beside the places")
    (tmp_path / "common" / "info_time.csv").unlink()
    swept = run(
        "sweep", tmp_path / "table.csv", "--reference", reference, "--original", original,
        "--defences", "No", "--attacks", "Replay-T", "--seed", 1, *options,
    )  # fmt: skip
    assert swept.status == 0, swept.err
    told = [line for line in swept.err.splitlines() if "info_time.csv" in line]
    assert len(told) == 1
    assert "20 times per day, every 30 min from 08:00" in told[0]
    assert "--times" in told[0]


def test_two_clocks_are_refused_with_the_option_that_settles_it(made: Path, tmp_path: Path) -> None:
    _, reference, original = arrange(made, tmp_path, "reference knows")
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(reference, other)
    pwscup.write_times(pwscup.ContestTimes(pwscup.PWS_CLOCK, 4, 4), other / "info_time.csv")
    swept = run(
        "sweep", tmp_path / "table.csv", "--reference", other / reference.name, "--original", original,
        "--defences", "No", "--attacks", "Replay-T", "--places", tmp_path / "common" / "info_region.csv",
    )  # fmt: skip
    assert swept.status == 2
    assert "--times" in swept.err
    assert not (tmp_path / "table.csv").exists()
