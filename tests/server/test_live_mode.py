"""A contest with a live board: some users for the board, the others for the result, and a budget a day."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, USERS, Held
from tests.server.test_public_pages import page
from tests.server.visitors import joined

from tracearena.contest import verify
from tracearena.contest.commitments import read_live_users
from tracearena.io import pwscup
from tracearena.server import clock, results, submissions
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.models import Contest, DataSet, Job, Link, Score, Snapshot, State, Submission

NOON = SCHEDULE.attack_begin + DAY + timedelta(hours=12)


@pytest.fixture
def live(holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    """A contest with a live board, in the attack phase, team 001 released."""
    hands.without_children(monkeypatch)
    held = holding(mode="live", sample_attacks=("VisitProb-R",))
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.attack_begin + DAY + timedelta(hours=11))
    hands.judged(held)
    return held


def _shown() -> dict:
    found = results.collect_public_board(Contest.get_current(), clock.now())["snapshot"]
    assert found is not None
    return found


@pytest.mark.slow
def test_the_board_and_the_result_see_different_users(live: Held, tmp_path: Path) -> None:
    """An answer that is right about the users of the board alone is worth nothing in the result."""
    bench = JudgeFiles(live.folder, live.judge_private_key)
    secret = bench.read_secret(DataSet.objects.get(team__number="001"))
    assert secret.live is not None
    assert len(secret.live) == round(0.3 * USERS)
    guess = secret.table.user_ids.copy()
    wrong = [user not in secret.live for user in guess.tolist()]
    guess[wrong] = sorted(guess[wrong])[-1:] + sorted(guess[wrong])[:-1]
    lines = "\n".join(map(str, ["user_id", *guess.tolist()])) + "\n"
    attack = hands.hand_in(live, "002", "inferred-table", lines.encode(), target="001")
    hands.judged(live)
    assert Score.objects.get(key=f"live/{attack.pk}").value == 0.0
    attack.refresh_from_db()
    assert attack.state == State.CHECKED
    live.results()
    hands.judged(live)
    others = [user for user, off in zip(secret.table.user_ids.tolist(), wrong, strict=True) if off]
    right = sum(a == b for a, b in zip(guess[wrong].tolist(), others, strict=True))
    assert Score.objects.get(key=f"final/{attack.pk}").value == pytest.approx(1 - right / len(others))


@pytest.mark.slow
def test_the_board_changes_at_its_hours_and_is_rounded(live: Held, tmp_path: Path) -> None:
    """What is scored between two refreshes waits for the next; a frozen board does not change."""
    first = _shown()
    assert first["refreshed_at"] == (NOON - timedelta(hours=6)).isoformat()
    assert all(attack["attacker"] == "VisitProb-R" for attack in first["attacks"])
    hands.attack_table(live, "002", "001", tmp_path, right=3)
    hands.judged(live)
    assert _shown() == first
    live.at(NOON)
    hands.judged(live)
    second = _shown()
    assert second["refreshed_at"] == NOON.isoformat()
    shown = [attack for attack in second["attacks"] if attack["attacker"] == "002"]
    assert len(shown) == 1
    assert all(attack["score"] == round(attack["score"], 2) for attack in second["attacks"])
    table = page("/board").partition("Save as CSV")[0]
    written = re.findall(r'<td class="number">([\d.]+)</td><td class="number">([\d.]+)</td></tr>', table)
    assert written
    assert {len(score) for both in written for score in both} == {len("0.25")}
    frozen = [bytes(one.content) for one in Snapshot.objects.filter(name__startswith="live ")]
    hands.attack_table(live, "003", "001", tmp_path, right=20)
    hands.judged(live)
    assert [bytes(one.content) for one in Snapshot.objects.filter(name__startswith="live ")] == frozen


@pytest.mark.slow
def test_a_receipt_says_that_the_live_board_scores(live: Held, tmp_path: Path) -> None:
    """What is said of a sealed contest, that nothing is scored before the end, would be wrong here."""
    Link.objects.update(expires_at=NOON + DAY)
    member = joined(live, "002")
    live.at(NOON)
    attack = hands.attack_table(live, "002", "001", tmp_path, right=3)
    hands.judged(live)
    page = member.get(f"/team/submissions/{attack.pk}").content.decode()
    assert "The live board scores it" in page
    assert "Attacks are scored after the attack phase" not in page


@pytest.mark.slow
def test_three_answers_a_day_and_target_are_scored(live: Held, tmp_path: Path) -> None:
    """T23: More are taken and count at the end; the next day has a budget of its own."""
    made = [hands.attack_table(live, "002", "001", tmp_path, right=n) for n in range(5)]
    hands.attack_table(live, "002", "000", tmp_path, right=1)
    hands.judged(live)
    scored = Score.objects.filter(key__startswith="live/", submission__data_set__team__number="001")
    assert list(scored.order_by("submission").values_list("submission", flat=True)) == [
        one.pk for one in made[:3]
    ]
    live.at(NOON + DAY)
    hands.attack_table(live, "002", "001", tmp_path, right=9)
    hands.judged(live)
    assert scored.count() == 4
    assert Submission.objects.filter(state=State.CHECKED).count() == 7


@pytest.mark.slow
def test_a_failed_live_score_gives_its_budget_back(
    live: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the upload itself is not touched: it counts at the end."""
    from tracearena.server.judge import scoring

    attack = hands.attack_table(live, "002", "001", tmp_path, right=1)
    with monkeypatch.context() as broken:
        broken.setattr(scoring, "score_submission", lambda *given, **named: 1 / 0)
        hands.judged(live)
    attack.refresh_from_db()
    assert attack.state == State.CHECKED
    assert submissions.count_used(attack.team, scoring.name_live_quota(attack)) == 0
    assert Job.objects.get(key=f"live/{attack.pk}").state == "failed"
    live.results()
    hands.judged(live)
    assert Score.objects.filter(key=f"final/{attack.pk}").exists()


@pytest.mark.slow
def test_a_failed_live_score_comes_again_only_within_the_budget(
    live: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three answers a day are three, whichever of them failed in between."""
    from tracearena.errors import ParameterError
    from tracearena.server.judge import scoring, worker

    failing = hands.attack_table(live, "002", "001", tmp_path, right=1)
    with monkeypatch.context() as broken:
        broken.setattr(scoring, "score_submission", lambda *given, **named: 1 / 0)
        hands.judged(live)
    for right in (2, 3, 4):
        hands.attack_table(live, "002", "001", tmp_path, right=right)
    hands.judged(live)
    with pytest.raises(ParameterError, match="used up"):
        worker.retry_job(Job.objects.get(key=f"live/{failing.pk}"), "organiser", "repaired")
    hands.judged(live)
    assert Score.objects.filter(key__startswith="live/", submission__team__number="002").count() == 3
    assert Job.objects.get(key=f"live/{failing.pk}").state == "failed"


@pytest.mark.slow
def test_the_users_of_the_board_are_fixed_and_opened(live: Held) -> None:
    """By the same hash as the table."""
    live.results()
    hands.judged(live)
    everybody = live.folder.everybody
    salts = dict(line.split(",") for line in (everybody / "salts.csv").read_text().splitlines()[1:])
    data_set = DataSet.objects.get(team__number="001")
    name = "ptable_team001_data01_IDP.csv"
    table, chosen = (
        pwscup.read_id_table(everybody / name),
        read_live_users(everybody / name.replace("ptable", "live")),
    )
    assert verify(data_set.commitment, table, salts[name], chosen)
    assert not verify(data_set.commitment, table, salts[name])


@pytest.mark.slow
def test_a_missed_refresh_is_made_up_for(live: Held, tmp_path: Path) -> None:
    """From the scores made until then: the board is that of the hour, whenever the judge comes to it."""
    hands.attack_table(live, "002", "001", tmp_path, right=3)
    hands.judged(live)
    live.at(NOON + timedelta(hours=1))
    hands.attack_table(live, "003", "001", tmp_path, right=3)
    hands.judged(live)
    made = Snapshot.objects.get(name=results.name_live_snapshot(NOON))
    made.delete()
    hands.judged(live)
    again = Snapshot.objects.get(name=results.name_live_snapshot(NOON))
    assert bytes(again.content) == bytes(made.content)
    content = results.read_snapshot(again)
    assert {attack["attacker"] for attack in content["attacks"]} == {"VisitProb-R", "002"}
    assert Score.objects.filter(key__startswith="live/", submission__team__number="003").exists()
