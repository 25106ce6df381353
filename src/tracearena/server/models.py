"""The tables of a contest: who takes part, what they hand in, the judge's work, and what was shown.

Of every secret only a hash is stored, or what the secret wraps.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models

from tracearena.contest import Role, Rules, Schedule
from tracearena.contest.contest_file import fold_name

PERSON = "person "
"""How the audit log begins to speak of somebody who has an account; their number follows."""


class Team(models.Model):
    """A party of the contest: a team, the pseudonymised team or a sample team.

    A competing team has a pair of keys: its bundle is sealed to `public_key`; the private key lies in
    `escrow`, sealed to the judge, and under every secret of the team. `write_up` and `code_link` are what it
    says of itself once the results are open.
    """

    number = models.CharField(max_length=3, unique=True)
    name = models.CharField(max_length=60)
    role = models.CharField(max_length=16, choices=[(role.value, role.value) for role in Role])
    public_key = models.BinaryField(null=True)
    escrow = models.BinaryField(null=True)
    created_at = models.DateTimeField()
    write_up = models.TextField(blank=True)
    code_link = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("number",)

    def __str__(self) -> str:
        return f"{self.number} {self.name}" if self.is_named else self.number

    @property
    def is_named(self) -> bool:
        """Whether it has a name; without one it is called by its number."""
        return self.name != self.number


class Member(AbstractBaseUser):
    """Somebody who logs in: a member of a team or an organiser.

    No two have names that differ only in case or width: `folded_name` is unique. The audit log has `log_name`
    instead, so a person can be deleted and the log stays as it is.
    """

    username = models.CharField(max_length=60, unique=True)
    folded_name = models.CharField(max_length=240, unique=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="members")
    is_organiser = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    wrapped_key = models.BinaryField(null=True)
    created_at = models.DateTimeField()

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: list[str] = []
    objects: BaseUserManager[Member] = BaseUserManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(is_organiser=True, team__isnull=True)
                | models.Q(is_organiser=False, team__isnull=False),
                name="organiser_or_of_a_team",
            )
        ]

    def __str__(self) -> str:
        return self.username

    @property
    def log_name(self) -> str:
        """What the audit log calls them, such as ``person 3``."""
        return f"{PERSON}{self.pk}"

    def save(self, *args: Any, **named: Any) -> None:
        """Store the member, and the name as it is compared."""
        self.folded_name = fold_name(self.username)
        super().save(*args, **named)


class LinkKind(models.TextChoices):
    """What a link is for."""

    ORGANISER = "organiser"
    INVITATION = "invitation"


class Link(models.Model):
    """A link that lets somebody in: an organiser once, members of a team until it expires or is withdrawn.

    One for a `member` who has an account already gives that account a new password.
    """

    kind = models.CharField(max_length=16, choices=LinkKind.choices)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="links")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, null=True, related_name="links")
    digest = models.CharField(max_length=64, unique=True)
    wrapped_key = models.BinaryField(null=True)
    places = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)


class Token(models.Model):
    """A key to the API, of one team."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="tokens")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, null=True)
    label = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    wrapped_key = models.BinaryField()
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class LoginTry(models.Model):
    """How often a login has failed recently, by a hash of name or address."""

    who = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField(default=0)
    since = models.DateTimeField()


# What teams defend and hand in.


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

    def is_valid(self, rules: Rules) -> bool:
        """Whether it is to be released: what counts is good enough, or nothing was to be obfuscated."""
        return self.team.role == Role.PSEUDONYMISED or rules.is_valid(self.utility)


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
    """All scores computed again next to those that count, to be compared, then applied or cancelled.

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


# The contest itself, what was shown of it, and who did what.


class Contest(models.Model):
    """The one contest of this database: rules, and the schedule as it stands now.

    `extra_time` has the ends that come later for a team than for the others, as `ContestFile` has them.

    `seen_at` is the highest time that the judges have seen: the contest never goes behind it. A phase is
    closed by the judge a minute after its end; uploads that are in the database by then count if they came
    in time, and none that comes later does. `signing_key` is the public key of the lists of receipts.
    `base_url` is where browsers reach the contest, for links that commands print. `teams_may_choose_names`
    lets a team that has no name give itself one. `information` is the organiser's own page, in Markdown.
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
    teams_may_choose_names = models.BooleanField(default=True)
    information = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def get_current(cls) -> Contest:
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
        """Return the schedule of a team, which may have more time than the others."""
        return self.schedule.with_extra_time(self.extra_time.get(team, {}))

    def is_release_ready(self) -> bool:
        """Whether the judge has closed every data set, so that all targets can appear at once."""
        left = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True)
        return self.anonymization_closed_at is not None and not left.exists()

    def has_targets(self, now: datetime) -> bool:
        """Whether everybody may have the targets, which appear all at once."""
        return now >= self.schedule.attack_begin and self.is_release_ready()

    def find_latest(self, point: str) -> datetime:
        """Return when the last team has come to an end of the schedule."""
        return max(getattr(self.schedule_of(team), point) for team in ("", *self.extra_time))


class Announcement(models.Model):
    """What an organiser tells everybody.

    Where a `point` of the schedule was moved, `moved_to` is when it is now, for one `team` or for everybody,
    and `text` is the reason, if one was given. Where a `question` was answered to all, `text` is the answer.
    """

    made_at = models.DateTimeField()
    text = models.TextField(max_length=2_000)
    point = models.CharField(max_length=24, blank=True)
    moved_to = models.DateTimeField(null=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    question = models.ForeignKey("Question", on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ("-pk",)


class Question(models.Model):
    """What a team asks the organiser; the answer is for that team, or for everybody."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="questions")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    text = models.TextField(max_length=2_000)
    answered_at = models.DateTimeField(null=True)
    answer = models.TextField(max_length=2_000, blank=True)
    is_for_all = models.BooleanField(default=False)
    is_seen = models.BooleanField(default=False)
    """Whether somebody of the team has looked at the answer."""

    class Meta:
        ordering = ("-pk",)


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
