"""Scores as rows: what they are called, which of them count, and by which scorer they were made.

A key names what was scored: ``utility/17`` and ``final/23`` by the number of the upload,
``sample/VisitProb-R/004/1`` by attack, team and data set; on a live board ``live/23`` and
``live/sample/…``. What an applied re-scoring has replaced is kept under ``before/…``.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from tracearena import __version__
from tracearena.contest import AttackKind
from tracearena.contest.file_judge import SCORER_VERSION
from tracearena.server import clock
from tracearena.server.models import Contest, DataSet, Rescoring, Score, Submission, UploadKind

SCORER = f"tracearena {__version__}, scorer {SCORER_VERSION}"

UTILITY, FINAL, SAMPLE, LIVE, BEFORE = "utility", "final", "sample", "live", "before"
KINDS = {
    UploadKind.OBFUSCATED: UTILITY,
    UploadKind.INFERRED_TABLE: AttackKind.REIDENTIFICATION.value,
    UploadKind.INFERRED_TRACES: AttackKind.TRACE_INFERENCE.value,
}
"""What is scored of an upload."""


def write(
    key: str,
    value: float,
    *,
    submission: Submission | None = None,
    sample: tuple[str, str, DataSet] | None = None,
    rescoring: Rescoring | None = None,
) -> Score:
    """Write a score down, of an upload or of a sample attack (its name, its kind, its target).

    It goes in once: the key is unique among the scores that count, and within a re-scoring.
    """
    if submission is not None:
        about: dict[str, Any] = {"submission": submission, "data_set": submission.data_set}
        about["kind"] = KINDS[UploadKind(submission.kind)]
    elif sample is not None:
        about = dict(zip(("sample", "kind", "data_set"), sample, strict=True))
    else:
        raise TypeError("a score is that of an upload or of a sample attack")
    return Score.objects.create(
        key=key, value=value, scorer=SCORER, made_at=clock.now(), rescoring=rescoring, **about
    )


def counting(*what: str) -> QuerySet[Score]:
    """Return the scores that count, of keys that begin so."""
    found = Score.objects.filter(rescoring__isnull=True).select_related("submission__team", "data_set__team")
    chosen = Score.objects.none()
    for one in what:
        chosen = chosen | found.filter(key__startswith=f"{one}/")
    return chosen.order_by("pk")


def sample_key(attack: str, data_set: DataSet) -> str:
    """Return the key of a sample attack's score."""
    return f"{SAMPLE}/{attack}/{data_set.team.number}/{data_set.number}"


def settle_utility(data_set: DataSet) -> None:
    """Let the last valid upload count, the last one at all if none is valid, inside the caller's transaction.

    Once the data set is closed the upload that counts stays; only its utility may have been corrected.
    """
    own = DataSet.objects.select_for_update().get(pk=data_set.pk)
    found = list(counting(UTILITY).filter(data_set=own).order_by("submission_id"))
    if own.closed_at is not None:
        found = [score for score in found if score.submission_id == own.counts_id]
    rules = Contest.now_held().rules
    valid = [score for score in found if rules.is_valid(score.value)]
    last = (valid or found)[-1:]
    for score in last:
        DataSet.objects.filter(pk=own.pk).update(counts=score.submission, utility=score.value)
