"""After the awards the judge may attack with more than the contest had."""

from __future__ import annotations

import json

import pytest
from tests.contest.residents import Residents

from tracearena.arena import UNINFORMED_ATTACKS
from tracearena.contest import Rules, SimulatedContest, simulate_contest
from tracearena.errors import ParameterError
from tracearena.pages.contest import contest_report, name_defenders
from tracearena.pages.svg import afterwards_picture

SMALL = {"teams": 2, "users": 24, "days": 4, "maker": Residents(), "seed": 3}
FURTHER = ("Bayes-R(adaptive)", "Tracking-T(adaptive)")


@pytest.fixture(scope="module")
def held() -> SimulatedContest:
    return simulate_contest(**SMALL, attacks=FURTHER)


def test_further_attacks_change_nothing_that_was_before(held: SimulatedContest) -> None:
    plain = simulate_contest(**SMALL).to_dict()
    assert "afterwards" not in plain
    more = held.to_dict()
    assert [row["defence"] for row in more.pop("afterwards")] == [
        "No",
        "ClusterAveraging(0.7,100,0.5)",
        "Cheat(0.25)",
    ]
    assert json.dumps(more) == json.dumps(plain)


def test_every_defence_meets_old_and_new_attacks(held: SimulatedContest) -> None:
    for row in held.afterwards:
        made = {*row.scores.reidentification, *row.scores.trace_inference}
        assert {*FURTHER, *held.rules.sample_attacks} <= made
        assert row.band is not None
        assert row.band.estimate <= row.band.ceiling


def test_the_page_shows_them_with_their_band(held: SimulatedContest) -> None:
    data = held.to_report_data("mine")
    html = contest_report(data).html()
    assert "After the awards" in html
    scores = held.samples[0].scores
    attacks = [*scores.reidentification, *scores.trace_inference]
    drawn = afterwards_picture(held.afterwards, attacks, name_defenders(data))
    assert drawn.svg in html
    rows = [dict(zip(drawn.table_header, row, strict=True)) for row in drawn.table_rows]
    assert all(row["s_T_min"] <= row["s_T_min_contest"] for row in rows)
    assert [row["s_T_min"] for row in rows] == [row.scores.s_T_min for row in held.afterwards]
    assert [(row["s_T_estimate"], row["s_T_ceiling"]) for row in rows] == [
        row.band for row in held.afterwards
    ]
    assert drawn.svg.count('class="band"') == len(rows)


def test_a_judge_may_run_new_sample_attacks_but_none_that_wait() -> None:
    assert Rules(sample_attacks=("Bayes-R", "Tracking-T")).sample_attacks == ("Bayes-R", "Tracking-T")
    for waiting in ("Bayes-T(adaptive)", "Bayes-T(mechanism=adaptive)"):
        with pytest.raises(ParameterError, match="sample_attacks"):
            Rules(sample_attacks=(waiting,))


def test_the_strongest_are_sample_attacks_by_one_word() -> None:
    assert Rules(sample_attacks=("strongest",)).sample_attacks == UNINFORMED_ATTACKS
    both = Rules.from_dict({"sample_attacks": ["VisitProb-R", "strongest", "Bayes-R"]})
    assert both.sample_attacks == ("VisitProb-R", *UNINFORMED_ATTACKS)
    assert Rules.from_dict(both.to_dict()) == both
