"""Different values are found as NumPy finds them."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.traces._arrays import mark_run_starts, unique_values


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(0, np.int64),
        np.array([5, 1, 5, 1, 3]),
        np.array(["b", "a", "b"]),
        np.random.default_rng(1).integers(0, 50, 200),
    ],
)
def test_they_are_those_of_numpy(values: np.ndarray) -> None:
    assert unique_values(values).tolist() == np.unique(values).tolist()


def test_a_row_begins_where_any_column_changes() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 40))
    slow = [i == 0 or (a[i], b[i]) != (a[i - 1], b[i - 1]) for i in range(40)]
    assert mark_run_starts(a, b).tolist() == slow
    assert mark_run_starts(np.zeros(0)).tolist() == []
