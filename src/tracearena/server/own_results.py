"""What a published result means for one team: its scores and ranks, who broke it, what attacks were worth.

Also what it says of itself afterwards: a write-up, and where its code is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from tracearena.arena.sweep import TIE
from tracearena.contest import AttackKind, Board, BoardRow, Role
from tracearena.contest.board import Award
from tracearena.errors import DataError
from tracearena.server.announcements import clean_text
from tracearena.server.errors import RequestRefused
from tracearena.server.models import Team
from tracearena.server.results import BoardDrawing

LONGEST_WRITE_UP, _LONGEST_LINK = 4_000, 200
_LINK = re.compile(r"https?://[^\s<>\"]+", re.ASCII)


@dataclass(frozen=True)
class OwnDefence:
    """One data set of the team.

    Attributes
    ----------
    name
        What it is called.
    row
        Its row of the board.
    breakers
        For each kind of attack those that left least, and what they left; nobody where no attack was made.
    """

    name: str
    row: BoardRow
    breakers: dict[str, tuple[list[str], float | None]]


@dataclass(frozen=True)
class Place:
    """The team's place in the order of an award: title, place of how many, value; no place if it has none."""

    title: str
    place: int | None
    of: int
    value: float | None


@dataclass(frozen=True)
class Attack:
    """What the team's attacks on one target left, by kind, and what the strongest attacks left.

    The pseudonymised team has one data set, which has no number here.
    """

    target: str
    data_set: int
    own: dict[str, float | None]
    strongest: dict[str, float | None]


@dataclass(frozen=True)
class OwnResults:
    """Everything that a published result says of one team."""

    defences: list[OwnDefence]
    places: list[Place]
    attacks: list[Attack]


def collect_own_results(drawn: BoardDrawing, label: str) -> OwnResults:
    """Return what a result says of a team, which is called by its label there."""
    board = drawn.board
    own = [row for row in board.rows if row.team == label]
    others = [row for row in board.rows if row.valid and row.role is not Role.SAMPLE and row.team != label]
    others.sort(key=lambda row: (row.data_set, row.team))
    return OwnResults(
        [
            OwnDefence(
                board.rules.name_data_set(row.data_set),
                row,
                {kind.value: _find_breakers(board, row, kind) for kind in AttackKind} if row.valid else {},
            )
            for row in sorted(own, key=lambda row: row.data_set)
        ],
        [_find_place(award, label) for award in drawn.awards],
        [_describe_attack(board, row, label) for row in others],
    )


def _list_scores(board: Board, row: BoardRow, kind: AttackKind) -> dict[str, float]:
    return {
        attacker: score
        for (attacker, target, number, of_kind), score in board.attacks.items()
        if (target, number, of_kind) == (row.team, row.data_set, kind)
    }


def _find_breakers(board: Board, row: BoardRow, kind: AttackKind) -> tuple[list[str], float | None]:
    scores = _list_scores(board, row, kind)
    least = min(scores.values(), default=None)
    found = [who for who, score in scores.items() if least is not None and score <= least + TIE]
    said = _("the judge's %(attack)s")
    is_sample = {who: board.roster.role(who) is Role.SAMPLE for who in found}
    return [said % {"attack": who} if is_sample[who] else who for who in sorted(found)], least


def _find_place(award: Award, label: str) -> Place:
    found = next((one for one in award.places if one.team == label), None)
    if found is None:
        return Place(award.title, None, len(award.places), None)
    return Place(award.title, found.place, len(award.places), found.value)


def _describe_attack(board: Board, row: BoardRow, label: str) -> Attack:
    scores = {kind.value: _list_scores(board, row, kind) for kind in AttackKind}
    return Attack(
        row.team,
        0 if row.role is Role.PSEUDONYMISED else row.data_set,
        {kind: found.get(label) for kind, found in scores.items()},
        {kind: min(found.values(), default=None) for kind, found in scores.items()},
    )


# What teams say of themselves.


@dataclass(frozen=True)
class WriteUp:
    """What a team says of its defence and its attacks, and where its code is; either may be empty."""

    team: str
    text: str
    link: str


def save_write_up(team: Team, text: str, link: str) -> None:
    """Store what a team says; a link is one that a browser follows to another page, and to nothing else."""
    text, link = clean_text(text), clean_text(link)
    if len(text) > LONGEST_WRITE_UP:
        message = _("A write-up can have at most %(longest)s characters; this one has %(length)s.")
        raise RequestRefused(400, "write-up", message % {"longest": LONGEST_WRITE_UP, "length": len(text)})
    if link and not _is_link(link):
        message = _("A link must begin with https:// or http:// and have at most %(longest)s characters.")
        raise RequestRefused(400, "link", message % {"longest": _LONGEST_LINK})
    team.write_up, team.code_link = text, link
    team.save(update_fields=["write_up", "code_link"])


def list_write_ups() -> list[dict[str, str]]:
    """Return what teams say of themselves as plain values, by number."""
    found = Team.objects.filter(role=Role.TEAM)
    return [
        {"team": one.number, "text": one.write_up, "link": one.code_link}
        for one in found
        if one.write_up or one.code_link
    ]


def parse_write_ups(content: bytes, labels: dict[str, str]) -> list[WriteUp]:
    """Return the write-ups of an archive, which anybody may have made; `labels` has its teams by number."""
    return label_write_ups(json.loads(content), labels)


def label_write_ups(values: Iterable[dict[str, Any]], labels: dict[str, str]) -> list[WriteUp]:
    """Return write-ups with the labels of their teams, each checked."""
    made = []
    for one in values:
        team, text, link = labels[one["team"]], one["text"], one["link"]
        if not (isinstance(text, str) and len(text) <= LONGEST_WRITE_UP and isinstance(link, str)):
            raise DataError("a write-up is not text, or is too long")
        if link and not _is_link(link):
            raise DataError("the link of a write-up is not a link")
        made.append(WriteUp(team, text, link))
    return made


def _is_link(link: str) -> bool:
    return len(link) <= _LONGEST_LINK and _LINK.fullmatch(link) is not None
