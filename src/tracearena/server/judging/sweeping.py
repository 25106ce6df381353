"""What is due now: it follows from the database and the clock alone, whoever asks and however often."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db.models import QuerySet

from tracearena.contest.commitments import refresh_at
from tracearena.server import clock
from tracearena.server.judging import closing, final_scores, publication
from tracearena.server.judging.failures import written_down
from tracearena.server.judging.rescoring import compare_when_done
from tracearena.server.models import (
    Contest,
    DataSet,
    Job,
    JobState,
    Rescoring,
    RescoringState,
    Snapshot,
    State,
    Submission,
)
from tracearena.server.results import boards
from tracearena.server.store import everybody_archive, jobs


def sweep() -> None:
    """Put in every job that is due, take back those of workers that are gone, close phases, freeze boards."""
    jobs.take_back_expired(written_down)
    clock.note()
    closing.close_when_over(Contest.now_held())
    contest = Contest.now_held()
    for look in _LOOKS:
        look(contest)


def _unchecked(contest: Contest) -> None:
    """Uploads come with their job; one without has come from a copy of the database."""
    for submission in Submission.objects.filter(state=State.RECEIVED).select_related("team"):
        jobs.enqueue("check", f"check/{submission.pk}", {"submission": submission.pk}, team=submission.team)


def _to_publish(contest: Contest) -> None:
    if publication.is_due(contest):
        _for_data_sets("publish", DataSet.objects.filter(closed_at__isnull=True))


def _to_attack(contest: Contest) -> None:
    _for_data_sets("sample", DataSet.objects.filter(released_at__isnull=False))


def _live_board(contest: Contest) -> None:
    """Freeze the live board of the last refresh; a pure function of the scores made until then."""
    if contest.rules.mode != "live":
        return
    at = refresh_at(contest.rules, clock.now())
    within = contest.schedule.attack_begin <= at <= contest.last("attack_end")
    if within and not Snapshot.objects.filter(name=boards.live_name(at)).exists():
        boards.freeze_live(at)


def _to_score(contest: Contest) -> None:
    if contest.attack_closed_at is None or jobs.open_jobs("check").exists():
        return
    for submission in final_scores.counting_attacks():
        about = {"submission": submission.pk}
        jobs.enqueue("score", f"score/{submission.pk}", about, team=submission.team)
    done = Job.objects.filter(kind="sample", state=JobState.DONE).values_list("about", flat=True)
    attacked = DataSet.objects.filter(pk__in=[about["data_set"] for about in done])
    _for_data_sets("sample score", attacked)


def _to_freeze(contest: Contest) -> None:
    if contest.attack_closed_at is None or final_scores.missing():
        return
    if boards.final_snapshot() is None and not DataSet.objects.filter(closed_at__isnull=True).exists():
        jobs.enqueue("final", "final")


def _to_open(contest: Contest) -> None:
    final_scores.publish_when_due(contest)
    if boards.is_published(Contest.now_held(), clock.now()) and boards.final_snapshot() is not None:
        jobs.enqueue("open", "open")


def _rescored(contest: Contest) -> None:
    for rescoring in Rescoring.objects.filter(state=RescoringState.RUNNING):
        compare_when_done(rescoring)


def _to_pack(contest: Contest) -> None:
    """Write everybody's files as one archive, when no more of them are about to come."""
    if not jobs.open_jobs("publish", "open").exists():
        everybody_archive.write(settings.CONTEST_FOLDER)


def _for_data_sets(kind: str, data_sets: QuerySet[DataSet]) -> None:
    for data_set in data_sets.select_related("team"):
        jobs.enqueue(kind, f"{kind}/{data_set}", {"data_set": data_set.pk})


_LOOKS: tuple[Callable[[Contest], None], ...] = (
    _unchecked,
    _to_publish,
    _to_attack,
    _live_board,
    _to_score,
    _to_freeze,
    _to_open,
    _rescored,
    _to_pack,
)
