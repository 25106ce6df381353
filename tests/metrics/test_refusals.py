"""Releases and tables that cannot be compared: the message names what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.metrics import (
    applications,
    cluster_populations,
    legacy_directions,
    measure_diversity,
    reidentification_score,
    tm_emd,
    tm_tv,
    tp_emd_exact,
    trace_inference_score,
    utility_score,
)
from tracearena.metrics.services import spatial_allocation, time_allocation
from tracearena.metrics.similarity import first_order_mapping, geographic_similarity
from tracearena.mobility import MobilityProfiles
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces

PLACES, CLOCK = Places([0, 1], [0, 0]), Clock(instants_per_day=2)
STAY = Traces.from_dense([[0, 0]], PLACES, CLOCK)
TWO = Traces.from_dense([[0, 0], [1, 1]], PLACES, CLOCK)
RELEASED = ObfuscatedTraces.from_traces(STAY)
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


def update(**settings: float) -> object:
    return applications.bayesian_update([[1.0]], **{"side_m": 1, "expected_noise_m": 1} | settings)  # type: ignore[arg-type]


WALKS, WAY = MobilityProfiles.of(STAY), points(1, 2)
LIMITS: dict[str, tuple[Callable[[float], object], float, float]] = {
    "share": (lambda share: cluster_populations(np.eye(1), STAY, STAY, share=share), 0, 1e-3),
    "top": (lambda top: spatial_allocation(np.ones(3), top), 0, 1),
    "rank": (lambda rank: time_allocation(STAY, rank), 0, 1),
    "pairs": (lambda pairs: measure_diversity(TWO, TWO, pairs=pairs, seed=1), 0, 1),
    "bins": (lambda bins: tm_emd(STAY, STAY, "x", bins=bins), 0, 1),
    "directions": (lambda count: legacy_directions(count), 0, 1),
    "limit_km": (lambda km: utility_score(STAY, RELEASED, limit_km=km), 0, 1e-3),
    "sensitive_weight": (lambda weight: trace_inference_score(STAY, STAY, sensitive_weight=weight), 0, 1e-3),
    "steps": (lambda steps: first_order_mapping(WALKS, WALKS, 0, 0, steps=steps, seed=1), -1, 0),
    "side_m": (lambda m: update(side_m=m), 0, 1e-3),
    "expected_noise_m": (lambda m: update(expected_noise_m=m), 0, 1e-3),
    "rounds": (lambda rounds: update(rounds=rounds), -1, 0),
    "range_m": (lambda m: applications.gossip(WAY, range_m=m), 0, 1e-3),
    "margin_km": (lambda km: applications.hotspots(WAY, WAY, margin_km=km), -1e-9, 0),
    "slot_s": (lambda s: applications.gossip(WAY, slot_s=s), 0, 1e-3),
    "reach_m": (lambda m: applications.homes_and_workplaces(WAY, reach_m=m), 0, 1e-3),
    "within_m": (lambda m: applications.compare_homes(WAY, WAY, within_m=m), 0, 1e-3),
}


@pytest.mark.parametrize(("call", "outside", "inside"), LIMITS.values(), ids=LIMITS.keys())
def test_the_lower_limit_of_a_parameter_is_where_it_is_said_to_be(
    request: pytest.FixtureRequest, call: Callable[[float], object], outside: float, inside: float
) -> None:
    name = request.node.callspec.id
    call(inside)
    with pytest.raises(ParameterError, match=f"^{name} = "):
        call(outside)


def test_the_upper_limit_of_a_share_of_users_is_all_of_them() -> None:
    assert cluster_populations(np.eye(1), STAY, STAY, share=1).users.tolist() == [[0]]
    with pytest.raises(ParameterError, match=r"^share = "):
        cluster_populations(np.eye(1), STAY, STAY, share=np.nextafter(1, 2))
