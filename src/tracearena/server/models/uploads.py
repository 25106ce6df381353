"""What teams defend and hand in."""

from __future__ import annotations

import secrets

from django.db import models

from tracearena.server.models.people import Member, Team


class UploadKind(models.TextChoices):
    """What an upload is."""

    OBFUSCATED = "obfuscated"
    INFERRED_TABLE = "inferred-table"
    INFERRED_TRACES = "inferred-traces"


class State(models.TextChoices):
    """How far an upload has come. The last four are final."""

    RECEIVED = "received"
    CHECKED = "checked"
    SCORED = "scored"
    PUBLISHED = "published"
    LATE = "late"
    REFUSED = "refused"
    ERROR = "judge error"


class DataSet(models.Model):
    """The people of one team that are to be defended; a target once it is released.

    `utility` is that of the upload that counts. `commitment` fixes the ID table for good.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="data_sets")
    number = models.PositiveSmallIntegerField(default=1)
    counts = models.ForeignKey("Submission", on_delete=models.PROTECT, null=True, related_name="+")
    utility = models.FloatField(null=True)
    closed_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)
    commitment = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("team__number", "number")
        constraints = [models.UniqueConstraint(fields=["team", "number"], name="one_data_set_a_number")]

    def __str__(self) -> str:
        return f"{self.team.number}/{self.number}"


class Quota(models.Model):
    """How often a team has done something that is limited; changed by conditional updates only."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="quotas")
    what = models.CharField(max_length=60)
    used = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "what"], name="one_quota_a_purpose")]


def new_salt() -> str:
    """Return 128 random bits as text."""
    return secrets.token_hex(16)


class Submission(models.Model):
    """One upload; its number is that of the receipt, and of two the later one has the larger number.

    `salt` hides `sha256` in the published list of receipts. `verdict` is what the checker said of a refused
    file, `reason` why the judge failed.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="submissions")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, null=True)
    kind = models.CharField(max_length=16, choices=UploadKind.choices)
    data_set = models.ForeignKey(DataSet, on_delete=models.PROTECT, related_name="submissions")
    file_name = models.CharField(max_length=120)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    salt = models.CharField(max_length=32, default=new_salt)
    received_at = models.DateTimeField()
    idempotency_key = models.CharField(max_length=100)
    quota = models.CharField(max_length=60, blank=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.RECEIVED)
    verdict = models.JSONField(null=True)
    reason = models.TextField(blank=True)
    utility = models.FloatField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        constraints = [models.UniqueConstraint(fields=["team", "idempotency_key"], name="one_upload_a_key")]
        indexes = [models.Index(fields=["data_set", "kind", "state"], name="by_target")]

    @property
    def is_late(self) -> bool:
        """Whether it came after the end and does not count."""
        return self.state == State.LATE
