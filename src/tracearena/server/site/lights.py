"""How every team fares, for the organiser: who never came in, never handed in, is not valid.

Only whether a data set is valid is told, never its score: an organiser knows no more of a sealed contest
than is needed to help.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q
from django.utils.translation import gettext as _

from tracearena.contest import Role
from tracearena.server.models import Contest, DataSet, Submission, Team, UploadKind
from tracearena.server.people import parties

GOOD, WAIT, BAD = "good", "wait", "bad"


@dataclass(frozen=True)
class TeamLights:
    """One team.

    Attributes
    ----------
    number, label
        What it is called.
    people, last_login, last_upload
        Who has come in, when somebody logged in last and handed something in last.
    came, defence, attacks
        A light each: whether it is good, waits or is bad, and why.
    """

    number: str
    label: str
    people: int
    last_login: datetime | None
    last_upload: datetime | None
    came: tuple[str, str]
    defence: tuple[str, str]
    attacks: tuple[str, str]


def lights() -> list[TeamLights]:
    """Return the lights of all teams."""
    contest = Contest.now_held()
    teams = Team.objects.filter(role=Role.TEAM).annotate(
        people=Count("members", filter=Q(members__is_active=True), distinct=True),
        login=Max("members__last_login"),
    )
    handed_in = dict(Submission.objects.order_by().values_list("team").annotate(Max("received_at")))
    targets = DataSet.objects.filter(released_at__isnull=False)
    attacked = _attacked()
    return [
        TeamLights(
            number=team.number,
            label=parties.label_of(team),
            people=team.people,
            last_login=team.login,
            last_upload=handed_in.get(team.pk),
            came=(GOOD, _("in")) if team.people else (BAD, _("never logged in")),
            defence=_defence(contest, team),
            attacks=_attacks(attacked.get(team.pk, 0), targets.exclude(team=team).count()),
        )
        for team in teams
    ]


def _defence(contest: Contest, team: Team) -> tuple[str, str]:
    own = list(DataSet.objects.filter(team=team))
    if not Submission.objects.filter(team=team, kind=UploadKind.OBFUSCATED).exists():
        return BAD, _("never uploaded")
    valid = [one for one in own if one.utility is not None and contest.rules.is_valid(one.utility)]
    if len(valid) == len(own):
        return GOOD, _("valid")
    some = _("%(valid)s of %(all)s valid") % {"valid": len(valid), "all": len(own)}
    return (WAIT, some) if valid else (BAD, _("invalid"))


def _attacks(made: int, targets: int) -> tuple[str, str]:
    if targets == 0:
        return WAIT, _("not yet")
    light = GOOD if made >= targets else WAIT if made else BAD
    return light, _("%(made)s of %(targets)s") % {"made": made, "targets": targets}


def _attacked() -> dict[Any, int]:
    """Return how many data sets each team has attacked."""
    attacks = Submission.objects.exclude(kind=UploadKind.OBFUSCATED).exclude(state="late").order_by()
    return dict(attacks.values_list("team").annotate(Count("data_set", distinct=True)))
