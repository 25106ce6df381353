"""Boards from tables of scores: the published final of 2019, and rounds that were never held."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.contest import (
    AttackKind,
    Board,
    Role,
    Rules,
    attack_sums,
    make_awards,
    read_score_tables,
    select_compared_rows,
    summary,
    totals,
    write_results,
)
from tracearena.contest.report_data import read_totals
from tracearena.errors import FileError

R, T = AttackKind.REIDENTIFICATION, AttackKind.TRACE_INFERENCE
NAMES = ("reidentification", "trace_inference", "utility")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Path:
    return shared_data / "pwscup2019-results"


@pytest.fixture(scope="module")
def final(published: Path) -> Board:
    return read_score_tables(*(published / f"final_{name}.csv" for name in NAMES)).board()


def test_every_published_minimum_of_2019_comes_out(final: Board, published: Path) -> None:
    """T12."""
    for name, attribute in (("reidentification", "s_R_min"), ("trace_inference", "s_T_min")):
        rows = rows_of(published / f"final_{name}.csv")
        assert len(rows) == 34
        for row in rows:
            ours = getattr(final.row(row["target"], int(row["data_set"])), attribute)
            assert ours == pytest.approx(float(row["SecI"]), abs=1e-12)


def test_all_42_published_sums_of_2019_come_out(final: Board, published: Path) -> None:
    """T12."""
    rows = rows_of(published / "final_sums.csv")
    assert len(rows) == 21
    for row in rows:
        assert attack_sums(final, R)[row["team"]] == pytest.approx(float(row["reidentification"]), abs=1e-6)
        assert attack_sums(final, T)[row["team"]] == pytest.approx(float(row["trace_inference"]), abs=1e-6)


def test_the_published_winners_of_2019_win(final: Board) -> None:
    """T12."""
    told = summary(final, make_awards(final))
    assert [award["winners"] for award in told["awards"]] == [["009"], ["001"], ["004"], ["002"]]
    assert (told["valid"], told["compared"]) == (17, 18)
    assert round(told["correlation"], 4) == 0.8952
    assert [row.team for row in select_compared_rows(final) if row.role is Role.PSEUDONYMISED] == ["000"]
    best = make_awards(final)[0].places
    assert [(place.team, round(place.value, 4)) for place in best[:3]] == [
        ("009", 0.72), ("001", 0.7091), ("016", 0.6369),
    ]  # fmt: skip


SCORES = st.sampled_from(["0", "1", "0.25", "0.5", "0.5", "5E-1", "0.7", "0.123456789"])
UTILITIES = st.sampled_from(["0.7", "0.69999", "0.71", "1", "0"])


@st.composite
def rounds(draw: st.DrawFn) -> dict[str, list[list[str]]]:
    """Draw three tables: ties, teams that hand in nothing or attack nobody, one and two data sets."""
    teams = [f"{n:03d}" for n in range(1, draw(st.integers(1, 5)) + 1)]
    sets = draw(st.integers(1, 2))
    there = [(team, n) for team in teams for n in range(1, sets + 1) if draw(st.booleans())]
    extra = [("000", 1)] if draw(st.booleans()) else []
    samples = draw(st.lists(st.sampled_from(["I1", "VisitProb-T"]), unique=True))
    utility = [[team, str(n), draw(UTILITIES)] for team, n in there]
    tables = {"utility": [["team", "data_set", "utility"], *utility]}
    for name in NAMES[:2]:
        attackers = teams[:1] + [team for team in teams[1:] if draw(st.booleans())] + samples
        rows = [
            [team, str(n), *("-" if a == team else draw(st.one_of(SCORES, st.just(""))) for a in attackers)]
            for team, n in there + extra
            if draw(st.booleans())
        ]
        tables[name] = [["target", "data_set", *attackers], *rows]
    return tables


def write(tables: dict[str, list[list[str]]], folder: Path) -> tuple[Path, Path, Path]:
    for name in NAMES:
        (folder / f"{name}.csv").write_text("".join(",".join(row) + "\n" for row in tables[name]))
    return folder / "reidentification.csv", folder / "trace_inference.csv", folder / "utility.csv"


class Slow:
    """The same board, looked up in the tables cell by cell."""

    def __init__(self, tables: dict[str, list[list[str]]]) -> None:
        self.cells = {name: self._cells(tables[name]) for name in NAMES[:2]}
        self.utility = {(team, int(n)): float(u) for team, n, u in tables["utility"][1:]}
        named = {team for team, _ in self.utility}
        for name in NAMES[:2]:
            named |= {team for team in tables[name][0][2:] if team.isdigit()}
            named |= {row[0] for row in tables[name][1:]}
        self.has_extra = "000" in named
        self.teams = sorted(named - {"000"})
        rows = [row for name in NAMES for row in tables[name][1:]]
        self.sets = max((int(row[1]) for row in rows), default=1)

    @staticmethod
    def _cells(table: list[list[str]]) -> dict[tuple[str, str, int], float]:
        found = {}
        for row in table[1:]:
            for attacker, cell in zip(table[0][2:], row[2:], strict=True):
                if cell not in ("", "-"):
                    found[attacker, row[0], int(row[1])] = float(cell)
        return found

    def targets(self) -> list[tuple[str, int]]:
        found = [target for target, utility in self.utility.items() if utility >= 0.7 and target[0] != "000"]
        return sorted(found + ([("000", 1)] if self.has_extra else []))

    def minimum(self, name: str, target: tuple[str, int]) -> float:
        if target not in self.targets():
            return 0.0
        return min([1.0, *(s for (_, team, n), s in self.cells[name].items() if (team, n) == target)])

    def sum(self, name: str, attacker: str) -> float:
        scores = [
            self.cells[name].get((attacker, *target), 1.0)
            for target in self.targets()
            if target[0] != attacker
        ]
        return math.fsum(scores)

    def best(self, values: dict[str, float], *, lowest: bool) -> set[str]:
        if not values:
            return set()
        top = min(values.values()) if lowest else max(values.values())
        return {team for team, value in values.items() if abs(value - top) <= 1e-9}

    def winners(self) -> list[set[str]]:
        last = self.sets
        valid = [target for target in self.targets() if target[0] != "000"]
        found = [
            self.best(
                {t: self.minimum("trace_inference", (t, n)) for t, n in valid if n == last}, lowest=False
            )
        ]
        if last == 2:
            names = {t: self.minimum("reidentification", (t, n)) for t, n in valid if n == 1}
            found.append(self.best(names, lowest=False))
        for name in NAMES[:2]:
            active = {a for a, team, n in self.cells[name] if (team, n) in self.targets()} & set(self.teams)
            found.append(self.best({a: self.sum(name, a) for a in active}, lowest=True))
        return found


@given(rounds())
@examples(100)
def test_a_generated_round_has_the_board_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, list[list[str]]]
) -> None:
    found = read_score_tables(*write(tables, tmp_path_factory.mktemp("round")))
    board, slow = found.board(), Slow(tables)
    assert list(board.roster.teams) == slow.teams
    assert board.rules.data_sets == slow.sets
    assert board.targets() == slow.targets()
    assert len(board.rows) == slow.sets * len(slow.teams) + slow.has_extra
    for row in board.rows:
        assert row.s_R_min == slow.minimum("reidentification", (row.team, row.data_set))
        assert row.s_T_min == slow.minimum("trace_inference", (row.team, row.data_set))
    for kind, name in ((R, "reidentification"), (T, "trace_inference")):
        assert attack_sums(board, kind) == {team: slow.sum(name, team) for team in slow.teams}
    assert [set(award.winners) for award in make_awards(board)] == slow.winners()


@given(rounds())
@examples(40)
def test_what_is_written_is_read_back_as_the_same_board(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, list[list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("round")
    board = read_score_tables(*write(tables, folder)).board()
    (folder / "out").mkdir()
    write_results(folder / "out", board, make_awards(board))
    again = read_score_tables(*(folder / "out" / f"{name}.csv" for name in NAMES)).board(board.rules)
    before, after = ({(row.team, row.data_set): row for row in one.rows} for one in (board, again))
    assert {key: row for key, row in before.items() if row.valid} == {
        key: row for key, row in after.items() if row.valid
    }
    for kind in (R, T):
        sums = attack_sums(board, kind)
        assert {team: sums[team] for team in again.roster.teams} == attack_sums(again, kind)


GOOD = {
    "utility": [["team", "data_set", "utility"], ["001", "1", "0.8"], ["002", "1", "0.9"]],
    "reidentification": [["target", "data_set", "001", "002", "I1"], ["001", "1", "-", "0.5", "0.4"],
                         ["002", "1", "0.3", "-", "0.9"]],
    "trace_inference": [["target", "data_set", "001", "002"], ["000", "1", "0.1", "0.2"]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "message"),
    [
        ("utility", 1, 0, "1", r"row 1 \(line 2\), column team: got '1'.*three digits"),
        ("utility", 1, 0, "００１", "three digits"),
        ("utility", 2, 0, "001", "occurs in two rows"),
        ("utility", 1, 1, "3", "column data_set: got '3': it must be 1 or 2"),
        ("utility", 1, 2, "nan", "a number from 0 to 1"),
        ("utility", 1, 2, "1.5", "a number from 0 to 1"),
        ("utility", 1, 2, "-0.5", "a number from 0 to 1"),
        ("utility", 1, 2, "1_0", "a number from 0 to 1"),
        ("utility", 0, 2, "score", "the header"),
        ("reidentification", 1, 2, "0.5", "a team does not attack itself"),
        ("reidentification", 1, 3, "-", "only allowed for a team and itself"),
        ("reidentification", 1, 4, "inf", "column I1: got 'inf'"),
        ("reidentification", 0, 4, "001", "occurs twice"),
        ("reidentification", 0, 4, "", "is missing"),
        ("reidentification", 0, 4, "000", "does not attack"),
        ("trace_inference", 1, 0, "003", "no utility in the table of utilities"),
        ("trace_inference", 1, 1, "2", "the pseudonymised team has one"),
        ("trace_inference", 0, 0, "team", "the header does not begin with target,data_set"),
    ],
)
def test_a_bad_cell_is_named_with_its_place(
    tmp_path: Path, table: str, row: int, column: int, value: str, message: str
) -> None:
    tables: dict[str, Any] = json.loads(json.dumps(GOOD))
    tables[table][row][column] = value
    with pytest.raises(FileError, match=message) as caught:
        read_score_tables(*write(tables, tmp_path))
    assert f"{table}.csv" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"target,data_set\n", b"target,data_set,001\n002,1\n"]
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    files = write(GOOD, tmp_path)
    files[0].write_bytes(content)
    with pytest.raises(FileError, match=r"reidentification\.csv"):
        read_score_tables(*files)


def test_a_last_column_counts_as_an_attack_unless_it_changes_nothing(tmp_path: Path) -> None:
    tables: dict[str, Any] = json.loads(json.dumps(GOOD))
    found = read_score_tables(*write(tables, tmp_path))
    assert found.minimum_columns == ()
    assert found.board().row("001").s_R_min == 0.4
    tables["reidentification"][0].append("least")
    tables["reidentification"][1].append("0.4")
    tables["reidentification"][2].append("0.3")
    found = read_score_tables(*write(tables, tmp_path))
    assert found.minimum_columns == ("least",)
    assert "least" not in found.samples
    tables["reidentification"][2][-1] = "0.2"
    found = read_score_tables(*write(tables, tmp_path))
    assert found.minimum_columns == ()
    assert found.board().row("002").s_R_min == 0.2


def test_a_contest_without_teams_is_none(tmp_path: Path) -> None:
    tables = {name: rows[:1] for name, rows in GOOD.items()}
    tables["reidentification"] = tables["trace_inference"] = [["target", "data_set", "I1"]]
    with pytest.raises(FileError, match="names no team"):
        read_score_tables(*write(tables, tmp_path))


def test_totals_go_from_one_round_to_the_next(tmp_path: Path) -> None:
    rules = Rules(overall_total=True)
    board = read_score_tables(*write(GOOD, tmp_path)).board(rules)
    write_results(tmp_path, board, make_awards(board))
    before = read_totals(tmp_path / "totals.csv")
    assert before == totals(board)
    (tmp_path / "totals.csv").write_text("team,total\n001,-1\n")
    with pytest.raises(FileError, match="row 1"):
        read_totals(tmp_path / "totals.csv")
