"""Exact sums are rounded once, whatever is added first."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracearena.traces._arrays import ExactSum

NUMBERS = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60)


@given(NUMBERS, st.integers(0, 60))
def test_parts_in_any_order_add_up_to_the_rounded_sum(numbers: list[float], cut: int) -> None:
    array = np.array(numbers)
    sums = ExactSum.of(array[cut:]) + ExactSum.of(array[:cut])
    assert sums.total == math.fsum(numbers)
    assert sums.count == len(numbers)


def test_very_small_numbers_and_none_are_added_too() -> None:
    tiny = np.full(1000, 5e-324)
    assert ExactSum.of(tiny).total == 1000 * 5e-324
    assert ExactSum.of(np.zeros(3)).mean == 0
    assert (ExactSum() + ExactSum.of(np.array([0.1]))).total == 0.1


def test_a_mean_does_not_depend_on_how_many_are_added_at_a_time() -> None:
    numbers = np.random.default_rng(1).random(100_003)
    halves = ExactSum.of(numbers[50_000:]) + ExactSum.of(numbers[:50_000])
    assert halves.mean == ExactSum.of(numbers).mean
    assert abs(halves.mean - numbers.mean()) < 1e-15
