"""Intervals and lights."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from tracearena.audit.results import find_worst_colour, rate_question
from tracearena.audit.settings import Proportion, clopper_pearson


@pytest.mark.parametrize(("hits", "people"), [(0, 1), (0, 100), (3, 20), (20, 20), (500, 1000)])
def test_the_interval_is_that_of_the_exact_binomial_test(hits: int, people: int) -> None:
    low, high = clopper_pearson(hits, people)
    assert low <= hits / people <= high
    if hits:
        assert binom.sf(hits - 1, people, low) == pytest.approx(0.025)
    if hits < people:
        assert binom.cdf(hits, people, high) == pytest.approx(0.025)


def test_nobody_tried_is_no_share() -> None:
    assert Proportion.of([], 0.1) is None


def test_a_tie_counts_in_part() -> None:
    share = Proportion.of([0.5, 0.5, 1.0, 0.0], 0.25)
    assert share is not None
    assert share.value == 0.5


@pytest.mark.parametrize(
    ("low", "high", "colour"),
    [(0.0, 0.05, "green"), (0.0, 0.051, "amber"), (0.05, 0.9, "amber"), (0.051, 0.9, "red")],
)
def test_green_is_below_the_limit_with_its_whole_interval_and_red_above(
    low: float, high: float, colour: str
) -> None:
    # What guessing gives plays no part.
    for chance in (0.0, 0.5):
        assert Proportion(0.05, low, high, 10, chance).colour(limit=0.05) == colour


def test_an_advantage_is_what_is_found_beyond_guessing() -> None:
    share = Proportion(0.5, 0.2, 0.9, 10, 0.3).advantage
    assert (share.value, share.low, share.high) == pytest.approx((0.2, 0.0, 0.6))
    assert (share.people, share.chance) == (10, 0.0)


@pytest.mark.parametrize(
    ("question", "colour"), [("linkability", "red"), ("singling_out", "green"), ("inference", "green")]
)
def test_singling_out_and_inference_are_judged_beyond_guessing(question: str, colour: str) -> None:
    share = Proportion(0.52, 0.5, 0.54, 1000, 0.5)
    found = rate_question(question, [("found", share)], 0.05)
    assert (found.colour, found.share, found.limit) == (colour, share, 0.05)
    assert found.decisive_share == (share if question == "linkability" else share.advantage)


def test_a_question_is_as_bad_as_its_worst_measure() -> None:
    good, bad = Proportion(0.0, 0.0, 0.04, 90, 0.03), Proportion(0.9, 0.8, 1.0, 30, 0.03)
    found = rate_question("inference", [("home", good), ("work", None), ("health", bad)], 0.05)
    assert (found.colour, found.what) == ("red", "health")
    assert rate_question("inference", [("home", None)], 0.05).colour == "grey"
    assert find_worst_colour([found, rate_question("linkability", [("linked", good)], 0.05)]) == "red"


def test_the_verdict_is_the_worst_and_nothing_without_people_to_look_for() -> None:
    shares = {"green": Proportion(0.0, 0.0, 0.04, 90, 0), "amber": Proportion(0.04, 0.01, 0.1, 90, 0)}
    linked, unsure = (rate_question("linkability", [("linked", one)], 0.05) for one in shares.values())
    singled = rate_question("singling_out", [("found", shares["green"])], 0.05)
    nothing = rate_question("inference", [("home", None)], 0.05)
    assert find_worst_colour([singled, linked]) == "green"
    assert find_worst_colour([singled, linked, nothing]) == "green"
    assert find_worst_colour([singled, unsure, nothing]) == "amber"
    assert (
        find_worst_colour([singled, nothing, rate_question("linkability", [("linked", None)], 0.05)])
        == "grey"
    )


def test_visitors_too_few_to_prove_anything_do_not_decide() -> None:
    homes = Proportion.of([0.0] * 100, 0.0)
    visitors = Proportion.of([0.0] * 8, 0.0)
    assert visitors is not None
    assert visitors.colour(0.2) == "amber"
    assert rate_question("inference", [("home", homes), ("health", visitors)], 0.2).colour == "green"
    assert rate_question("inference", [("health", visitors)], 0.2).colour == "amber"
    found = Proportion.of([1.0] * 8, 0.0)
    assert rate_question("inference", [("home", homes), ("health", found)], 0.2).colour == "red"
