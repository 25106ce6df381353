"""Past contests in the folder: shown with those who won, and read as what anybody may have made."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import Held
from tests.server.test_export import over
from tests.server.test_public_pages import page
from tests.server.visitors import browser, joined, organiser

from tracearena.contest import verify_archive
from tracearena.server import past_contests
from tracearena.server.models import AuditEntry, Contest, Job

__all__ = ["over"]

MANIFEST, CHARTER, BOARD = "manifest.json", "contest.toml", "results/board.json"


@pytest.fixture
def database() -> None:
    """SQLite: what lies in a folder does not depend on the database."""


@pytest.fixture
def boss(held: Held) -> Any:
    """An organiser, who comes in while the link is good."""
    return organiser(held)


@pytest.fixture
def member(held: Held) -> Any:
    """Somebody of a team."""
    return joined(held, "001")


def _archived(boss: Any, over: Held) -> Path:
    """Let the organiser ask for an archive for everybody, and the judge make it."""
    assert boss.post("/organiser/export", {"for": "everybody"}).status_code == 302
    assert "The judge is making an archive." in page("/organiser/export", boss)
    hands.judged(over)
    return over.folder.archive / "test-contest.zip"


def test_without_an_archive_the_page_says_so(held: Held) -> None:
    """Organisers are told how one comes there, and a folder that is not there is an empty one."""
    for present in (True, False):
        text = page("/archive")
        assert "There are none yet." in text
        assert "<code>archive</code>" not in text
        if present:
            held.folder.archive.rmdir()
    assert "<code>archive</code>" in page("/archive", organiser(held))


@pytest.mark.slow
def test_a_past_contest_is_shown_with_its_awards_board_and_archive(boss: Any, over: Held) -> None:
    """Everybody sees it; its bytes are those of the archive, and prove the judge right."""
    path = _archived(boss, over)
    text = page("/archive")
    assert '<a href="/archive/test-contest.zip"><bdi>Test &lt;contest&gt;</bdi></a>' in text
    assert "3 teams" in text
    assert "Best anonymization" in text
    text = page("/archive/test-contest.zip")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in text
    assert "contains the original traces" in text
    assert 'href="/archive/test-contest.zip/numbers/board.csv"' in text
    assert 'href="/archive/test-contest.zip/numbers/privacy.csv"' in text
    sent = browser().get("/archive/test-contest.zip/download")
    assert b"".join(sent.streaming_content) == path.read_bytes()
    assert verify_archive(path).is_right
    saved = browser().get("/archive/test-contest.zip/numbers/board.csv").content.decode()
    assert saved == browser().get("/board/numbers/board.csv").content.decode()
    for missing in ("other.zip", "test-contest.zip/numbers/nothing.csv", "..%2fcontest.toml"):
        assert browser().get(f"/archive/{missing}").status_code == 404


def _rewritten(path: Path, changes: dict[str, Callable[[bytes], bytes]], *, honest: bool = True) -> None:
    """Change files of an archive; the manifest agrees unless it should not."""
    with zipfile.ZipFile(path) as source:
        parts = {one: source.read(one) for one in (MANIFEST, CHARTER, BOARD)}
    parts |= {name: change(parts[name]) for name, change in changes.items()}
    if honest and MANIFEST not in changes:
        manifest = json.loads(parts[MANIFEST])
        manifest["sha256"] |= {name: hashlib.sha256(parts[name]).hexdigest() for name in (CHARTER, BOARD)}
        parts[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)


def _board(change: Callable[[dict[str, Any]], object]) -> dict[str, Callable[[bytes], bytes]]:
    def changed(content: bytes) -> bytes:
        values = json.loads(content)
        change(values)
        return json.dumps(values).encode()

    return {BOARD: changed}


HOSTILE: dict[str, dict[str, Callable[[bytes], bytes]]] = {
    "no JSON": {BOARD: lambda _: b"{"},
    "no table": {BOARD: lambda _: b"[]"},
    "deep": {BOARD: lambda _: 100_000 * b"[" + 100_000 * b"]"},
    "huge": {BOARD: lambda content: content + (2**24) * b" "},
    "not a number": _board(lambda board: board["board"][0].update(s_T_min=float("nan"))),
    "a large number": _board(lambda board: board["board"][0].update(s_T_min=10**400)),
    "a text": _board(lambda board: board["board"][0].update(s_T_min="0.5")),
    "a script": _board(lambda board: board["board"][0].update(team="<script>")),
    "a stranger": _board(lambda board: board["attacks"][0].update(attacker="017")),
    "a kind": _board(lambda board: board["attacks"][0].update(kind="guess")),
    "no rows": _board(lambda board: board.update(board=7)),
    "an award": _board(lambda board: board["awards"][0].update(name="<img>")),
    "a place": _board(lambda board: board["awards"][0].update(places=[{"place": 1, "team": [], "value": 1}])),
    "no rules": {CHARTER: lambda _: b"name = 7"},
    "many teams": {CHARTER: lambda content: content.replace(b"teams = 3", b"teams = 1000000")},
    "another format": {MANIFEST: lambda _: b'{"format": "zip"}'},
    "a list": {MANIFEST: lambda _: b"[]"},
}


@pytest.mark.slow
def test_what_does_not_fit_is_no_past_contest(boss: Any, member: Any, over: Held) -> None:
    """It is not shown, nothing breaks, and the organiser is told which file and why."""
    path = _archived(boss, over)
    whole = path.read_bytes()
    _rewritten(path, {CHARTER: lambda content: content})
    assert past_contests.find_unreadable_archives(over.folder) == []
    for number, (name, changes) in enumerate(HOSTILE.items()):
        path.write_bytes(whole)
        _rewritten(path, changes)
        os.utime(path, (number, number))
        assert "There are none yet." in page("/archive"), name
        assert browser().get("/archive/test-contest.zip").status_code == 404, name
        assert browser().get("/archive/test-contest.zip/download").status_code == 404, name
    assert "test-contest.zip" not in page("/archive", member)
    assert "<code>test-contest.zip</code>: <bdi>DataError: its manifest or its board" in page(
        "/archive", boss
    )


@pytest.mark.slow
def test_files_that_are_no_archives_are_left_alone(boss: Any, over: Held) -> None:
    """No zip, a link, another name, a manifest that lies, a list of files that takes too much."""
    path = _archived(boss, over)
    assert past_contests.find_unreadable_archives(over.folder) == []
    whole, place = path.read_bytes(), path.parent
    (place / "text.zip").write_text("hello")
    (place / "cut.zip").write_bytes(whole[: len(whole) // 2])
    (place / "a b.zip").write_bytes(whole)
    (place / ".hidden.zip").write_bytes(whole)
    (place / "link.zip").symlink_to(path)
    (place / "lie.zip").write_bytes(whole)
    _rewritten(place / "lie.zip", {BOARD: lambda content: content + b" "}, honest=False)
    assert [one.file for one in past_contests.list_past_contests(over.folder)] == ["test-contest.zip"]
    assert {name for name, _ in past_contests.find_unreadable_archives(over.folder)} == {
        "text.zip",
        "cut.zip",
        "lie.zip",
    }
    assert past_contests.list_past_contests(over.folder, most_read=1_000) == []


def test_an_archive_comes_after_the_results(boss: Any) -> None:
    """Before, the page says why not; what is asked for by a form all the same is refused."""
    assert "the results are not published yet" in page("/organiser/export", boss)
    refused = boss.post("/organiser/export")
    assert refused.status_code == 409
    assert "the results are not published yet" in refused.content.decode()
    assert not Job.objects.filter(kind="export").exists()


@pytest.mark.slow
def test_the_judge_makes_it_and_the_organiser_alone_fetches_it(boss: Any, member: Any, over: Held) -> None:
    """The web puts in a job and writes that down; members and visitors find nothing."""
    assert boss.post("/organiser/export", {"for": "organisers"}).status_code == 302
    again = boss.post("/organiser/export")
    assert (again.status_code, "already" in again.content.decode()) == (409, True)
    assert list(over.folder.exports.glob("*.zip")) == []
    hands.judged(over)
    path = over.folder.exports / "test-contest.zip"
    assert verify_archive(path).is_right
    assert hashlib.sha256(path.read_bytes()).hexdigest() in page("/organiser/export", boss)
    address = "/organiser/export/test-contest.zip"
    assert b"".join(boss.get(address).streaming_content) == path.read_bytes()
    assert member.get(address).status_code == 404
    assert browser().get(address).status_code == 302
    assert "There are none yet." in page("/archive")
    acts = list(AuditEntry.objects.values_list("act", flat=True))
    assert acts[-2:] == ["archive asked for", "contest exported"]
    boss.post("/organiser/export", {"for": "everybody"})
    hands.judged(over)
    assert (over.folder.archive / "test-contest-2.zip").is_file()


@pytest.mark.slow
def test_originals_of_real_people_stay_where_they_are(boss: Any, over: Held) -> None:
    """The page says so, and there is no way to ask for them in the browser."""
    Contest.objects.update(people="real")
    assert "leaves out their original traces" in page("/organiser/export", boss)
    boss.post("/organiser/export", {"include_originals": "yes", "for": "organisers"})
    hands.judged(over)
    names = zipfile.ZipFile(over.folder.exports / "test-contest.zip").namelist()
    assert not [name for name in names if "orgtraces_team001" in name]
