"""A file as rows: header checked, every line judged, faults gathered before anything is used."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import SHOWN_FAULTS, DataError, Fault, FileError
from tracearena.formats._files import MAX_BYTES, read_bytes
from tracearena.formats.pwscup._layout import MAX_ID, Column, Layout, looks_like
from tracearena.formats.pwscup._verdicts import diagnose_line, long_line_fault, text_of
from tracearena.traces import Places, PlaceSets

_BOM = b"\xef\xbb\xbf"
_DATA_CHARACTERS = frozenset(b"0123456789,* ")
_MOST_PLACES_ID = 2**24
NO_LIMIT = 2**62


@dataclass
class Sheet:
    """The bytes of a file below its header, and what was found wrong so far."""

    path: str | PathLike[str]
    layout: Layout
    data: bytes
    start: int
    faults: list[Fault] = field(default_factory=list)
    total: int = 0

    def add(self, fault: Fault) -> None:
        """Note a fault."""
        self.total += 1
        if len(self.faults) < SHOWN_FAULTS:
            self.faults.append(fault)

    def refuse_faulty(self) -> None:
        """Raise if there was a fault."""
        if self.total:
            order = sorted(self.faults, key=lambda fault: fault.row or 0)
            raise FileError(self.path, order, self.total)

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield number and cells of every row, after noting those at fault; for small files."""
        ended = self.data[self.start :].split(b"\n")
        last = ended.pop()
        lines = [line.removesuffix(b"\r") for line in ended] + ([last] if last else [])
        for row, line in enumerate(lines, 1):
            fault = long_line_fault(len(line), row, self.layout) or diagnose_line(line, row, self.layout)
            if fault is None:
                yield row, line.decode("ascii").split(",")
            else:
                self.add(fault)


def open_sheet(path: str | PathLike[str], *layouts: Layout, max_bytes: int = MAX_BYTES) -> Sheet:
    """Read a file whose header is that of one of the layouts."""
    data = read_bytes(path, max_bytes=max_bytes)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileError.whole(path, "the file is UTF-16; it must be UTF-8", "utf-16")
    begin = len(_BOM) if data.startswith(_BOM) else 0
    if len(data) == begin:
        wanted = f"it must begin with the header {layouts[0].header}"
        raise FileError.whole(path, f"the file is empty; {wanted}", "empty-file")
    end = data.find(b"\n", begin)
    stop = len(data) if end < 0 else end
    header = data[begin:stop] if end < 0 else data[begin:stop].removesuffix(b"\r")
    for layout in layouts:
        if header == layout.header.encode():
            if stop + 1 >= len(data):
                raise FileError.whole(path, "nothing stands below the header", "no-rows")
            return Sheet(path, layout, data, stop + 1)
    raise FileError(path, [_header_fault(header, layouts)])


def _header_fault(header: bytes, layouts: tuple[Layout, ...]) -> Fault:
    must = "the header must be " + " or ".join(layout.header for layout in layouts)
    other = looks_like(text_of(header[:200]))
    if other is not None:
        return Fault(0, None, text_of(header), f"this looks like {other}; {must}", "other-file")
    if b"\0" in header:
        return Fault(0, None, text_of(header), f"the first line has a NUL byte; {must}", "nul-byte")
    if b"\r" in header:
        return Fault(0, None, text_of(header), "lines must end in LF or CRLF, not CR alone", "cr-line-ends")
    if header and _DATA_CHARACTERS.issuperset(header):
        return Fault(0, None, text_of(header), f"the first line is data; {must}", "missing-header")
    return Fault(0, None, text_of(header), must, "wrong-header")


@dataclass(frozen=True)
class Rows:
    """What a file holds: its id columns, and for each row the code of its cell of places."""

    ids: NDArray[np.int32]
    codes: NDArray[np.int32]
    sets: PlaceSets

    def __len__(self) -> int:
        return len(self.codes)


def place_column(places: Places, kind: str) -> Column:
    """Return the column of region ids of these places."""
    ids = region_ids(places)
    highest = int(ids.max(initial=0))
    known = None if highest == len(ids) else frozenset(ids.tolist())
    return Column("reg_id", kind, highest, known)


def region_ids(places: Places) -> NDArray[np.int32]:
    """Return the ids of places as the files can hold them: whole numbers from 1 on."""
    ids = places.ids
    if ids.dtype.kind != "i" or (len(ids) and not (ids.min() >= 1 and ids.max() <= _MOST_PLACES_ID)):
        raise DataError(
            f"the ids of the places must be whole numbers from 1 to {_MOST_PLACES_ID} in PWS Cup files"
        )
    return ids.astype(np.int32)


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
    _note_faults(sheet, records[: min(n_faults, SHOWN_FAULTS)], n_faults, allow_repetition, max_listed_ids)
    stopped = any(fault.code == "too-many-ids" for fault in sheet.faults)
    if expected_rows is not None and lines != expected_rows and not stopped:
        sheet.add(_count_fault(lines, expected_rows))
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


def _note_faults(
    sheet: Sheet, records: NDArray[np.int64], total: int, allow_repetition: bool, max_listed_ids: int
) -> None:
    from tracearena.formats.pwscup._kernels import BAD_LINE, DUPLICATE, TOO_MANY_IDS

    for row, start, stop, kind in records.tolist():
        fault = long_line_fault(stop - start, row + 1, sheet.layout) if kind == BAD_LINE else None
        if fault is not None:
            sheet.add(fault)
            continue
        line = sheet.data[start:stop]
        line = line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")
        if kind == BAD_LINE:
            fault = diagnose_line(line, row + 1, sheet.layout, allow_repetition=allow_repetition)
            if fault is None:
                raise RuntimeError(f"the scanner refuses {line!r}, the grammar does not")
        elif kind == TOO_MANY_IDS:
            problem = f"the file lists more than {max_listed_ids:,} ids up to here"
            fault = Fault(row + 1, None, None, problem, "too-many-ids")
        else:
            fault = _order_fault(sheet.layout, row + 1, text_of(line), kind == DUPLICATE)
        sheet.add(fault)
    sheet.total += total - len(records)


def _order_fault(layout: Layout, row: int, line: str, duplicate: bool) -> Fault:
    keys = ",".join(column.name for column in layout.columns if column.name != "reg_id")
    if layout.columns[0].name == "pse_id" and len(layout.columns) == 2:
        keys = "pse_id"
    if duplicate:
        return Fault(row, keys, line, "the same as in the row before; each must stand once", "duplicate-row")
    return Fault(row, keys, line, "rows must ascend", "unsorted-row")


def _count_fault(got: int, expected: int) -> Fault:
    problem = f"the file has {got:,} rows; it must have {expected:,}"
    return Fault(min(got, expected) + 1, None, None, problem, "row-count")


def id_column(values: NDArray[np.int64], name: str) -> NDArray[np.int32]:
    """Return external ids as the files can hold them."""
    if values.dtype.kind != "i" or (len(values) and not (values.min() >= 1 and values.max() <= MAX_ID)):
        raise DataError(f"{name} must be whole numbers from 1 to {MAX_ID} in PWS Cup files")
    return values.astype(np.int32)
