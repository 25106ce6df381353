"""The judge's work: what is to be done, who does it, what came out."""

from __future__ import annotations

from django.db import models

from tracearena.server.models.people import Team
from tracearena.server.models.uploads import DataSet, Submission


class JobState(models.TextChoices):
    """How far a job has come; the last two are final."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Job(models.Model):
    """Something for the judge to do, at least once, with a result that counts once.

    `key` is what the job is about, so that nothing is put in twice. A worker holds it until
    `lease_until` and prolongs that while it works; each taking raises `fence`, and only the holder of
    the last fence may write a result. `tries` counts its failures, `losses` the workers that were lost over
    it, the last one at `lost_at`. `team` is whose turn it uses.
    """

    kind = models.CharField(max_length=20)
    key = models.CharField(max_length=120, unique=True)
    about = models.JSONField(default=dict)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.WAITING)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0)
    losses_in_a_row = models.PositiveSmallIntegerField(default=0)
    lost_at = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=60, blank=True)
    lease_until = models.DateTimeField(null=True)
    error = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "due_at"], name="what_is_due")]


class RescoringState(models.TextChoices):
    """How far a staged re-scoring has come; the last two are final."""

    RUNNING = "running"
    COMPARED = "compared"
    APPLIED = "applied"
    CANCELLED = "cancelled"


class Rescoring(models.Model):
    """All scores made anew beside those that count, to be compared, then applied or cancelled.

    `result_changes` is what an applied one changed in board and awards.
    """

    state = models.CharField(max_length=10, choices=RescoringState.choices, default=RescoringState.RUNNING)
    reason = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    result_changes = models.JSONField(default=list)


class Score(models.Model):
    """One number that the judge found.

    `key` names what was scored (``utility/17``, ``final/23``, ``sample/VisitProb-R/004/1``,
    ``live/23``); it is unique among those that count (`rescoring` is None) and within each re-scoring.
    """

    key = models.CharField(max_length=120)
    kind = models.CharField(max_length=20)
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="scores")
    sample = models.CharField(max_length=80, blank=True)
    data_set = models.ForeignKey(DataSet, on_delete=models.PROTECT, related_name="scores")
    value = models.FloatField()
    scorer = models.CharField(max_length=40)
    made_at = models.DateTimeField()
    rescoring = models.ForeignKey(Rescoring, on_delete=models.PROTECT, null=True, related_name="scores")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key"], condition=models.Q(rescoring__isnull=True), name="one_score_counts"
            ),
            models.UniqueConstraint(
                fields=["key", "rescoring"],
                condition=models.Q(rescoring__isnull=False),
                name="one_score_a_rescoring",
            ),
            models.CheckConstraint(condition=models.Q(value__gte=0, value__lte=1), name="score_from_0_to_1"),
        ]


class Worker(models.Model):
    """A judge process that shows it is alive, and what its kernel lacks to guard against uploads."""

    name = models.CharField(max_length=60, unique=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    doing = models.CharField(max_length=120, blank=True)
    error = models.TextField(blank=True)
    missing_guards = models.TextField(blank=True)
