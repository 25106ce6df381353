"""Intervals and lights."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from tracearena.audit.results import light, worst
from tracearena.audit.settings import Share, clopper_pearson


@pytest.mark.parametrize(("hits", "people"), [(0, 1), (0, 100), (3, 20), (20, 20), (500, 1000)])
def test_the_interval_is_that_of_the_exact_binomial_test(hits: int, people: int) -> None:
    low, high = clopper_pearson(hits, people)
    assert low <= hits / people <= high
    if hits:
        assert binom.sf(hits - 1, people, low) == pytest.approx(0.025)
    if hits < people:
        assert binom.cdf(hits, people, high) == pytest.approx(0.025)


def test_nobody_tried_is_no_share() -> None:
    assert Share.of([], 0.1) is None


def test_a_tie_counts_in_part() -> None:
    share = Share.of([0.5, 0.5, 1.0, 0.0], 0.25)
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
        assert Share(0.05, low, high, 10, chance).colour(limit=0.05) == colour


def test_an_advantage_is_what_is_found_beyond_guessing() -> None:
    share = Share(0.5, 0.2, 0.9, 10, 0.3).advantage
    assert (share.value, share.low, share.high) == pytest.approx((0.2, 0.0, 0.6))
    assert (share.people, share.chance) == (10, 0.0)


@pytest.mark.parametrize(
    ("question", "colour"), [("linkability", "red"), ("singling_out", "green"), ("inference", "green")]
)
def test_singling_out_and_inference_are_judged_beyond_guessing(question: str, colour: str) -> None:
    share = Share(0.52, 0.5, 0.54, 1000, 0.5)
    found = light(question, [("found", share)], 0.05)
    assert (found.colour, found.share, found.limit) == (colour, share, 0.05)
    assert found.judged == (share if question == "linkability" else share.advantage)


def test_a_question_is_as_bad_as_its_worst_measure() -> None:
    good, bad = Share(0.0, 0.0, 0.04, 90, 0.03), Share(0.9, 0.8, 1.0, 30, 0.03)
    found = light("inference", [("home", good), ("work", None), ("health", bad)], 0.05)
    assert (found.colour, found.what) == ("red", "health")
    assert light("inference", [("home", None)], 0.05).colour == "grey"
    assert worst([found, light("linkability", [("linked", good)], 0.05)]) == "red"


def test_the_verdict_is_the_worst_and_nothing_without_people_to_look_for() -> None:
    shares = {"green": Share(0.0, 0.0, 0.04, 90, 0), "amber": Share(0.04, 0.01, 0.1, 90, 0)}
    linked, unsure = (light("linkability", [("linked", one)], 0.05) for one in shares.values())
    singled = light("singling_out", [("found", shares["green"])], 0.05)
    nothing = light("inference", [("home", None)], 0.05)
    assert worst([singled, linked]) == "green"
    assert worst([singled, linked, nothing]) == "green"
    assert worst([singled, unsure, nothing]) == "amber"
    assert worst([singled, nothing, light("linkability", [("linked", None)], 0.05)]) == "grey"


def test_visitors_too_few_to_prove_anything_do_not_decide() -> None:
    homes = Share.of([0.0] * 100, 0.0)
    visitors = Share.of([0.0] * 8, 0.0)
    assert visitors is not None
    assert visitors.colour(0.2) == "amber"
    assert light("inference", [("home", homes), ("health", visitors)], 0.2).colour == "green"
    assert light("inference", [("health", visitors)], 0.2).colour == "amber"
    found = Share.of([1.0] * 8, 0.0)
    assert light("inference", [("home", homes), ("health", found)], 0.2).colour == "red"
