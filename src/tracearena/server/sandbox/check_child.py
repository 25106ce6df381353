"""The child that reads an upload: no key, no database, no secret; only the one checker.

It gets the frame, the limits of the rules and the bytes of the file, and answers the arrays of the file
or the verdict on it.
"""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np

from tracearena.errors import FileError
from tracearena.files.io import Held
from tracearena.formats.pwscup.id_tables import read_inferred_table
from tracearena.formats.pwscup.traces import read_inferred_traces, read_obfuscated
from tracearena.server.sandbox.checked import Checked, Kind, Verdict
from tracearena.server.sandbox.child_side import Work, framed, read_framed
from tracearena.server.sandbox.frames import Frame
from tracearena.server.sandbox.packing import Arrays, pack, unpack
from tracearena.traces import Clock, Places

_SMALL_FILES: dict[Kind, bytes] = {
    "obfuscated": b"reg_id\n1 2\n*\n",
    "inferred-table": b"user_id\n1\n",
    "inferred-traces": b"reg_id\n1\n2\n",
}


def prepared() -> Work:
    """Load and compile all that a check needs, on files of one user, and return it."""
    places, one = Places([0.0, 1.0], [0.0, 1.0], ids=[1, 2]), np.array([1])
    values, arrays = Frame(places, Clock(instants_per_day=2), one, 0, 2, pseudonyms=one).parts()
    for kind, content in _SMALL_FILES.items():
        asked = {"kind": kind, "file_name": "small", "max_bytes": 2**10, "max_listed_ids": 10}
        _work(io.BytesIO(framed(pack(values | {"check": asked}, arrays)) + content))
    return _work


def checked(file: Held, frame: Frame, kind: str, max_bytes: int, max_listed_ids: int) -> Checked | Verdict:
    """Read a file by the one checker; as ``tracearena check``, it never takes a region twice in a cell."""
    try:
        if kind == "obfuscated":
            released = read_obfuscated(
                file, frame.traces(), max_bytes=max_bytes, max_listed_ids=max_listed_ids
            )
            sets: Arrays = {"offsets": released.sets.offsets, "members": released.sets.members}
            return Checked.of("obfuscated", {"codes": released.codes, **sets})
        if kind == "inferred-table":
            table = read_inferred_table(file, frame.pseudonyms, users=frame.users, max_bytes=max_bytes)
            return Checked.of("inferred-table", {"users": table.user_ids})
        guess = read_inferred_traces(file, frame.traces(), max_bytes=max_bytes)
        return Checked.of("inferred-traces", {"cells": guess.place_index})
    except FileError as error:
        return Verdict.of(error)


def _work(request: IO[bytes]) -> bytes:
    values, arrays = unpack(read_framed(request))
    asked: dict[str, Any] = values["check"]
    frame = Frame.from_parts(values, arrays)
    file = Held(asked.pop("file_name"), request.read())
    result = checked(file, frame, **asked)
    return pack({"verdict": result.to_dict()}) if isinstance(result, Verdict) else result.arrays
