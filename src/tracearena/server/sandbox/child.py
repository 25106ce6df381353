"""The child that reads an upload: no key, no database, no secret; only the one checker.

It gets the frame, the limits of the rules and the bytes of the file, and answers the arrays of the file
or the verdict on it.
"""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.file_judge import compute_reidentification, compute_trace_inference, compute_utility
from tracearena.contest.rules import Rules
from tracearena.errors import FileError
from tracearena.files.io import InMemoryFile
from tracearena.io.pwscup.files import read_inferred_table, read_inferred_traces, read_obfuscated
from tracearena.server.sandbox.messages import (
    Arrays,
    Frame,
    Kind,
    UploadArrays,
    Verdict,
    Work,
    frame_message,
    pack,
    read_message,
    truth_to_parts,
    unpack,
)
from tracearena.traces import Clock, IdTable, Places, Traces

_SMALL_FILES: dict[Kind, bytes] = {
    "obfuscated": b"reg_id\n1 2\n*\n",
    "inferred-table": b"user_id\n1\n",
    "inferred-traces": b"reg_id\n1\n2\n",
}


def prepare_check() -> Work:
    """Load and compile all that a check needs, on files of one user, and return it."""
    places, one = Places([0.0, 1.0], [0.0, 1.0], ids=[1, 2]), np.array([1])
    values, arrays = Frame(places, Clock(instants_per_day=2), one, 0, 2, pseudonyms=one).to_parts()
    for kind, content in _SMALL_FILES.items():
        asked = {"kind": kind, "file_name": "small", "max_bytes": 2**10, "max_listed_ids": 10}
        _run_check(io.BytesIO(frame_message(pack(values | {"check": asked}, arrays)) + content))
    return _run_check


def check_file(
    file: InMemoryFile, frame: Frame, kind: str, max_bytes: int, max_listed_ids: int
) -> UploadArrays | Verdict:
    """Read a file by the one checker; as ``tracearena check``, it never takes a region twice in a cell."""
    try:
        if kind == "obfuscated":
            released = read_obfuscated(
                file, frame.traces(), max_bytes=max_bytes, max_listed_ids=max_listed_ids
            )
            sets: Arrays = {"offsets": released.sets.offsets, "members": released.sets.members}
            return UploadArrays.of("obfuscated", {"codes": released.codes, **sets})
        if kind == "inferred-table":
            table = read_inferred_table(file, frame.pseudonyms, users=frame.users, max_bytes=max_bytes)
            return UploadArrays.of("inferred-table", {"users": table.user_ids})
        guess = read_inferred_traces(file, frame.traces(), max_bytes=max_bytes)
        return UploadArrays.of("inferred-traces", {"cells": guess.place_index})
    except FileError as error:
        return Verdict.of(error)


def _run_check(request: IO[bytes]) -> bytes:
    values, arrays = unpack(read_message(request))
    asked: dict[str, Any] = values["check"]
    frame = Frame.from_parts(values, arrays)
    file = InMemoryFile(asked.pop("file_name"), request.read())
    result = check_file(file, frame, **asked)
    return pack({"verdict": result.to_dict()}) if isinstance(result, Verdict) else result.arrays


# The child that scores the arrays of a checked upload: it gets the truth, and nothing of the file.


_CELLS, _CODES = np.array([0, 1], np.int32), np.array([-2, -1], np.int32)


def prepare_score() -> Work:
    """Load all that a score needs, on the traces of one user, and return it."""
    places = Places([0.0, 1.0], [0.0, 1.0], sensitive=[True, False])
    truth = Traces.from_dense(np.array([[0, 1]]), places, Clock(instants_per_day=2))
    table = IdTable([2], [1])
    for answer, of in (
        (
            UploadArrays.of("obfuscated", {"codes": _CODES, "offsets": np.array([0, 2]), "members": _CELLS}),
            truth,
        ),
        (UploadArrays.of("inferred-traces", {"cells": _CELLS}), truth),
        (UploadArrays.of("inferred-table", {"users": np.array([1])}), table),
    ):
        values, arrays = truth_to_parts(of)
        truth_of = frame_message(pack(values | {"rules": Rules().to_dict()}, arrays))
        _run_score(io.BytesIO(truth_of + frame_message(answer.arrays)))
    return _run_score


def compute_score(checked: UploadArrays, values: dict[str, Any], arrays: Arrays, rules: Rules) -> float:
    """Return the score by the one scorer, from the truth as `truth_to_parts` gives it."""
    among: NDArray[Any] | None = arrays.get("among")
    if checked.kind == "inferred-table":
        truth = IdTable(arrays["pseudonyms"], arrays["table"])
        return compute_reidentification(truth, checked.to_id_table(truth.pseudonyms), among)
    frame = Frame.from_parts(values, arrays)
    original = frame.fill(arrays["cells"])
    if checked.kind == "obfuscated":
        return compute_utility(original, checked.to_obfuscated(original), rules)
    return compute_trace_inference(original, checked.to_traces(frame), rules, among)


def _run_score(request: IO[bytes]) -> bytes:
    values, arrays = unpack(read_message(request))
    checked = UploadArrays.from_bytes(read_message(request))
    return pack({"value": compute_score(checked, values, arrays, Rules.from_dict(values["rules"]))})
