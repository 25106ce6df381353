"""Pages and downloads: what stands on them, and files in parts."""

from __future__ import annotations

import gc
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.visitors import Program, browser, joined, organiser, program, served, token

from tracearena.contest import Phase
from tracearena.server.store import downloads
from tracearena.server.store.crypto import unseal


def _text(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def test_home_and_rules_say_when_and_how(held: Held) -> None:
    """Names are shown as they are, not as tags; every rule is on the page; a driven clock is owned up to."""
    from django.utils.html import escape

    from tracearena.server.models import Contest

    home, rules = (browser().get(path).content.decode() for path in ("/", "/rules"))
    assert "Test &lt;contest&gt;" in home
    assert "Test <contest>" not in home
    for sentence in Contest.get_current().rules.explain():
        assert escape(sentence) in rules
    assert "set by hand" in home
    assert SCHEDULE.anonymization_end.isoformat() in rules


def test_page_and_api_answer_phase_questions_alike(held: Held) -> None:
    """Both by the one function of schedule and time."""
    for moment, phase in (
        (SCHEDULE.anonymization_begin - DAY, None),
        (SCHEDULE.anonymization_begin, Phase.ANONYMIZATION),
        (SCHEDULE.anonymization_end, None),
        (SCHEDULE.attack_begin, Phase.ATTACK),
        (SCHEDULE.results_begin, Phase.RESULTS),
    ):
        held.at(moment)
        assert browser().get("/api/v1/phase").json()["phase"] == phase
        rows = re.findall(r"<tr>.*?</tr>", browser().get("/").content.decode(), re.DOTALL)
        running = [row for row in rows if ">now<" in row]
        assert [phase.value in row for row in running] == [True] if phase else not running


def test_files_come_whole_in_parts_and_not_again(held: Held) -> None:
    """A download that broke off goes on where it was, of the same version only."""
    caller = program(held, "001")
    listed = {one["name"]: one for one in caller.get("data").json()["files"]}
    about = listed["info_region.csv"]
    whole = caller.get("files/info_region.csv")
    content, tag = _text(whole), whole.headers["ETag"]
    assert hashlib.sha256(content).hexdigest() == about["sha256"] == tag.strip('"')
    assert len(content) == about["size"] == int(whole.headers["Content-Length"])
    half = len(content) // 2
    part = caller.get("files/info_region.csv", Range=f"bytes={half}-")
    assert (part.status_code, content[:half] + _text(part)) == (206, content)
    assert part.headers["Content-Range"] == f"bytes {half}-{len(content) - 1}/{len(content)}"
    cases = {"bytes=0-9": content[:10], "bytes=-7": content[-7:], "bytes=5-5": content[5:6]}
    for asked, expected in cases.items():
        assert _text(caller.get("files/info_region.csv", Range=asked)) == expected
    for asked in ("bytes=-", "bytes=0-1,4-5", "lines=1-2", "bytes=a-b"):
        assert caller.get("files/info_region.csv", Range=asked).status_code == 200
    assert caller.get("files/info_region.csv", Range=f"bytes={len(content)}-").status_code == 416
    assert caller.get("files/info_region.csv", Range=f"bytes={5_000 * '9'}-").status_code == 200
    assert caller.get("files/info_region.csv", **{"If-None-Match": tag}).status_code == 304
    other = caller.get("files/info_region.csv", Range="bytes=5-", **{"If-Range": '"older"'})
    assert (other.status_code, _text(other)) == (200, content)


@pytest.mark.slow
def test_a_bundle_is_in_memory_once_for_all_who_read_it(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many slow readers a team has; it is gone when the last one has it."""
    opened: list[bytes] = []

    def unsealed(*given: bytes) -> bytes:
        opened.append(unseal(*given))
        return opened[-1]

    monkeypatch.setattr(downloads, "unseal", unsealed)
    caller = Program(token(joined(held, "001")))
    readers = [iter(caller.get("data/bundle").streaming_content) for _ in range(5)]
    first = {next(reader) for reader in readers}
    assert (len(first), len(opened)) == (1, 1)
    (whole,) = {first.copy().pop() + b"".join(reader) for reader in readers}
    del readers
    gc.collect()
    assert _text(caller.get("data/bundle")) == whole
    assert len(opened) == 2


def test_the_bundle_comes_in_parts_too(held: Held) -> None:
    """And is the same archive each time."""
    caller = program(held, "001")
    whole = _text(caller.get("data/bundle"))
    part = caller.get("data/bundle", Range="bytes=100-")
    assert (part.status_code, _text(part)) == (206, whole[100:])


@pytest.mark.slow
def test_targets_appear_for_all_at_the_same_moment(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the attack phase begins, not when the judge happens to be ready."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    caller = Program(token(client))
    held.anonymization()
    hands.defend(held, "002", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.attack_begin - DAY / 2)
    hands.judged(held)
    name = "pubtraces_team002_data01_IDP.csv"
    assert (held.folder.everybody / name).is_file()
    assert caller.get("targets").json() == []
    assert caller.get(f"files/{name}").status_code == 404
    half = f".{name}.tracearena-a1b2c3d4.part"
    (held.folder.everybody / half).write_bytes(b"what a killed judge has left")
    assert caller.get(f"files/{half}").status_code == 404
    assert not [one for one in caller.get("data").json()["files"] if "pubtraces_team002" in one["name"]]
    assert "commitments.csv" in [one["name"] for one in caller.get("data").json()["files"]]
    held.at(SCHEDULE.attack_begin)
    assert [one["team"] for one in caller.get("targets").json()] == ["000", "002"]
    assert caller.get(f"files/{name}").status_code == 200
    assert f"/files/{name}" in client.get("/team/targets").content.decode()


def test_results_open_by_the_organisers_hand_once(held: Held) -> None:
    """Not early, not before all is scored; and it is written down who did it."""
    from tracearena.server import results
    from tracearena.server.models import AuditEntry, Contest

    boss = organiser(held)
    assert boss.post("/organiser/publish").status_code == 409
    held.results()
    answer = boss.post("/organiser/publish")
    assert (answer.status_code, "still scoring" in answer.content.decode()) == (409, True)
    results.freeze_snapshot("final", results.build_result(results.build_current_board()))
    assert browser().get("/api/v1/board").json()["snapshot"] is None
    assert boss.post("/organiser/publish").status_code == 302
    published = Contest.get_current().published_at
    held.at(SCHEDULE.results_begin + 2 * DAY)
    assert boss.post("/organiser/publish").status_code == 302
    assert Contest.get_current().published_at == published
    assert AuditEntry.objects.filter(act="results published", actor="person 1").count() == 1
    assert browser().get("/api/v1/board").json()["snapshot"]["board"]
    assert "Best anonymization" in browser().get("/board").content.decode()


def test_a_verdict_is_shown_with_its_rows(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On page and API, as the checker says it; what stood there is text, not a tag."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    caller = Program(token(client))
    held.anonymization()
    lines = hands.obfuscated(held, "001", tmp_path).splitlines()
    lines[7] = lines[7].rpartition(b",")[0] + b",<script>"
    rows = b"\n".join(lines)
    number = caller.upload("obfuscated/1", rows, "k").json()["id"]
    hands.judged(held)
    said = caller.get(f"submissions/{number}").json()
    assert said["state"] == "refused"
    assert said["verdict"]["faults"][0]["row"] == 7
    page = client.get(f"/team/submissions/{number}").content.decode()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.slow
def test_a_server_ends_cleanly(held: Held) -> None:
    """SIGTERM lets it finish, and it says that nothing went wrong."""
    with served(held, before=()) as site:
        pass
    assert site.process.returncode == 0
    assert "Traceback" not in site.log.read_text()
