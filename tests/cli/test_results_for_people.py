"""Results are rounded for people and whole for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracearena.cli._output import format_for_people, print_result
from tracearena.papers import list_figures

RESULT = {
    "events": 1234567,
    "pass_rate": 0.123456789,
    "metres": 12345.678,
    "settled": False,
    "written": ["a.csv", "b.csv"],
    "share_by_points": {"1": 2 / 3, "2": 1.0},
    "bounds": {"south": 35.123456, "west": 139.765432},
    "seed": 123456789,
}


def test_people_get_four_digits_and_words(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(RESULT, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "events           1,234,567",
        "pass rate        0.1235",
        "metres           12,346",
        "settled          no",
        "written          a.csv, b.csv",
        "share by points  1: 0.6667, 2: 1",
        "bounds           south: 35.123456, west: 139.765432",
        "seed             123456789",
    ]


def test_machines_get_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(RESULT, as_json=True)
    assert json.loads(capsys.readouterr().out) == RESULT


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (-0.00012344, "-0.0001234"),
        (999.96, "1,000"),
        (1e-12, "1e-12"),
        ([], "none"),
        (999, "999"),
    ],
)
def test_numbers_at_the_edges(value: object, words: str) -> None:
    assert format_for_people(value) == words


def test_a_command_prints_both_ways(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    words = ("city", tmp_path / "city.csv", "--users", 25, "--days", 2, "--seed", 12345)
    shown = dict(line.split(maxsplit=1) for line in run(*words).out.splitlines())
    assert (shown["events"], shown["seed"]) == ("1,000", "12345")
    assert run(*words, "--json").json["events"] == 1000


def test_the_figures_are_listed_with_what_they_show(run) -> None:  # type: ignore[no-untyped-def]
    lines = run("figure", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == list(list_figures())
    listed = run("figure", "list", "--json").json["figures"]
    assert {one["name"]: one["shows"] for one in listed} == {
        name: one.shows for name, one in list_figures().items()
    }
    done = run("figure", "list", "--seed", 0)
    assert (done.status, "--seed does not apply to the list of figures" in done.err) == (2, True)
