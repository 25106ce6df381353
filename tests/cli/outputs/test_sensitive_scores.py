"""A weight of sensitive places is never without them, silently."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import Done, tracearena

from tracearena.io import pwscup
from tracearena.traces import Places, Traces


@pytest.fixture(params=[True, False], ids=["hospitals", "none"])
def hospitals(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces], hospitals: bool) -> Path:
    reference, original = make_walks(users=6, days=4).split_days(2)
    places = original.places
    assert places.grid is not None
    sensitive = places.sensitive if hospitals else np.zeros(len(places), bool)
    marked = Places.of_grid(places.grid, sensitive=sensitive, km_per_degree=(111, 91))
    pwscup.write_places(marked, tmp_path / "info_region.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    pwscup.write_inferred_traces(original, tmp_path / "et.csv")
    return tmp_path


def score(team: Path, *more: object) -> Done:
    command = ("score", "trace-inference", "--original", "org.csv", "--inferred", "et.csv", "--json")
    return tracearena(*command, *more, folder=team)


def warned(done: Done) -> int:
    assert done.status == 0, done.err
    return done.err.count("none of the 64 places is sensitive")


def test_score_counts_them_and_warns_once(team: Path, hospitals: bool) -> None:
    done = score(team)
    assert done.json["sensitive_places"] == (7 if hospitals else 0)
    assert warned(done) == (not hospitals)


def test_a_weight_of_one_needs_none(team: Path) -> None:
    assert warned(score(team, "--sensitive-weight", 1)) == 0


@pytest.mark.parametrize("attack", ["Replay-T", "VisitProb-R"])
def test_sweep_warns_where_it_scores_trace_inference(team: Path, hospitals: bool, attack: str) -> None:
    done = tracearena(
        "sweep", "table.csv", "--reference", "ref.csv", "--original", "org.csv", "--defences", "No",
        "--defences", "RR(1)", "--attacks", attack, "--seed", 1, "--json", folder=team,
    )  # fmt: skip
    if attack == "VisitProb-R":
        assert "sensitive_places" not in done.json
        assert warned(done) == 0
        return
    assert done.json["sensitive_places"] == (7 if hospitals else 0)
    assert warned(done) == (not hospitals)
