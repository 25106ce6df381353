"""A student with pandas alone: from the link to a scored defence and attack by what the site shows."""

from __future__ import annotations

import html
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.visitors import browser, by_form, joined

from tracearena import __version__
from tracearena.contest.contest_file import read_contest_file
from tracearena.errors import FileError
from tracearena.server.operations.create import check_wheel, write_preliminary_results
from tracearena.server.operations.schedule import give_extra_time, move_point
from tracearena.server.teams import rename_teams

PAGE = "/team/get-started"


@pytest.fixture
def database() -> None:
    """SQLite: what a page says does not depend on the database."""


def _program(client: Any, which: str) -> str:
    """Return a program as the reader of the page copies it."""
    found = re.search(
        rf'<div id="{which}-program">.*?<code[^>]*>(.*?)</code>', client.get(PAGE).content.decode(), re.DOTALL
    )
    assert found is not None
    return html.unescape(found[1])


def _run(program: str, folder: Path) -> None:
    """Run a program that must know nothing of this package: pandas alone."""
    assert "tracearena" not in program
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _letter(bundle: zipfile.ZipFile) -> str:
    return " ".join(bundle.read("LETTER.txt").decode().split())


def _bundle(client: Any) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(client.get("/team/data/bundle").streaming_content)))


@pytest.mark.slow
def test_pandas_and_the_site_are_enough_for_a_scored_defence_and_a_scored_attack(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's own programs, on what the page's links download; every file is handed in by its form."""
    from tracearena.server.models import Score, Submission

    pytest.importorskip("pandas", reason="`pip install pandas` is missing")
    hands.without_children(monkeypatch)
    held.anonymization()
    student, folder = joined(held, "001"), tmp_path / "student"
    folder.mkdir()
    _bundle(student).extractall(folder)
    defence = _program(student, "defence")
    assert 15 <= len(defence.splitlines()) <= 25
    _run(defence, folder)
    own = folder / "anotraces_team001_data01_IDP.csv"
    assert by_form(student, "obfuscated/1", own.read_bytes(), "d", own.name).status_code == 302
    hands.defend(held, "002", tmp_path)
    hands.judged(held)
    handed_in = Submission.objects.get(team__number="001")
    assert handed_in.state == "scored", handed_in.verdict
    assert 0.7 <= handed_in.utility < 1

    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()
    targets = student.get("/team/targets").content.decode()
    for name in ("reftraces_team002_data01_IDP.csv", "pubtraces_team002_data01_IDP.csv"):
        assert f'href="/files/{name}"' in targets
        (folder / name).write_bytes(b"".join(student.get(f"/files/{name}").streaming_content))
    _run(_program(student, "attack"), folder)
    attack = folder / "etable_team001-002_data01_IDP.csv"
    place = "attack/002/1/inferred-table"
    assert by_form(student, place, attack.read_bytes(), "a", attack.name).status_code == 302
    held.at(SCHEDULE.attack_end + timedelta(minutes=2))
    hands.judged(held)
    score = Score.objects.get(submission__team__number="001", key__startswith="final/")
    assert score.value < 0.95, "on people who hide nothing it finds somebody"


def test_the_page_shows_the_formats_that_the_checker_takes(held: Held) -> None:
    """Three files of five lines each; the headers are those of the checker."""
    page = joined(held, "002").get(PAGE).content.decode()
    examples = re.findall(r'<pre tabindex="0"><code>(\w+\n.*?)</code></pre>', page, re.DOTALL)
    assert [one.splitlines()[0] for one in examples] == ["reg_id", "user_id", "reg_id"]
    assert all(len(one.splitlines()) == 5 for one in examples)
    assert "etable_team002-001_data01_IDP.csv" in page
    assert "pip install &#x27;tracearena[client]&#x27;" in page
    assert "data02_TRP" not in page


def test_a_second_data_set_is_named(holding: Callable[..., Held]) -> None:
    """With the form for it, where teams have two."""
    page = joined(holding(data_sets=2), "001").get(PAGE).content.decode()
    assert "<code>data02_TRP</code>" in page
    assert page.count('href="/team/uploads/obfuscated/2"') == 1


def test_a_wheel_is_served_to_pip_and_named_in_the_line(held: Held, tmp_path: Path) -> None:
    """Without a login; no other file is, and no other version is taken."""
    name = f"tracearena-{__version__}-py3-none-any.whl"
    assert browser().get(f"/wheels/{name}").status_code == 404
    with zipfile.ZipFile(tmp_path / name, "w") as wheel:
        wheel.writestr("tracearena/__init__.py", "")
    check_wheel(tmp_path / name)
    (held.folder.wheels / name).write_bytes((tmp_path / name).read_bytes())
    answer = browser().get(f"/wheels/{name}")
    assert b"".join(answer.streaming_content) == (tmp_path / name).read_bytes()
    assert answer.headers["Content-Type"] == "application/zip"
    page = html.unescape(joined(held, "001").get(PAGE).content.decode())
    assert f"pip install 'tracearena[client] @ http://localhost/wheels/{name}'" in page
    assert browser().get("/wheels/..%2fserver.json").status_code == 404
    for wrong in ("tracearena-99-py3-none-any.whl", "other-1-py3-none-any.whl", "tracearena.whl"):
        (tmp_path / wrong).write_bytes((tmp_path / name).read_bytes())
        with pytest.raises(FileError, match="not a wheel of this version"):
            check_wheel(tmp_path / wrong)
    (tmp_path / name).write_text("no archive")
    with pytest.raises(FileError, match="not a ZIP archive"):
        check_wheel(tmp_path / name)


@pytest.mark.slow
def test_preliminary_results_are_those_of_the_sample_team(held: Held, tmp_path: Path) -> None:
    """Every sample defence, made from what everybody has, in a file and on the page."""
    place = tmp_path / "files"
    place.mkdir()
    (place / "everybody").symlink_to(held.folder.everybody)
    write_preliminary_results(place, read_contest_file(held.folder.contest_file))
    from tracearena import arena

    page = joined(held, "001").get(PAGE).content.decode()
    rows = re.findall(r'<th scope="row" lang="en"><code>(.*?)</code></th><td class="number">(.*?)<', page)
    assert [name for name, _ in rows] == list(arena.SAMPLE_DEFENCES)
    assert dict(rows)["No"] == "1.000"
    assert joined(held, "002").get("/files/preliminary.csv").status_code == 200


def test_letter_and_file_of_the_bundle_follow_the_schedule(held: Held) -> None:
    """A moved end, the extra time of one team, a new name: the next download says so, and the traces stay."""
    held.anonymization()
    first, third = joined(held, "001"), joined(held, "003")
    before = _bundle(first)
    end = SCHEDULE.anonymization_end
    assert f"before {end:%Y-%m-%d %H:%M} UTC" in _letter(before)
    later, latest = end + DAY / 2, end + 0.75 * DAY
    move_point("anonymization_end", later, reason="the network was down", actor="test")
    give_extra_time("003", "anonymization_end", latest, reason="a power cut", actor="test")
    rename_teams({"001": "Paper Cranes"}, "test")
    after, other = _bundle(first), _bundle(third)
    assert f"before {later:%Y-%m-%d %H:%M} UTC" in _letter(after)
    assert "team 001 Paper Cranes" in _letter(after)
    assert f"before {latest:%Y-%m-%d %H:%M} UTC" in _letter(other)
    assert later.isoformat() in after.read("contest.toml").decode()
    assert before.namelist() == after.namelist()
    kept = "orgtraces_team001_data01_IDP.csv"
    assert before.read(kept) == after.read(kept)


def test_the_second_letter_comes_with_the_targets_and_follows_the_schedule(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before, since it names them; contest.toml for everybody follows as well."""
    hands.without_children(monkeypatch)
    held.anonymization()
    hands.defend(held, "002", tmp_path)
    hands.judged(held)
    client = joined(held, "001")
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    letter = "LETTER-attack.txt"
    assert (held.folder.everybody / letter).is_file()
    assert client.get(f"/files/{letter}").status_code == 404
    assert letter not in client.get("/team/data").content.decode()
    move_point("attack_end", SCHEDULE.attack_end + DAY / 2, reason="the network was down", actor="test")
    hands.judged(held)
    held.attack()
    text = " ".join(b"".join(client.get(f"/files/{letter}").streaming_content).decode().split())
    assert "000, 002." in text
    assert f"{SCHEDULE.attack_end + DAY / 2:%Y-%m-%d %H:%M} UTC" in text
    charter = b"".join(client.get("/files/contest.toml").streaming_content).decode()
    assert (SCHEDULE.attack_end + DAY / 2).isoformat() in charter
