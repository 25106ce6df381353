"""After the results: a team sees its own, says how it did it, and the archive has what it said."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.test_public_pages import page
from tests.server.visitors import browser, joined, organiser

from tracearena.contest import AttackKind, verify_archive
from tracearena.server import own_results, past_contests, results
from tracearena.server.judge import export
from tracearena.server.models import Contest, Job, JobState

SAID = {"text": "We merged regions.\nThen <b>noise</b>.", "link": "https://example.org/code"}


@pytest.mark.slow
def test_a_team_sees_who_broke_it_and_what_its_attacks_were_worth(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks, minima and attacks are those of the board; nothing of it is there before the results."""
    hands.without_children(monkeypatch)
    team, other, boss = joined(held, "001"), joined(held, "002"), organiser(held)
    held.anonymization()
    for number in ("001", "002"):
        hands.defend(held, number, tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()
    hands.attack_table(held, "002", "001", tmp_path, right=19)
    hands.attack_traces(held, "002", "001", tmp_path)
    hands.attack_table(held, "001", "002", tmp_path, right=5)
    held.at(SCHEDULE.attack_end)
    hands.judged(held)
    assert team.get("/team/results").status_code == 404
    assert team.post("/team/results", SAID).status_code == 404
    held.results()
    hands.judged(held)

    final = results.find_final_snapshot()
    assert final is not None
    drawn = results.draw_snapshot(final, Contest.get_current().rules)
    own = own_results.collect_own_results(drawn, "001")
    (defence,) = own.defences
    assert defence.row == drawn.board.row("001")
    who, left = defence.breakers["trace-inference"]
    assert left == 0
    assert "002" in who
    assert all(one == "002" or one.startswith("the judge's ") for one in who)
    assert defence.breakers["reidentification"][1] == defence.row.s_R_min
    places = {award.name: {one.team: one.place for one in award.places} for award in drawn.awards}
    assert [one.place for one in own.places] == [places[award.name].get("001") for award in drawn.awards]
    attacked = {one.target: one.own for one in own.attacks}
    assert set(attacked) == {"000 pseudonymised", "002"}
    key = ("001", "002", 1, AttackKind.REIDENTIFICATION)
    assert attacked["002"] == {"reidentification": drawn.board.attacks[key], "trace-inference": None}
    shown = page("/team/results", team)
    assert f"{defence.row.s_R_min:.3f}" in shown
    assert "no attack" in shown
    assert "Your results" in page("/team", other)
    assert boss.get("/team/results").status_code == 404

    _say_how(team)
    export.request_export("organiser", for_everybody=True)
    hands.judged(held)
    _read_archive(held)


def _say_how(team: object) -> None:
    """Keep what a team says of itself, harmless on every page; refuse what is no link."""
    for wrong in ({"link": "javascript:alert(1)"}, {"link": "https://a b"}, {"text": "x" * 4_001}):
        assert team.post("/team/results", SAID | wrong).status_code == 400  # type: ignore[attr-defined]
    assert "How they did it" not in page("/board", browser())
    assert team.post("/team/results", SAID | {"text": "We\0merged"}).status_code == 302  # type: ignore[attr-defined]
    assert "We\ufffdmerged" in page("/board", browser())
    assert team.post("/team/results", SAID).status_code == 302  # type: ignore[attr-defined]
    text = page("/board", browser())
    assert "We merged regions.<br>Then &lt;b&gt;noise&lt;/b&gt;." in text
    assert 'href="https://example.org/code" rel="nofollow noopener"' in text


def _read_archive(held: Held) -> None:
    (path,) = held.folder.archive.glob("*.zip")
    found = verify_archive(path)
    assert found.is_right, found
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("results/write_ups.json")) == [{"team": "001", **SAID}]
    (past,) = past_contests.list_past_contests(held.folder)
    assert [(one.team, one.text, one.link) for one in past.write_ups] == [("001", SAID["text"], SAID["link"])]
    assert "Then &lt;b&gt;noise&lt;/b&gt;." in page(f"/archive/{path.name}", browser())


@pytest.mark.parametrize(
    "said",
    [
        {"team": "009", "text": "", "link": ""},
        {"team": "001", "text": 7, "link": ""},
        {"team": "001", "text": "x" * 4_001, "link": ""},
        {"team": "001", "text": "", "link": "javascript:alert(1)"},
    ],
)
def test_a_write_up_of_an_archive_is_taken_for_hostile(said: dict[str, object]) -> None:
    with pytest.raises(past_contests._BROKEN):
        own_results.parse_write_ups(json.dumps([said]).encode(), {"001": "001"})


def test_an_organiser_lets_the_judge_back_the_contest_up(held: Held) -> None:
    """Pressed twice, made once; the page says where it lies, and the checklist has it."""
    held.anonymization()
    boss = organiser(held)
    item = "There is a backup that is less than a day old."
    before = page("/organiser", boss)
    assert re.search(f"<b>Still open:</b> {item}", before)
    assert str(held.folder.backups) in before
    for _ in range(2):
        assert boss.post("/organiser/backup").headers["Location"] == "/organiser"
    assert "the judge is making one" in page("/organiser", boss)
    hands.judged(held)
    assert item not in page("/organiser", boss)
    (made,) = held.folder.backups.iterdir()
    assert (made.suffix, made.stat().st_mode & 0o077) == (".tar", 0)
    assert Job.objects.filter(kind="backup", state=JobState.DONE).count() == 1
