"""What an audit cannot start from, or hold against its original, is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracearena.audit import AuditInput, assess
from tracearena.errors import DataError, ParameterError, TracearenaError
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces


@pytest.fixture(scope="module")
def walks(make_walks: Callable[..., Traces]) -> Traces:
    return make_walks(users=4)


POINTS = GpsTraces(user_ids=[0], offsets=[0, 1], time_ms=[0], latitude=[34.7], longitude=[135.5])
EMPTY = Traces.from_dense(np.full((1, 2), -1), Places([0], [0]), Clock(instants_per_day=2))


@pytest.mark.parametrize(
    ("released", "options", "error", "message"),
    [
        (None, {"synthetic": True}, ParameterError, "synthetic needs released traces"),
        (POINTS, {}, DataError, "the release has GPS points, but the original has events at places"),
    ],
)
def test_a_release_that_does_not_fit_is_refused(
    walks: Traces, released: Any, options: dict[str, Any], error: type[TracearenaError], message: str
) -> None:
    with pytest.raises(error) as refused:
        assess(AuditInput(walks, released, **options), seed=1, quick=True)
    assert message in str(refused.value)


def test_an_id_table_must_name_every_released_user(walks: Traces) -> None:
    with pytest.raises(DataError, match="does not name every released user"):
        assess(AuditInput(walks, walks, id_table=IdTable([0], [0])), seed=1, quick=True)


def test_a_release_is_given_once(walks: Traces) -> None:
    with pytest.raises(ParameterError, match="given twice"):
        assess(AuditInput(walks, walks), walks, seed=1)


def test_an_audit_starts_from_original_traces_with_rows(walks: Traces) -> None:
    with pytest.raises(DataError, match="an audit starts from original traces"):
        assess(ObfuscatedTraces.from_traces(walks), seed=1)
    with pytest.raises(DataError, match="the traces have no rows"):
        assess(EMPTY, seed=1)
