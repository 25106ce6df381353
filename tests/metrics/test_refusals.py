"""Releases and tables that cannot be compared: the message names what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.metrics import (
    applications,
    reidentification_score,
    tm_tv,
    tp_emd_exact,
    trace_inference_score,
)
from tracearena.metrics.similarity import geographic_similarity
from tracearena.mobility import MobilityProfiles
from tracearena.traces import Clock, GpsTraces, IdTable, Places, Traces

PLACES, CLOCK = Places([0, 1], [0, 0]), Clock(instants_per_day=2)
STAY = Traces.from_dense([[0, 0]], PLACES, CLOCK)
EMPTY = Traces.from_dense(np.full((1, 2), -1), PLACES, CLOCK)


def points(*users: int, count: int = 2) -> GpsTraces:
    total = len(users) * count
    return GpsTraces(
        user_ids=users,
        offsets=np.arange(len(users) + 1) * count,
        time_ms=np.tile(np.arange(count) * 60_000, len(users)),
        latitude=np.full(total, 35.0),
        longitude=np.full(total, 139.0),
    )


def error_by(*users: object) -> object:
    """Measure the error of a release of users 8 and 9 whom a table gives these names."""
    return applications.distance_error(
        points(1, 2), points(8, 9), id_table=dict(zip((8, 9), users, strict=True))
    )


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "no pseudonyms": (
        lambda: reidentification_score(IdTable([], []), IdTable([], [])),
        "there are no pseudonyms to score",
    ),
    "no events to infer": (lambda: trace_inference_score(EMPTY, EMPTY), "there are no events to score"),
    "no events to compare": (lambda: tm_tv(STAY, EMPTY), "there are no events to compare"),
    "a table of strangers": (
        lambda: error_by(5, 6),
        "has no user of the original (it has users such as '5', the original such as '1')",
    ),
    "a table that is not one to one": (lambda: error_by(1, 1), "every id must be unique"),
    "a table of words for numbers": (
        lambda: error_by("1", "ann"),
        "has the id 'ann', but the ids of the original are numbers",
    ),
    "an error without released points": (
        lambda: applications.distance_error(points(1), points(1, count=0)),
        "no user of the original has released points",
    ),
    "homes without released points": (
        lambda: applications.compare_homes(points(1), points(1, count=0)),
        "the released traces have no points",
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES.keys())
def test_it_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError) as refused:
        call()
    assert message in str(refused.value)


def test_exact_distances_without_their_library_name_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    profiles = MobilityProfiles.of(STAY)
    for measure in (
        lambda: tp_emd_exact(STAY, STAY),
        lambda: geographic_similarity(profiles, profiles, distance=np.eye(2)),
    ):
        with pytest.raises(ParameterError, match=r"need POT: install the extra, tracearena\[emd\]"):
            measure()
