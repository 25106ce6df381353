"""T13 and T16: scores made anew are the same; what differs is shown first, then applied or cancelled."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import tracearena
from tests.server import hands
from tests.server.conftest import Held

from tracearena import __version__
from tracearena.contest.file_judge import SCORER_VERSION
from tracearena.errors import ParameterError
from tracearena.server import results
from tracearena.server.judge import scoring as rescore
from tracearena.server.models import AuditEntry, DataSet, Rescoring, RescoringState, Score
from tracearena.server.store import queue


@pytest.fixture
def scored(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    """A contest whose result is frozen."""
    hands.without_children(monkeypatch)
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.defend(held, "002", tmp_path, "PL(5,1)")
    hands.judged(held)
    held.attack()
    hands.judged(held)
    hands.attack_table(held, "003", "001", tmp_path, right=7)
    hands.attack_traces(held, "003", "000", tmp_path)
    hands.judged(held)
    held.results()
    hands.judged(held)
    return held


def _values() -> dict[str, float]:
    return dict(queue.find_counting_scores("utility", "final", "sample").values_list("key", "value"))


def _run(held: Held) -> Rescoring:
    made = rescore.start_rescoring("organiser", "a new version")
    hands.judged(held)
    made.refresh_from_db()
    assert made.state == RescoringState.COMPARED
    return made


def test_what_is_scored_after_the_start_is_no_part_of_a_rescoring(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be started before there is a score; later scores neither differ nor stand in the way."""
    hands.without_children(monkeypatch)
    held.anonymization()
    with pytest.raises(ParameterError, match="no score yet"):
        rescore.start_rescoring("organiser", "too early")
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    made = _run(held)
    hands.defend(held, "002", tmp_path, "PL(5,1)")
    hands.judged(held)
    before = _values()
    assert len(before) == 2
    assert rescore.compare_scores(made) == []
    rescore.apply_rescoring(made, "organiser")
    assert _values() == before


@pytest.mark.slow
def test_scored_twice_is_scored_the_same(scored: Held) -> None:
    """T13: Bit by bit, and every row says by which scorer."""
    before = _values()
    assert len(before) == 2 + 2 + 4 * 3
    for _ in range(2):
        made = _run(scored)
        assert rescore.compare_scores(made) == []
        assert dict(made.scores.values_list("key", "value")) == before
        rescore.apply_rescoring(made, "organiser")
    assert _values() == before
    wanted = f"tracearena {__version__}, scorer {SCORER_VERSION}"
    assert set(Score.objects.values_list("scorer", flat=True)) == {wanted}


@pytest.mark.slow
def test_nothing_changes_until_it_is_applied(scored: Held) -> None:
    """T16: The differences are listed; then the board is the new one, and the old scores are kept."""
    attack = Score.objects.get(key__startswith="final/", kind="reidentification")
    utility = Score.objects.get(key__startswith="utility/", data_set__team__number="001")
    Score.objects.filter(pk=attack.pk).update(value=0.9)
    Score.objects.filter(pk=utility.pk).update(value=0.8)
    results.invalidate_board()
    before, rows = results.read_organiser_board(), _values()
    made = _run(scored)
    assert results.read_organiser_board() == before
    assert _values() == rows
    wanted = [
        rescore.ScoreDifference(attack.key, 0.9, attack.value),
        rescore.ScoreDifference(utility.key, 0.8, 1.0),
    ]
    assert rescore.compare_scores(made) == wanted
    rescore.apply_rescoring(made, "organiser")
    assert results.read_organiser_board() != before
    assert results.build_current_board().row("001").utility == 1.0
    assert DataSet.objects.get(team__number="001").utility == 1.0
    assert made.scores.get(key=f"before/{attack.key}").value == 0.9
    assert rescore.compare_scores(made) == wanted
    acts = AuditEntry.objects.filter(act__startswith="re-scoring").values_list("act", "actor")
    assert list(acts) == [("re-scoring started", "organiser"), ("re-scoring applied", "organiser")]


@pytest.mark.slow
def test_what_changes_in_board_and_awards_is_shown_before_it_is_applied(scored: Held) -> None:
    """T16: Exactly what the frozen results say before and after, though no single score differs."""
    attack = Score.objects.get(key__startswith="final/", kind="reidentification")
    before = results.read_current_result()
    # A score that came in behind the frozen result, as by a file that was counted too late.
    Score.objects.filter(key=attack.key).update(value=0.0)
    results.invalidate_board()
    made = rescore.start_rescoring("organiser", "by hand")
    Rescoring.objects.update(state=RescoringState.COMPARED)
    for score in queue.find_counting_scores("utility", "final", "sample"):
        queue.write_score(score.key, score.value, submission=score.submission, rescoring=made,
                     sample=(score.sample, score.kind, score.data_set))  # fmt: skip
    assert rescore.compare_scores(made) == []
    said = rescore.compare_results(made)
    assert "board 001/1 s_R_min" in {one.key for one in said}
    rescore.apply_rescoring(made, "organiser")
    assert rescore.compare_results(made) == said
    after = results.read_current_result()
    rows = list(zip(before["board"], after["board"], strict=True))
    assert any(old != new for old, new in rows)
    for old, new in rows:
        for column in ("utility", "valid", "s_R_min", "s_T_min"):
            key = f"board {new['team']}/{new['data_set']} {column}"
            assert (key in {one.key for one in said}) == (old[column] != new[column])


@pytest.mark.slow
def test_cancelled_is_as_if_it_had_not_been(scored: Held) -> None:
    """T16: Whether it has come to its end or not; a cancelled one is not applied any more."""
    attack = Score.objects.get(key__startswith="final/", kind="reidentification")
    Score.objects.filter(pk=attack.pk).update(value=0.9)
    results.invalidate_board()
    before, rows = results.read_organiser_board(), _values()
    made = _run(scored)
    rescore.cancel_rescoring(made, "organiser")
    other = rescore.start_rescoring("organiser", "once more")
    rescore.cancel_rescoring(other, "organiser")
    assert not queue.find_open_jobs().exists()
    hands.judged(scored)
    assert results.read_organiser_board() == before
    assert _values() == rows
    with pytest.raises(ParameterError, match="is cancelled"):
        rescore.apply_rescoring(made, "organiser")
    for one in (made, other):
        one.refresh_from_db()
        assert rescore.compare_scores(one) == rescore.compare_results(one) == []
    shown = tracearena("contest", "rescore", "show", scored.folder.path).out
    assert shown == f"re-scoring {other.pk}: cancelled\nall scores are unchanged\n"


@pytest.mark.slow
def test_one_at_a_time_and_only_when_it_is_whole(scored: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """T16: A second one is refused while the first waits; one in which a score failed is never applied."""
    made = rescore.start_rescoring("organiser", "first")
    with pytest.raises(ParameterError, match="already in progress"):
        rescore.start_rescoring("organiser", "second")
    with pytest.raises(ParameterError, match="is running"):
        rescore.apply_rescoring(made, "organiser")
    monkeypatch.setattr(rescore, "score_submission", lambda *given: 1 / 0)
    hands.judged(scored)
    made.refresh_from_db()
    failed = [one for one in rescore.compare_scores(made) if one.after is None]
    assert len(failed) == 4
    with pytest.raises(ParameterError, match="incomplete"):
        rescore.apply_rescoring(made, "organiser")
    made.refresh_from_db()
    assert made.state == RescoringState.COMPARED
    rescore.cancel_rescoring(made, "organiser")


@pytest.mark.slow
def test_there_is_no_result_while_a_job_is_open(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T17: The result is frozen when the last job is done, and not before."""
    from tracearena.server.judge import scoring
    from tracearena.server.judge.scoring import JudgeFiles
    from tracearena.server.judge.worker import enqueue_due_jobs, run_job

    hands.without_children(monkeypatch)
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    held.results()
    bench, done = JudgeFiles(held.folder, held.judge_private_key), []
    while True:
        enqueue_due_jobs()
        taken = queue.take_job("judge")
        if taken is None:
            break
        assert (results.find_final_snapshot() is None) or taken.kind == "open"
        if taken.kind != "final":
            assert bool(scoring.find_missing_jobs()) == (taken.kind != "open")
        assert run_job(taken, bench) == ""
        done.append(taken.kind)
    assert done[-2:] == ["final", "open"]
    others = sorted(kind for kind in done[:-2] if kind != "receipts")
    assert others == ["check"] + ["publish"] * 4 + ["sample"] * 2 + ["sample score"] * 2
