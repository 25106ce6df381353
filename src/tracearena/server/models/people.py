"""Who takes part and how they come in; of every secret there is only a hash or what it wraps."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models

from tracearena.contest import Role


def _choices(kinds: type[models.TextChoices] | type[Role]) -> list[tuple[str, str]]:
    return [(kind.value, kind.value) for kind in kinds]


def folded(name: str) -> str:
    """Return what names have in common that people take for the same: case, width, spaces at the ends.

    >>> folded(" Ｍ001"), folded("Straße") == folded("STRASSE")
    ('m001', True)
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).strip().casefold())


class Team(models.Model):
    """A party of the contest: a team, the pseudonymised team or a sample team.

    A competing team has a pair of keys: its bundle is sealed to `public_key`; the private key lies in
    `escrow`, sealed to the judge, and under every secret of the team.
    """

    number = models.CharField(max_length=3, unique=True)
    name = models.CharField(max_length=60)
    role = models.CharField(max_length=16, choices=_choices(Role))
    public_key = models.BinaryField(null=True)
    escrow = models.BinaryField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("number",)

    def __str__(self) -> str:
        return self.number if self.name == self.number else f"{self.number} {self.name}"


class Member(AbstractBaseUser):
    """Somebody who logs in: a member of a team or an organiser.

    No two have names that differ only in case or width: `folded_name` is unique.
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

    def save(self, *args: Any, **named: Any) -> None:
        """Store the member, and the name as it is compared."""
        self.folded_name = folded(self.username)
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
    """How often a login has failed of late, by a hash of name or address."""

    who = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField(default=0)
    since = models.DateTimeField()
