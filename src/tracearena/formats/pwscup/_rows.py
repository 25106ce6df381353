"""Rows to bytes."""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from tracearena.files.io import replacing
from tracearena.formats.pwscup._ids import region_ids
from tracearena.formats.pwscup._layout import Layout
from tracearena.traces import Places, PlaceSets

_NO_CODES = np.zeros(0, np.int32)
_NO_SETS = PlaceSets([0], [])


def write_rows(
    path: str | PathLike[str],
    layout: Layout,
    columns: list[NDArray[np.int32]],
    codes: NDArray[np.int32] = _NO_CODES,
    sets: PlaceSets = _NO_SETS,
    places: Places | None = None,
    *,
    private: bool = False,
) -> None:
    """Write the header and a row for each id, followed by the cell of places if there are codes."""
    from tracearena.formats.pwscup._kernels import fill_text, text_size

    n_rows = len(columns[0]) if columns else len(codes)
    table = np.zeros((len(columns), n_rows), np.int32)
    for k, column in enumerate(columns):
        table[k] = column
    ids = np.zeros(0, np.int32) if places is None else region_ids(places)
    # Copies, because read-only arrays are another type to the compiler: a second compilation.
    cells = (codes.copy(), sets.offsets.copy(), sets.members.copy(), ids)
    out = np.empty(text_size(table, *cells), np.uint8)
    fill_text(table, *cells, n_rows, out)
    with replacing(path, private=private) as file:
        file.write(layout.header.encode() + b"\n")
        file.write(out.data)


def write_lines(path: str | PathLike[str], layout: Layout, lines: list[str]) -> None:
    """Write the header and lines of text; for small files."""
    with replacing(path) as file:
        file.write("\n".join([layout.header, *lines, ""]).encode("ascii"))
