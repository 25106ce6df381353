"""Rules are data: checked, stored without loss, and told in plain words."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from tracearena.contest import Rules
from tracearena.errors import ParameterError


def test_the_defaults_are_those_of_the_paper() -> None:
    assert Rules().to_dict() == {
        "users": 2000,
        "reference_days": 20,
        "original_days": 20,
        "data_sets": 1,
        "sample_teams": 2,
        "pseudonymised_team": True,
        "sample_attacks": ["VisitProb-R", "HomeProb-R", "VisitProb-T", "HomeProb-T"],
        "utility_threshold": 0.7,
        "utility_rule": "paper",
        "utility_limit_km": 2.0,
        "inference_limit_km": 2.0,
        "sensitive_weight": 10.0,
        "overall_total": False,
        "final_weight": 9.0,
        "winner_takes_attack_awards": True,
        "obfuscated_uploads": 20,
        "attack_uploads": 20,
        "largest_file_mb": 64,
        "largest_listed_ids": 16000000,
        "mode": "sealed",
        "live_share": 0.3,
        "live_decimals": 2,
        "live_answers_a_day": 3,
        "live_refresh_hours": [0, 6, 12, 18],
    }


def test_a_utility_equal_to_the_threshold_is_valid() -> None:
    assert Rules().is_valid(56_000 / 80_000)
    assert Rules().is_valid(0.7000005)
    assert not Rules().is_valid(math.nextafter(0.7, 0))
    assert not Rules().is_valid(math.nan)


def test_rules_survive_json() -> None:
    rules = Rules(data_sets=2, mode="live", live_refresh_hours=(9, 21), sample_attacks=())
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules


def test_what_is_left_out_keeps_its_default() -> None:
    assert Rules.from_dict({}) == Rules()


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("users", 0),
        ("users", 2000.0),
        ("users", True),
        ("data_sets", 3),
        ("sample_teams", -1),
        ("pseudonymised_team", 1),
        ("sample_attacks", ("VisitProb-R", "VisitProb-R")),
        ("sample_attacks", ("PL(4,1)",)),
        ("sample_attacks", ("PPMTF",)),
        ("sample_attacks", ("Nobody-R",)),
        ("sample_attacks", ("VisitProb-R(",)),
        ("sample_attacks", (["VisitProb-R"],)),
        ("sample_attacks", "VisitProb-R"),
        ("utility_threshold", -0.1),
        ("utility_threshold", 1.1),
        ("utility_threshold", math.nan),
        ("utility_threshold", "0.7"),
        ("utility_rule", "2020"),
        ("utility_limit_km", 0),
        ("inference_limit_km", math.inf),
        ("sensitive_weight", 0),
        ("mode", "open"),
        ("live_share", 0),
        ("live_share", 1.0),
        ("live_decimals", 4),
        ("live_refresh_hours", ()),
        ("live_refresh_hours", (24,)),
        ("live_refresh_hours", (12, 12)),
    ],
)
def test_a_senseless_value_is_refused_by_name(rule: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"{rule} = .* is not allowed; it must be"):
        Rules(**{rule: value})


def test_own_attacks_may_be_named_by_import_path() -> None:
    assert Rules(sample_attacks=("my_package.attacks:Mine(3)",)).sample_attacks


def test_an_unknown_rule_is_refused_with_a_hint() -> None:
    with pytest.raises(ParameterError, match=r"no rule 'utility_treshold'; did you mean utility_threshold\?"):
        Rules.from_dict({"utility_treshold": 0.7})
    with pytest.raises(ParameterError, match="no rule 'x'; there are users, "):
        Rules.from_dict({"x": 1})


OTHERS = {
    "users": 777,
    "reference_days": 11,
    "original_days": 13,
    "data_sets": 2,
    "sample_teams": 5,
    "pseudonymised_team": False,
    "sample_attacks": ("HomeProb-T",),
    "utility_threshold": 0.65,
    "utility_rule": "2019",
    "utility_limit_km": 3.5,
    "inference_limit_km": 4.5,
    "sensitive_weight": 17,
    "obfuscated_uploads": 8,
    "attack_uploads": 9,
    "largest_file_mb": 99,
    "largest_listed_ids": 123_456,
    "mode": "live",
    "overall_total": True,
}
LIVE_OTHERS = {"live_share": 0.4, "live_decimals": 1, "live_answers_a_day": 6, "live_refresh_hours": (7,)}
OVERALL_OTHERS = {"final_weight": 4.5, "winner_takes_attack_awards": False}


def test_every_rule_is_told() -> None:
    assert {rule.name for rule in dataclasses.fields(Rules)} == {*OTHERS, *LIVE_OTHERS, *OVERALL_OTHERS}


@pytest.mark.parametrize("rule", OTHERS)
def test_changing_a_rule_changes_what_is_told(rule: str) -> None:
    assert Rules(**{rule: OTHERS[rule]}).explain() != Rules().explain()


@pytest.mark.parametrize("rule", LIVE_OTHERS)
def test_changing_a_rule_of_the_live_board_changes_what_is_told(rule: str) -> None:
    assert Rules(mode="live", **{rule: LIVE_OTHERS[rule]}).explain() != Rules(mode="live").explain()


@pytest.mark.parametrize("rule", OVERALL_OTHERS)
def test_changing_a_rule_of_the_overall_award_changes_what_is_told(rule: str) -> None:
    usual = Rules(overall_total=True)
    assert dataclasses.replace(usual, **{rule: OVERALL_OTHERS[rule]}).explain() != usual.explain()


def test_a_contest_is_named_by_its_data_sets() -> None:
    assert Rules().challenge == "trace-inference challenge"
    assert Rules(data_sets=2).challenge == "re-identification challenge and trace-inference challenge"


def test_the_extra_team_is_said_to_be_a_target_where_there_is_one() -> None:
    def tell_of_attacks(rules: Rules) -> str:
        (sentence,) = (one for one in rules.explain() if one.startswith("Best re-identification and best"))
        return sentence

    assert "of the other teams and the pseudonymised team;" in tell_of_attacks(Rules())
    assert "of the other teams;" in tell_of_attacks(Rules(pseudonymised_team=False))


def test_the_extra_team_is_said_to_have_one_data_set_where_others_have_two() -> None:
    assert "It has one data set." not in " ".join(Rules(data_sets=1).explain())
    assert "It has one data set." in " ".join(Rules(data_sets=2).explain())


def test_the_live_board_tells_that_other_users_decide() -> None:
    told = " ".join(Rules(mode="live").explain())
    assert "a random 30% of the users" in told
    assert "The other 70% of the users decide" in told


def test_a_share_of_a_live_board_is_told_with_all_its_digits() -> None:
    told = " ".join(Rules(mode="live", live_share=0.125).explain())
    assert "a random 12.5% of the users" in told
    assert "The other 87.5% of the users decide" in told


def test_it_is_told_what_is_counted_as_an_upload() -> None:
    told = " ".join(Rules().explain())
    assert "once it has been received completely, whether or not its format is right" in told
    assert "late uploads, and uploads that the judge failed to score do not count" in told
