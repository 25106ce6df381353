"""Tuning for the very defence: on the reference cut in two, or on sample teams."""

import numpy as np
import pytest

from tracearena.algorithms import catalogue
from tracearena.arena import run_sweep, split_reference, tune_against
from tracearena.cities import simulate
from tracearena.errors import ParameterError
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def people() -> tuple[Traces, Traces]:
    reference, original = simulate(users=60, days=8, seed=1).split_days(4)
    return reference, original


def test_a_sweep_reports_tuned_and_untuned_minima(people: tuple[Traces, Traces]) -> None:
    chosen = {"defences": ["PL(1,1)"], "attacks": ["FuzzyCount-R", "FuzzyCount-T"], "seed": 1}
    (plain,) = run_sweep(*people, **chosen)  # type: ignore[arg-type]
    (row,) = run_sweep(*people, tune=True, **chosen)  # type: ignore[arg-type]
    assert row.scores == plain.scores
    assert plain.tuned is plain.s_R_min_tuned is plain.s_T_min_tuned is None
    assert row.tuned is not None
    assert row.s_R_min_tuned == min(row.tuned.s_R_tuned, row.scores.s_R_min or 1)
    assert row.s_T_min_tuned == min(row.tuned.s_T_tuned, row.scores.s_T_min or 1)
    assert row.tuned.tuned_R.startswith("FuzzyCount-R")
    assert list(row.to_dict())[-7:] == [
        *("tuned_R", "tuned_T", "s_R_tuned", "s_T_tuned", "s_R_min_tuned", "s_T_min_tuned", "error")
    ]


def test_tuning_for_a_defence_identifies_more_than_the_defaults(people: tuple[Traces, Traces]) -> None:
    (row,) = run_sweep(
        *people, defences=["RR(4)"], attacks=["FuzzyCount-R", "FuzzyCount-T"], tune=True, seed=1
    )
    assert row.tuned is not None
    assert row.tuned.s_R_tuned + 0.3 < row.scores.reidentification["FuzzyCount-R"]


def test_sample_teams_of_others_are_tuned_on(people: tuple[Traces, Traces]) -> None:
    others = simulate(users=40, days=4, seed=9).split_days(2)
    (row,) = run_sweep(*people, defences=["No"], attacks=["samples"], tune=[others], seed=1)
    assert row.tuned is not None
    expected = tune_against([others], catalogue.create("No"), seed=5).s_R
    assert row.tuned.tuned_R in expected


@pytest.mark.slow
def test_the_truth_of_the_target_is_not_tuned_on(people: tuple[Traces, Traces]) -> None:
    reference, original = people
    shuffled = original.with_places(np.random.default_rng(1).permutation(original.place_index))
    found = [
        run_sweep(reference, one, defences=["No"], attacks=["Random-R", "Random-T"], tune=True, seed=1)[
            0
        ].tuned
        for one in (original, shuffled)
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert (found[0].tuned_R, found[0].tuned_T) == (found[1].tuned_R, found[1].tuned_T)


def test_halves_are_whole_days_of_the_same_people(people: tuple[Traces, Traces]) -> None:
    first, last = split_reference(people[0])
    assert np.array_equal(first.user_ids, last.user_ids)
    assert first.n_events + last.n_events == people[0].n_events
    with pytest.raises(ParameterError, match="cannot be split"):
        split_reference(first.take_days(0, 1))
