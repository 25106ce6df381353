"""The board and the awards, computed from the judge's records.

A data set is valid if its utility reaches the threshold; its privacy is the minimum over all attacks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar

from tracearena.arena.sweep import TIE
from tracearena.checks import require_number, require_whole
from tracearena.contest.rules import Rules
from tracearena.errors import DataError, ParameterError
from tracearena.i18n import mark_for_translation

NOT_ATTACKED = 1.0
INVALID = 0.0
PSEUDONYMISED_DATA_SET = 1
"""The pseudonymised team has one data set, even where teams have two."""

Target: TypeAlias = tuple[str, int]
"""Name and data set."""


@dataclass(frozen=True)
class BoardRow:
    """One data set of one party.

    Attributes
    ----------
    team, role, data_set
        The participant and the number of the data set.
    utility
        s_U of the upload that counts, None without any upload.
    valid
        Whether the utility reaches the threshold.
    s_R_min, s_T_min
        Re-identification and trace-inference privacy under the strongest attack.
    """

    team: str
    role: Role
    data_set: int
    utility: float | None
    valid: bool
    s_R_min: float
    s_T_min: float

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Board:
    """Rows by data set, sorted by the score of the award (best first), and the attacks behind them.

    Attributes
    ----------
    rules, roster
        The rules and the participants.
    rows
        One for each team and data set, and one for each sample with an upload.
    attacks
        The score of each attack that counts, by attacker, target, data set and kind.
    """

    rules: Rules
    roster: Roster
    rows: tuple[BoardRow, ...]
    attacks: Mapping[tuple[str, str, int, AttackKind], float]

    def row(self, team: str, data_set: int = 1) -> BoardRow:
        """Return the row of one party and data set."""
        for row in self.rows:
            if (row.team, row.data_set) == (team, data_set):
                return row
        raise DataError(f"{team!r} has no data set {data_set} on this board")

    def targets(self) -> list[Target]:
        """Return what every team should attack: valid data sets of teams and of the pseudonymised team."""
        return sorted((row.team, row.data_set) for row in self.rows if row.valid and row.role != Role.SAMPLE)

    def with_names(self, names: Mapping[str, str]) -> Board:
        """Return the same board with other names for some of the participants."""
        old = self.roster
        new = {name: names.get(name, name) for name in old.names()}
        roster = Roster(
            teams=[new[team] for team in old.teams],
            pseudonymised=None if old.pseudonymised is None else new[old.pseudonymised],
            samples=[new[sample] for sample in old.samples],
        )
        rows = tuple(replace(row, team=new[row.team]) for row in self.rows)
        attacks = {(new[a], new[t], number, kind): s for (a, t, number, kind), s in self.attacks.items()}
        return Board(self.rules, roster, rows, MappingProxyType(attacks))

    def to_dict(self) -> dict[str, Any]:
        """Return rows and attacks as plain values for JSON."""
        names = ("attacker", "target", "data_set", "kind")
        return {
            "rows": [row.to_dict() for row in self.rows],
            "attacks": [
                dict(zip(names, key, strict=True)) | {"score": score}
                for key, score in sorted(self.attacks.items())
            ],
        }


def make_board(
    rules: Rules, roster: Roster, utilities: Iterable[UtilityRecord], attacks: Iterable[AttackRecord]
) -> Board:
    """Compute the board. The order of the records does not matter.

    Parameters
    ----------
    rules
        Utility threshold and number of data sets per team; the pseudonymised team has one.
    roster
        The participants.
    utilities
        The last *valid* upload of a team and data set counts, by receipt number; if none is valid, the last
        one. Without a record, the utility of the pseudonymised team is 1, because its traces are unchanged.
    attacks
        The last upload of an attacker for a target, data set and kind counts, by receipt number. Leave out
        late uploads before the call (see `phase_at`).

    Returns
    -------
    Board
        With the privacy scores 0 for an invalid data set and 1 for a valid one without attacks.

    References
    ----------
    [contest] section 3.4, "Contest Flow".

    Examples
    --------
    >>> roster = Roster(teams=["a", "b"], samples=["VisitProb-T"])
    >>> utilities = [UtilityRecord(team="a", utility=0.7), UtilityRecord(team="b", utility=0.69)]
    >>> board = make_board(Rules(), roster, utilities, [
    ...     AttackRecord(attacker="b", target="a", kind="trace-inference", score=0.4),
    ...     AttackRecord(attacker="VisitProb-T", target="a", kind="trace-inference", score=0.5),
    ... ])
    >>> for row in board.rows:
    ...     print(row.team, row.valid, row.s_R_min, row.s_T_min)
    a True 1.0 0.4
    b False 0.0 0.0
    """
    uploads, given = list(utilities), list(attacks)
    for upload in uploads:
        _check_data_set(rules, roster, upload.team, upload.data_set)
    counting = {} if roster.pseudonymised is None else {(roster.pseudonymised, PSEUDONYMISED_DATA_SET): 1.0}
    for whose, some in sort_records(((one.team, one.data_set), one) for one in uploads).items():
        found = rules.select_counting((one, one.utility) for one in some)
        if found is not None:
            counting[whose] = found[1]
    for record in given:
        _check_data_set(rules, roster, record.target, record.data_set)
        if roster.role(record.attacker) is Role.PSEUDONYMISED:
            raise DataError(f"{record.attacker!r} is the pseudonymised team, which does not attack")
    scores = {key: last.score for key, (last, *_) in sort_records((one.key, one) for one in given).items()}
    minima: dict[tuple[str, int, AttackKind], float] = defaultdict(lambda: NOT_ATTACKED)
    for (_, target, data_set, kind), score in scores.items():
        minima[target, data_set, kind] = min(minima[target, data_set, kind], score)
    expected = {(team, number) for team in roster.teams for number in range(1, rules.data_sets + 1)}
    rows = []
    for team, data_set in expected | counting.keys():
        utility = counting.get((team, data_set))
        valid = rules.is_valid(utility)
        least = (minima[team, data_set, kind] if valid else INVALID for kind in AttackKind)
        rows.append(BoardRow(team, roster.role(team), data_set, utility, valid, *least))
    # By the score that the award for this data set goes by.
    by_trace = {number: number == rules.data_sets for number in range(1, rules.data_sets + 1)}
    rows.sort(
        key=lambda row: (
            row.data_set,
            *((-row.s_T_min, -row.s_R_min) if by_trace[row.data_set] else (-row.s_R_min, -row.s_T_min)),
            row.team,
        )
    )
    return Board(rules, roster, tuple(rows), MappingProxyType(scores))


def _check_data_set(rules: Rules, roster: Roster, whose: str, data_set: int) -> None:
    if not 1 <= data_set <= rules.data_sets:
        raise DataError(f"data set {data_set} does not exist; this contest has {rules.data_sets} per team")
    if roster.role(whose) is Role.PSEUDONYMISED and data_set != PSEUDONYMISED_DATA_SET:
        raise DataError(f"data set {data_set} of {whose!r} does not exist; the pseudonymised team has one")


# Records of the judge: who takes part, the utility of each upload, the score of each attack.


class AttackKind(StrEnum):
    """Kinds of attacks: re-identification or trace inference."""

    REIDENTIFICATION = "reidentification"
    TRACE_INFERENCE = "trace-inference"


class Role(StrEnum):
    """Roles in a contest. Only a team can win an award."""

    TEAM = "team"
    PSEUDONYMISED = "pseudonymised"
    SAMPLE = "sample"


@dataclass(frozen=True, kw_only=True)
class Roster:
    """Everybody who can attack or be attacked, by name.

    Parameters
    ----------
    teams
        The competing teams.
    pseudonymised
        The extra team without obfuscation: a target for all, attacks nobody.
    samples
        Sample attacks that the judge runs and sample defences it shows for comparison.

    >>> Roster(teams=["a", "b"], pseudonymised="none", samples=["VisitProb-R"]).role("none").value
    'pseudonymised'
    """

    teams: Sequence[str]
    pseudonymised: str | None = None
    samples: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "teams", tuple(self.teams))
        object.__setattr__(self, "samples", tuple(self.samples))
        names = self.names()
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or "" in names:
            raise ParameterError.of("name", twice[0] if twice else "", "not empty, and unique")

    def names(self) -> list[str]:
        """Return all names: teams, the pseudonymised team, samples."""
        extra = [] if self.pseudonymised is None else [self.pseudonymised]
        return [*self.teams, *extra, *self.samples]

    def role(self, name: str) -> Role:
        """Return the role of a participant; an unknown name is an error."""
        if name in self.teams:
            return Role.TEAM
        if name in self.samples:
            return Role.SAMPLE
        if name == self.pseudonymised and name is not None:
            return Role.PSEUDONYMISED
        raise DataError(f"{name!r} does not take part in this contest")


@dataclass(frozen=True, kw_only=True)
class UtilityRecord:
    """The utility of one upload of obfuscated traces.

    Parameters
    ----------
    team
        Who uploaded it.
    utility
        s_U, from 0 to 1.
    data_set
        1 or 2.
    receipt
        The judge's running number of the upload: of two, the later one has the larger number.
    """

    team: str
    utility: float
    data_set: int = 1
    receipt: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "utility", _require_score("utility", self.utility))
        _check_numbers(self.data_set, self.receipt)


@dataclass(frozen=True, kw_only=True)
class AttackRecord:
    """The privacy score of a target against one attack.

    Parameters
    ----------
    attacker, target
        Who attacked whom. A team that attacks itself is refused.
    kind
        Re-identification (the score is s_R) or trace inference (s_T).
    score
        From 0 (everything was inferred) to 1.
    data_set
        Which of the target's data sets.
    receipt
        The judge's running number of the upload: of two, the later one has the larger number.
    """

    attacker: str
    target: str
    kind: AttackKind
    score: float
    data_set: int = 1
    receipt: int = 0

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", AttackKind(self.kind))
        except ValueError:
            raise ParameterError.of("kind", self.kind, " or ".join(AttackKind)) from None
        object.__setattr__(self, "score", _require_score("score", self.score))
        _check_numbers(self.data_set, self.receipt)
        if self.attacker == self.target:
            raise DataError(f"{self.attacker!r} attacks itself; a team may attack only other teams")

    @property
    def key(self) -> tuple[str, str, int, AttackKind]:
        """Attacker, target, data set and kind; of several attacks with the same key, the last one counts."""
        return self.attacker, self.target, self.data_set, self.kind


class _HasReceipt(Protocol):
    @property
    def receipt(self) -> int: ...


R = TypeVar("R", bound=_HasReceipt)
K = TypeVar("K", bound=Hashable)


def sort_records(keyed: Iterable[tuple[K, R]]) -> dict[K, list[R]]:
    """Return the records of each key, the largest receipt number first, in whatever order they come.

    The same record twice counts once; two different ones with one number contradict each other.
    """
    claimed: dict[K, dict[int, R]] = {}
    for key, record in keyed:
        same = claimed.setdefault(key, {}).setdefault(record.receipt, record)
        if same != record:
            raise DataError(f"two records have receipt {record.receipt}: {same}, {record}")
    return {key: [own[receipt] for receipt in sorted(own, reverse=True)] for key, own in claimed.items()}


def _require_score(name: str, value: Any) -> float:
    # NaN is refused, so that it can never rank.
    require_number(name, value, at_least=0, at_most=1)
    return float(value)


def _check_numbers(data_set: int, receipt: int) -> None:
    require_whole("data_set", data_set, at_least=1)
    require_whole("receipt", receipt, at_least=0)


# Awards: who defended best and who attacked best; equal teams share.


@dataclass(frozen=True)
class Standing:
    """One team's place in the order of an award; equal teams have the same place."""

    place: int
    team: str
    value: float

    def to_dict(self) -> dict[str, Any]:
        """Return the standing as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Award:
    """One award and its ranking.

    Attributes
    ----------
    name
        A fixed word, such as ``"best-anonymization"``.
    title
        The name of the award for people.
    places
        The teams that compete for it, best first.
    """

    name: str
    title: str
    places: tuple[Standing, ...]

    @property
    def winners(self) -> tuple[str, ...]:
        """The teams in first place: several if they share the award, none if nobody earned it."""
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
    - ``overall``, only if the rules have it: highest total (`totals`). A rule can exclude its winners from
      the awards for attacks.

    Only teams compete, not the pseudonymised team and the samples. A team cannot win with an invalid data
    set, and a team that attacked no target cannot win an award for attacks.

    Parameters
    ----------
    board
        The board.
    preliminary
        Totals of an earlier round, by team; a missing team counts 0.

    References
    ----------
    [contest] section 3.4, "Awards", and footnote 3.

    Notes
    -----
    The sum of a team is over all of its targets. A team whose own data set is invalid has one more target
    than the others, so its sum has one more term. [contest] compares sums, not means, and so do we.

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
    defended = [_award_best_defence(board, "best-anonymization", AttackKind.TRACE_INFERENCE, last)]
    if last == 2:
        name = "best-anonymization-reidentification"
        defended.append(_award_best_defence(board, name, AttackKind.REIDENTIFICATION, 1))
    overall = []
    if board.rules.overall_total:
        order = _rank_teams(totals(board, preliminary), lowest_first=False)
        overall.append(Award("overall", _TITLES["overall"], order))
    if preliminary is not None and not overall:
        raise ParameterError("a preliminary round counts only for the overall award: set overall_total")
    apart = frozenset(() if board.rules.winner_takes_attack_awards else overall[0].winners)
    return (
        *defended,
        _award_best_attack(board, "best-reidentification", AttackKind.REIDENTIFICATION, apart),
        _award_best_attack(board, "best-trace-inference", AttackKind.TRACE_INFERENCE, apart),
        *overall,
    )


def totals(board: Board, preliminary: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the total of every team with a valid data set: s_R,min of its first plus s_T,min of its last.

    After a preliminary round, it is the total of that round plus `Rules.final_weight` times this one.
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
            raise DataError(f"{team!r} has a total in the preliminary round, but is not a team of this round")
    both = [team for team in board.roster.teams if team in own or team in preliminary]
    return {
        team: preliminary.get(team, 0.0) + rules.final_weight * math.fsum(own.get(team, ())) for team in both
    }


def attack_sums(board: Board, kind: AttackKind) -> dict[str, float]:
    """Return the sum of the scores of each team's targets; lower is better."""
    targets = board.targets()
    # fsum is exact before its one rounding, so the order of the targets has no effect.
    return {
        team: math.fsum(
            board.attacks.get((team, target, data_set, kind), NOT_ATTACKED)
            for target, data_set in targets
            if target != team
        )
        for team in board.roster.teams
    }


def _award_best_attack(board: Board, name: str, kind: AttackKind, apart: Set[str]) -> Award:
    targets = set(board.targets())
    competing = {
        attacker
        for attacker, target, data_set, of_kind in board.attacks
        if of_kind == kind and (target, data_set) in targets
    } - apart
    sums = {team: total for team, total in attack_sums(board, kind).items() if team in competing}
    return Award(name, _TITLES[name], _rank_teams(sums, lowest_first=True))


def _award_best_defence(board: Board, name: str, kind: AttackKind, data_set: int) -> Award:
    scores = {
        row.team: row.s_R_min if kind is AttackKind.REIDENTIFICATION else row.s_T_min
        for row in board.rows
        if row.role is Role.TEAM and row.valid and row.data_set == data_set
    }
    return Award(name, _TITLES[name], _rank_teams(scores, lowest_first=False))


def _rank_teams(values: Mapping[str, float], *, lowest_first: bool) -> tuple[Standing, ...]:
    sign = 1 if lowest_first else -1
    return tuple(
        Standing(1 + sum(sign * (value - other) > TIE for other in values.values()), team, value)
        for team, value in sorted(values.items(), key=lambda item: (sign * item[1], item[0]))
    )


_TITLES = {
    "best-anonymization": mark_for_translation("Best anonymization"),
    "best-anonymization-reidentification": mark_for_translation(
        "Best anonymization against re-identification"
    ),
    "best-reidentification": mark_for_translation("Best re-identification"),
    "best-trace-inference": mark_for_translation("Best trace inference"),
    "overall": mark_for_translation("Overall winner"),
}
