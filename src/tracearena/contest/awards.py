"""Awards: who defended best, who attacked best, with ties shared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from tracearena.contest.board import NOT_ATTACKED, Board, Target
from tracearena.contest.records import AttackKind, Role
from tracearena.errors import DataError, ParameterError
from tracearena.language import marked

SAME = 1e-9
"""Scores closer than this are equal: such a difference is rounding, not merit."""


@dataclass(frozen=True)
class Standing:
    """One team's place in the order of an award; equal teams have the same place."""

    place: int
    team: str
    value: float

    def to_dict(self) -> dict[str, Any]:
        """Return the standing as plain values for JSON."""
        return {"place": self.place, "team": self.team, "value": self.value}


@dataclass(frozen=True)
class Award:
    """One award and the order behind it.

    Attributes
    ----------
    name
        A fixed word, such as ``"best-anonymization"``.
    title
        The same for people.
    places
        The teams that compete for it, best first.
    """

    name: str
    title: str
    places: tuple[Standing, ...]

    @property
    def winners(self) -> tuple[str, ...]:
        """The teams in first place; several share the award, none means that nobody earned it."""
        return tuple(place.team for place in self.places if place.place == 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the award as plain values for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "winners": list(self.winners),
            "places": [place.to_dict() for place in self.places],
        }


def make_awards(board: Board, preliminary: Mapping[str, float] | None = None) -> tuple[Award, ...]:
    """Return all awards of a contest.

    - ``best-anonymization``: highest s_T,min (on the second data set if there are two).
    - ``best-anonymization-reidentification``, with two data sets only: highest s_R,min on the first.
    - ``best-reidentification``, ``best-trace-inference``: lowest sum of s_R or s_T over all valid
      data sets of the other teams and of the pseudonymised team; a missing attack counts 1.
    - ``overall``, by a rule only: highest total (`totals`). By another rule its winners do not compete
      for the awards of the attackers.

    Only teams compete: neither the pseudonymised team nor samples. A team with an invalid data set
    cannot win with it, and a team that attacked no target cannot win for attacking.

    Parameters
    ----------
    board
        The board.
    preliminary
        Totals of a round before this one, by team; a team that is not there had none and counts 0.

    References
    ----------
    [contest] section 3.4, "Awards", and footnote 3.

    Notes
    -----
    A sum runs over the targets that a team can have. A team whose own data set is invalid has one
    target more than a team whose data set is valid, and so a sum with one more term: [contest]
    compares sums, not means, and so do we.

    Examples
    --------
    >>> from tracearena.contest import AttackRecord, Roster, Rules, UtilityRecord, make_board
    >>> roster = Roster(teams=["a", "b"])
    >>> utilities = [UtilityRecord(team=team, utility=0.8) for team in roster.teams]
    >>> attack = AttackRecord(attacker="a", target="b", kind="trace-inference", score=0.4)
    >>> for award in make_awards(make_board(Rules(), roster, utilities, [attack])):
    ...     print(award.name, award.winners)
    best-anonymization ('a',)
    best-reidentification ()
    best-trace-inference ('a',)
    """
    last = board.rules.data_sets
    defended = [_best_defence(board, "best-anonymization", AttackKind.TRACE_INFERENCE, last)]
    if last == 2:
        name = "best-anonymization-reidentification"
        defended.append(_best_defence(board, name, AttackKind.REIDENTIFICATION, 1))
    overall = [_overall(board, preliminary)] if board.rules.overall_total else []
    if preliminary is not None and not overall:
        raise ParameterError("a preliminary round counts in the overall award only: set overall_total")
    apart = frozenset(() if board.rules.winner_takes_attack_awards else overall[0].winners)
    return (
        *defended,
        _best_attack(board, "best-reidentification", AttackKind.REIDENTIFICATION, apart),
        _best_attack(board, "best-trace-inference", AttackKind.TRACE_INFERENCE, apart),
        *overall,
    )


def totals(board: Board, preliminary: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the total of every team with a valid data set: s_R,min of its first plus s_T,min of its last.

    With a preliminary round it is that round's total plus `Rules.final_weight` times this one.
    """
    rules = board.rules
    own: dict[str, list[float]] = {}
    for row in board.rows:
        if row.role is Role.TEAM and row.valid:
            scores = own.setdefault(row.team, [])
            scores += [row.s_R_min] if row.data_set == 1 else []
            scores += [row.s_T_min] if row.data_set == rules.data_sets else []
    if preliminary is None:
        return {team: math.fsum(scores) for team, scores in own.items()}
    for team in preliminary:
        if board.roster.role(team) is not Role.TEAM:
            raise DataError(f"{team!r} is no team of this round, but has a total of the preliminary one")
    both = [team for team in board.roster.teams if team in own or team in preliminary]
    return {
        team: preliminary.get(team, 0.0) + rules.final_weight * math.fsum(own.get(team, ())) for team in both
    }


def _overall(board: Board, preliminary: Mapping[str, float] | None) -> Award:
    return Award("overall", _TITLES["overall"], _places(totals(board, preliminary), lowest_first=False))


def attack_sums(board: Board, kind: AttackKind) -> dict[str, float]:
    """Return for every team the sum of the scores it left to its targets; lower is better."""
    targets = board.targets()
    return {team: _attack_sum(board, team, targets, kind) for team in board.roster.teams}


def _attack_sum(board: Board, attacker: str, targets: list[Target], kind: AttackKind) -> float:
    # fsum is exact before its one rounding, so the order of the targets has no effect.
    return math.fsum(
        board.attacks.get((attacker, target, data_set, kind), NOT_ATTACKED)
        for target, data_set in targets
        if target != attacker
    )


def _best_attack(board: Board, name: str, kind: AttackKind, apart: Set[str]) -> Award:
    targets = set(board.targets())
    attackers = {
        attacker
        for attacker, target, data_set, of_kind in board.attacks
        if of_kind == kind and (target, data_set) in targets
    }
    competing = attackers - apart
    sums = {team: total for team, total in attack_sums(board, kind).items() if team in competing}
    return Award(name, _TITLES[name], _places(sums, lowest_first=True))


def _best_defence(board: Board, name: str, kind: AttackKind, data_set: int) -> Award:
    scores = {
        row.team: row.s_R_min if kind is AttackKind.REIDENTIFICATION else row.s_T_min
        for row in board.rows
        if row.role is Role.TEAM and row.valid and row.data_set == data_set
    }
    return Award(name, _TITLES[name], _places(scores, lowest_first=False))


def _places(values: Mapping[str, float], *, lowest_first: bool) -> tuple[Standing, ...]:
    sign = 1 if lowest_first else -1
    return tuple(
        Standing(1 + sum(sign * (value - other) > SAME for other in values.values()), team, value)
        for team, value in sorted(values.items(), key=lambda item: (sign * item[1], item[0]))
    )


_TITLES = {
    "best-anonymization": marked("Best anonymization"),
    "best-anonymization-reidentification": marked("Best anonymization against re-identification"),
    "best-reidentification": marked("Best re-identification"),
    "best-trace-inference": marked("Best trace inference"),
    "overall": marked("Overall winner"),
}
