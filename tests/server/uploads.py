"""A contest of two users and three instants, and the bad files that are known of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tests.io.pwscup.small_contest import PSEUDONYMS, VALID
from tests.io.pwscup.test_bad_files import BAD_CELLS, BAD_FILES

from tracearena.server.sandbox.messages import Frame, Kind
from tracearena.traces import Clock, Grid, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

GRID = Grid(rows=32, columns=32, south=34.64, west=135.44, north=34.74, east=135.56)
PLACES = Places.of_grid(GRID, sensitive=np.arange(1024) % 9 == 1, km_per_degree=CONTEST_KM_PER_DEGREE)
CLOCK = Clock(instants_per_day=3, start_s=8 * 3600, interval_s=1800)
ORIGINAL = Traces.from_dense(np.array([[410, 316, 283], [1, 1024, 77]]) - 1, PLACES, CLOCK)
FRAME = Frame.of(ORIGINAL, pseudonyms=PSEUDONYMS)

KINDS: dict[str, Kind] = {
    "obfuscated": "obfuscated",
    "inferred_table": "inferred-table",
    "inferred_traces": "inferred-traces",
}
GOOD = {kind: VALID[name] for name, kind in KINDS.items()}


class Bad(NamedTuple):
    """A bad file, its verdict, and the row where it is wrong: None is the file as a whole, 0 the header."""

    kind: Kind
    content: bytes
    code: str
    row: int | None


BAD = [
    *(
        Bad("obfuscated", GOOD["obfuscated"].replace(b"281 282 313 314", cell, 1), code, 3)
        for cell, code in BAD_CELLS
        if code is not None
    ),
    *(Bad(KINDS[name], content, code, row) for name, content, code, row in BAD_FILES if name in KINDS),
]
