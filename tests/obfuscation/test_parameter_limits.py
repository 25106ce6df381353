"""The limits of every parameter: what is just inside is accepted, what is just outside is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tracearena.errors import ParameterError
from tracearena.obfuscation import (
    MRLH,
    Cheating,
    ClusterAveraging,
    Decoy,
    FakeTraces,
    GeoInd,
    Impostor,
    KAnonymous,
    PerDay,
    PlanarLaplace,
    RandomizedResponse,
    Snapping,
    SwapHours,
    SwapTimes,
    Thinning,
    TrimEnds,
    Zones,
)

COUNT = 2**31 - 1
EARTH_KM = 40_030
NO_LIMIT_KM = 1e9

Limits = tuple[Callable[..., Any], dict[str, Any], str, float | None, float]

INCLUDED: list[Limits] = [
    (MRLH, {"mu_y": 0, "deletion": 0}, "mu_x", 0, 30),
    (MRLH, {"mu_x": 0, "deletion": 0}, "mu_y", 0, 30),
    (MRLH, {"mu_x": 0, "mu_y": 0}, "deletion", 0.0, 1.0),
    (RandomizedResponse, {}, "epsilon", 0.0, 1e6),
    (Cheating, {}, "share", 0.0, 1.0),
    (PerDay, {}, "n", 1, COUNT),
    (SwapTimes, {"period": "month"}, "cell", 1.0, 1e7),
    (SwapHours, {}, "cell", 1.0, 1e7),
    (KAnonymous, {}, "k", 1, COUNT),
    (ClusterAveraging, {}, "threshold", 0.0, 1.0),
    (ClusterAveraging, {"threshold": 0.7}, "clusters", 1, COUNT),
    (ClusterAveraging, {"threshold": 0.7}, "blur_km", 0.0, NO_LIMIT_KM),
    (Decoy, {"threshold": 0.7}, "noise", 0.0, 1e6),
    (Impostor, {"threshold": 0.7}, "parts", 1, 48),
    (FakeTraces, {}, "fakes", 1, 100_000),
    (FakeTraces, {"fakes": 2}, "classes", 1, COUNT),
    (GeoInd, {"expected_noise": 100}, "digits", 0, 9),
    (Zones, {"radius": 200.0}, "shift", 0.0, 200.0),
    (Zones, {"radius": 200.0}, "places", 1, COUNT),
]
EXCLUDED: list[Limits] = [
    (PlanarLaplace, {"r": 1}, "l", 0, 1e6),
    (PlanarLaplace, {"l": 1}, "r", 0, EARTH_KM),
    (KAnonymous, {"k": 2}, "limit_km", 0, NO_LIMIT_KM),
    (ClusterAveraging, {"threshold": 0.7}, "limit_km", 0, NO_LIMIT_KM),
    (FakeTraces, {"fakes": 2}, "exposure", 0, 1),
    (GeoInd, {}, "expected_noise", 0, 1e6),
    (GeoInd, {"expected_noise": 100}, "window", 0, 3.2e9),
    (GeoInd, {}, "epsilon", None, 1e6),
    (Snapping, {}, "side", 0, 1e6),
    (Thinning, {}, "interval", 0, 3.2e9),
    (Zones, {}, "radius", 0, 1e5),
    (TrimEnds, {}, "distance", 0, 1e5),
]


def refuse(make: Callable[..., Any], others: dict[str, Any], name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"^{name} = "):
        make(**others, **{name: value})


@pytest.mark.parametrize(("make", "others", "name", "least", "most"), INCLUDED)
def test_both_limits_belong_to_the_range(
    make: Callable[..., Any], others: dict[str, Any], name: str, least: float, most: float
) -> None:
    for value, beyond in ((least, -math.inf), (most, math.inf)):
        assert getattr(make(**others, **{name: value}), name) == value
        is_whole = isinstance(value, int)
        next_one = value + int(math.copysign(1, beyond)) if is_whole else math.nextafter(value, beyond)
        refuse(make, others, name, next_one)


@pytest.mark.parametrize(("make", "others", "name", "least", "most"), EXCLUDED)
def test_the_upper_limit_alone_belongs_to_the_range(
    make: Callable[..., Any], others: dict[str, Any], name: str, least: float | None, most: float
) -> None:
    assert getattr(make(**others, **{name: most}), name) == most
    refuse(make, others, name, math.nextafter(most, math.inf))
    if least is not None:
        assert getattr(make(**others, **{name: 1e-3}), name) == 1e-3
        refuse(make, others, name, least)


@pytest.mark.parametrize(
    ("short", "written_out"),
    [
        (ClusterAveraging(threshold=0.7), {"clusters": 100, "blur_km": 0, "limit_km": 2}),
        (KAnonymous(k=2), {"way": "move", "limit_km": 2}),
        (Decoy(threshold=0.7), {"noise": 0.5, "blur_km": 0.5, "limit_km": 2}),
        (Impostor(threshold=0.7), {"parts": 4, "noise": 2, "blur_km": 1, "limit_km": 2}),
        (FakeTraces(), {"method": "sglt", "fakes": 10, "exposure": 1, "classes": None, "training": None}),
        (GeoInd(expected_noise=100), {"window": None, "epsilon": None, "digits": 6}),
        (Zones(radius=200), {"shift": None, "places": 2, "digits": 6}),
        (TrimEnds(distance=200), {"digits": 6}),
        (Thinning(interval=60), {"digits": 6}),
        (Snapping(side=100), {"digits": 6}),
        (PerDay(n=1), {"timezone": None, "digits": 6}),
        (PlanarLaplace(l=1, r=1), {"legacy_2019": False}),
    ],
)
def test_what_is_left_out_has_the_default_of_the_manual(short: Any, written_out: dict[str, Any]) -> None:
    assert replace(short, **written_out) == short
