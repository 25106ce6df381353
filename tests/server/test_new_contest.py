"""`contest new`: everything is checked before anything is made, and nothing half made is left."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Done, tracearena
from tests.server.conftest import BEGIN, DAYS, TEAMS, USERS

from tracearena import __version__
from tracearena.files import csv_rows
from tracearena.server import clock
from tracearena.server.store.crypto import needs_passphrase, read_judge_key
from tracearena.server.store.folder import Folder

SMALL = ("--teams", TEAMS, "--users", USERS, "--days", DAYS, "--factors", 2, "--iterations", 2, "--seed", 1)


@pytest.fixture(autouse=True)
def _before_the_phases(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ready-made files have a schedule of their own, and a contest that is over cannot be made."""
    file = tmp_path_factory.mktemp("clock") / "clock"
    clock.set_driven(file, BEGIN)
    monkeypatch.setenv(clock.VARIABLE, str(file))


def new(folder: Path, *words: object) -> Done:
    return tracearena("contest", "new", "friday", *words, folder=folder)


def refused(folder: Path, *words: object) -> str:
    before = sorted(folder.rglob("*"))
    done = new(folder, *words)
    assert done.status == 2, done.out
    assert sorted(folder.rglob("*")) == before, "nothing is made"
    return done.err


@pytest.mark.slow
def test_people_of_the_city_are_the_default(tmp_path: Path) -> None:
    """What was made is printed, with a link for the organiser and one for each team."""
    done = new(tmp_path, *SMALL, "--base-url", "https://contest.example.org/", "--json")
    assert done.status == 0, done.err
    assert done.json["people"] == "city"
    assert sorted(done.json["invitations"]) == ["001", "002", "003"]
    links = [done.json["organiser"], *done.json["invitations"].values()]
    assert all(link.startswith("https://contest.example.org/join#") for link in links)
    assert len(set(links)) == 4
    later = tracearena("contest", "organiser", "add", tmp_path / "friday", "--json")
    assert later.json["link"].startswith("https://contest.example.org/join#"), "it is remembered"
    assert read_judge_key(tmp_path / "friday.judge-key")
    assert Folder(tmp_path / "friday").read_secrets().database is None
    shown = (tmp_path / "friday" / "contest.toml").read_text()
    assert "seed" not in shown, "the seed would give all people away"


@pytest.mark.slow
def test_people_of_the_organisers_own_traces_are_never_given_away(
    tmp_path: Path, make_walks: Callable[..., Any]
) -> None:
    """They are learned from, and the contest knows that they are real."""
    from tracearena.io import pwscup

    walks = make_walks(users=30, days=4)
    pwscup.write_places(walks.places, tmp_path / "info_region.csv")
    pwscup.write_traces(walks, tmp_path / "walks.csv")
    done = new(tmp_path, *SMALL, "--data", "walks.csv", "--walk", f"{walks.clock.interval_s}s", "--json")
    assert done.status == 0, done.err
    assert done.json["people"] == "traces"
    from tracearena.server.models import Contest
    from tracearena.server.settings import configure

    configure(Folder(tmp_path / "friday"))
    assert Contest.get_current().people == "real"


@pytest.mark.slow
def test_official_files_that_are_ready_are_taken(tmp_path: Path, prepared: Callable[..., Path]) -> None:
    """With the contest's file that lies beside them; one that is missing is named."""
    files = prepared()
    done = new(tmp_path, "--files", files, "--json")
    assert done.status == 0, done.err
    assert done.json["contest"] == "Test <contest>"
    assert (tmp_path / "friday" / "sealed" / "judge" / "orgtraces_team001_data01_IDP.csv").is_file()
    (tmp_path / "fewer").mkdir()
    for path in (files / "judge").iterdir():
        if path.name != "reftraces_team002_data01_IDP.csv":
            (tmp_path / "fewer" / path.name).write_bytes(path.read_bytes())
    charter = ["--rules", files / "contest.toml", "--judge-key", "other-key"]
    again = tracearena("contest", "new", "again", "--files", "fewer", *charter, folder=tmp_path)
    assert (again.status, "reftraces_team002_data01_IDP.csv" in again.err) == (2, True)
    assert not (tmp_path / "again").exists()
    assert not (tmp_path / "other-key").exists()


@pytest.mark.slow
def test_names_links_and_a_wheel_come_with_the_contest(tmp_path: Path) -> None:
    """As many teams as names; links in a file of the owner's; the wheel where pip finds it; no own names."""
    (tmp_path / "names.csv").write_text('name\nPaper Cranes\n"=HYPERLINK(""x"")"\nFog Bank\n')
    wheel = f"tracearena-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / wheel, "w") as archive:
        archive.writestr("tracearena/__init__.py", "")
    without_teams = SMALL[2:]
    done = new(
        tmp_path, *without_teams, "--names", "names.csv", "--links", "links.csv", "--wheel", wheel,
        "--no-own-names",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "team 001 Paper Cranes" in done.out
    assert "only this machine can reach" in done.err, "nobody said where browsers come"
    assert "creating the people of 3 teams" in done.err, "a pipe hears something as well"
    links = tmp_path / "links.csv"
    assert links.stat().st_mode & 0o777 == 0o600
    rows = csv_rows(links.read_text())
    assert rows[0] == ["team", "name", "link"]
    assert [row[:2] for row in rows[1:]] == [
        ["001", "Paper Cranes"], ["002", '=HYPERLINK("x")'], ["003", "Fog Bank"],
    ]  # fmt: skip
    assert "'=HYPERLINK" in links.read_text(), "no spreadsheet takes it for a formula"
    assert all(row[2] in done.out for row in rows[1:])
    folder = Folder(tmp_path / "friday")
    assert (folder.wheels / wheel).is_file()
    assert len((folder.everybody / "preliminary.csv").read_text().splitlines()) == 38
    from tracearena.server.models import Contest
    from tracearena.server.settings import configure

    configure(folder)
    assert Contest.get_current().teams_may_choose_names is False
    shown = (folder.path / "contest.toml").read_text()
    assert 'name = "A contest"' in shown
    assert "Fog Bank" in shown


@pytest.mark.slow
def test_what_cannot_be_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """Folder, key, database, options, charter: each by a sentence."""
    (tmp_path / "key").write_text("an older one")
    (tmp_path / "contest.toml").write_text('name = "Friday"\nteams = 0\n')
    assert "never overwritten" in refused(tmp_path, "--judge-key", "key")
    assert "must be outside" in refused(tmp_path, "--judge-key", "friday/key")
    away = refused(tmp_path, "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert "does not answer" in away
    assert "refused" in away
    assert "postgresql://" in refused(tmp_path, "--database", "mysql://here/none")
    assert "line 2" in refused(tmp_path, "--rules", "contest.toml")
    assert "not both" in refused(tmp_path, "--data", "a.csv", "--files", "b")
    assert "--grid" in refused(tmp_path, "--grid", "8x8")
    assert "with its zone" in refused(tmp_path, "--begin", "2026-05-01")
    (tmp_path / "names.csv").write_text("name\nCranes\ncranes\n")
    assert "row 2" in refused(tmp_path, "--names", "names.csv")
    (tmp_path / "names.csv").write_text("team,name\n009,Cranes\n")
    assert "001 to 003" in refused(tmp_path, "--names", "names.csv", "--teams", "3")
    (tmp_path / "links.csv").touch()
    assert "links are written to a new file" in refused(tmp_path, "--links", "links.csv")
    assert "not a wheel of this version" in refused(tmp_path, "--wheel", "names.csv")
    (tmp_path / "friday").mkdir()
    (tmp_path / "friday" / "something").touch()
    assert "not an empty folder" in refused(tmp_path)


def test_a_failure_in_the_middle_takes_the_key_away_again(
    tmp_path: Path, prepared: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key without its contest would only puzzle its owner."""
    from tracearena.errors import DataError
    from tracearena.server.operations import create

    def fail(*words: object, **named: object) -> None:
        raise DataError("the disk is gone")

    monkeypatch.setattr(create, "create_contest", fail)
    assert "the disk is gone" in refused(tmp_path, "--files", prepared())


@pytest.mark.slow
def test_the_key_may_be_locked_by_a_passphrase(tmp_path: Path, prepared: Callable[..., Path]) -> None:
    """It comes through a file descriptor where there is no terminal."""
    (tmp_path / "words").write_text("correct horse battery staple\n")
    with (tmp_path / "words").open() as file:
        done = new(tmp_path, "--files", prepared(), "--passphrase-fd", file.fileno(), "--json")
    assert done.status == 0, done.err
    assert needs_passphrase(tmp_path / "friday.judge-key")
    assert read_judge_key(tmp_path / "friday.judge-key", "correct horse battery staple")
    silent = tracearena("contest", "new", "other", "--files", prepared(), "--passphrase", folder=tmp_path)
    assert (silent.status, "--passphrase-fd" in silent.err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "words"), [("server", ("status", "friday")), ("client", ("client", "status"))]
)
def test_a_missing_extra_is_named_with_what_brings_it(
    extra: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracearena.cli import contest_server

    monkeypatch.setattr(contest_server, "find_spec", lambda name: None)
    done = tracearena("contest", *words)
    assert (done.status, done.out) == (2, "")
    assert f"pip install 'tracearena[{extra}]'" in done.err
