"""Utility from counts is what the metrics say of the traces, in whatever parts the users are counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np
import pytest

from tracearena.arena.evaluation import measure_utility
from tracearena.errors import DataError
from tracearena.metrics import tm_emd, tm_emd_sliced, tm_tv, tp_emd_sliced, tp_tv, vf_tv
from tracearena.metrics.counts import TraceCounts
from tracearena.traces import Traces

Walks = Callable[..., Traces]


def people(make_walks: Walks) -> list[Traces]:
    return [make_walks(days=3, missing=0.3, seed=seed) for seed in (1, 2, 3)]


def test_utility_is_what_each_metric_says(make_walks: Walks) -> None:
    made, training, testing = people(make_walks)
    found = measure_utility(
        TraceCounts.of(made, by_day=True), TraceCounts.of(training), TraceCounts.of(testing), None
    )
    assert found.to_dict() == {
        "tp_tv": tp_tv(testing, made, by_day=True),
        "tp_tv_top50": tp_tv(testing, made, top=50, by_day=True),
        "tp_emd_sliced": tp_emd_sliced(testing, made, by_day=True),
        "tm_tv": tm_tv(testing, made, by_day=True),
        "tm_emd_x": tm_emd(testing, made, "x", by_day=True),
        "tm_emd_y": tm_emd(testing, made, "y", by_day=True),
        "tm_emd_sliced": tm_emd_sliced(testing, made, by_day=True),
        "vf_tv": vf_tv(testing, made, training=training, by_day=True),
    }


def test_the_uniform_baseline_is_what_each_metric_says(make_walks: Walks) -> None:
    _, training, testing = people(make_walks)
    found = measure_utility(None, TraceCounts.of(training), TraceCounts.of(testing), None)
    assert (found.tp_tv, found.tm_tv) == (tp_tv(testing, None), tm_tv(testing, None))
    assert found.tm_emd_sliced == tm_emd_sliced(testing, None)
    assert found.vf_tv == vf_tv(testing, None, training=training)


@pytest.mark.parametrize("by_day", [False, True])
def test_parts_add_up_to_the_whole(make_check_ins: Walks, by_day: bool) -> None:
    traces = make_check_ins()
    whole = TraceCounts.of(traces, by_day=by_day)
    parts = [
        TraceCounts.of(traces.take_users(own), by_day=by_day) for own in np.array_split(np.arange(20), 7)
    ]
    rest = whole - parts[0]
    for sum_of, expected in ((reduce(add, parts), whole), (reduce(add, parts[1:]), rest)):
        for name in ("visits", "moves", "fractions"):
            one, other = getattr(sum_of, name), getattr(expected, name)
            assert np.array_equal(one.numbers, other.numbers)
            assert np.array_equal(one.counts, other.counts)
        assert (sum_of.expected, sum_of.again) == (expected.expected, expected.again)


def test_traces_are_complete_whether_counted_or_not(make_walks: Walks, make_check_ins: Walks) -> None:
    for traces in (make_walks(), make_walks(missing=0.1), make_check_ins()):
        assert TraceCounts.of(traces).is_complete == traces.is_complete


def test_nothing_cannot_be_compared(make_walks: Walks) -> None:
    traces = make_walks()
    nothing = traces.keep(np.zeros(traces.n_events, bool))
    with pytest.raises(DataError, match="no events to compare"):
        measure_utility(TraceCounts.of(nothing), TraceCounts.of(traces), TraceCounts.of(traces), None)
