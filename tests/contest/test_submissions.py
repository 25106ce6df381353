"""Scores over the users who count are those of a plain loop over them, and reading is apart from scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.contest import Rules
from tracearena.contest.file_judge import (
    compute_reidentification,
    compute_trace_inference,
    compute_utility,
    score_obfuscated,
    score_table,
    score_traces,
)
from tracearena.errors import DataError
from tracearena.io import pwscup
from tracearena.traces import Clock, IdTable, ObfuscatedTraces, Places, Traces

PLACES = Places(
    [35.0, 35.005, 35.01, 35.1], [139.0] * 4, sensitive=[False, True, False, True], ids=[1, 2, 3, 4]
)
CLOCK = Clock(instants_per_day=2)
RULES = Rules(sensitive_weight=7.0, inference_limit_km=1.5)
RNG = np.random.default_rng(4)


def traces(n: int, rng: np.random.Generator, user_ids: Any = None) -> Traces:
    return Traces.from_dense(rng.integers(0, len(PLACES), (n, 4)), PLACES, CLOCK, user_ids=user_ids)


@pytest.mark.slow
@given(st.data())
def test_reidentification_over_some_users_is_the_share_of_their_pseudonyms_missed(
    data: st.DataObject,
) -> None:
    n = data.draw(st.integers(1, 12))
    true = data.draw(st.permutations(range(1, n + 1)))
    said = data.draw(st.lists(st.integers(1, n), min_size=n, max_size=n))
    among = data.draw(st.lists(st.integers(1, n), min_size=1, unique=True))
    pseudonyms = range(n + 1, 2 * n + 1)
    missed = [guess != user for user, guess in zip(true, said, strict=True) if user in among]
    score = compute_reidentification(IdTable(pseudonyms, true), IdTable(pseudonyms, said), among)
    assert score == sum(missed) / len(missed)


@given(st.data())
def test_trace_inference_over_some_users_is_the_weighted_mean_of_their_events(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    users = sorted(data.draw(st.sets(st.integers(1, 99), min_size=n, max_size=n)))
    original, guess = traces(n, rng, users), traces(n, rng, users)
    among = data.draw(st.lists(st.sampled_from(users), min_size=1, unique=True))
    lost = weights = 0.0
    for user, places, said in zip(users, original.dense().tolist(), guess.dense().tolist(), strict=True):
        for place, guessed in zip(places, said, strict=True):
            if user in among:
                weight = 7.0 if PLACES.sensitive[place] else 1.0
                lost += weight * min(float(PLACES.distance_km(place, guessed)) / 1.5, 1)
                weights += weight
    assert compute_trace_inference(original, guess, RULES, among) == pytest.approx(lost / weights, rel=1e-12)


def test_the_example_of_figure_6_leaves_a_third(tmp_path: Path) -> None:
    """T12."""
    truth, answer = IdTable([2001, 2002, 2003], [2, 3, 1]), IdTable([2001, 2002, 2003], [2, 2, 1])
    assert compute_reidentification(truth, answer) == 1 / 3
    pwscup.write_inferred_table(answer, tmp_path / "etable.csv")
    assert score_table(tmp_path / "etable.csv", truth, [1, 2, 3], Rules()) == 1 / 3


def test_the_files_of_2019_have_the_scores_that_their_judge_gave(osaka: Path) -> None:
    """T12."""
    rules = Rules(utility_rule="2019")
    places = pwscup.read_places(osaka / "info_region.csv")
    original = pwscup.read_traces(osaka / "orgtraces_team001_data01_IDP.csv", places)
    table = pwscup.read_id_table(osaka / "ptable_team001_data01_IDP.csv")
    answers = [osaka / f"{kind}_team020-001_data01_IDP.csv" for kind in ("etable", "etraces")]
    handed_in = osaka / "anotraces_team001_data01_IDP.csv.gz"
    assert score_obfuscated(handed_in, original, rules) == pytest.approx(0.3255519500386591, abs=1e-12)
    assert score_table(answers[0], table, original.user_ids, rules) == pytest.approx(0.999, abs=1e-12)
    assert score_traces(answers[1], original, rules) == pytest.approx(0.966614349241424, abs=1e-12)


def test_all_users_are_as_good_as_none_named_whatever_their_order() -> None:
    original, guess = traces(9, RNG), traces(9, RNG)
    everybody = np.arange(9, 0, -1)
    assert compute_trace_inference(original, guess, RULES, everybody) == compute_trace_inference(
        original, guess, RULES
    )
    table = IdTable(range(10, 19), RNG.permutation(9) + 1)
    answer = IdTable(range(10, 19), np.ones(9, int))
    assert (
        compute_reidentification(table, answer, everybody) == compute_reidentification(table, answer) == 8 / 9
    )


def test_what_the_others_were_said_to_do_has_no_effect() -> None:
    original, guess = traces(6, RNG), traces(6, RNG)
    dense = guess.dense().copy()
    dense[3:] = original.dense()[3:]
    right = Traces.from_dense(dense, PLACES, CLOCK)
    among = [1, 2, 3]
    assert compute_trace_inference(original, guess, RULES, among) == compute_trace_inference(
        original, right, RULES, among
    )
    assert compute_trace_inference(original, guess, RULES) != compute_trace_inference(original, right, RULES)


@pytest.mark.parametrize("among", [[], [1, 1], [1, 7], ["anybody"]])
def test_users_who_count_must_be_different_users_of_the_data_set(among: list[Any]) -> None:
    table = IdTable([4, 5, 6], [2, 3, 1])
    with pytest.raises(DataError, match="users that count"):
        compute_reidentification(table, table, among)
    with pytest.raises(DataError, match="users that count"):
        compute_trace_inference(traces(3, RNG), traces(3, RNG), RULES, among)


def test_a_table_of_other_pseudonyms_is_refused_whoever_counts() -> None:
    with pytest.raises(DataError, match="not the 3 of the ID table"):
        compute_reidentification(IdTable([4, 5, 6], [2, 3, 1]), IdTable([4, 5, 7], [2, 3, 1]), [1])


def test_a_file_has_the_score_of_what_is_in_it(tmp_path: Path) -> None:
    original, guess = traces(5, RNG), traces(5, RNG)
    table = IdTable(range(6, 11), [3, 1, 2, 5, 4])
    answer = IdTable(range(6, 11), [3, 1, 1, 1, 4])
    released = ObfuscatedTraces.from_traces(original)
    pwscup.write_obfuscated(released, tmp_path / "ano.csv")
    pwscup.write_inferred_table(answer, tmp_path / "etable.csv")
    pwscup.write_inferred_traces(guess, tmp_path / "etraces.csv")
    assert (
        score_obfuscated(tmp_path / "ano.csv", original, RULES)
        == compute_utility(original, released, RULES)
        == 1
    )
    for among in (None, [1, 2]):
        read = score_table(tmp_path / "etable.csv", table, original.user_ids, RULES, among)
        assert read == compute_reidentification(table, answer, among)
        read = score_traces(tmp_path / "etraces.csv", original, RULES, among)
        assert read == compute_trace_inference(original, guess, RULES, among)
