"""Anybody can prove the judge right on the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contest.archived import changed, finished

from tracearena.contest import write_archive

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("contest") / "friday")


@pytest.fixture(scope="module")
def archive(folder: Path) -> Path:
    write_archive(folder, folder.parent / "friday.zip", originals=True)
    return folder.parent / "friday.zip"


def other_table(folder: Path) -> None:
    """Exchange two users of an ID table."""
    path = folder / "judge" / "ptable_team001_data01_IDP.csv"
    header, first, second, *rest = path.read_text().splitlines()
    (a, b), (c, d) = first.split(","), second.split(",")
    path.write_text("\n".join([header, f"{a},{d}", f"{c},{b}", *rest, ""]))


@pytest.mark.slow
def test_it_says_what_was_checked(run: Run, archive: Path) -> None:
    done = run("contest", "verify", archive)
    assert done.status == 0
    assert "commitments  3\n" in done.out
    assert done.out.endswith(": everything is correct\n")
    told = json.loads(run("contest", "verify", archive, "--json").out)
    assert told["right"] is True
    assert told["findings"] == told["not_made_again"] == []


@pytest.mark.slow
def test_it_names_what_is_wrong_and_ends_with_status_1(run: Run, archive: Path, tmp_path: Path) -> None:
    bad = changed(archive, tmp_path / "bad.zip", other_table)
    done = run("contest", "verify", bad)
    assert done.status == 1
    assert (
        "commitment: judge/ptable_team001_data01_IDP.csv: got another table; expected the table of "
        in done.out
    )
    as_json = run("contest", "verify", bad, "--json")
    assert as_json.status == 1
    told = json.loads(as_json.out)
    assert told["right"] is False
    assert told["findings"][0]["where"] == "judge/ptable_team001_data01_IDP.csv"


def test_it_says_which_scores_could_not_be_found_again(run: Run, folder: Path, tmp_path: Path) -> None:
    write_archive(folder, tmp_path / "given.zip")
    done = run("contest", "verify", tmp_path / "given.zip")
    assert done.status == 0
    assert "not recomputed, because the archive has no original traces: utility of team 001" in done.err


def test_a_file_that_is_no_archive_is_bad_input(run: Run, folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "contest.toml", tmp_path / "x.zip")
    for path in (tmp_path / "x.zip", tmp_path / "none.zip", tmp_path):
        done = run("contest", "verify", path)
        assert done.status == 2
        assert "Traceback" not in done.err


def test_contest_data_does_not_take_the_source_of_a_contests_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "contest.toml").write_text('[data]\nsource = "city"\n')
    done = run("contest", "data", tmp_path / "in.csv", tmp_path / "x", "--rules", tmp_path / "contest.toml")
    assert done.status == 2
    assert "remove the section" in done.err
