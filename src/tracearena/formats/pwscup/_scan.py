"""Large files: all rows through the compiled scanner, what it refuses through the grammar."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import SHOWN_FAULTS, Fault
from tracearena.formats.pwscup._ids import region_ids
from tracearena.formats.pwscup._sheet import Sheet
from tracearena.formats.pwscup._verdicts import diagnose_line, long_line_fault, row_count_fault, text_of
from tracearena.traces import Places, PlaceSets

NO_LIMIT = 2**62


@dataclass(frozen=True)
class Rows:
    """What a file holds: its id columns, and for each row the code of its cell of places."""

    ids: NDArray[np.int32]
    codes: NDArray[np.int32]
    sets: PlaceSets

    def __len__(self) -> int:
        return len(self.codes)


def scan(
    sheet: Sheet,
    places: Places | None = None,
    *,
    n_keys: int = 0,
    expected_rows: int | None = None,
    allow_repetition: bool = False,
    max_listed_ids: int = NO_LIMIT,
) -> Rows:
    """Read all rows with the compiled scanner and note every fault in the sheet.

    With `places` the last column holds cells of places, whose ids the layout's last column knows.
    """
    from tracearena.formats.pwscup._kernels import scan_rows

    data = np.frombuffer(sheet.data, np.uint8)
    columns = sheet.layout.columns if places is None else sheet.layout.columns[:-1]
    lines = sheet.data.count(b"\n", sheet.start) + (not sheet.data.endswith(b"\n"))
    # Lines far beyond the expected end are counted but not judged: a hostile file must not cost memory.
    capacity = lines if expected_rows is None else min(lines, expected_rows + SHOWN_FAULTS)
    is_list = sheet.layout.columns[-1].kind == "list"
    spaces = sheet.data.count(b" ", sheet.start) if is_list else 0
    ids = np.zeros((len(columns), capacity), np.int32)
    codes = np.empty(capacity, np.int32)
    set_offsets = np.zeros(min(spaces, capacity) + 2, np.int64)
    members = np.empty(min(2 * spaces, max_listed_ids) + 2, np.int32)
    table = np.full(1 << (2 * len(set_offsets)).bit_length(), -1, np.int32)
    records = np.zeros((SHOWN_FAULTS, 4), np.int64)
    n_rows, n_sets, n_faults = scan_rows(
        data,
        sheet.start,
        np.array([column.highest for column in columns], np.int64),
        _lookup(places),
        is_list,
        n_keys,
        allow_repetition,
        max_listed_ids,
        secrets.randbits(62) | 1,
        ids,
        codes,
        set_offsets,
        members,
        table,
        records,
    )
    for record in records[:n_faults].tolist():
        sheet.add(_fault_of(sheet, record, n_keys, allow_repetition, max_listed_ids))
    sheet.total += max(n_faults - SHOWN_FAULTS, 0)
    stopped = any(fault.code == "too-many-ids" for fault in sheet.faults)
    if expected_rows is not None and lines != expected_rows and not stopped:
        sheet.add(row_count_fault(lines, expected_rows))
    offsets = set_offsets[: n_sets + 1]
    return Rows(ids[:, :n_rows], codes[:n_rows], PlaceSets(offsets, members[: offsets[-1]]))


def _lookup(places: Places | None) -> NDArray[np.int32]:
    """Return the index of each id, -1 where there is none; id 0 never is."""
    if places is None:
        return np.zeros(0, np.int32)
    ids = region_ids(places)
    table = np.full(int(ids.max(initial=0)) + 1, -1, np.int32)
    table[ids] = np.arange(len(ids), dtype=np.int32)
    return table


def _fault_of(
    sheet: Sheet, record: list[int], n_keys: int, allow_repetition: bool, max_listed_ids: int
) -> Fault:
    """Explain why the scanner refused a line."""
    from tracearena.formats.pwscup._kernels import BAD_LINE, DUPLICATE, TOO_MANY_IDS

    index, start, stop, kind = record
    row = index + 1
    if kind == TOO_MANY_IDS:
        limit = "the limit that --max-listed-ids (max_listed_ids) sets"
        problem = f"the file lists more than {max_listed_ids:,} ids up to here, {limit}"
        return Fault(row, None, None, problem, "too-many-ids")
    if kind == BAD_LINE:
        return long_line_fault(stop - start, row, sheet.layout) or _bad_line(
            sheet, _line(sheet, start, stop), row, allow_repetition
        )
    keys = ",".join(column.name for column in sheet.layout.columns[:n_keys])
    line = text_of(_line(sheet, start, stop))
    if kind == DUPLICATE:
        return Fault(row, keys, line, f"the same {keys} as in the row before", "duplicate-row")
    return Fault(row, keys, line, f"rows must ascend by {keys}", "unsorted-row")


def _bad_line(sheet: Sheet, line: bytes, row: int, allow_repetition: bool) -> Fault:
    fault = diagnose_line(line, row, sheet.layout, allow_repetition=allow_repetition)
    if fault is None:
        raise RuntimeError(f"the scanner refuses {line!r}, the grammar does not")
    return fault


def _line(sheet: Sheet, start: int, stop: int) -> bytes:
    line = sheet.data[start:stop]
    return line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")
