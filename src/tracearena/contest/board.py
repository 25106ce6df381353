"""The board: validity and the minimum over all attacks, from the judge's records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from tracearena.contest.records import AttackKind, AttackRecord, Role, Roster, UtilityRecord, last_of_each
from tracearena.contest.rules import Rules
from tracearena.errors import DataError

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
        Whose it is.
    utility
        s_U of the upload that counts, None without any upload.
    valid
        Whether the utility reaches the threshold.
    s_R_min, s_T_min
        Re-identification and trace-inference privacy that the strongest attack leaves.
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
        return {
            "team": self.team,
            "role": self.role,
            "data_set": self.data_set,
            "utility": self.utility,
            "valid": self.valid,
            "s_R_min": self.s_R_min,
            "s_T_min": self.s_T_min,
        }


@dataclass(frozen=True)
class Board:
    """Rows by data set, best trace-inference privacy first, and the attacks behind them.

    Attributes
    ----------
    rules, roster
        The contest.
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

    def renamed(self, names: Mapping[str, str]) -> Board:
        """Return the same board with other names for some parties; what is not named keeps its own."""
        new = dict(zip(self.roster.names(), self.roster.names(), strict=True)) | dict(names)
        given = self.roster
        roster = Roster(
            teams=[new[team] for team in given.teams],
            pseudonymised=None if given.pseudonymised is None else new[given.pseudonymised],
            samples=[new[sample] for sample in given.samples],
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
    rules: Rules,
    roster: Roster,
    utilities: Iterable[UtilityRecord],
    attacks: Iterable[AttackRecord],
) -> Board:
    """Compute the board; a pure function of its arguments, whatever order the records come in.

    Parameters
    ----------
    rules
        Utility threshold and number of data sets a team; the pseudonymised team has one.
    roster
        Who takes part.
    utilities
        The last *valid* upload of a team and data set counts, by receipt number; if none is valid,
        the last one. The pseudonymised team is unchanged, so without a record its utility is 1.
    attacks
        The last upload of an attacker for a target, data set and kind counts, by receipt number.
        Late ones must be left out by the caller (see `phase_at`).

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
    counting = _counting_utilities(rules, roster, utilities)
    scores = _counting_attacks(rules, roster, attacks)
    minima = _minima(scores)
    rows = [
        _row(rules, roster, target, counting.get(target), minima)
        for target in _shown(rules, roster, counting)
    ]
    rows.sort(key=lambda row: (row.data_set, -row.s_T_min, -row.s_R_min, row.team))
    return Board(rules, roster, tuple(rows), MappingProxyType(scores))


def _counting_utilities(
    rules: Rules, roster: Roster, utilities: Iterable[UtilityRecord]
) -> dict[Target, float]:
    given = list(utilities)
    for record in given:
        _check_data_set(rules, roster, record.team, record.data_set)
    last = last_of_each(((record.team, record.data_set), record) for record in given)
    valid = [record for record in given if rules.is_valid(record.utility)]
    last |= last_of_each(((record.team, record.data_set), record) for record in valid)
    counting = {target: record.utility for target, record in last.items()}
    if roster.pseudonymised is not None:
        counting.setdefault((roster.pseudonymised, PSEUDONYMISED_DATA_SET), 1.0)
    return counting


def _counting_attacks(
    rules: Rules, roster: Roster, attacks: Iterable[AttackRecord]
) -> dict[tuple[str, str, int, AttackKind], float]:
    given = list(attacks)
    for record in given:
        _check_data_set(rules, roster, record.target, record.data_set)
        if roster.role(record.attacker) is Role.PSEUDONYMISED:
            raise DataError(f"{record.attacker!r} is the pseudonymised team; it attacks nobody")
    last = last_of_each((record.key, record) for record in given)
    return {key: record.score for key, record in last.items()}


def _minima(
    scores: Mapping[tuple[str, str, int, AttackKind], float],
) -> dict[tuple[Target, AttackKind], float]:
    minima: dict[tuple[Target, AttackKind], float] = defaultdict(lambda: NOT_ATTACKED)
    for (_, target, data_set, kind), score in scores.items():
        cell = (target, data_set), kind
        minima[cell] = min(minima[cell], score)
    return minima


def _row(
    rules: Rules,
    roster: Roster,
    target: Target,
    utility: float | None,
    minima: Mapping[tuple[Target, AttackKind], float],
) -> BoardRow:
    valid = utility is not None and rules.is_valid(utility)
    s_R_min = minima[target, AttackKind.REIDENTIFICATION] if valid else INVALID
    s_T_min = minima[target, AttackKind.TRACE_INFERENCE] if valid else INVALID
    return BoardRow(target[0], roster.role(target[0]), target[1], utility, valid, s_R_min, s_T_min)


def _shown(rules: Rules, roster: Roster, counting: Mapping[Target, float]) -> set[Target]:
    return {(team, data_set) for team in roster.teams for data_set in _data_sets(rules)} | set(counting)


def _data_sets(rules: Rules) -> range:
    return range(1, rules.data_sets + 1)


def _check_data_set(rules: Rules, roster: Roster, whose: str, data_set: int) -> None:
    if data_set not in _data_sets(rules):
        raise DataError(f"data set {data_set} does not exist; this contest has {rules.data_sets} per team")
    if roster.role(whose) is Role.PSEUDONYMISED and data_set != PSEUDONYMISED_DATA_SET:
        raise DataError(f"data set {data_set} of {whose!r} does not exist; the pseudonymised team has one")
