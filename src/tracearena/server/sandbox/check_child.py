"""The child that reads an upload: no key, no database, no secret; only the one checker.

It gets the frame, the limits of the rules and the bytes of the file, and answers the arrays of the file
or the verdict on it.
"""

from __future__ import annotations

import sys
from typing import IO, Any

from tracearena.errors import FileError
from tracearena.files.whole import Held
from tracearena.formats.pwscup.id_tables import read_inferred_table
from tracearena.formats.pwscup.traces import read_inferred_traces, read_obfuscated
from tracearena.server.sandbox.checked import Checked, Verdict
from tracearena.server.sandbox.child_side import read_framed, run
from tracearena.server.sandbox.frames import Frame
from tracearena.server.sandbox.packing import Arrays, pack, unpack


def main() -> None:
    """Check one upload."""
    # Numba would load SciPy's linear algebra, a sixth of a child's whole time, for loops that have none.
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    run(_work)


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


if __name__ == "__main__":
    main()
