"""Traces, places and clocks that cannot be: the value and what is allowed are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, GpsTraces, Grid, Places, Traces, default_area

PLACES = Places([0, 1], [0, 0])
CLOCK = Clock(instants_per_day=2)
STAY = Traces.from_dense([[0, 0]], PLACES, CLOCK)
POINTS = GpsTraces(user_ids=[1], offsets=[0, 1], time_ms=[0], latitude=[0.5], longitude=[0.5])
NO_POINTS = GpsTraces(user_ids=[1], offsets=[0, 0], time_ms=[], latitude=[], longitude=[])
CASES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a latitude that is a word": (
        lambda: Places(["north"], [0]),
        DataError,
        "latitude cannot be read as float64",
    ),
    "ids in two dimensions": (lambda: Places([0], [0], ids=[["a"]]), DataError, "ids must be a list"),
    "a grid without rows": (
        lambda: Grid(rows=0, columns=3, south=0, west=0, north=1, east=1),
        ParameterError,
        "a grid of 0 × 3 cells has no cell",
    ),
    "a dense table of one dimension": (
        lambda: Traces.from_dense([0, 1], PLACES, CLOCK),
        DataError,
        "two dimensions, not 1",
    ),
    "a span that ends before it begins": (
        lambda: Traces(PLACES, CLOCK, user_ids=[1], offsets=[0, 0], instants=[], place_index=[], span=(3, 1)),
        DataError,
        "span (3, 1) is not a range of instants",
    ),
    "traces of two clocks joined": (
        lambda: Traces.concat([STAY, Traces.from_dense([[0, 0]], PLACES, replace(CLOCK, start_s=3600))]),
        DataError,
        "different places or clocks cannot be joined",
    ),
    "positions of more points than there are": (
        lambda: POINTS.with_positions(np.array([0.0, 1.0]), np.array([0.0, 1.0])),
        DataError,
        "1 points need 1 positions, not 2",
    ),
    "the area of no points": (
        lambda: default_area(NO_POINTS, 500),
        DataError,
        "there are no points, so there is no bounding box",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), CASES.values(), ids=CASES.keys())
def test_it_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refused:
        call()
    assert message in str(refused.value)
