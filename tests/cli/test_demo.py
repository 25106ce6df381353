"""``tracearena demo``."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contest.residents import Residents

from tracearena import contest
from tracearena.errors import DataError


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the contest with few people."""
    whole = contest.simulate_contest

    def rehearse(**options: Any) -> contest.SimulatedContest:
        return whole(users=25, days=4, maker=Residents(), **options)

    monkeypatch.setattr(contest, "simulate_contest", rehearse)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_page_and_the_files_of_a_team_are_written(run: Callable[..., Any], tmp_path: Path) -> None:
    done = run("demo", "--out", tmp_path / "demo", "--teams", 3, "--seed", 4)
    assert done.status == 0, done.err
    assert "Best anonymization" in done.out
    assert str(tmp_path / "demo" / "report.html") in done.out
    assert "everybody attacks" in done.err
    team = tmp_path / "demo" / "team001"
    files = {name: team / f"{name}traces_team001.csv" for name in ("org", "obf")}
    scored = run("score", "utility", "--places", team / "info_region.csv", "--original", files["org"],
                 "--obfuscated", files["obf"], "--json")  # fmt: skip
    assert scored.status == 0, scored.err
    assert scored.json["utility"] >= 0.7
    assert "info_time.csv" not in scored.err


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_json_is_one_object_and_the_seed_makes_it_again(run: Callable[..., Any], tmp_path: Path) -> None:
    first = run("demo", "--out", tmp_path / "a", "--teams", 2, "--seed", 4, "--json").json
    again = run("demo", "--out", tmp_path / "b", "--teams", 2, "--seed", 4, "--json").json
    assert first.pop("report") != again.pop("report")
    assert first == again
    assert [award["name"] for award in first["awards"]] == [
        "best-anonymization",
        "best-reidentification",
        "best-trace-inference",
    ]
    pages = [(tmp_path / name / "report.html").read_bytes() for name in "ab"]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("teams", ["1", "22", "many"])
def test_a_wrong_number_of_teams_is_bad_usage(run: Callable[..., Any], tmp_path: Path, teams: str) -> None:
    assert run("demo", "--out", tmp_path / "demo", "--teams", teams).status == 2
    assert not (tmp_path / "demo").exists()


def test_a_folder_that_cannot_be_is_bad_input(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("a file")
    done = run("demo", "--out", tmp_path / "demo", "--seed", "1")
    assert done.status == 2
    assert "Traceback" not in done.err


def test_a_long_stage_says_how_far_it_is_where_there_is_no_bar(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]

    def rehearse(tell: Callable[[str, int, int], None], **_: Any) -> None:
        for what, done, now[0] in (
            ("defend", 0, 100),
            ("defend", 1, 104),
            ("defend", 2, 111),
            ("attack", 0, 112),
        ):
            tell(what, done, 7)
        raise DataError("over")

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(contest, "simulate_contest", rehearse)
    done = run("demo", "--out", tmp_path / "demo", "--seed", "1")
    assert done.err.splitlines() == ["defend", "defend: 2 of 7", "attack", "over"]
