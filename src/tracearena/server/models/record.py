"""The contest itself, what was shown of it, and who did what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models

from tracearena.contest import Rules, Schedule


class Contest(models.Model):
    """The one contest of this database: rules, and the schedule as it stands now.

    `extra_time` has the ends that come later for a team than for the others, as `Charter` has them.

    `seen_at` is the highest time that the judges have seen: the contest never goes behind it. A phase is
    closed by the judge a minute after its end; uploads that are in the database by then count if they came
    in time, and none that comes later does. `signing_key` is the public key of the lists of receipts.
    `base_url` is where browsers reach the contest, for links that commands print.
    """

    name = models.CharField(max_length=60)
    rules_values = models.JSONField()
    schedule_values = models.JSONField()
    extra_time = models.JSONField(default=dict)
    people = models.CharField(max_length=10)
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True)
    anonymization_closed_at = models.DateTimeField(null=True)
    attack_closed_at = models.DateTimeField(null=True)
    published_at = models.DateTimeField(null=True)
    backed_up_at = models.DateTimeField(null=True)
    signing_key = models.CharField(max_length=64, blank=True)
    base_url = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def now_held(cls) -> Contest:
        """Return the contest."""
        return cls.objects.get(pk=1)

    @property
    def rules(self) -> Rules:
        """The rules."""
        return Rules.from_dict(self.rules_values)

    @property
    def schedule(self) -> Schedule:
        """When what takes place."""
        return Schedule.from_dict(self.schedule_values)

    def schedule_of(self, team: str) -> Schedule:
        """Return when what takes place for a team, which may have more time than the others."""
        return self.schedule.extended(self.extra_time.get(team, {}))

    def last(self, point: str) -> datetime:
        """Return when the last team has come to an end of the schedule."""
        return max(getattr(self.schedule_of(team), point) for team in ("", *self.extra_time))


class Snapshot(models.Model):
    """A board as it was shown or fixed: the very bytes."""

    name = models.CharField(max_length=60, unique=True)
    made_at = models.DateTimeField()
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)


class AuditEntry(models.Model):
    """Something that an organiser, the command line or the judge did; never changed, never removed.

    Each entry holds the hash of the one before, so that a gap shows.
    """

    at = models.DateTimeField()
    actor = models.CharField(max_length=80)
    act = models.CharField(max_length=60)
    details = models.JSONField(default=dict)
    before = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("pk",)

    def save(self, *args: Any, **named: Any) -> None:
        """Add the entry; one that is there is not changed."""
        if self.pk is not None:
            raise TypeError("entries of the audit log are added, never changed")
        super().save(*args, **named)

    def delete(self, *args: Any, **named: Any) -> Any:
        """Refuse: the log is append-only."""
        raise TypeError("entries of the audit log are never removed")
