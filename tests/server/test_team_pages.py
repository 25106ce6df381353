"""What a team sees: the next step, its uploads and their states, data, targets, traces, practice."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import browser, by_form, joined

NASTY = ("<script>alert(1)</script>", "=HYPERLINK(1)", "a\u202eb\u200bc", "x" * 60)


def _page(client: Any, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return str(answer.content.decode())


def _step(client: Any) -> str:
    found = re.search(r'<p class="sentence">(.*?)</p>', _page(client, "/team"), re.S)
    assert found is not None
    return found[1]


def _looks(page: str) -> list[str]:
    """Return the steps of the first strip of a page with how they stand."""
    strip = page.partition('<ol class="strip"')[2].partition("</ol>")[0]
    return [f"{name} {look}" for look, name in re.findall(r'<li class="(\w+)"[^>]*>([^<]+)<', strip)]


def _release(held: Held, *teams: str, tmp_path: Path) -> None:
    """Let teams defend themselves, and go into the attack phase."""
    for team in teams:
        hands.defend(held, team, tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()


@pytest.mark.slow
def test_the_start_page_says_what_to_do_next(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence, in every phase and state, and until when."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    assert "Download your data" in _step(client)
    held.anonymization()
    assert "you have not handed in any yet" in _step(client)
    assert SCHEDULE.anonymization_end.isoformat() in _step(client)
    by_form(client, "obfuscated/1", b"nonsense", "a")
    assert "the judge is looking" in _step(client)
    hands.judged(held)
    assert "See why your upload" in _step(client)
    by_form(client, "obfuscated/1", _all_deleted(held, tmp_path), "b")
    hands.judged(held)
    assert "their utility is below 0.7" in _step(client)
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    assert "valid; you may hand in something better" in _step(client)
    _release(held, "001", "002", "003", tmp_path=tmp_path)
    held.at(SCHEDULE.anonymization_end)
    assert "Nothing to do" in _step(client)
    held.attack()
    assert "Attack 3 more targets" in _step(client)
    for target in ("000", "002", "003"):
        hands.attack_table(held, "001", target, tmp_path, right=1)
        hands.attack_traces(held, "001", target, tmp_path)
    assert "All done" in _step(client)
    held.at(SCHEDULE.attack_end)
    assert "the results come next" in _step(client)


def _all_deleted(held: Held, tmp_path: Path) -> bytes:
    rows = hands.obfuscated(held, "001", tmp_path).count(b"\n") - 1
    return b"reg_id\n" + rows * b"*\n"


def test_the_results_are_out(held: Held, tmp_path: Path) -> None:
    """When the organiser has opened them, the start page says so and leads there."""
    from tracearena.server.models import Contest

    client = joined(held, "001")
    held.results()
    assert "the results come next" in _step(client)
    Contest.objects.update(published_at=SCHEDULE.results_begin)
    assert "The results are out." in _step(client)
    assert 'href="/team/results"' in _page(client, "/team").partition("<main")[2]


@pytest.mark.slow
def test_a_refused_attack_leaves_its_target_open(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was refused is no attack; what is under way is one."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    held.anonymization()
    _release(held, "002", tmp_path=tmp_path)
    for target in ("000", "002"):
        hands.attack_table(held, "001", target, tmp_path, right=1)
        hands.attack_traces(held, "001", target, tmp_path)
    assert "All done" in _step(client)
    from tracearena.server.models import State, Submission

    Submission.objects.filter(data_set__team__number="002", kind="inferred-table").update(state=State.REFUSED)
    assert "Attack 1 more target" in _step(client)


@pytest.mark.slow
def test_an_upload_goes_through_its_steps(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Received, checked and scored, published; another one that does not count; one that is refused."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    held.anonymization()
    content = hands.obfuscated(held, "001", tmp_path)
    first = by_form(client, "obfuscated/1", b"reg_id\n77777\n", "a")["Location"]
    second = by_form(client, "obfuscated/1", content, "b")["Location"]
    third = by_form(client, "obfuscated/1", content.removesuffix(b"\n"), "c")["Location"]
    steps = ["received done", "to be checked next", "to be scored later", "to be published later"]
    assert _looks(_page(client, third)) == steps
    assert client.get(f"{third}/state").json() == {"state": "received", "settled": False}
    hands.judged(held)
    assert client.get(f"{third}/state").json() == {"state": "scored", "settled": True}
    done = ["received done", "checked done", "scored done"]
    below = by_form(client, "obfuscated/1", hands.obfuscated(held, "001", tmp_path, "RR(0.1)"), "e")[
        "Location"
    ]
    other = joined(held, "002")
    alone = by_form(other, "obfuscated/1", hands.obfuscated(held, "002", tmp_path, "RR(0.1)"), "f")[
        "Location"
    ]
    hands.judged(held)
    assert _looks(_page(client, below)) == [*done, "another upload counts broken"]
    assert _looks(_page(other, alone)) == [*done, "not valid, not published broken"]
    assert _looks(_page(client, third)) == [*done, "to be published next"]
    assert _looks(_page(client, second)) == [*done, "another upload counts broken"]
    assert _looks(_page(client, first)) == ["received done", "refused broken"]
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    assert _looks(_page(client, third)) == [*done, "published done"]
    assert _looks(_page(other, alone)) == [*done, "not valid, not published broken"]
    late = by_form(client, "obfuscated/1", content, "d")["Location"]
    assert _looks(_page(client, late)) == ["received done", "late: it is kept and does not count broken"]


def test_a_refused_file_shows_its_rows_and_what_stands_there(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the row's number, its text and what is allowed; a tag in it is text."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    held.anonymization()
    lines = hands.obfuscated(held, "001", tmp_path).decode().splitlines()
    lines[17] = "<script>5</script>"
    address = by_form(client, "obfuscated/1", "\n".join(lines).encode(), "a")["Location"]
    hands.judged(held)
    page = _page(client, address)
    assert '<th scope="row">17</th>' in page
    assert "<code><bdi>&lt;script&gt;5&lt;/script&gt;</bdi></code>" in page
    listed = _page(client, "/team/submissions")
    assert "row 17" in listed
    assert "<script>5" not in page + listed


def test_receipts_are_on_both_pages(held: Held) -> None:
    """SHA-256, size, time and name of what was handed in."""
    import hashlib

    client = joined(held, "001")
    held.anonymization()
    address = by_form(client, "obfuscated/1", b"rows", "a", "mine.csv")["Location"]
    for page in (_page(client, address), _page(client, "/team/submissions")):
        assert hashlib.sha256(b"rows").hexdigest() in page
        assert "mine.csv" in page
        assert (SCHEDULE.anonymization_begin + timedelta(days=1)).isoformat() in page


@pytest.mark.slow
def test_all_files_come_as_one_archive(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very files, and the targets among them from the attack phase on and not a moment before."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    held.anonymization()
    before = _unpacked(client)
    assert set(before) == {
        "contest.toml", "info_region.csv", "info_time.csv",
        "orgtraces_team004_data01_IDP.csv", "reftraces_team004_data01_IDP.csv",
    }  # fmt: skip
    _release(held, "002", tmp_path=tmp_path)
    held.at(SCHEDULE.attack_begin - timedelta(milliseconds=1))
    lists = {"commitments.csv", "receipts_anonymization.csv", "receipts_anonymization.csv.sig"}
    assert set(_unpacked(client)) == {*before, *lists}
    held.attack()
    after = _unpacked(client)
    assert {"pubtraces_team002_data01_IDP.csv", "reftraces_team002_data01_IDP.csv"} <= set(after)
    for name, content in after.items():
        assert content == (held.folder.everybody / name).read_bytes()
        assert name in _page(client, "/team/data")


@pytest.mark.slow
def test_the_archive_of_all_files_is_a_file_that_the_judge_wrote(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a length and a tag, comes in parts, and nothing is packed again for a download."""
    from tracearena.server.web import views_team

    hands.without_children(monkeypatch)
    client = joined(held, "001")
    held.anonymization()
    hands.defend(held, "002", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    assert len(list(held.folder.public_archives.iterdir())) == 2
    monkeypatch.setattr(views_team, "stream_zip", None)
    for moment in (SCHEDULE.attack_begin - timedelta(milliseconds=1), SCHEDULE.attack_begin):
        held.at(moment)
        whole = client.get("/team/data/everybody")
        content = b"".join(whole.streaming_content)
        assert int(whole["Content-Length"]) == len(content)
        assert 'filename="everybody.zip"' in whole["Content-Disposition"]
        part = client.get("/team/data/everybody", headers={"Range": "bytes=100-"})
        assert (part.status_code, b"".join(part.streaming_content)) == (206, content[100:])
        known = client.get("/team/data/everybody", headers={"If-None-Match": whole["ETag"]})
        assert known.status_code == 304
        names = zipfile.ZipFile(io.BytesIO(content)).namelist()
        assert ("pubtraces_team002_data01_IDP.csv" in names) is (moment == SCHEDULE.attack_begin)


def test_an_archive_that_is_out_of_date_is_not_sent(held: Held) -> None:
    """What is new is in the download at once; the judge writes it when it looks, and removes the old one."""
    client = joined(held, "001")
    hands.judged(held)
    old = set(held.folder.public_archives.iterdir())
    (held.folder.everybody / "news.txt").write_bytes(b"news")
    assert _unpacked(client)["news.txt"] == b"news"
    hands.judged(held)
    assert old.isdisjoint(held.folder.public_archives.iterdir())
    assert "ETag" in client.get("/team/data/everybody")
    assert _unpacked(client)["news.txt"] == b"news"


def _unpacked(client: Any) -> dict[str, bytes]:
    content = b"".join(client.get("/team/data/everybody").streaming_content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow
def test_targets_show_which_attacks_are_handed_in(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both downloads, both attacks with their states, a form for each; nobody else's receipts."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    held.anonymization()
    assert "nobody to attack" in _page(client, "/team/targets")
    _release(held, "001", "002", tmp_path=tmp_path)
    mine = hands.attack_table(held, "001", "002", tmp_path, right=2)
    other = hands.attack_table(held, "003", "002", tmp_path, right=2)
    hands.judged(held)
    page = _page(client, "/team/targets")
    row = page.partition('<th scope="row">002')[2].partition("</tr>")[0]
    assert "/files/pubtraces_team002_data01_IDP.csv" in row
    assert "/files/reftraces_team002_data01_IDP.csv" in row
    assert f"/team/submissions/{mine.pk}" in row
    assert _looks(row) == ["received done", "checked done", "to be scored next", "to be published later"]
    assert "/team/uploads/attack/002/1/inferred-traces" in row
    assert f"/team/submissions/{other.pk}" not in page
    assert '<th scope="row">001' not in page


@pytest.mark.slow
def test_a_team_sees_its_own_original_and_nobody_elses(held: Held) -> None:
    """The picture of one person's day, and all events for the viewer: opened by the login's key alone."""
    client = joined(held, "001")
    truth = hands.original(held, "001")
    said = client.get("/team/traces/1/events").json()
    assert said["places"] == truth.place_index.tolist()
    assert said["people"] == truth.user_ids.tolist()
    assert len(said["instants"]) * len(said["people"]) == len(said["places"])
    assert "Person 3," in _page(client, "/team/traces/1?person=3&day=2")
    for wrong in ("person=0", "day=99", "person=<b>"):
        answer = client.get(f"/team/traces/1?{wrong}")
        assert answer.status_code == 400
        assert "<b>" not in answer.content.decode()
    for address in ("/team/traces/2", "/team/traces/2/events"):
        assert client.get(address).status_code == 404
    client.cookies["unlock"] = joined(held, "002").cookies["unlock"].value
    for address in ("/team/traces/1", "/team/traces/1/events"):
        assert client.get(address).status_code == 403


@pytest.mark.slow
def test_own_traces_are_read_once(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pages show them, and for each team its own."""
    from tracearena.server.web import views_team

    own, other = joined(held, "001"), joined(held, "002")
    names, read = [], views_team.pwscup.read_traces

    def noted(file: Any, *grid: Any) -> Any:
        names.append(file.name)
        return read(file, *grid)

    monkeypatch.setattr(views_team.pwscup, "read_traces", noted)
    for client in (own, other):
        said = {client.get("/team/traces/1/events").content for _ in range(3)}
        assert len(said) == 1
        _page(client, "/team/traces/1")
    assert [name[:17] for name in names] == ["orgtraces_team001", "orgtraces_team002"]


@pytest.mark.slow
def test_the_commands_of_the_self_test_do_what_they_say(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every one of them, in a folder with everybody's files, word for word as the page has them."""
    from typer.testing import CliRunner

    from tracearena.cli import build

    client = joined(held, "001")
    page = _page(client, "/team/self-test")
    folder = tmp_path / "contest-data"
    shutil.copytree(held.folder.everybody, folder)
    lines = [line for block in re.findall(r"<code>(.*?)</code>", page, re.S) for line in block.splitlines()]
    ours = [line.replace("&#x27;", "'") for line in lines if line and "contest client" not in line]
    commands = [shlex.split(line)[1:] for line in ours if line.startswith("tracearena ")]
    assert len(commands) == 10
    monkeypatch.chdir(folder)
    for words in commands:
        done = CliRunner().invoke(build(words), words)
        assert done.exit_code == 0, (words, done.output)
    made = {path.name for path in folder.iterdir()}
    assert {"etable_team001-004_data01_IDP.csv", "etraces_team001-004_data01_IDP.csv"} <= made


@pytest.mark.slow
def test_nasty_names_of_teams_members_and_tokens_are_neutral(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No tag, no letter that cannot be seen, on any page of a team."""
    from tracearena.server.models import Member, Team, Token

    hands.without_children(monkeypatch)
    client = joined(held, "001")
    client.post("/team/tokens", {"label": "a"})
    held.anonymization()
    by_form(client, "obfuscated/1", b"rows", "a", NASTY[0])
    _release(held, "002", tmp_path=tmp_path)
    pages = ["", "/data", "/targets", "/submissions", "/submissions/1", "/traces/1", "/tokens", "/members"]
    for name in NASTY:
        Team.objects.update(name=name)
        Member.objects.update(username=name)
        Token.objects.update(label=name)
        for address in pages:
            page = _page(client, f"/team{address}")
            assert "<script>" not in page
            assert "\u202e" not in page
            assert "\u200b" not in page


@pytest.mark.parametrize(
    "address",
    [
        "/data/everybody",
        "/submissions/1/state",
        "/targets/archive",
        "/traces/1",
        "/traces/1/events",
        "/self-test",
    ],
)
def test_visitors_are_asked_to_log_in(held: Held, address: str) -> None:
    """On every page of a team that is not in another test of roles."""
    answer = browser().get(f"/team{address}")
    assert (answer.status_code, answer["Location"]) == (302, f"/login?next=/team{address}")


@pytest.mark.slow
def test_two_data_sets_have_a_gauge_each(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ids of their own, so that no label belongs to two pictures."""
    hands.without_children(monkeypatch)
    held = holding(data_sets=2)
    client = joined(held, "001")
    held.anonymization()
    page = _page(client, "/team")
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert page.count('<figure class="picture">') == 2
    hands.hand_in(held, "001", "obfuscated", hands.obfuscated(held, "001", tmp_path))
    hands.judged(held)
    assert "data set against trace inference (TRP): you have not handed in any yet" in _step(client)
