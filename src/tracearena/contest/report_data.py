"""The data behind the report of a contest, whether it was held by files or simulated.

`ReportData` has all that a page needs; the rest reads and writes tables of scores.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.arena.claims import correlation
from tracearena.arena.sweep import TIE, SweepRow
from tracearena.contest.board import (
    AttackKind,
    AttackRecord,
    Award,
    Board,
    BoardRow,
    Role,
    Roster,
    Target,
    UtilityRecord,
    attack_sums,
    make_awards,
    make_board,
    totals,
)
from tracearena.contest.commitments import Commitment
from tracearena.contest.contest_file import PSEUDONYMISED
from tracearena.contest.rules import Rules
from tracearena.contest.simulated_teams import SimulatedTeam
from tracearena.contest.submissions import Refusal
from tracearena.errors import Fault, FileError
from tracearena.files import csv_rows, read_bytes, replacing, write_csv
from tracearena.traces import ObfuscatedTraces, Traces

FAIR_AT_2000 = 0.01
"""Spread of a privacy score between teams of 2,000 users with the same defence ([contest] Table 2)."""


@dataclass(frozen=True, eq=False)
class DataSetView:
    """A data set with its original and its submitted traces."""

    team: str
    data_set: int
    original: Traces
    obfuscated: ObfuscatedTraces


@dataclass(frozen=True, eq=False)
class ReportData:
    """The data of the report of a contest.

    Attributes
    ----------
    title, lead
        Heading and first paragraph of the page.
    board, awards
        The result.
    players
        Methods of the teams, if known.
    look
        Returns the data set of a row of the board; None if there are only scores.
    samples, cheating
        Sample defences, and the cheating anonymization with growing shares of people, if they were run.
    afterwards
        The teams' defences for a few people under all attacks, if they were run.
    commitments
        Hash and salt of every ID table, by data set.
    refused
        Files that do not count.
    command, seed
        Command and seed that make the same page.
    """

    title: str
    lead: str
    board: Board
    awards: tuple[Award, ...]
    command: str
    players: Mapping[str, SimulatedTeam] = field(default_factory=dict)
    look: Callable[[BoardRow], DataSetView | None] | None = None
    samples: tuple[SweepRow, ...] = ()
    cheating: tuple[SweepRow, ...] = ()
    afterwards: tuple[SweepRow, ...] = ()
    commitments: Mapping[str, Commitment] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    seed: int | None = None

    @property
    def rules(self) -> Rules:
        """The rules."""
        return self.board.rules

    @property
    def margin(self) -> float:
        """The effect of chance on a score: how much teams of this size with the same defence differ."""
        return estimate_margin(self.rules.users)

    def label(self, team: str, data_set: int) -> str:
        """Return the name of a data set: its team, and its number if teams have two."""
        return team if self.rules.data_sets == 1 else f"{team} / {data_set}"

    def method(self, team: str, attribute: str) -> str | None:
        """Return the method of a team, if known: its idea, defence, identification or inference."""
        player = self.players.get(team)
        return None if player is None else getattr(player, attribute)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {"title": self.title} | summary(self.board, self.awards, self.refused)


def estimate_margin(users: int) -> float:
    """Return the spread of a score between teams of this many users.

    The published spread belongs to teams of 2,000 users and grows as that of a mean does.
    """
    return FAIR_AT_2000 * float(np.sqrt(2000 / users))


def select_compared_rows(board: Board) -> list[BoardRow]:
    """Return the valid data sets of the trace-inference challenge and the pseudonymised team.

    These are the points of [contest] Figure 9.
    """
    last = board.rules.data_sets
    return [
        row
        for row in board.rows
        if row.valid and (row.role is Role.PSEUDONYMISED or (row.role is Role.TEAM and row.data_set == last))
    ]


def summary(board: Board, awards: Sequence[Award], refused: Sequence[Refusal] = ()) -> dict[str, Any]:
    """Return a board, awards and sums as plain values for JSON."""
    points = select_compared_rows(board)
    valid = [row for row in points if row.role is Role.TEAM]
    return {
        "challenge": board.rules.challenge,
        "valid": len(valid),
        "compared": len(points),
        "correlation": correlation((row.s_R_min, row.s_T_min) for row in points),
        "awards": [award.to_dict() for award in awards],
        "sums": {kind.value: attack_sums(board, kind) for kind in AttackKind},
        "board": board.to_dict()["rows"],
        "attacks": board.to_dict()["attacks"],
        "refused": [one.to_dict() for one in refused],
    }


def build_report_data(
    board: Board,
    *,
    title: str,
    command: str,
    names: Mapping[str, str] | None = None,
    preliminary: Mapping[str, float] | None = None,
    **more: Any,
) -> ReportData:
    """Return the data of the report of a board, with the names of teams.

    Parameters
    ----------
    names
        Names of the participants on the page.
    preliminary
        As in `make_awards`.
    **more
        Other fields of `ReportData`; `look` gets rows with their names on the page.
    """
    called = dict(names or {})
    board = board.with_names(called)
    before = None if preliminary is None else {called.get(team, team): s for team, s in preliminary.items()}
    awards = make_awards(board, before)
    teams = len(board.roster.teams)
    taking_part = len({row.team for row in board.rows if row.role is Role.TEAM and row.utility is not None})
    valid = len([row for row in select_compared_rows(board) if row.role is Role.TEAM])
    winners = " and ".join(awards[0].winners) or "Nobody"
    lead = (
        f"The {board.rules.challenge}: {taking_part} of {teams} teams submitted obfuscated traces and "
        f"attacked those of the others. {valid} submissions are valid. {winners} defended best."
    )
    return ReportData(title, lead, board, awards, command, **more)


# The result of a contest as files.

MATRICES = {
    AttackKind.REIDENTIFICATION: "reidentification.csv",
    AttackKind.TRACE_INFERENCE: "trace_inference.csv",
}


def write_results(
    folder: Path,
    board: Board,
    awards: Sequence[Award],
    refused: Sequence[Refusal] = (),
    preliminary: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write board, matrices, sums, awards and refused files, and return the paths.

    ``utility.csv`` and the two matrices have the layout that `read_score_tables` reads.
    """
    columns = ["team", "role", "data_set", "utility", "valid", "s_R_min", "s_T_min"]
    rows = [row.to_dict() for row in board.rows]
    for row in rows:
        row["valid"] = str(row["valid"]).lower()
    sums = [attack_sums(board, kind) for kind in MATRICES]
    places = [[award.name, one.place, one.team, one.value] for award in awards for one in award.places]
    tables: dict[str, tuple[list[str], Iterable[Sequence[Any]]]] = {
        "board.csv": (columns, ([row[name] for name in columns] for row in rows)),
        "utility.csv": build_utility_table(board),
        **{name: build_matrix_table(board, kind) for kind, name in MATRICES.items()},
        "sums.csv": (
            ["team", "reidentification", "trace_inference"],
            ([team, *(one[team] for one in sums)] for team in board.roster.teams),
        ),
        "awards.csv": (["award", "place", "team", "value"], places),
    }
    if board.rules.overall_total:
        tables["totals.csv"] = build_totals_table(totals(board, preliminary))
    refusals = ([one.file, one.code, one.reason] for one in refused)
    tables["refused.csv"] = (["file", "code", "reason"], refusals)
    written = [write_csv(folder / name, *table) for name, table in tables.items()]
    with replacing(folder / "board.json") as file:
        file.write((json.dumps(summary(board, awards, refused), indent=1, allow_nan=False) + "\n").encode())
    return [*written, folder / "board.json"]


# Tables of scores, in the layout in which the results of 2019 were published.

OWN = "-"
_TEAM = re.compile(r"[0-9]{3}", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", re.ASCII)
_KEYS = ("target", "data_set")
_UTILITY = ("team", "data_set", "utility")


@dataclass(frozen=True)
class ScoreTables:
    """The content of three tables of scores.

    Attributes
    ----------
    teams, samples
        Everybody with a column, and every team with a row.
    has_pseudonymised
        Whether 000 has a row.
    data_sets
        2 if any row belongs to a second data set, otherwise 1.
    utilities, attacks
        The judge's records.
    minimum_columns
        Last columns that contain the minimum of the others in every row: published minima, not attacks.
    """

    teams: tuple[str, ...]
    samples: tuple[str, ...]
    has_pseudonymised: bool
    data_sets: int
    utilities: tuple[UtilityRecord, ...]
    attacks: tuple[AttackRecord, ...]
    minimum_columns: tuple[str, ...]

    def board(self, rules: Rules | None = None) -> Board:
        """Return the board under these rules, or the default rules; the data sets are those of the tables."""
        by = replace(rules or Rules(), data_sets=self.data_sets)
        names = PSEUDONYMISED if self.has_pseudonymised else None
        roster = Roster(teams=self.teams, pseudonymised=names, samples=self.samples)
        return make_board(by, roster, self.utilities, self.attacks)


def read_score_tables(
    reidentification: str | PathLike[str], trace_inference: str | PathLike[str], utility: str | PathLike[str]
) -> ScoreTables:
    """Read three tables of scores, and check that they agree.

    Notes
    -----
    If the last column does not belong to a team and equals the minimum of the others in every row, it is not
    counted as an attack. This does not change any minimum.
    """
    utilities = _read_utilities(Path(utility))
    matrices = {
        AttackKind.REIDENTIFICATION: _read_matrix(Path(reidentification)),
        AttackKind.TRACE_INFERENCE: _read_matrix(Path(trace_inference)),
    }
    known = {(one.team, one.data_set) for one in utilities}
    attacks: list[AttackRecord] = []
    for kind, matrix in matrices.items():
        for row, ((team, number), scores) in enumerate(matrix.rows.items(), 1):
            if (team, number) not in known and team != PSEUDONYMISED:
                problem = "has scores of attacks, and no utility in the table of utilities"
                raise _fault(matrix.path, row, "target", f"{team},{number}", problem, "unknown-target")
            attacks += [
                AttackRecord(attacker=attacker, target=team, kind=kind, score=score, data_set=number)
                for attacker, score in zip(matrix.attackers, scores, strict=True)
                if score is not None
            ]
    targets = known.union(*(matrix.rows for matrix in matrices.values()))
    columns = [name for matrix in matrices.values() for name in matrix.attackers]
    named = {team for team, _ in targets} | {name for name in columns if _TEAM.fullmatch(name)}
    if not named - {PSEUDONYMISED}:
        raise FileError.whole(utility, "names no team, and the tables of attacks do not either", "no-teams")
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


def _read_matrix(path: Path) -> _Matrix:
    header, rows = _read_cells(path, _KEYS)
    attackers = header[len(_KEYS) :]
    if not attackers:
        raise _fault(path, 0, None, ",".join(header), "has no column for any attacker", "wrong-header")
    if PSEUDONYMISED in attackers:
        problem = "is the pseudonymised team, which does not attack"
        raise _fault(path, 0, PSEUDONYMISED, PSEUDONYMISED, problem, "wrong-header")
    found: dict[Target, list[float | None]] = {}
    for number, cells in enumerate(rows, 1):
        target = _parse_target(path, number, "target", cells)
        if target in found:
            raise _fault(path, number, "target", ",".join(cells[:2]), "occurs in two rows", "duplicate-row")
        found[target] = [
            _parse_score(path, number, attacker, cell, target[0])
            for attacker, cell in zip(attackers, cells[len(_KEYS) :], strict=True)
        ]
    # A last column that belongs to no team and has the minimum of the others in every row is not an attack.
    if len(attackers) == 1 or not found or _TEAM.fullmatch(attackers[-1]):
        return _Matrix(path, tuple(attackers), found, None)
    for *others, last in found.values():
        least = min((score for score in others if score is not None), default=None)
        if last is None or least is None or abs(last - least) > TIE:
            return _Matrix(path, tuple(attackers), found, None)
    without = {target: scores[:-1] for target, scores in found.items()}
    return _Matrix(path, tuple(attackers[:-1]), without, attackers[-1])


def _read_utilities(path: Path) -> list[UtilityRecord]:
    header, rows = _read_cells(path, _UTILITY)
    if tuple(header) != _UTILITY:
        allowed = f"the header is not {','.join(_UTILITY)}"
        raise _fault(path, 0, None, ",".join(header), allowed, "wrong-header")
    found: dict[Target, UtilityRecord] = {}
    for number, cells in enumerate(rows, 1):
        team, data_set = target = _parse_target(path, number, "team", cells)
        if target in found:
            raise _fault(path, number, "team", ",".join(cells[:2]), "occurs in two rows", "duplicate-row")
        value = _parse_number(path, number, "utility", cells[2])
        found[target] = UtilityRecord(team=team, utility=value, data_set=data_set)
    return list(found.values())


def _read_cells(path: Path, first: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table, all as long as the header."""
    try:
        text = read_bytes(path, max_bytes=2**24).decode("utf-8-sig")
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
        problem = "a column name is missing or occurs twice"
        raise _fault(path, 0, twice[0], twice[0], problem, "wrong-header")
    for number, cells in enumerate(lines[1:], 1):
        if len(cells) != len(header):
            problem = f"the row has {len(cells)} cells; the header has {len(header)}"
            raise _fault(path, number, None, ",".join(cells), problem, "column-count")
    return header, lines[1:]


def _parse_target(path: Path, row: int, column: str, cells: Sequence[str]) -> Target:
    if not _TEAM.fullmatch(cells[0]):
        raise _fault(path, row, column, cells[0], "is not a team; it must be three digits", "not-a-team")
    highest = "1" if cells[0] == PSEUDONYMISED else "2"
    if cells[1] not in ("1", highest):
        allowed = "1: the pseudonymised team has one" if highest == "1" else "1 or 2"
        raise _fault(path, row, "data_set", cells[1], f"it must be {allowed}", "out-of-range")
    return cells[0], int(cells[1])


def _parse_score(path: Path, row: int, attacker: str, cell: str, target: str) -> float | None:
    if attacker == target:
        if cell not in (OWN, ""):
            raise _fault(path, row, attacker, cell, f"a team does not attack itself; it must be {OWN}", "own")
        return None
    if cell == OWN:
        problem = f"{OWN} is only allowed for a team and itself; leave out an attack that was not made"
        raise _fault(path, row, attacker, cell, problem, "own")
    return None if cell == "" else _parse_number(path, row, attacker, cell)


def _parse_number(path: Path, row: int, column: str, cell: str) -> float:
    value = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if not 0 <= value <= 1:
        raise _fault(path, row, column, cell, "it must be a number from 0 to 1", "not-a-score")
    return value


def _fault(path: Path, row: int, column: str | None, value: str, problem: str, code: str) -> FileError:
    return FileError(path, [Fault(row, column, value, problem, code)])


def build_matrix_table(
    board: Board, kind: AttackKind
) -> tuple[list[str], list[list[str | int | float | None]]]:
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


def build_utility_table(board: Board) -> tuple[list[str], list[list[str | int | float | None]]]:
    """Return header and rows of the utilities of everybody who handed something in."""
    return list(_UTILITY), [
        [row.team, row.data_set, row.utility]
        for row in sorted(board.rows, key=lambda row: (row.team, row.data_set))
        if row.utility is not None and row.role is not Role.SAMPLE
    ]


def read_totals(path: str | PathLike[str]) -> dict[str, float]:
    """Read the totals of a preliminary round (``team,total``)."""
    header, rows = _read_cells(Path(path), ("team", "total"))
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


def build_totals_table(totals: Mapping[str, float]) -> tuple[list[str], Iterable[tuple[str, float]]]:
    """Return header and rows of totals, as `read_totals` reads them."""
    return ["team", "total"], sorted(totals.items())
