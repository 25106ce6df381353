"""What visitors see: home, rules, board and results, whatever the teams call themselves."""

from __future__ import annotations

import csv
import hashlib
import html
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.visitors import browser, joined, organiser

NASTY = {
    "001": "<script>alert(1)</script>",
    "002": '=HYPERLINK("http://evil.example")',
    "003": "\u202eright\u200bto\u2066left " + "x" * 40,
}
BAD = ("<script>", "\u202e", "\u200b", "\u2066")


def with_nasty_names() -> None:
    """Let every team have a name that wants to be something else."""
    from tracearena.server.models import Team

    for number, name in NASTY.items():
        Team.objects.filter(number=number).update(name=name)


def page(address: str, client: Any = None) -> str:
    """Return a page that is there."""
    answer = (client or browser()).get(address)
    assert answer.status_code == 200, address
    return str(answer.content.decode())


def check_neutral(text: str) -> None:
    """Check that no name does more than stand there."""
    for bad in BAD:
        assert bad not in text, (bad, text[max(0, text.find(bad) - 200) : text.find(bad) + 50])


def played(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: str = "results") -> None:
    """Let three teams defend, two attack, and the judge come to a result."""
    hands.without_children(monkeypatch)
    held.anonymization()
    for team in ("001", "002", "003"):
        hands.defend(held, team, tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()
    for team, target, right in (("001", "002", 15), ("001", "003", 3), ("002", "001", 8)):
        hands.attack_table(held, team, target, tmp_path, right=right)
    hands.attack_traces(held, "002", "003", tmp_path)
    hands.judged(held)
    if until == "attack":
        return
    held.at(SCHEDULE.attack_end + DAY / 2)
    hands.judged(held)
    if until == "results":
        held.results()
        hands.judged(held)


def test_every_page_says_where_one_is(held: Held) -> None:
    """By aria-current, on the page itself and on what lies below it."""
    clients = {"/": browser(), "/rules": browser(), "/board": browser(), "/team/data": joined(held, "001")}
    for address, client in clients.items():
        text = page(address, client)
        assert re.findall(r'<a href="([^"]+)" aria-current="page"', text) == [address]
        assert text.count("<h1>") == 1
        for landmark in ("<header>", "<nav ", '<main id="content">', "<footer>"):
            assert landmark in text


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (SCHEDULE.anonymization_begin - DAY, "Before the start: the anonymization phase begins in"),
        (SCHEDULE.anonymization_begin + DAY, '<li aria-current="step">Anonymization'),
        (SCHEDULE.anonymization_end, "Pause: the next phase begins in"),
        (SCHEDULE.attack_begin, '<li aria-current="step">Attack'),
        (SCHEDULE.results_begin, "once the organiser has published them"),
    ],
)
def test_the_strip_tells_the_phase_and_what_is_left(held: Held, at: Any, said: str) -> None:
    """In words that stand there without any script; the script finds the times in UTC."""
    held.at(at)
    text = page("/")
    assert said in text
    ends = re.findall(r'data-until="([^"]+)"', text)
    assert all(f'<time datetime="{end}">' in text for end in ends)
    assert bool(ends) == (at < SCHEDULE.results_begin)


@pytest.mark.slow
def test_home_tells_everybody_what_to_do(held: Held) -> None:
    """A visitor, a member and an organiser, in every phase, with links to pages that are there."""
    clients = {"visitor": browser(), "member": joined(held, "001"), "organiser": organiser(held)}
    for at in (SCHEDULE.anonymization_begin - DAY, SCHEDULE.anonymization_begin, SCHEDULE.attack_begin):
        held.at(at)
        told = {}
        for role, client in clients.items():
            steps = page("/", client).partition('<ol class="steps">')[2].partition("</ol>")[0]
            links = re.findall(r'href="([^"]+)"', steps)
            assert links
            for link in links:
                page(link, client)
            told[role] = steps
        assert len(set(told.values())) == 3


def test_the_rules_page_has_every_sentence_numbered_through(held: Held) -> None:
    """Under headings, in their order, escaped."""
    from tracearena.server.models import Contest

    text = page("/rules")
    told = [html.unescape(one) for one in re.findall(r"<li>(.*?)</li>", text.partition("<main")[2])]
    assert told == Contest.get_current().rules.explain()
    starts = [int(one) for one in re.findall(r'<ol class="rules" start="(\d+)"', text)]
    counts = [len(told) for _, told in Contest.get_current().rules.chapters()]
    assert starts == [1 + sum(counts[:chapter]) for chapter in range(len(counts))]


def test_names_are_neutral_before_anything_is_played(held: Held) -> None:
    """On home and board, with marker and colour."""
    with_nasty_names()
    for address in ("/", "/board"):
        text = page(address)
        check_neutral(text)
        assert "&lt;script&gt;" in text
        assert text.count('<svg class="badge"') >= 3


@pytest.mark.slow
def test_a_sealed_board_shows_names_and_no_number(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even that there is a picture; the numbers to save are not there either."""
    played(held, tmp_path, monkeypatch, until="frozen")
    text = page("/board")
    assert "sealed until the results open" in text
    assert "<figure" not in text
    assert "/board/numbers/" not in text
    for name in ("board", "privacy", "reidentification", "award-best-anonymization"):
        assert browser().get(f"/board/numbers/{name}.csv").status_code == 404
    assert len(re.findall(r'<td class="hash">[0-9a-f]{64}</td>', text)) == 4
    for name in ("salts.csv", "ptable_team001_data01_IDP.csv"):
        assert browser().get(f"/board/opened/{name}").status_code == 404


@pytest.mark.slow
def test_the_results_show_awards_pictures_and_opened_promises(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All names neutral, all numbers to save, every promise to be checked."""
    with_nasty_names()
    played(held, tmp_path, monkeypatch)
    text = page("/board")
    check_neutral(text)
    assert text.count('class="cell') == 2 * (4 * (3 + 2) - 3)
    assert "<h1>Results</h1>" in text
    for title in ("Best anonymization", "Best re-identification", "Best trace inference"):
        assert f"<h2>{title}</h2>" in text
    addresses = re.findall(r'href="(/board/numbers/[^"]+)"', text)
    assert len(set(addresses)) == len(addresses) == 1 + 2 + 2 + 2 * 3
    for address in addresses:
        _check_numbers(address)
    _check_promises(text)
    assert browser().get("/board/numbers/nothing.csv").status_code == 404


def _check_numbers(address: str) -> None:
    answer = browser().get(address)
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    assert len(rows) > 1
    assert not [cell for row in rows for cell in row if re.match(r"[=@+]|-\D", cell)], address
    assert not [bad for bad in BAD[1:] if bad in answer.content.decode()], address


def _check_promises(text: str) -> None:
    opened = re.findall(r'href="/board/opened/(ptable[^"]+)"', text)
    assert len(opened) == 4
    digests = re.findall(r'<span class="hash">([0-9a-f]{64})</span>', text)
    salts = re.findall(r"\(echo ([0-9a-f]{64}); cat ptable", text)
    for name, digest, salt in zip(opened, digests, salts, strict=True):
        answer = browser().get(f"/board/opened/{name}")
        table = b"".join(answer.streaming_content)
        assert hashlib.sha256(f"{salt}\n".encode() + table).hexdigest() == digest
    assert browser().get("/board/opened/pubtraces_team001_data01_IDP.csv").status_code == 404


@pytest.mark.slow
def test_the_live_board_is_that_of_the_last_refresh(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its moment, and without awards."""
    held = holding(mode="live", sample_attacks=())
    assert "There is no live board yet" in page("/board")
    played(held, tmp_path, monkeypatch, until="attack")
    held.at(SCHEDULE.attack_begin + 2 * DAY)
    hands.judged(held)
    text = page("/board")
    assert '<time datetime="2026-05-12T00:00:00+00:00">' in text
    assert "The live board of" in text
    assert "podium" not in text
    assert text.count('class="cell') > 0
