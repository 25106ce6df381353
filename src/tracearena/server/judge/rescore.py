"""Scores made anew, beside those that count: compared first, then applied or cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from tracearena.contest import AttackKind
from tracearena.errors import ParameterError
from tracearena.server import clock, errors, results
from tracearena.server.judge.scoring import JudgeFiles, score_sealed_answer, score_submission
from tracearena.server.models import Contest, DataSet, Job, JobState, Rescoring, RescoringState, Score
from tracearena.server.store import queue
from tracearena.server.store.audit_log import log_act

_RESCORABLE_KINDS = (queue.UTILITY, queue.FINAL, queue.SAMPLE)


@dataclass(frozen=True)
class ScoreDifference:
    """A score, a cell of the board or an award that came out otherwise, or not at all.

    Attributes
    ----------
    key
        What was scored, such as ``final/23``, or a place of the result, such as ``board 001/1 s_R_min``.
    before, after
        What counts, and what is new; None where there is none.
    """

    key: str
    before: Any
    after: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values for JSON."""
        return {"key": self.key, "before": self.before, "after": self.after}


def start_rescoring(actor: str, reason: str) -> Rescoring:
    """Let every score that counts be made once more, beside itself; nothing that is shown changes."""
    with transaction.atomic():
        if Rescoring.objects.filter(state__in=(RescoringState.RUNNING, RescoringState.COMPARED)).exists():
            raise ParameterError(gettext("a re-scoring is under way already: apply it or cancel it first"))
        staged = list(queue.find_counting_scores(*_RESCORABLE_KINDS))
        if not staged:
            raise ParameterError(gettext("there is no score yet that could be made again"))
        rescoring = Rescoring.objects.create(reason=reason, created_at=clock.now())
        for score in staged:
            about = {"score": score.pk, "rescoring": rescoring.pk}
            queue.enqueue("rescore", f"{_build_key_prefix(rescoring)}{score.pk}", about)
        log_act(actor, "re-scoring started", number=rescoring.pk, reason=reason)
    return rescoring


def recompute_score(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Make one score anew, from the file that was received."""
    rescoring = Rescoring.objects.get(pk=taken.about["rescoring"])
    if rescoring.state != RescoringState.RUNNING:
        with queue.finish_job(taken):
            return
    score = Score.objects.select_related("submission__team", "submission__data_set__team", "data_set__team")
    old = score.get(pk=taken.about["score"])
    if old.submission is None:
        value = score_sealed_answer(old.sample, AttackKind(old.kind), old.data_set, bench)
    else:
        value = score_submission(old.submission, bench)
    sample = None if old.submission is not None else (old.sample, old.kind, old.data_set)
    with queue.finish_job(taken):
        queue.write_score(old.key, value, submission=old.submission, sample=sample, rescoring=rescoring)


def compare_when_done(rescoring: Rescoring) -> None:
    """Let a re-scoring wait for a decision when nothing of it is open any more."""
    if not queue.find_open_jobs("rescore").filter(key__startswith=_build_key_prefix(rescoring)).exists():
        running = Rescoring.objects.filter(pk=rescoring.pk, state=RescoringState.RUNNING)
        running.update(state=RescoringState.COMPARED)


def compare_scores(rescoring: Rescoring) -> list[ScoreDifference]:
    """Return which scores came out otherwise, or failed to, in the order of the keys.

    A cancelled re-scoring changed nothing, and there is nothing to compare.
    """
    if rescoring.state == RescoringState.CANCELLED:
        return []
    if rescoring.state == RescoringState.APPLIED:
        kept = rescoring.scores.filter(key__startswith=f"{queue.BEFORE}/")
        before = {score.key.removeprefix(f"{queue.BEFORE}/"): score.value for score in kept}
        after = {
            score.key: score.value
            for score in queue.find_counting_scores(*_RESCORABLE_KINDS)
            if score.key in before
        }
    else:
        # What was scored since it was started is no part of it, and stays as it is.
        names = Job.objects.filter(key__startswith=_build_key_prefix(rescoring)).values_list("key", flat=True)
        staged = queue.find_counting_scores(*_RESCORABLE_KINDS).filter(
            pk__in=[int(name.rpartition("/")[2]) for name in names]
        )
        before = {score.key: score.value for score in staged}
        after = {score.key: score.value for score in rescoring.scores.all()}
    return _compare_values(before, after)


def compare_results(rescoring: Rescoring) -> list[ScoreDifference]:
    """Return what changes, or has changed, in board and awards when a re-scoring is applied."""
    if rescoring.state == RescoringState.APPLIED:
        return [ScoreDifference(**one) for one in rescoring.result_changes]
    if rescoring.state == RescoringState.CANCELLED:
        return []
    return _compare_values(
        _flatten_result(results.read_current_result()), _flatten_result(results.preview_result(rescoring))
    )


def _flatten_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return what people look at in a result, by its place: the cells of the board, and who won what."""
    cells = {
        f"board {row['team']}/{row['data_set']} {column}": row[column]
        for row in result["board"]
        for column in ("utility", "valid", "s_R_min", "s_T_min")
    }
    winners = {f"award {award['name']}": ", ".join(award["winners"]) for award in result["awards"]}
    return cells | winners


def _compare_values(before: dict[str, Any], after: dict[str, Any]) -> list[ScoreDifference]:
    return [
        ScoreDifference(key, before.get(key), after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def apply_rescoring(rescoring: Rescoring, actor: str) -> None:
    """Let the new scores count; those before are kept under the re-scoring, and a new result is frozen."""
    with transaction.atomic():
        # The contest's row first, as everybody takes it who takes data sets after it.
        Contest.objects.select_for_update().get(pk=1)
        changed, result = compare_scores(rescoring), compare_results(rescoring)
        _set_final_state(rescoring, RescoringState.COMPARED, to=RescoringState.APPLIED)
        failed = [one.key for one in changed if one.after is None]
        if failed:
            said = gettext("the re-scoring is not whole: %(score)s failed; cancel it")
            raise ParameterError(said % {"score": failed[0]})
        rescoring.result_changes = [one.to_dict() for one in result]
        rescoring.save(update_fields=["result_changes"])
        for new in rescoring.scores.all():
            old = Score.objects.get(key=new.key, rescoring__isnull=True)
            Score.objects.filter(pk=old.pk).update(key=f"{queue.BEFORE}/{old.key}", rescoring=rescoring)
            Score.objects.filter(pk=new.pk).update(rescoring=None)
        for data_set in DataSet.objects.all():
            queue.update_utility(data_set)
        results.invalidate_board()
        if results.find_final_snapshot() is not None:
            results.freeze_final_board()
        log_act(actor, "re-scoring applied", number=rescoring.pk, changed=len(changed), result=len(result))


def cancel_rescoring(rescoring: Rescoring, actor: str) -> None:
    """Leave all as it was; the new scores are kept beside, and never count."""
    with transaction.atomic():
        open_states = (RescoringState.RUNNING, RescoringState.COMPARED)
        _set_final_state(rescoring, *open_states, to=RescoringState.CANCELLED)
        waiting = queue.find_open_jobs("rescore").filter(key__startswith=_build_key_prefix(rescoring))
        waiting.filter(state=JobState.WAITING).update(state=JobState.DONE, finished_at=clock.now())
        log_act(actor, "re-scoring cancelled", number=rescoring.pk)


def _build_key_prefix(rescoring: Rescoring) -> str:
    """Return how the keys of its jobs begin; the number of a score follows."""
    return f"rescore/{rescoring.pk}/"


def _set_final_state(rescoring: Rescoring, *from_: str, to: str) -> None:
    """Bring a re-scoring to its end, once."""
    own = Rescoring.objects.filter(pk=rescoring.pk, state__in=from_)
    if not own.update(state=to, finished_at=clock.now()):
        state = Rescoring.objects.get(pk=rescoring.pk).state
        said = gettext("re-scoring %(number)s is %(state)s and cannot be %(wanted)s now")
        words = {
            "number": rescoring.pk,
            "state": errors.translate_state(state),
            "wanted": errors.translate_state(to),
        }
        raise ParameterError(said % words)
    rescoring.refresh_from_db()
