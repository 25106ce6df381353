"""Tables of scores, in the layout in which the results of 2019 were published.

Three CSV files: utilities (``team,data_set,utility``), and two matrices with a row for each data set
under attack and a column for each attacker (``target,data_set,001,002,…,VisitProb-R``). Teams have three
digits, 000 is the pseudonymised team, every other column is one of the judge's attacks. ``-`` stands
where a team would attack itself, an empty cell where nobody attacked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from tracearena.contest.board import Board, Target, make_board
from tracearena.contest.charter import PSEUDONYMISED
from tracearena.contest.records import AttackKind, AttackRecord, Role, Roster, UtilityRecord
from tracearena.contest.rules import Rules
from tracearena.errors import Fault, FileError
from tracearena.files import csv_rows, read_bytes

OWN = "-"
_TEAM = re.compile(r"[0-9]{3}", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", re.ASCII)
_KEYS = ("target", "data_set")
_UTILITY = ("team", "data_set", "utility")
_SAME = 1e-9
_MOST_BYTES = 2**24


@dataclass(frozen=True)
class ScoreTables:
    """What three tables of scores say.

    Attributes
    ----------
    teams, samples
        Everybody with a column, and every team with a row.
    has_pseudonymised
        Whether 000 has a row.
    data_sets
        1, or 2 if any row is of a second one.
    utilities, attacks
        The judge's records.
    minimum_columns
        Last columns that hold in every row the minimum of the others: published minima, not attacks.
    """

    teams: tuple[str, ...]
    samples: tuple[str, ...]
    has_pseudonymised: bool
    data_sets: int
    utilities: tuple[UtilityRecord, ...]
    attacks: tuple[AttackRecord, ...]
    minimum_columns: tuple[str, ...]

    def board(self, rules: Rules | None = None) -> Board:
        """Return the board, by these rules or by the usual ones; the data sets are those of the tables."""
        by = replace(rules or Rules(), data_sets=self.data_sets)
        names = PSEUDONYMISED if self.has_pseudonymised else None
        roster = Roster(teams=self.teams, pseudonymised=names, samples=self.samples)
        return make_board(by, roster, self.utilities, self.attacks)


def read_score_tables(
    reidentification: str | PathLike[str], trace_inference: str | PathLike[str], utility: str | PathLike[str]
) -> ScoreTables:
    """Read the three tables and hold them against each other.

    Notes
    -----
    A last column that is no team's and equals in every row the minimum of the others is left out of
    the attacks. Nothing hangs on whether it was one: no minimum changes with it.
    """
    utilities = _read_utilities(Path(utility))
    matrices = {
        AttackKind.REIDENTIFICATION: _read_matrix(Path(reidentification)),
        AttackKind.TRACE_INFERENCE: _read_matrix(Path(trace_inference)),
    }
    attacks: list[AttackRecord] = []
    for kind, matrix in matrices.items():
        known = {(one.team, one.data_set) for one in utilities}
        matrix.require_known(known)
        attacks += matrix.records(kind)
    targets = {(one.team, one.data_set) for one in utilities} | {
        target for matrix in matrices.values() for target in matrix.rows
    }
    columns = [name for matrix in matrices.values() for name in matrix.attackers]
    named = {team for team, _ in targets} | {name for name in columns if _TEAM.fullmatch(name)}
    if not named - {PSEUDONYMISED}:
        raise FileError.whole(utility, "names no team, and neither do the tables of attacks", "no-teams")
    return ScoreTables(
        teams=tuple(sorted(named - {PSEUDONYMISED})),
        samples=tuple(dict.fromkeys(name for name in columns if not _TEAM.fullmatch(name))),
        has_pseudonymised=PSEUDONYMISED in named,
        data_sets=max((number for _, number in targets), default=1),
        utilities=tuple(utilities),
        attacks=tuple(attacks),
        minimum_columns=tuple(dict.fromkeys(m.minimum for m in matrices.values() if m.minimum is not None)),
    )


@dataclass(frozen=True)
class _Matrix:
    path: Path
    attackers: tuple[str, ...]
    rows: Mapping[Target, Sequence[float | None]]
    minimum: str | None

    def require_known(self, known: set[Target]) -> None:
        for row, target in enumerate(self.rows, 1):
            if target not in known and target[0] != PSEUDONYMISED:
                problem = "has scores of attacks, and no utility in the table of utilities"
                raise _fault(self.path, row, "target", f"{target[0]},{target[1]}", problem, "unknown-target")

    def records(self, kind: AttackKind) -> Iterator[AttackRecord]:
        for (target, number), scores in self.rows.items():
            for attacker, score in zip(self.attackers, scores, strict=True):
                if score is not None:
                    yield AttackRecord(
                        attacker=attacker, target=target, kind=kind, score=score, data_set=number
                    )


def _read_matrix(path: Path) -> _Matrix:
    header, rows = _cells(path, _KEYS)
    attackers = header[len(_KEYS) :]
    if not attackers:
        raise _fault(path, 0, None, ",".join(header), "has no column for any attacker", "wrong-header")
    if PSEUDONYMISED in attackers:
        problem = "is the pseudonymised team, which attacks nobody"
        raise _fault(path, 0, PSEUDONYMISED, PSEUDONYMISED, problem, "wrong-header")
    found: dict[Target, list[float | None]] = {}
    for number, cells in enumerate(rows, 1):
        target = _target(path, number, "target", cells)
        if target in found:
            raise _fault(path, number, "target", ",".join(cells[:2]), "stands in two rows", "duplicate-row")
        found[target] = [
            _score(path, number, attacker, cell, target[0])
            for attacker, cell in zip(attackers, cells[len(_KEYS) :], strict=True)
        ]
    return _without_minimum(path, attackers, found)


def _without_minimum(path: Path, attackers: list[str], rows: dict[Target, list[float | None]]) -> _Matrix:
    is_minimum = (
        len(attackers) > 1
        and len(rows) > 0
        and not _TEAM.fullmatch(attackers[-1])
        and all(_is_minimum(scores) for scores in rows.values())
    )
    if not is_minimum:
        return _Matrix(path, tuple(attackers), rows, None)
    kept = {target: scores[:-1] for target, scores in rows.items()}
    return _Matrix(path, tuple(attackers[:-1]), kept, attackers[-1])


def _is_minimum(scores: Sequence[float | None]) -> bool:
    *others, last = scores
    least = min((score for score in others if score is not None), default=None)
    return last is not None and least is not None and abs(last - least) <= _SAME


def _read_utilities(path: Path) -> list[UtilityRecord]:
    header, rows = _cells(path, _UTILITY)
    if tuple(header) != _UTILITY:
        allowed = f"the header is not {','.join(_UTILITY)}"
        raise _fault(path, 0, None, ",".join(header), allowed, "wrong-header")
    found: dict[Target, UtilityRecord] = {}
    for number, cells in enumerate(rows, 1):
        team, data_set = target = _target(path, number, "team", cells)
        if target in found:
            raise _fault(path, number, "team", ",".join(cells[:2]), "stands in two rows", "duplicate-row")
        value = _number(path, number, "utility", cells[2])
        found[target] = UtilityRecord(team=team, utility=value, data_set=data_set)
    return list(found.values())


def _cells(path: Path, first: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table, all as long as the header."""
    try:
        text = read_bytes(path, max_bytes=_MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError.whole(path, "is not UTF-8", "not-utf8") from None
    lines = csv_rows(text)
    if not lines:
        raise FileError.whole(path, "has no lines", "empty-file")
    header = lines[0]
    if tuple(header[: len(first)]) != tuple(first):
        allowed = f"the header does not begin with {','.join(first)}"
        raise _fault(path, 0, None, ",".join(header), allowed, "wrong-header")
    twice = sorted({name for name in header if header.count(name) > 1 or not name})
    if twice:
        problem = "a column is named twice, or has no name"
        raise _fault(path, 0, twice[0], twice[0], problem, "wrong-header")
    for number, cells in enumerate(lines[1:], 1):
        if len(cells) != len(header):
            problem = f"the row has {len(cells)} cells; the header has {len(header)}"
            raise _fault(path, number, None, ",".join(cells), problem, "column-count")
    return header, lines[1:]


def _target(path: Path, row: int, column: str, cells: Sequence[str]) -> Target:
    if not _TEAM.fullmatch(cells[0]):
        raise _fault(path, row, column, cells[0], "is no team; it must be three digits", "not-a-team")
    highest = "1" if cells[0] == PSEUDONYMISED else "2"
    if cells[1] not in ("1", highest):
        allowed = "1: the pseudonymised team has one" if highest == "1" else "1 or 2"
        raise _fault(path, row, "data_set", cells[1], f"it must be {allowed}", "out-of-range")
    return cells[0], int(cells[1])


def _score(path: Path, row: int, attacker: str, cell: str, target: str) -> float | None:
    if attacker == target:
        if cell not in (OWN, ""):
            raise _fault(path, row, attacker, cell, f"a team does not attack itself; it must be {OWN}", "own")
        return None
    if cell == OWN:
        problem = f"{OWN} stands only where a team would attack itself; leave out an attack that was not made"
        raise _fault(path, row, attacker, cell, problem, "own")
    return None if cell == "" else _number(path, row, attacker, cell)


def _number(path: Path, row: int, column: str, cell: str) -> float:
    value = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if not 0 <= value <= 1:
        raise _fault(path, row, column, cell, "it must be a number from 0 to 1", "not-a-score")
    return value


def _fault(path: Path, row: int, column: str | None, value: str, problem: str, code: str) -> FileError:
    return FileError(path, [Fault(row, column, value, problem, code)])


def matrix_table(board: Board, kind: AttackKind) -> tuple[list[str], list[list[str | int | float | None]]]:
    """Return header and rows of one kind of attack, as `read_score_tables` reads them.

    Only valid data sets of teams and of the pseudonymised team are there: others are not attacked.
    """
    judge = sorted(
        {who for who, _, _, of in board.attacks if of is kind and board.roster.role(who) is Role.SAMPLE}
    )
    attackers = [*board.roster.teams, *judge]
    rows = [
        [
            target,
            number,
            *(
                OWN if attacker == target else board.attacks.get((attacker, target, number, kind))
                for attacker in attackers
            ),
        ]
        for target, number in board.targets()
    ]
    return [*_KEYS, *attackers], rows


def utility_table(board: Board) -> tuple[list[str], list[list[str | int | float | None]]]:
    """Return header and rows of the utilities of everybody who handed something in."""
    return list(_UTILITY), [
        [row.team, row.data_set, row.utility]
        for row in sorted(board.rows, key=lambda row: (row.team, row.data_set))
        if row.utility is not None and row.role is not Role.SAMPLE
    ]


def read_totals(path: str | PathLike[str]) -> dict[str, float]:
    """Read the totals of a preliminary round (``team,total``)."""
    header, rows = _cells(Path(path), ("team", "total"))
    if len(header) != 2:
        raise _fault(Path(path), 0, None, ",".join(header), "the header is not team,total", "wrong-header")
    found: dict[str, float] = {}
    for number, (team, cell) in enumerate(rows, 1):
        if not _TEAM.fullmatch(team) or team in found:
            problem = "it must be three digits, each team once"
            raise _fault(Path(path), number, "team", team, problem, "not-a-team")
        if not _NUMBER.fullmatch(cell) or not math.isfinite(float(cell)):
            problem = "it must be a number of at least 0"
            raise _fault(Path(path), number, "total", cell, problem, "not-a-score")
        found[team] = float(cell)
    return found


def totals_table(totals: Mapping[str, float]) -> tuple[list[str], Iterable[tuple[str, float]]]:
    """Return header and rows of totals, as `read_totals` reads them."""
    return ["team", "total"], sorted(totals.items())
