"""The shared checks: what passes, what is refused, and in which words."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from tracearena.checks import (
    require_choice,
    require_fitted,
    require_kind,
    require_number,
    require_switch,
    require_whole,
)
from tracearena.errors import DataError, ParameterError
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.25), np.int64(1), Fraction(1, 3)])
def test_numbers_of_every_type_pass(value: Any) -> None:
    require_number("share", value, at_least=0, at_most=1)


@pytest.mark.parametrize(
    "value",
    [-1e-300, 1 + 1e-15, math.nan, math.inf, True, "0.5", None, 0.5j, [0.5], np.array([0.5]), 10**400],
)
def test_what_is_no_number_of_the_range_is_refused(value: Any) -> None:
    told = "share = .* is not allowed; it must be a number of at least 0 and at most 1$"
    with pytest.raises(ParameterError, match=told) as refused:
        require_number("share", value, at_least=0, at_most=1)
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize("value", [0, 1])
def test_open_ranges_exclude_their_ends(value: int) -> None:
    with pytest.raises(ParameterError, match="a number greater than 0 and less than 1"):
        require_number("share", value, above=0, below=1)
    require_number("share", 0.5, above=0, below=1)


@pytest.mark.parametrize("value", [1, 30, np.int8(3), np.uint64(30)])
def test_whole_numbers_of_every_type_pass(value: Any) -> None:
    require_whole("k", value, at_least=1, at_most=30)


@pytest.mark.parametrize("value", [0, 31, 3.0, np.float64(3), True, np.bool_(True), "3", None, 10**400])
def test_what_is_no_whole_number_of_the_range_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="a whole number of at least 1 and at most 30"):
        require_whole("k", value, at_least=1, at_most=30)


@pytest.mark.parametrize("value", ["c", "", None, 0, ["a"], np.array(["a", "b"])])
def test_a_choice_is_one_of_those_named(value: Any) -> None:
    require_choice("rule", "b", ("a", "b"))
    with pytest.raises(ParameterError, match=r"rule = .* is not allowed; it must be a or b$"):
        require_choice("rule", value, ("a", "b"))


@pytest.mark.parametrize("value", [0, 1, "true", None, np.bool_(True)])
def test_a_switch_is_true_or_false(value: Any) -> None:
    require_switch("share", False)
    with pytest.raises(ParameterError, match="true or false"):
        require_switch("share", value)


class Learner:
    """Learns one thing."""

    def __str__(self) -> str:
        return "Mine(3)"


def test_what_was_learned_is_looked_for_by_its_name() -> None:
    learner: Any = Learner()
    with pytest.raises(DataError, match=r"^Mine\(3\) is not trained: call fit first$"):
        require_fitted(learner, "known_")
    learner.known_ = None
    require_fitted(learner, "known_")


def test_traces_of_the_wrong_kind_are_refused_with_what_to_do(make_walks: Callable[..., Traces]) -> None:
    walks, asked = make_walks(), partial(require_kind, Learner())
    asked(walks, Traces)
    asked(walks, ObfuscatedTraces, Traces)
    with pytest.raises(
        DataError, match=r"^Mine\(3\) works on ObfuscatedTraces; it got Traces; .*from_traces"
    ):
        asked(walks, ObfuscatedTraces)
    with pytest.raises(DataError, match=r"works on GpsTraces; it got Traces; events at places have"):
        asked(walks, GpsTraces)
    with pytest.raises(DataError, match=r"works on Traces; it got NoneType$"):
        asked(None, Traces)
