"""The board is a pure function of the judge's records."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.contest import (
    AttackKind,
    AttackRecord,
    Board,
    Role,
    Roster,
    Rules,
    UtilityRecord,
    make_awards,
    make_board,
)
from tracearena.errors import DataError, ParameterError

TEAMS = ("a", "b", "c")
ROSTER = Roster(teams=TEAMS, pseudonymised="none", samples=("VisitProb-R", "VisitProb-T"))
R, T = AttackKind.REIDENTIFICATION, AttackKind.TRACE_INFERENCE
ALL_VALID = [UtilityRecord(team=team, utility=0.8) for team in TEAMS]


def attack(attacker: str, target: str, score: float, kind: str = T, **more: int) -> AttackRecord:
    return AttackRecord(attacker=attacker, target=target, kind=AttackKind(kind), score=score, **more)


def board_of(
    attacks: Sequence[AttackRecord] = (), utilities: Sequence[UtilityRecord] = ALL_VALID, data_sets: int = 1
) -> Board:
    return make_board(Rules(data_sets=data_sets), ROSTER, utilities, attacks)


def test_the_strongest_attack_counts_be_it_a_teams_or_the_judges() -> None:
    board = board_of([attack("b", "a", 0.5), attack("c", "a", 0.3), attack("VisitProb-T", "a", 0.4)])
    assert board.row("a").s_T_min == 0.3
    board = board_of([attack("b", "a", 0.5), attack("VisitProb-R", "a", 0.2, R)])
    assert (board.row("a").s_R_min, board.row("a").s_T_min) == (0.2, 0.5)


def test_a_valid_set_that_nobody_attacked_scores_one() -> None:
    assert (board_of().row("a").s_R_min, board_of().row("a").s_T_min) == (1, 1)


def test_an_invalid_set_scores_zero_whatever_the_attacks() -> None:
    utilities = [UtilityRecord(team="a", utility=math.nextafter(0.7, 0))]
    row = board_of([attack("b", "a", 0.9)], utilities).row("a")
    assert (row.valid, row.s_R_min, row.s_T_min) == (False, 0, 0)


def test_a_utility_equal_to_the_threshold_is_valid() -> None:
    assert board_of(utilities=[UtilityRecord(team="a", utility=56_000 / 80_000)]).row("a").valid


def test_a_team_without_upload_is_on_the_board_and_invalid() -> None:
    row = board_of(utilities=[]).row("a")
    assert (row.utility, row.valid, row.s_T_min) == (None, False, 0)


def test_the_pseudonymised_team_is_a_valid_target_without_upload() -> None:
    row = board_of([attack("a", "none", 0.1)]).row("none")
    assert (row.role, row.utility, row.valid, row.s_T_min) == (Role.PSEUDONYMISED, 1, True, 0.1)


def test_a_sample_defence_is_shown_and_is_no_target_of_the_contest() -> None:
    board = board_of(
        [attack("a", "VisitProb-T", 0.6)], [*ALL_VALID, UtilityRecord(team="VisitProb-T", utility=1)]
    )
    assert board.row("VisitProb-T").s_T_min == 0.6
    assert board.targets() == [("a", 1), ("b", 1), ("c", 1), ("none", 1)]


def test_an_invalid_target_drops_out() -> None:
    assert board_of(utilities=ALL_VALID[:2]).targets() == [("a", 1), ("b", 1), ("none", 1)]


def test_the_last_attack_of_a_kind_counts_by_receipt_and_not_by_order() -> None:
    later, earlier = attack("b", "a", 0.6, receipt=9), attack("b", "a", 0.2, receipt=4)
    assert board_of([later, earlier]).row("a").s_T_min == 0.6
    assert board_of([earlier, later]).row("a").s_T_min == 0.6


def test_the_last_valid_upload_counts() -> None:
    uploads = [
        UtilityRecord(team="a", utility=0.9, receipt=1),
        UtilityRecord(team="a", utility=0.75, receipt=2),
        UtilityRecord(team="a", utility=0.6, receipt=3),
        UtilityRecord(team="b", utility=0.6, receipt=4),
        UtilityRecord(team="b", utility=0.5, receipt=5),
    ]
    board = board_of(utilities=uploads)
    assert (board.row("a").utility, board.row("a").valid) == (0.75, True)
    assert (board.row("b").utility, board.row("b").valid) == (0.5, False)


def test_a_record_that_comes_twice_counts_once_and_a_contradiction_is_refused() -> None:
    one = attack("b", "a", 0.6, receipt=9)
    assert board_of([one, one]) == board_of([one])
    with pytest.raises(DataError, match="two records have receipt 9"):
        board_of([one, attack("b", "a", 0.5, receipt=9)])
    with pytest.raises(DataError, match="two records have receipt 0"):
        board_of(utilities=[UtilityRecord(team="a", utility=0.8), UtilityRecord(team="a", utility=0.9)])


def test_the_two_data_sets_of_a_team_are_apart() -> None:
    utilities = [
        UtilityRecord(team="a", utility=0.8, data_set=1),
        UtilityRecord(team="a", utility=0.6, data_set=2),
    ]
    board = board_of([attack("b", "a", 0.5, data_set=1), attack("b", "a", 0.4, data_set=2)], utilities, 2)
    assert (board.row("a", 1).s_T_min, board.row("a", 2).s_T_min) == (0.5, 0)
    assert board.targets() == [("a", 1), ("none", 1)]


def test_rows_are_ordered_by_the_score_that_the_award_for_their_data_set_goes_by() -> None:
    attacks = [
        attack(attacker, target, score, kind, data_set=data_set)
        for data_set in (1, 2)
        for attacker, target, kind, score in [
            ("b", "a", R, 0.2),
            ("b", "a", T, 0.9),
            ("a", "b", R, 0.5),
            ("a", "b", T, 0.4),
        ]
    ]
    utilities = [UtilityRecord(team=team, utility=0.8, data_set=n) for team in "ab" for n in (1, 2)]
    roster = Roster(teams=("a", "b"))
    two = make_board(Rules(data_sets=2), roster, utilities, attacks)
    assert [(row.team, row.data_set) for row in two.rows] == [("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    one = make_board(Rules(), roster, utilities[:1] + utilities[2:3], attacks[:4])
    assert [row.team for row in one.rows] == ["a", "b"]


def test_a_team_does_not_attack_itself() -> None:
    with pytest.raises(DataError, match="'a' attacks itself"):
        attack("a", "a", 0.5)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([attack("x", "a", 0.5)], "'x' does not take part"),
        ([attack("a", "x", 0.5)], "'x' does not take part"),
        ([attack("none", "a", 0.5)], "does not attack"),
        ([attack("a", "b", 0.5, data_set=2)], "data set 2 does not exist"),
        ([attack("a", "none", 0.5, data_set=2)], "data set 2 does not exist"),
    ],
)
def test_an_attack_of_or_on_what_does_not_exist_is_refused(records: list[AttackRecord], message: str) -> None:
    with pytest.raises(DataError, match=message):
        board_of(records)


def test_the_pseudonymised_team_has_one_data_set_where_others_have_two() -> None:
    assert board_of([attack("a", "none", 0.5)], data_sets=2).row("none").s_T_min == 0.5
    with pytest.raises(
        DataError, match="data set 2 of 'none' does not exist; the pseudonymised team has one"
    ):
        board_of([attack("a", "none", 0.5, data_set=2)], data_sets=2)


def test_a_utility_of_an_unknown_team_is_refused() -> None:
    with pytest.raises(DataError, match="'x' does not take part"):
        board_of(utilities=[UtilityRecord(team="x", utility=0.8)])


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, -0.01, 1.01, None, "0.5", True, 1j])
def test_what_is_no_score_is_refused(score: float) -> None:
    with pytest.raises(ParameterError, match=r"score = .* a number of at least 0 and at most 1"):
        attack("a", "b", score)
    with pytest.raises(ParameterError, match=r"utility = .* a number of at least 0 and at most 1"):
        UtilityRecord(team="a", utility=score)


@pytest.mark.parametrize("score", [0, 1, 0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_every_real_number_is_kept_as_a_plain_float(score: float) -> None:
    assert type(attack("a", "b", score).score) is float


def test_an_unknown_kind_and_senseless_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="kind = 'guess'"):
        AttackRecord(attacker="a", target="b", kind="guess", score=0.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="data_set = 0"):
        attack("a", "b", 0.5, data_set=0)
    with pytest.raises(ParameterError, match="receipt = -1"):
        attack("a", "b", 0.5, receipt=-1)


@pytest.mark.parametrize(
    "names",
    [
        {"teams": ["a", "a"]},
        {"teams": ["a"], "pseudonymised": "a"},
        {"teams": ["a"], "samples": ["a"]},
        {"teams": [""]},
    ],
)
def test_a_name_belongs_to_one_party(names: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="name = "):
        Roster(**names)  # type: ignore[arg-type]


def test_an_unknown_row_is_refused() -> None:
    with pytest.raises(DataError, match="no data set 2"):
        board_of().row("a", 2)


def test_a_board_is_plain_values() -> None:
    plain = json.loads(json.dumps(board_of([attack("b", "a", 0.5)]).to_dict()))
    assert plain["rows"][-1] == {
        "team": "a",
        "role": "team",
        "data_set": 1,
        "utility": 0.8,
        "valid": True,
        "s_R_min": 1.0,
        "s_T_min": 0.5,
    }
    assert plain["attacks"] == [
        {"attacker": "b", "target": "a", "data_set": 1, "kind": "trace-inference", "score": 0.5}
    ]


SCORES = st.floats(0, 1)
ATTACKERS = (*TEAMS, *ROSTER.samples)
TARGETS = (*TEAMS, "none")


@st.composite
def attack_lists(draw: st.DrawFn) -> list[AttackRecord]:
    sets = [(target, number) for target in TARGETS for number in (1, 2) if (target, number) != ("none", 2)]
    cells = [(x, y, d, k) for x in ATTACKERS for y, d in sets for k in (R, T) if x != y]
    chosen = draw(st.lists(st.tuples(st.sampled_from(cells), SCORES), max_size=20))
    return [attack(x, y, s, k, data_set=d, receipt=n) for n, ((x, y, d, k), s) in enumerate(chosen)]


@st.composite
def utility_lists(draw: st.DrawFn) -> list[UtilityRecord]:
    chosen = draw(st.lists(st.tuples(st.sampled_from(TEAMS), st.integers(1, 2), SCORES), max_size=12))
    return [UtilityRecord(team=t, utility=u, data_set=d, receipt=n) for n, (t, d, u) in enumerate(chosen)]


def slow_minimum(attacks: Sequence[AttackRecord], target: str, data_set: int, kind: AttackKind) -> float:
    """Ask every attacker for the last of its attacks."""
    scores = [1.0]
    for attacker in ATTACKERS:
        mine = [
            record
            for record in attacks
            if (record.attacker, record.target, record.data_set, record.kind)
            == (attacker, target, data_set, kind)
        ]
        if mine:
            scores.append(sorted(mine, key=lambda record: record.receipt)[-1].score)
    return sorted(scores)[0]


@pytest.mark.slow
@given(utility_lists(), attack_lists(), st.integers(0, 2**32))
@examples(1000)
def test_the_minimum_is_that_of_brute_force_in_any_order(
    utilities: list[UtilityRecord], attacks: list[AttackRecord], order: int
) -> None:
    """T14."""
    board = board_of(attacks, utilities, data_sets=2)
    assert len(board.rows) == 2 * len(TEAMS) + 1
    for row in board.rows:
        uploads = [u.utility for u in utilities if (u.team, u.data_set) == (row.team, row.data_set)]
        valid = row.team == "none" or any(utility >= 0.7 for utility in uploads)
        assert row.valid == valid
        assert row.s_R_min == (slow_minimum(attacks, row.team, row.data_set, R) if valid else 0)
        assert row.s_T_min == (slow_minimum(attacks, row.team, row.data_set, T) if valid else 0)
    rng = random.Random(order)
    mixed = board_of(rng.sample(attacks, len(attacks)), rng.sample(utilities, len(utilities)), data_sets=2)
    assert mixed == board


@pytest.mark.slow
@given(attack_lists(), st.sampled_from(ATTACKERS), st.sampled_from(TARGETS), st.sampled_from([R, T]), SCORES)
@examples(1000)
def test_one_more_attack_never_raises_a_minimum(
    attacks: list[AttackRecord], attacker: str, target: str, kind: AttackKind, score: float
) -> None:
    """T14."""
    if attacker == target:
        return
    new = attack(attacker, target, score, kind, receipt=1000)
    before = board_of([record for record in attacks if record.key != new.key], data_sets=2)
    after = board_of([*(record for record in attacks if record.key != new.key), new], data_sets=2)
    for row in after.rows:
        old = before.row(row.team, row.data_set)
        assert row.s_R_min <= old.s_R_min
        assert row.s_T_min <= old.s_T_min


@pytest.mark.slow
@given(utility_lists(), attack_lists())
@examples(1000)
def test_nothing_that_is_no_number_ranks(utilities: list[UtilityRecord], attacks: list[AttackRecord]) -> None:
    """T14."""
    board = board_of(attacks, utilities, data_sets=2)
    for row in board.rows:
        assert 0 <= row.s_R_min <= 1
        assert 0 <= row.s_T_min <= 1
    for place in (place for award in make_awards(board) for place in award.places):
        assert 0 <= place.value <= 2 * len(TARGETS)
    for record in (*attacks[:1], *utilities[:1]):
        name = "score" if isinstance(record, AttackRecord) else "utility"
        for value in (math.nan, math.inf, -0.1, 1.1):
            with pytest.raises(ParameterError, match=name):
                replace(record, **{name: value})


def test_a_board_under_other_names_is_the_same_board() -> None:
    board = board_of([attack("b", "a", 0.5), attack("a", "none", 0.1), attack("VisitProb-T", "c", 0.2)])
    renamed = board.with_names({"a": "Red", "none": "000"})
    assert renamed.roster.teams == ("Red", "b", "c")
    assert renamed.row("Red").s_T_min == board.row("a").s_T_min
    assert renamed.row("000").role is Role.PSEUDONYMISED
    assert renamed.attacks["b", "Red", 1, T] == 0.5
    assert renamed.with_names({"Red": "a", "000": "none"}) == board
    with pytest.raises(ParameterError, match="not empty, and unique"):
        board.with_names({"a": "b"})
