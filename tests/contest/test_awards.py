"""Awards: every case of the rules."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.contest import (
    AttackKind,
    AttackRecord,
    Award,
    Board,
    Roster,
    Rules,
    UtilityRecord,
    attack_sums,
    make_awards,
    make_board,
    totals,
)
from tracearena.errors import DataError, ParameterError

TEAMS = ("a", "b", "c")
ROSTER = Roster(teams=TEAMS, pseudonymised="none", samples=("VisitProb-R", "VisitProb-T", "PL(4,1)"))
R, T = AttackKind.REIDENTIFICATION, AttackKind.TRACE_INFERENCE


def attack(attacker: str, target: str, score: float, kind: AttackKind = T, data_set: int = 1) -> AttackRecord:
    return AttackRecord(attacker=attacker, target=target, kind=kind, score=score, data_set=data_set)


def board_of(
    attacks: Sequence[AttackRecord],
    valid: Sequence[str] = TEAMS,
    *,
    roster: Roster = ROSTER,
    data_sets: int = 1,
) -> Board:
    utilities = [
        UtilityRecord(team=team, utility=0.8 if team in valid else 0.5, data_set=data_set)
        for team in roster.teams
        for data_set in range(1, data_sets + 1)
    ]
    return make_board(Rules(data_sets=data_sets), roster, utilities, attacks)


def award(board: Board, name: str) -> Award:
    return {award.name: award for award in make_awards(board)}[name]


def test_best_anonymization_has_the_highest_trace_inference_privacy() -> None:
    attacks = [attack("b", "a", 0.3), attack("a", "b", 0.5), attack("a", "c", 0.4), attack("a", "b", 0.0, R)]
    best = award(board_of(attacks), "best-anonymization")
    assert best.winners == ("b",)
    assert [(place.place, place.team, place.value) for place in best.places] == [
        (1, "b", 0.5),
        (2, "c", 0.4),
        (3, "a", 0.3),
    ]


def test_an_invalid_team_cannot_win_even_with_zero_against_zero() -> None:
    attacks = [attack("b", "a", 0.0)]
    assert award(board_of(attacks, valid="a"), "best-anonymization").winners == ("a",)


def test_nobody_wins_for_anonymization_when_nobody_is_valid() -> None:
    assert award(board_of([], valid=""), "best-anonymization").winners == ()


def test_with_one_data_set_there_are_three_awards() -> None:
    assert [one.name for one in make_awards(board_of([]))] == [
        "best-anonymization",
        "best-reidentification",
        "best-trace-inference",
    ]


def test_with_two_data_sets_the_first_decides_for_reidentification_and_the_second_for_traces() -> None:
    attacks = [
        attack("b", "a", 0.9, R, 1), attack("a", "b", 0.2, R, 1), attack("a", "c", 0.3, R, 1),
        attack("b", "a", 0.1, T, 1), attack("b", "a", 0.1, R, 2),
        attack("b", "a", 0.4, T, 2), attack("a", "b", 0.6, T, 2), attack("a", "c", 0.5, T, 2),
    ]  # fmt: skip
    board = board_of(attacks, data_sets=2)
    assert award(board, "best-anonymization").winners == ("b",)
    assert award(board, "best-anonymization-reidentification").winners == ("a",)


def test_best_attack_has_the_lowest_sum_with_the_pseudonymised_team_included() -> None:
    attacks = [
        attack("a", "b", 0.5), attack("a", "c", 0.5), attack("a", "none", 0.9),
        attack("b", "a", 0.6), attack("b", "c", 0.6), attack("b", "none", 0.1),
    ]  # fmt: skip
    board = board_of(attacks)
    assert attack_sums(board, T) == pytest.approx({"a": 1.9, "b": 1.3, "c": 3.0})
    assert award(board, "best-trace-inference").winners == ("b",)
    assert award(board, "best-reidentification").winners == ()


def test_the_kinds_are_summed_apart() -> None:
    board = board_of([attack("a", "b", 0.1, R), attack("b", "a", 0.1, T)])
    assert award(board, "best-reidentification").winners == ("a",)
    assert award(board, "best-trace-inference").winners == ("b",)


def test_attacking_only_the_easy_target_does_not_pay() -> None:
    attacks = [attack("a", "none", 0.0)] + [attack("b", target, 0.6) for target in ("a", "c", "none")]
    board = board_of(attacks)
    assert attack_sums(board, T) == pytest.approx({"a": 2.0, "b": 1.8, "c": 3.0})
    assert award(board, "best-trace-inference").winners == ("b",)


def test_an_invalid_target_drops_out_for_everybody() -> None:
    attacks = [
        attack("a", "b", 0.5), attack("a", "none", 0.5),
        attack("b", "a", 0.6), attack("b", "none", 0.6), attack("b", "c", 0.0),
    ]  # fmt: skip
    board = board_of(attacks, valid="ab")
    assert attack_sums(board, T) == pytest.approx({"a": 1.0, "b": 1.2, "c": 3.0})
    assert award(board, "best-trace-inference").winners == ("a",)


def test_a_team_that_is_itself_invalid_may_win_for_attacking() -> None:
    attacks = [attack("c", target, 0.1) for target in ("a", "b", "none")]
    assert award(board_of(attacks, valid="ab"), "best-trace-inference").winners == ("c",)


def test_a_team_without_targets_does_not_win_by_an_empty_sum() -> None:
    roster = Roster(teams=["a", "b"])
    board = board_of([attack("b", "a", 0.4)], valid="a", roster=roster)
    assert attack_sums(board, T) == {"a": 0.0, "b": 0.4}
    assert award(board, "best-trace-inference").winners == ("b",)


def test_an_attack_on_an_invalid_target_only_is_no_attack() -> None:
    assert award(board_of([attack("a", "c", 0.0)], valid="ab"), "best-trace-inference").winners == ()


def test_with_two_data_sets_a_sum_runs_over_all_valid_sets() -> None:
    attacks = [attack("a", "b", 0.5, R, 1), attack("a", "b", 0.5, R, 2), attack("a", "none", 0.5, R)]
    board = board_of(attacks, valid="ab", data_sets=2)
    assert attack_sums(board, R) == {"a": 1.5, "b": 3.0, "c": 5.0}


def overall(board: Board, preliminary: dict[str, float] | None = None) -> Award:
    return {one.name: one for one in make_awards(board, preliminary)}["overall"]


def two_rounds(**rules: bool) -> Board:
    attacks = [
        attack("b", "a", 0.5, R, 1), attack("b", "a", 0.4, T, 2), attack("a", "b", 0.3, R, 1),
        attack("a", "b", 0.9, T, 2), attack("b", "a", 0.1, T, 1), attack("a", "b", 0.1, R, 2),
    ]  # fmt: skip
    utilities = [UtilityRecord(team=t, utility=0.8, data_set=d) for t in "ab" for d in (1, 2)]
    return make_board(Rules(data_sets=2, overall_total=True, **rules), ROSTER, utilities, attacks)


def test_the_total_is_of_names_on_the_first_set_and_of_traces_on_the_last() -> None:
    assert totals(two_rounds()) == pytest.approx({"a": 0.9, "b": 1.2})
    assert overall(two_rounds()).winners == ("b",)
    assert "overall" not in [one.name for one in make_awards(board_of([]))]


def test_a_preliminary_round_counts_once_and_this_one_by_its_weight() -> None:
    board, before = two_rounds(), {"a": 1.9, "c": 2.0}
    assert totals(board, before) == pytest.approx({"a": 1.9 + 9 * 0.9, "b": 9 * 1.2, "c": 2.0})
    assert overall(board, {"a": 5.0}).winners == ("a",)
    with pytest.raises(DataError, match="'x' does not take part"):
        overall(board, {"x": 1.0})
    with pytest.raises(DataError, match="is not a team of this round"):
        overall(board, {"VisitProb-R": 1.0})
    with pytest.raises(ParameterError, match="only for the overall award"):
        make_awards(board_of([]), {"a": 1.0})


def test_the_overall_winner_may_be_kept_out_of_the_attack_awards() -> None:
    kept = {one.name: one.winners for one in make_awards(two_rounds())}
    assert kept["best-reidentification"] == ("a",)
    assert kept["best-trace-inference"] == ("b",)
    out = {one.name: one.winners for one in make_awards(two_rounds(winner_takes_attack_awards=False))}
    assert out["best-trace-inference"] == ("a",)
    assert out["best-anonymization"] == ("b",)
    with pytest.raises(ParameterError, match="without an overall award"):
        Rules(winner_takes_attack_awards=False)


def test_ties_share_every_award() -> None:
    attacks = [attack("a", "b", 0.4), attack("b", "a", 0.4), attack("a", "c", 0.3)]
    board = board_of(attacks)
    best = award(board, "best-anonymization")
    assert best.winners == ("a", "b")
    assert [place.place for place in best.places] == [1, 1, 3]
    board = board_of([attack("a", "none", 0.2), attack("c", "none", 0.2), attack("b", "none", 0.9)])
    assert award(board, "best-trace-inference").winners == ("a", "c")


def test_rounding_does_not_break_a_tie() -> None:
    teams = ["a", "b", "x", "y"]
    roster = Roster(teams=teams)
    attacks = [
        attack("a", "x", 1 - 1800 / 2000, R), attack("a", "y", 1 - 1600 / 2000, R), attack("a", "b", 0.4, R),
        attack("b", "x", 1 - 1700 / 2000, R), attack("b", "y", 1 - 1700 / 2000, R), attack("b", "a", 0.4, R),
    ]  # fmt: skip
    board = board_of(attacks, valid=teams, roster=roster)
    sums = attack_sums(board, R)
    assert sums["a"] != sums["b"]
    assert award(board, "best-reidentification").winners == ("a", "b")


def test_one_user_in_a_million_does_break_a_tie() -> None:
    board = board_of([attack("a", "none", 0.5, R), attack("b", "none", 0.5 - 1e-6, R)])
    assert award(board, "best-reidentification").winners == ("b",)


def test_neither_the_pseudonymised_team_nor_samples_win() -> None:
    attacks = [attack("VisitProb-T", target, 0.0) for target in TEAMS] + [attack("a", "b", 0.9)]
    utilities = [UtilityRecord(team=team, utility=0.8) for team in (*TEAMS, "PL(4,1)")]
    board = make_board(Rules(), ROSTER, utilities, attacks)
    assert board.row("none").s_T_min == board.row("PL(4,1)").s_T_min == 1
    assert award(board, "best-anonymization").winners == TEAMS
    assert award(board, "best-trace-inference").winners == ("a",)


def test_an_award_is_plain_values() -> None:
    plain = json.loads(json.dumps([one.to_dict() for one in make_awards(board_of([attack("a", "b", 0.25)]))]))
    assert plain[2] == {
        "name": "best-trace-inference",
        "title": "Best trace inference",
        "winners": ["a"],
        "places": [{"place": 1, "team": "a", "value": 2.25}],
    }


CELLS = [(x, y, k) for x in TEAMS for y in (*TEAMS, "none") for k in (R, T) if x != y]


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from(CELLS), st.integers(0, 8), max_size=len(CELLS)),
    st.sets(st.sampled_from(TEAMS)),
    st.integers(0, 2**32),
)
@examples(300)
def test_winners_are_those_of_brute_force_in_any_order(
    eighths: dict[tuple[str, str, AttackKind], int], valid: set[str], order: int
) -> None:
    attacks = [attack(x, y, eighth / 8, k) for (x, y, k), eighth in eighths.items()]
    random.Random(order).shuffle(attacks)
    board = board_of(attacks, valid=sorted(valid))
    for kind, name in ((R, "best-reidentification"), (T, "best-trace-inference")):
        targets = [*sorted(valid), "none"]
        active = [x for x in TEAMS if any((x, y, kind) in eighths for y in targets)]
        sums = {x: sum(eighths.get((x, y, kind), 8) for y in targets if y != x) for x in active}
        assert award(board, name).winners == tuple(x for x in active if sums[x] == min(sums.values()))
    privacy = {y: min([8] + [eighths.get((x, y, T), 8) for x in TEAMS]) for y in sorted(valid)}
    best = tuple(y for y in privacy if privacy[y] == max(privacy.values()))
    assert award(board, "best-anonymization").winners == best
