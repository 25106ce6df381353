"""Parameters, clocks and tables of the PPMTF tools that do not fit together are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import DataError, FileError, ParameterError
from tracearena.io import ppmtf
from tracearena.traces import Clock, Places, Traces

ONES = np.ones((3, 2))
NAMED = Traces.from_dense([[0, 0]], Places([0], [0]), Clock(instants_per_day=2), user_ids=["ann"])
CASES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a factor of other columns": (
        lambda: ppmtf.Parameters(A=ONES, B=np.ones((3, 4)), C=ONES, D=ONES),
        DataError,
        "B has the shape (3, 4); it must have 2 columns, as A has",
    ),
    "a precision that is not square": (
        lambda: ppmtf.Parameters(A=ONES, B=ONES, C=ONES, D=ONES, Lambda={"A": ONES}),
        DataError,
        "Lambda_A has the shape (3, 2); it must be (2, 2)",
    ),
    "an interval that does not divide the day": (
        lambda: ppmtf.people_flow_clock(7001),
        ParameterError,
        "7001 s",
    ),
    "a slot that is no multiple": (
        lambda: ppmtf.check_in_clock(3600, 5000),
        ParameterError,
        "a multiple of the interval, 3600 s",
    ),
    "likelihoods that are not there": (
        lambda: ppmtf.SyntheticTraces(NAMED).trace_loglikelihood(),
        DataError,
        "have no log-likelihoods",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), CASES.values(), ids=CASES.keys())
def test_it_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refused:
        call()
    assert message in str(refused.value)


def test_synthetic_users_with_names_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="synthetic users must be numbers"):
        ppmtf.write_synthetic(NAMED, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_results_without_the_names_of_traces_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("utility,privacy\n1,2\n")
    with pytest.raises(FileError, match="must begin with tracedir, tracefile"):
        ppmtf.read_utility_and_privacy(path)
