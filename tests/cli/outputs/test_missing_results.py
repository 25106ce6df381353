"""Where there is nothing to count a result is null in JSON and "none" for people, never nan."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from tests.command_line import tracearena

from tracearena.cli._output import print_result
from tracearena.io import pwscup
from tracearena.metrics.applications import gossip
from tracearena.traces import GpsTraces

POINTS = {
    "morning": "a,2020-01-01T03:00:00Z,35.0,139.0\n",
    "stranger": "b,2020-01-01T12:00:00Z,36.0,139.0\n",
    "two": "a,2020-01-01T03:00:00Z,35.0,139.0\nb,2020-01-01T03:00:00Z,35.0,139.0\n",
}
EVENTS = {
    "one": "a,v1,2020-01-01T03:00:00Z,35.0,139.0\n",
    "other": "b,v2,2020-01-02T03:00:00Z,35.1,139.0\n",
    "move": "a,v1,2020-01-01T03:00:00Z,35.0,139.0\na,v2,2020-01-01T04:00:00Z,35.1,139.0\n",
}


@pytest.fixture
def tiny(tmp_path: Path, make_walks: Callable[..., object]) -> Path:
    for name, rows in POINTS.items():
        (tmp_path / f"points-{name}.csv").write_text("user,time,lat,lon\n" + rows)
    for name, rows in EVENTS.items():
        (tmp_path / f"events-{name}.csv").write_text("user,place,time,lat,lon\n" + rows)
    (tmp_path / "venues.csv").write_text("place,lat,lon\nv1,35.0,139.0\nv2,35.1,139.0\n")
    walks = make_walks(users=1, days=2, side=2)
    reference, original = walks.split_days(1)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    return tmp_path


@pytest.fixture
def result(tiny: Path):
    """Run a command both ways; return what it says in JSON, None where it refuses with a sentence."""

    def once(*arguments: object) -> tuple[int, str]:
        status, out, _ = tracearena(*arguments, folder=tiny)
        assert not re.search(r"\b(nan|inf|infinity)\b", out, re.IGNORECASE), out
        return status, out

    def both(*arguments: object) -> dict[str, object] | None:
        status, _ = once(*arguments)
        assert status in (0, 2)
        again, out = once(*arguments, "--json")
        assert again == status
        return json.loads(out) if status == 0 else None

    both.once = once
    return both


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "homes",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("error", "gossip", "hotspots", "uniqueness")),
    ],
)
def test_applications_on_single_points(result, command):
    options = ("--seed", 1, "--draws", 3) if command == "uniqueness" else ()
    for original, released in product(POINTS, POINTS):
        files = "--original", f"points-{original}.csv", "--released", f"points-{released}.csv"
        result("applications", command, *files, *options)


def test_gossip_with_one_user_reaches_nobody_else_because_there_is_nobody(result):
    found = result(
        "applications", "gossip", "--original", "points-morning.csv", "--released", "points-morning.csv"
    )
    assert found["infection_rate"] == 1
    assert found["others_reached"] is None
    assert found["baseline_others_reached"] is None


def test_gossip_without_users_has_no_rate():
    nobody = gossip(GpsTraces.from_points([], [], [], []))
    assert (nobody.infection_rate, nobody.others_reached) == (None, None)


def test_homes_that_nobody_has_are_not_found_with_none(result):
    files = "--original", "points-morning.csv", "--released", "points-morning.csv"
    found = result("applications", "homes", *files)
    assert found["users_with_home"] + found["users_with_work"] <= 2
    assert None in (found["home_error_m"], found["work_error_m"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "synthetic", [n if n == "move" else pytest.param(n, marks=pytest.mark.long) for n in EVENTS]
)
def test_evaluate_on_single_events(result, synthetic):
    for train, test in product(EVENTS, EVENTS):
        files = "--train", f"events-{train}.csv", "--test", f"events-{test}.csv"
        result("evaluate", "--places", "venues.csv", *files, "--synthetic", f"events-{synthetic}.csv")


@pytest.mark.parametrize(
    "name", [*(f"points-{name}" for name in POINTS), *(f"events-{name}" for name in EVENTS)]
)
def test_describe(result, name):
    result("describe", f"{name}.csv")


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, pytest.param(1, marks=pytest.mark.long)])
def test_similarity_of_single_events(result, order):
    for a, b in product(("one", "move"), repeat=2):
        files = f"events-{a}.csv", f"events-{b}.csv"
        assert result("similarity", *files, "--places", "venues.csv", "--order", order, "--seed", 1)


@pytest.mark.slow
def test_scores_of_one_user_of_whom_everything_is_deleted(result, tiny):
    places = "--places", "places.csv"
    assert result("obfuscate", "MRLH(0,0,1)", "org.csv", "ano.csv", *places, "--seed", 1)
    assert result("score", "utility", *places, "--original", "org.csv", "--obfuscated", "ano.csv")
    once = result.once(
        "pseudonymise", "ano.csv", "pub.csv", "--original", "org.csv", *places, "--id-table", "pt.csv"
    )
    assert once[0] == 0
    assert result(
        "attack", "Random-T", "et.csv", "--anonymized", "pub.csv", "--reference", "ref.csv", *places,
        "--seed", 1,
    )  # fmt: skip
    files = "--original", "org.csv", "--inferred", "et.csv"
    for weight in (0, 1e-9, 10):
        result("score", "trace-inference", *places, *files, "--sensitive-weight", weight)
    assert result(
        "sweep", "table.csv", *places, "--reference", "ref.csv", "--original", "org.csv", "--defences",
        "MRLH(0,0,1)", "--attacks", "Random-R", "--attacks", "Random-T", "--seed", 1,
    )  # fmt: skip
    assert "nan" not in (tiny / "table.csv").read_text()


def test_whatever_comes_out_of_a_metric_nan_is_not_printed(capsys):
    values = {"rate": float("nan"), "by": {"1": float("inf"), "2": 0.5}, "n": 3}
    print_result(values, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"rate": None, "by": {"1": None, "2": 0.5}, "n": 3}
    print_result(values, as_json=False)
    shown = capsys.readouterr()
    assert shown.out == "rate  none\nby    1: none, 2: 0.5\nn     3\n"
    assert shown.err == "none: there is no data to compute this value from\n"
