"""Teams: what an organiser does with them, and how pages call them and draw them.

Every team's people are made with the contest, so its places are all there from the beginning; a team is
added by giving a free place a name and a link. A link that somebody may have been sent is withdrawn only
where that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from tracearena.contest import ContestFile, Role, Roster, Rules
from tracearena.contest.contest_file import fold_name
from tracearena.errors import DataError, ParameterError
from tracearena.pages.contest_data import TeamStyle, assign_team_styles
from tracearena.server import accounts, clock, errors
from tracearena.server.errors import RequestRefused
from tracearena.server.models import Contest, Member, Team, Token
from tracearena.server.store.audit_log import log_act
from tracearena.server.store.crypto import unseal

_ACTOR = "command line"


def describe_teams() -> list[dict[str, Any]]:
    """Return every team, with who has come in and what it handed in."""
    return [
        {
            "number": team.number,
            "name": team.name,
            "role": team.role,
            "members": [
                member.username for member in team.members.filter(is_active=True).order_by("username")
            ],
            "open_links": accounts.find_open_links(team=team).count(),
            "uploads": team.submissions.count(),
        }
        for team in Team.objects.order_by("number")
    ]


@dataclass(frozen=True)
class TeamLink:
    """A new link of a team.

    Attributes
    ----------
    team
        Whose it is.
    secret
        The link's secret, which is shown once.
    withdrawn
        How many links that the team was given before are void now.
    """

    team: Team
    secret: str = field(repr=False)
    withdrawn: int


def add_team(name: str, judge_key: bytes, number: str | None = None) -> TeamLink:
    """Give a free place a name and a link.

    Parameters
    ----------
    name
        What the team is called.
    judge_key
        The judge's private key, which opens the escrow of the team's.
    number
        Which free place; open links of it become void. By default the first one that has no open link.
    """
    with transaction.atomic():
        return _renew_link(_fill_place(name, number, _ACTOR), judge_key)


def add_team_without_key(name: str, actor: str, number: str | None = None) -> TeamLink:
    """Do the same without the judge's key: the judge makes the link ready."""
    with transaction.atomic():
        return renew_link_without_key(_fill_place(name, number, actor))


def list_free_places() -> list[tuple[Team, bool]]:
    """Return the teams without a name and members, and whether a link of theirs is still good."""
    free = _find_teams().filter(members__isnull=True)
    open_links = set(accounts.find_open_links().values_list("team", flat=True))
    return [(team, team.pk in open_links) for team in free if not team.is_named]


def rename_teams(names: Mapping[str, str], actor: str) -> list[Team]:
    """Give teams names, by their numbers: all of them, or none."""
    with transaction.atomic():
        return [_rename_team(_find_team(number), name, actor) for number, name in names.items()]


def choose_own_name(team: Team, name: str, actor: str) -> Team:
    """Give a team without a name the one that it has chosen, if the organiser lets teams choose."""
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        own = Team.objects.get(pk=team.pk)
        if own.is_named:
            said = gettext("Your team already has a name; ask the organiser to change it.")
            raise RequestRefused(409, "name", said)
        if not contest.teams_may_choose_names:
            raise RequestRefused(409, "name", gettext("The organiser gives the names in this contest."))
        try:
            return _rename_team(own, name, actor)
        except ParameterError as error:
            raise RequestRefused(400, "name", str(error)) from None


def let_teams_choose_names(allowed: bool, actor: str) -> None:
    """Let teams that have no name give themselves one, or forbid it."""
    with transaction.atomic():
        if Contest.objects.exclude(teams_may_choose_names=allowed).update(teams_may_choose_names=allowed):
            log_act(actor, "own team names", allowed=allowed)


def reset_team(number: str, judge_key: bytes, *, everything: bool) -> TeamLink:
    """Withdraw the open links of a team and make a new one.

    Parameters
    ----------
    number
        The team's, such as ``"001"``.
    judge_key
        The judge's private key, which opens the escrow of the team's.
    everything
        Whether members and tokens lose their access too, for a team whose secrets were stolen.
    """
    with transaction.atomic():
        team = _find_team(number)
        if everything:
            Member.objects.filter(team=team).update(is_active=False, wrapped_key=None)
            Token.objects.filter(team=team, revoked_at__isnull=True).update(revoked_at=clock.now())
        renewed = _renew_link(team, judge_key)
        log_act(_ACTOR, "team reset", team=team.number, members=everything)
    return renewed


def renew_link_without_key(team: Team) -> TeamLink:
    """Withdraw the open links of a team and make a new one, which the judge makes ready."""
    withdrawn = accounts.withdraw_links(team=team)
    return TeamLink(team, accounts.request_invitation(team), withdrawn)


def _renew_link(team: Team, judge_key: bytes) -> TeamLink:
    withdrawn = accounts.withdraw_links(team=team)
    return TeamLink(team, accounts.make_invitation(team, unseal(judge_key, bytes(team.escrow))), withdrawn)


def _find_teams() -> Any:
    return Team.objects.filter(role=Role.TEAM).order_by("number")


def _find_team(number: str) -> Team:
    team: Team | None = _find_teams().filter(number=number).first()
    if team is None:
        numbers = ", ".join(_find_teams().values_list("number", flat=True))
        raise ParameterError.of("team", number, f"one of {numbers}")
    return team


def _fill_place(name: str, number: str | None, actor: str) -> Team:
    # Of two organisers at once, the second sees what the first has done.
    Contest.objects.select_for_update().get(pk=1)
    places = list_free_places()
    free = ", ".join(team.number for team, _ in places)
    if not places:
        raise DataError(
            gettext(
                "every place in the contest has a name or members; places are created with the contest: "
                "`contest new --teams` sets their number"
            )
        )
    if number is None:
        team = next((team for team, has_link in places if not has_link), None)
        if team is None:
            said = gettext(
                "teams %(free)s are free, but each has a link that may have been sent. Rename one to "
                "keep its link, or choose one, which makes its link invalid"
            )
            raise DataError(said % {"free": free})
    else:
        team = next((team for team, _ in places if team.number == number), None)
        if team is None:
            raise ParameterError.of("team", number, f"a free one: {free}")
    return _rename_team(team, name, actor, act="team added")


def _rename_team(team: Team, name: str, actor: str, act: str = "team renamed") -> Team:
    # Of two who take a name at once, the second sees that it is taken.
    Contest.objects.select_for_update().get(pk=1)
    # The contest's file must be able to hold the name, and no other team may have it.
    ContestFile(teams=int(team.number), names={team.number: name})
    if fold_name(name) in map(fold_name, Team.objects.exclude(pk=team.pk).values_list("name", flat=True)):
        raise ParameterError(gettext("a team is called %(name)s already") % {"name": repr(name)})
    before, team.name = team.name, name
    team.save(update_fields=["name"])
    log_act(actor, act, team=team.number, name=name, **({} if before == team.number else {"before": before}))
    return team


# What pages call the parties, and how pictures draw them.


def format_label(number: str, name: str, role: str) -> str:
    """Return how a party is called: by its number, which nobody else has, and its name if it has one.

    >>> format_label("001", "Fog Bank", "team"), format_label("002", "002", "team")
    ('001 Fog Bank', '002')
    >>> format_label("000", "000", "pseudonymised")
    '000 pseudonymised'
    """
    known = errors.translate_role(role) if role != Role.TEAM and name == number else name
    return number if known == number else f"{number} {known}"


def label_parties(names: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return what each number is called; `names` as `results.list_party_names` gives them."""
    return {one["team"]: format_label(one["team"], one["name"], one["role"]) for one in names}


def build_roster(names: Sequence[dict[str, Any]], rules: Rules) -> Roster:
    """Return everybody who can be on a board, by number."""
    by_role = {role: [one["team"] for one in names if one["role"] == role] for role in Role}
    extra = by_role[Role.PSEUDONYMISED]
    return Roster(
        teams=by_role[Role.TEAM], pseudonymised=extra[0] if extra else None, samples=rules.sample_attacks
    )


def build_party_styles() -> dict[str, TeamStyle]:
    """Return colour and marker of every team and of the pseudonymised one, by their labels.

    Teams come in the order of their numbers, so that each keeps its colour.
    """
    called = {role: [label_party(team) for team in Team.objects.filter(role=role)] for role in Role}
    extra = called[Role.PSEUDONYMISED]
    return assign_team_styles(Roster(teams=called[Role.TEAM], pseudonymised=extra[0] if extra else None))


def label_party(team: Team) -> str:
    """Return how a party is called."""
    return format_label(team.number, team.name, team.role)
