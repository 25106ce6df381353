"""The limits of every parameter: what is just inside is accepted, what is just outside is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tracearena.attacks import (
    AlignedIdentification,
    FuzzyCountingT,
    MembershipInference,
    Smoothing,
    SyntheticIdentification,
)
from tracearena.attacks.bayesian import BayesInference, BayesMatcher, HabitsInference
from tracearena.errors import ParameterError

LIMITS: list[tuple[Callable[..., Any], str, tuple[float, ...], tuple[float, ...]]] = [
    (FuzzyCountingT, "eta", (1e-9, 1e6), (0, math.nextafter(1e6, math.inf))),
    (FuzzyCountingT, "decay", (0, 1e6), (math.nextafter(0, -1), math.nextafter(1e6, math.inf))),
    (FuzzyCountingT, "frequent", (0, 1), (math.nextafter(0, -1), math.nextafter(1, 2))),
    (BayesInference, "sensitive_weight", (1e-9, 1e9), (0, math.nextafter(1e9, math.inf))),
    (BayesInference, "limit_km", (1e-9, 40_030), (0, 40_031)),
    (HabitsInference, "sensitive_weight", (1e-9, 1e9), (0, math.nextafter(1e9, math.inf))),
    (HabitsInference, "limit_km", (1e-9, 40_030), (0, 40_031)),
    (AlignedIdentification, "limit_km", (1e-9, 1e9), (0, math.nextafter(1e9, math.inf))),
    (Smoothing, "k", (1, 2**31 - 1), (0, 2**31)),
    (MembershipInference, "thresholds", (1, 1000), (0, -1)),
    (MembershipInference, "unseen", (1e-300, math.nextafter(1, 0)), (0, 1)),
    (SyntheticIdentification, "unseen", (1e-300, math.nextafter(1, 0)), (0, 1)),
]


@pytest.mark.parametrize(("make", "name", "inside", "outside"), LIMITS)
def test_both_sides_of_each_limit(
    make: Callable[..., Any], name: str, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    for value in inside:
        assert getattr(make(**{name: value}), name) == value
    for value in outside:
        with pytest.raises(ParameterError, match=f"^{name} = "):
            make(**{name: value})


@pytest.mark.parametrize(
    ("short", "written_out"),
    [
        (FuzzyCountingT(), {"weighting": "log", "eta": 0.33, "decay": 1, "frequent": 0.5, "spread": "first"}),
        (AlignedIdentification(), {"limit_km": 2}),
        (BayesInference(), {"mechanism": "unknown", "weights": None, "sensitive_weight": 10, "limit_km": 2}),
        (HabitsInference(), {"sensitive_weight": 10, "limit_km": 2}),
        (BayesMatcher(), {"limit_km": 2}),
        (Smoothing(k=3), {"feedback": False}),
        (MembershipInference(), {"legacy_ppmtf": False, "thresholds": None}),
    ],
)
def test_what_is_left_out_has_the_default_of_the_manual(short: Any, written_out: dict[str, Any]) -> None:
    for name, value in written_out.items():
        assert getattr(short, name) == value, name
