"""Intervals and lights."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from tracearena.audit.shares import Share, clopper_pearson
from tracearena.audit.verdict import light, worst


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
    ("low", "chance", "colour"),
    [(0.01, 0.02, "green"), (0.03, 0.02, "amber"), (0.06, 0.02, "red"), (0.06, 0.1, "green")],
)
def test_green_holds_guessing_and_red_is_above_the_limit(low: float, chance: float, colour: str) -> None:
    assert Share(0.5, low, 0.9, 10, chance).colour(red=0.05) == colour


def test_a_question_is_as_bad_as_its_worst_measure() -> None:
    good, bad = Share(0.0, 0.0, 0.1, 30, 0.03), Share(0.9, 0.8, 1.0, 30, 0.03)
    found = light("inference", [("home", good), ("work", None), ("health", bad)], 0.05)
    assert (found.colour, found.what) == ("red", "health")
    assert light("inference", [("home", None)], 0.05).colour == "grey"
    assert worst([found, light("linkability", [("linked", good)], 0.05)]) == "red"
