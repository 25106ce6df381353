"""Means and quantiles of numbers that pass one after the other are those of all at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.traces.spread import ExactQuantiles, select_starting_with

SHARES = (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)
numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


@given(numbers, st.integers(0, 60))
def test_a_cut_changes_nothing(values: list[float], cut: int) -> None:
    parts = [np.array(values[:cut]), np.array(values[cut:])]
    spread = ExactQuantiles.of(parts[0]) + ExactQuantiles.of(parts[1])
    again = [select_starting_with(part, spread.keys_of(SHARES)) for part in parts]
    assert spread.quantiles(SHARES, again) == np.quantile(values, SHARES).tolist()
    assert spread.largest == max(values)
    assert spread.mean == pytest.approx(math.fsum(values) / len(values), rel=1e-15, abs=1e-300)


def test_few_numbers_are_looked_at_again() -> None:
    values = np.random.default_rng(1).exponential(100, 200_000)
    spread = ExactQuantiles.of(values)
    again = select_starting_with(values, spread.keys_of((0.5, 0.9, 0.99)))
    assert len(again.numbers) < 1_000
    assert spread.quantiles((0.5, 0.9, 0.99), [again]) == np.quantile(values, (0.5, 0.9, 0.99)).tolist()


def test_what_is_there_a_hundred_thousand_times_is_handed_on_once() -> None:
    values = np.repeat([0.0, 3.0, 3.0000000001, 7.0], [50_000, 40_000, 10_000, 1])
    spread = ExactQuantiles.of(values)
    again = select_starting_with(values, spread.keys_of(SHARES))
    assert again.numbers.tolist() == [0.0, 3.0, 3.0000000001, 7.0]
    assert spread.quantiles(SHARES, [again]) == np.quantile(values, SHARES).tolist()


def test_small_numbers_are_not_lost_beside_large_ones() -> None:
    assert ExactQuantiles.of(np.array([1e16, 1.0, -1e16, 2.0])).mean == 0.75
