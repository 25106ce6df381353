"""``tracearena audit`` as a data owner meets it."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Done, tracearena

from tracearena.cities import simulate
from tracearena.io import write

Run = Callable[..., Done]


@pytest.mark.slow
def test_a_file_becomes_a_page_and_numbers(run: Run, team: Path) -> None:
    out = team / "audit"
    done = run(
        "audit", team / "org.csv", "--places", team / "places.csv", "--out", out, "--seed", 1, "--draws", 2
    )
    assert done.status == 0, done.err
    assert "verdict" in done.out
    assert "cut in two" in done.err
    assert {path.name for path in out.iterdir()} == {"audit.html", "audit.json"}
    numbers = json.loads((out / "audit.json").read_text())
    assert numbers["file"]["name"] == "org.csv"
    assert numbers["complete"]
    proposed = (
        f"tracearena protect org.csv safer.csv --places {shlex.quote(str(team / 'places.csv'))} --target"
    )
    assert proposed in html.unescape((out / "audit.html").read_text())


@pytest.mark.slow
def test_a_release_is_audited_beside_the_original(run: Run, team: Path) -> None:
    places = ("--places", team / "places.csv")
    assert run("obfuscate", "PL(1,1)", team / "org.csv", team / "ano.csv", *places, "--seed", 1).status == 0
    words = ("--released", team / "ano.csv", "--out", team / "audit", "--csv", "--seed", 1, "--draws", 2)
    done = run("audit", team / "org.csv", *places, *words, "--json")
    assert done.status == 0, done.err
    assert done.json["release"]["name"] == "ano.csv"
    assert done.json["usefulness"]["kept"] < 1
    assert (team / "audit" / "shares.csv").is_file()


@pytest.mark.slow
def test_without_the_mechanism_a_release_is_not_proven(tmp_path: Path) -> None:
    """Attackers who know the defence were not tried, so that what others find is no upper end."""
    write(simulate(users=60, days=20, mode="checkins", checkins_per_user=30, seed=4), tmp_path / "in.csv")
    defence = "RR(0.01)+RoundTime(day)"
    assert tracearena("obfuscate", defence, "in.csv", "out.csv", "--seed", 1, folder=tmp_path).status == 0
    limits = ("found-again=50%", "singling-out=100%", "inference=100%")
    words = [word for one in limits for word in ("--limit", one)]
    words += ["--released", "out.csv", "--seed", "1", "--draws", "2"]
    told = ("--mechanism", defence, "--out", "told", "--json")
    by_told = tracearena("audit", "in.csv", *words, *told, folder=tmp_path).json
    assert by_told["verdict"] == "green"
    assert not by_told["lights"][1]["at_least"]
    by_others = tracearena("audit", "in.csv", *words, "--out", "untold", "--json", folder=tmp_path).json
    assert by_others["verdict"] == "amber"
    assert by_others["headline"].startswith("Not proven")
    assert by_others["lights"][1]["at_least"]
    assert not any(by_others["lights"][one]["at_least"] for one in (0, 2))
    page = html.unescape((tmp_path / "untold" / "audit.html").read_text())
    said = "Attackers who know the defence were not tried and may find more"
    assert said in page
    assert f"at least {by_others['lights'][1]['share']['value']:.1%}</p>" in page
    assert said not in html.unescape((tmp_path / "told" / "audit.html").read_text())
    shown = tracearena("audit", "in.csv", *words, "--out", "again", folder=tmp_path).out
    assert "amber: at least " in shown
    assert said in shown


@pytest.mark.slow
def test_days_of_the_span_and_days_with_data_have_names_of_their_own(run: Run, tmp_path: Path) -> None:
    rows = [
        f"u{user},2012-04-{day:02} {9 + hour}:00:00,p{(user + hour) % 7},40.7{(user + hour) % 7},-74.0"
        for user in range(12)
        for day in (1, 3, 10)
        for hour in range(4)
    ]
    (tmp_path / "events.csv").write_text("\n".join(["user,time,place,lat,lng", *rows]) + "\n")
    described = run("describe", tmp_path / "events.csv")
    assert [line.split() for line in described.out.splitlines() if "days" in line] == [["span", "10", "days"]]
    done = run("audit", tmp_path / "events.csv", "--out", tmp_path / "audit", "--seed", 1, "--draws", 2)
    assert done.status == 0, done.err
    page = html.unescape((tmp_path / "audit" / "audit.html").read_text())
    assert "on 3 days with data" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--limit", "found-again=much"],
            "--limit found-again = 'much' is not allowed; it must be a share such as 5% or 0.05",
        ),
        (["--synthetic"], "--synthetic does not apply to a file without --released"),
        (["--people", "0"], "--people = 0 is not allowed"),
    ],
)
def test_mistakes_get_a_sentence(run: Run, team: Path, words: list[str], said: str) -> None:
    done = run("audit", team / "org.csv", "--places", team / "places.csv", "--out", team / "a", *words)
    assert done.status == 2
    assert said in done.err
    assert not (team / "a").exists()


def test_a_folder_in_use_is_refused_before_any_work(run: Run, team: Path) -> None:
    done = run("audit", team / "org.csv", "--places", team / "places.csv", "--out", team)
    assert done.status == 2
    assert "is not an empty folder" in done.err


def test_a_stopped_audit_leaves_a_page_marked_incomplete(
    run: Run, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracearena.audit import audit

    def stop(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(audit, "link", stop)
    done = run("audit", team / "org.csv", "--places", team / "places.csv", "--out", team / "a", "--draws", 2)
    assert done.status != 0
    assert "has the results so far" in done.err
    assert "was interrupted" in (team / "a" / "audit.html").read_text()
    assert not json.loads((team / "a" / "audit.json").read_text())["complete"]


def test_of_a_file_that_is_too_large_people_are_drawn(tmp_path: Path) -> None:
    from tracearena.jobs.risk import choose_sample

    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    for path, size in ((small, 1 << 20), (large, 400 << 20)):
        with path.open("wb") as file:
            file.truncate(size)
    assert choose_sample(small, 1, quick=False) is None
    drawn = choose_sample(large, 1, quick=False)
    assert drawn is not None
    assert drawn.rows == 20_000_000
    quick = choose_sample(small, 1, quick=True)
    assert quick is not None
    assert quick.rows < drawn.rows
