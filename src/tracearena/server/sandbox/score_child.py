"""The child that scores the arrays of a checked upload: it gets the truth, and nothing of the file."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.file_judge import reidentification_of, trace_inference_of, utility_of
from tracearena.contest.rules import Rules
from tracearena.server.sandbox.checked import Checked
from tracearena.server.sandbox.child_side import Work, framed, read_framed
from tracearena.server.sandbox.frames import Frame, truth_parts
from tracearena.server.sandbox.packing import Arrays, pack, unpack
from tracearena.traces import Clock, IdTable, Places, Traces

_CELLS, _CODES = np.array([0, 1], np.int32), np.array([-2, -1], np.int32)


def prepared() -> Work:
    """Load all that a score needs, on the traces of one user, and return it."""
    places = Places([0.0, 1.0], [0.0, 1.0], sensitive=[True, False])
    truth = Traces.from_dense(np.array([[0, 1]]), places, Clock(instants_per_day=2))
    table = IdTable([2], [1])
    for answer, of in (
        (Checked.of("obfuscated", {"codes": _CODES, "offsets": np.array([0, 2]), "members": _CELLS}), truth),
        (Checked.of("inferred-traces", {"cells": _CELLS}), truth),
        (Checked.of("inferred-table", {"users": np.array([1])}), table),
    ):
        values, arrays = truth_parts(of)
        truth_of = framed(pack(values | {"rules": Rules().to_dict()}, arrays))
        _work(io.BytesIO(truth_of + framed(answer.arrays)))
    return _work


def score(checked: Checked, values: dict[str, Any], arrays: Arrays, rules: Rules) -> float:
    """Return the score by the one scorer, from the truth as `truth_parts` gives it."""
    among: NDArray[Any] | None = arrays.get("among")
    if checked.kind == "inferred-table":
        truth = IdTable(arrays["pseudonyms"], arrays["table"])
        return reidentification_of(truth, checked.inferred_table(truth.pseudonyms), among)
    frame = Frame.from_parts(values, arrays)
    original = frame.filled(arrays["cells"])
    if checked.kind == "obfuscated":
        return utility_of(original, checked.obfuscated(original), rules)
    return trace_inference_of(original, checked.inferred_traces(frame), rules, among)


def _work(request: IO[bytes]) -> bytes:
    values, arrays = unpack(read_framed(request))
    checked = Checked.from_bytes(read_framed(request))
    return pack({"value": score(checked, values, arrays, Rules.from_dict(values["rules"]))})
