"""T32: whatever people call themselves, their files and their tokens does nothing but stand there."""

from __future__ import annotations

import csv
import html
import io
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.server import hands
from tests.server.conftest import Held
from tests.server.routes import filled, pages
from tests.server.test_public_pages import played
from tests.server.visitors import browser, by_form, joined, organiser, token

HOSTILE = (
    "<script>alert(1)</script>",
    '=HYPERLINK("http://evil.example","x")',
    "\u202eright \u200bto\u2066 left \u0645\u0631\u062d\u0628\u0627",
    "'\"><img src=x onerror=alert(1)>",
    "+1@SUM(A1) {{ contest.name }} {% csrf_token %}",
)
LONG = 10_000 * "W"
HIDDEN = re.compile("[\u200b\u202a-\u202e\u2060\u2066\u2067\ufeff]")
ALIVE = re.compile(r"<script(?! src=\"/static/)|<img|\sonerror=alert\(1\)>", re.IGNORECASE)
VALUES = {
    "number": ("1", "2", "3", "4", "5"),
    "team": ("001", "002", "003"),
    "kind": ("inferred-table", "inferred-traces"),
    "name": ("board.csv", "privacy.csv", "reidentification.csv", "trace_inference.csv", "usefulness.csv"),
    "table": ("board.csv",),
}


@pytest.fixture
def database() -> None:
    """SQLite: what a page says does not depend on the database."""


def _name_everything() -> None:
    """Give teams, members, tokens and files names that want to be something else."""
    from tracearena.server.models import Member, Submission, Team, Token

    for team, name in zip(Team.objects.order_by("number"), (*HOSTILE, LONG), strict=False):
        Team.objects.filter(pk=team.pk).update(name=name)
    Member.objects.filter(team__isnull=False).update(username=HOSTILE[3])
    Token.objects.update(label=HOSTILE[0])
    for number, submission in enumerate(Submission.objects.all()):
        name = (*HOSTILE, LONG)[number % 6]
        Submission.objects.filter(pk=submission.pk).update(file_name=name)


def _check(answer: Any, address: str) -> bool:
    """Check one answer; return whether it holds a picture."""
    if answer.status_code != 200 or answer.streaming:
        return False
    kind, text = answer.headers["Content-Type"], answer.content.decode()
    if kind.startswith("text/csv"):
        rows = csv.reader(io.StringIO(text))
        assert not [cell for row in rows for cell in row if re.match(r"[=@+\t]|-\D", cell)], address
        assert not HIDDEN.search(text), address
    if not kind.startswith("text/html"):
        return False
    assert not ALIVE.search(text), (address, ALIVE.search(text))
    assert not HIDDEN.search(html.unescape(text)), address
    drawn = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    for picture in drawn:
        ElementTree.fromstring(picture)
    return bool(drawn)


@pytest.mark.slow
def test_hostile_names_are_neutral_on_every_page_in_every_table_and_picture(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For everybody who may see them; pictures stay well-formed."""
    roles = [browser(), joined(held, "001"), organiser(held)]
    token(roles[1])
    played(held, tmp_path, monkeypatch, until="attack")
    _name_everything()
    _check_all(roles)
    held.results()
    hands.judged(held)
    _check_all(roles)


def _check_all(roles: list[Any]) -> None:
    drawn = set()
    for address in (address for pattern in pages() for address in filled(pattern, VALUES)):
        for client in roles:
            answer = client.get(address)
            if answer.streaming:
                answer.close()
            if _check(answer, address):
                drawn.add(address)
    assert {"/", "/board", "/team"} <= drawn


def test_ten_thousand_letters_are_refused_or_cut_wherever_somebody_gives_a_name(
    held: Held, tmp_path: Path
) -> None:
    """By every form that takes one."""
    from tracearena.server.models import Member, Submission, Team, Token

    member, boss = joined(held, "001"), organiser(held)
    held.anonymization()
    secret = held.created.invitations["002"]
    join = {"secret": secret, "name": LONG, "password": "seven green bottles"}
    assert browser().post("/join", join).status_code == 400
    assert boss.post("/organiser/teams", {"name": LONG}).status_code == 409
    assert boss.post("/organiser/rescoring", {"reason": LONG}).status_code == 400
    move = {"point": "attack_end", "to": "2027-01-01T00:00", "reason": LONG}
    assert boss.post("/organiser/phases", move).status_code == 409
    assert member.post("/team/tokens", {"label": LONG}).status_code < 500
    content = hands.obfuscated(held, "001", tmp_path)
    assert by_form(member, "obfuscated/1", content, "k", LONG).status_code == 302
    longest = [
        max((len(value) for value in of.objects.values_list(field, flat=True)), default=0)
        for of, field in ((Member, "username"), (Team, "name"), (Token, "label"), (Submission, "file_name"))
    ]
    assert max(longest) <= 120


@pytest.mark.slow
def test_a_file_name_is_no_formula_in_the_list_of_what_was_refused(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The export can be opened in a spreadsheet, and still verifies."""
    from tracearena.contest import verify_archive
    from tracearena.files import csv_rows
    from tracearena.server.judge.export import export_contest
    from tracearena.server.judge.scoring import JudgeFiles
    from tracearena.server.models import Submission

    hands.without_children(monkeypatch)
    held.anonymization()
    bad = hands.hand_in(held, "003", "obfuscated", b"no table")
    Submission.objects.filter(pk=bad.pk).update(file_name=HOSTILE[1])
    played(held, tmp_path, monkeypatch, until="results")
    export_contest(JudgeFiles(held.folder, held.judge_private_key), tmp_path / "friday.zip")
    with zipfile.ZipFile(tmp_path / "friday.zip") as archive:
        written = archive.read("results/refused.csv").decode()
    cells = [cell for line in csv.reader(io.StringIO(written, newline="")) for cell in line]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert any(cell.startswith(HOSTILE[1]) for line in csv_rows(written) for cell in line)
    assert verify_archive(tmp_path / "friday.zip").is_right
