"""Measures of an arena that have nothing to measure, or two answers to one question, are refused."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.arena import uniqueness
from tracearena.errors import DataError
from tracearena.traces import GpsTraces


def points(count: int) -> GpsTraces:
    return GpsTraces(
        user_ids=[1],
        offsets=[0, count],
        time_ms=np.arange(count) * 60_000,
        latitude=np.full(count, 35.0),
        longitude=np.full(count, 139.0),
    )


@pytest.mark.parametrize(
    ("original", "released", "message"), [(0, 2, "the original traces"), (2, 0, "the released traces")]
)
def test_traces_without_points_are_refused(original: int, released: int, message: str) -> None:
    with pytest.raises(DataError, match=f"{message} have no points"):
        uniqueness(points(original), points(released), seed=1)
