"""The grammar of PWS Cup files: columns, allowed values, faults, reading and writing."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import SHOWN_FAULTS, DataError, Fault, FileError
from tracearena.files.io import MAX_BYTES, limit_error, read_bytes, replacing, require_short_lines
from tracearena.traces import Places, PlaceSets

MAX_ID = 999_999_999
MAX_TIME_ID = 1_000_000
_MOST_DECIMAL_CHARACTERS = 40
_ALWAYS_JUDGED_CHARACTERS = 1_000


@dataclass(frozen=True)
class SchemaColumn:
    """One column.

    Attributes
    ----------
    kind
        ``id`` (one whole number), ``list`` (ids with single spaces between, or ``*``),
        ``decimal`` or ``word``.
    highest
        Largest id; of a decimal, the largest amount.
    known
        The ids that exist, if not all up to `highest` do.
    words
        What a ``word`` may be.
    """

    name: str
    kind: str = "id"
    highest: int = MAX_ID
    known: frozenset[int] | None = None
    words: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """What may stand here, in words."""
        if self.kind == "decimal":
            return f"a decimal number from -{self.highest} to {self.highest}, without exponent"
        if self.kind == "word":
            return " or ".join(self.words)
        one = f"one whole number from 1 to {self.highest}"
        if self.known is not None:
            one += f", one of the {len(self.known)} known ids"
        if self.kind == "id":
            return one
        return f"{one}, or several different ones with one space between, or * alone"

    @property
    def longest(self) -> int:
        """Characters of the longest good cell."""
        if self.kind == "decimal":
            return _MOST_DECIMAL_CHARACTERS
        if self.kind == "word":
            return max(map(len, self.words))
        digits = len(str(self.highest))
        if self.kind == "id":
            return digits
        return (self.highest if self.known is None else len(self.known)) * (digits + 1)


@dataclass(frozen=True)
class FileSchema:
    """A kind of file: what it is and its columns."""

    title: str
    columns: tuple[SchemaColumn, ...]

    @property
    def header(self) -> str:
        """The first line."""
        return ",".join(column.name for column in self.columns)

    def with_last(self, column: SchemaColumn) -> FileSchema:
        """Return the layout with another last column."""
        return replace(self, columns=(*self.columns[:-1], column))


_TIME = SchemaColumn("time_id", highest=MAX_TIME_ID)

TRACES = FileSchema("reference or original traces", (SchemaColumn("user_id"), _TIME, SchemaColumn("reg_id")))
ANONYMIZED = FileSchema("public traces", (SchemaColumn("pse_id"), _TIME, SchemaColumn("reg_id", "list")))
OBFUSCATED = FileSchema("obfuscated traces", (SchemaColumn("reg_id", "list"),))
INFERRED_TRACES = FileSchema("inferred traces", (SchemaColumn("reg_id"),))
ID_TABLE = FileSchema("an ID table", (SchemaColumn("pse_id"), SchemaColumn("user_id")))
INFERRED_TABLE = FileSchema("an inferred ID table", (SchemaColumn("user_id"),))
_CELL_OF_GRID = (
    SchemaColumn("reg_id"),
    SchemaColumn("y_id"),
    SchemaColumn("x_id"),
    SchemaColumn("y(center)", "decimal", 90),
    SchemaColumn("x(center)", "decimal", 180),
)
REGIONS = FileSchema("regions", (*_CELL_OF_GRID, SchemaColumn("hospital", "word", words=("0", "1"))))
REGIONS_WITHOUT_HOSPITALS = FileSchema("regions", _CELL_OF_GRID)
TIMES = FileSchema(
    "times",
    (
        SchemaColumn("ref/org", "word", words=("ref", "org")),
        _TIME,
        SchemaColumn("day", highest=MAX_TIME_ID),
        SchemaColumn("hour", "word", words=tuple(map(str, range(24)))),
        SchemaColumn("min", "word", words=tuple(map(str, range(60)))),
    ),
)
DISTANCES = FileSchema(
    "distances",
    (
        SchemaColumn("reg_id1"),
        SchemaColumn("reg_id2"),
        SchemaColumn("dist", "decimal"),
        SchemaColumn("reg_id1_is_hospital", "word", words=("0", "1")),
    ),
)

LAYOUTS = (
    TRACES,
    ANONYMIZED,
    OBFUSCATED,
    INFERRED_TRACES,
    ID_TABLE,
    INFERRED_TABLE,
    REGIONS,
    REGIONS_WITHOUT_HOSPITALS,
    TIMES,
    DISTANCES,
)


def name_files_with_header(header: str) -> str | None:
    """Name the files that have this header.

    >>> name_files_with_header("pse_id,time_id,reg_id")
    'public traces'
    """
    titles = dict.fromkeys(layout.title for layout in LAYOUTS if layout.header == header)
    return " or ".join(titles) or None


# Why a line is refused: one fixed verdict for each kind of fault.

VERDICTS = {
    "empty-file": "the file has no bytes, or only a byte-order mark",
    "too-large": "the file, unpacked, is larger than the limit",
    "bad-gzip": "the file begins like gzip but cannot be unpacked",
    "bad-parquet": "the file begins like Parquet but cannot be read",
    "column-type": "a column of a Parquet file that holds neither whole numbers nor text",
    "line-break": "a cell of a Parquet file with a line break in it",
    "no-table": "the file is not a table but a workbook, an archive, a picture or a document",
    "utf-16": "the file is UTF-16; it must be UTF-8",
    "cr-line-ends": "lines end in CR alone; they must end in LF or CRLF",
    "missing-header": "the first line is data",
    "other-file": "the header is that of another file of the contest",
    "row-numbers": "the file has a column of row numbers, which pandas writes without index=False",
    "wrong-header": "the first line is not the header",
    "no-rows": "there are no rows below the header",
    "row-count": "there are too many rows or too few; the row is the first one too many or missing",
    "too-many-ids": "the file lists more ids than the limit",
    "second-header": "the header occurs among the rows",
    "blank-line": "a line has no characters",
    "line-too-long": "a bad line that is longer than 1,000 characters and than any valid line",
    "column-count": "a row has too many cells or too few",
    "empty-cell": "a cell has no characters",
    "nul-byte": "a NUL byte",
    "stray-cr": "a CR that does not end a line",
    "not-utf8": "bytes that are not UTF-8",
    "not-ascii": "a character that is not ASCII, such as a full-width digit",
    "quotes": "a quotation mark",
    "mixed-star": "a * next to something else",
    "star-not-allowed": "a * where exactly one id must stand",
    "stray-blank": "a tab, a space at the start or end, or two spaces in a row",
    "list-not-allowed": "several ids where exactly one must stand",
    "sign": "a number with a sign",
    "not-a-number": "something that is not a plain whole number",
    "leading-zero": "a number with a leading zero",
    "out-of-range": "a number out of range",
    "repeated-id": "the same id twice in a cell",
    "not-a-decimal": "something that is not a plain decimal number",
    "unknown-word": "a word or flag that is not among those allowed",
    "duplicate-row": "the same ids as the row before",
    "unsorted-row": "a row that belongs further up",
    "repeated-user": "a user under two pseudonyms in an ID table",
    "unknown-user": "a user who is not in the original traces",
    "not-a-grid": "regions that are not the cells of a grid, row by row from the south-west",
    "not-a-clock": "times that are not the same instants every day, reference days first",
    "no-clock": "times that are not the contest's, without a table of times",
    "beyond-clock": "a time after the last of the table of times",
}

_DECIMAL = re.compile(rb"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,30})?")
_PIECE = re.compile(rb"[^ ]+")


def decode_for_display(raw: bytes) -> str:
    """Show bytes as text, whatever they are."""
    return raw.decode("utf-8", "backslashreplace")


def diagnose_line(
    line: bytes, row: int, layout: FileSchema, *, allow_repetition: bool = False
) -> Fault | None:
    """Return the first fault of a line from the left, None if there is none."""
    if not line:
        return Fault(row, None, None, "the line is blank; every row must have all its cells", "blank-line")
    if line == layout.header.encode():
        return Fault(row, None, decode_for_display(line), "the header must occur only once", "second-header")
    cells = line.split(b",", len(layout.columns))
    wanted = len(layout.columns)
    if len(cells) != wanted:
        got = line.count(b",") + 1
        noun = "cell" if got == 1 else "cells"
        problem = f"the row has {got} {noun}; it must have {wanted} ({layout.header})"
        return Fault(row, None, decode_for_display(line), problem, "column-count")
    for cell, column in zip(cells, layout.columns, strict=True):
        code = diagnose_cell(cell, column, allow_repetition=allow_repetition)
        if code is not None:
            return build_cell_fault(row, column, decode_for_display(cell), code)
    return None


def find_long_line_fault(length: int, row: int, layout: FileSchema) -> Fault | None:
    """Judge a bad line by its length alone: a hostile line may be the whole file."""
    longest = max(sum(column.longest + 1 for column in layout.columns), _ALWAYS_JUDGED_CHARACTERS)
    if length <= longest:
        return None
    problem = f"the line has {length:,} bytes; no valid line has more than {longest:,}"
    return Fault(row, None, None, problem, "line-too-long")


def build_row_count_fault(got: int, expected: int) -> Fault:
    """State how many rows there must be, at the first one too many or missing."""
    problem = f"the file has {got:,} rows; it must have {expected:,}"
    return Fault(min(got, expected) + 1, None, None, problem, "row-count")


def build_cell_fault(row: int, column: SchemaColumn, value: str, code: str) -> Fault:
    """State the fault of a cell and what is allowed there."""
    return Fault(row, column.name, value, f"{VERDICTS[code]}; it must be {column.description}", code)


def diagnose_cell(cell: bytes, column: SchemaColumn, *, allow_repetition: bool = False) -> str | None:
    """Return the verdict on a cell, None if it is good."""
    if not cell:
        return "empty-cell"
    if b"\0" in cell:
        return "nul-byte"
    if b"\r" in cell:
        return "stray-cr"
    if not cell.isascii():
        try:
            cell.decode("utf-8")
        except UnicodeDecodeError:
            return "not-utf8"
        return "not-ascii"
    if b'"' in cell or b"'" in cell:
        return "quotes"
    if column.kind == "decimal":
        if not _DECIMAL.fullmatch(cell):
            return "not-a-decimal"
        return None if abs(float(cell)) <= column.highest else "out-of-range"
    if column.kind == "word":
        return None if decode_for_display(cell) in column.words else "unknown-word"
    if b"*" in cell:
        if cell != b"*":
            return "mixed-star"
        return None if column.kind == "list" else "star-not-allowed"
    if b"\t" in cell or b"  " in cell or cell[:1] == b" " or cell[-1:] == b" ":
        return "stray-blank"
    seen: set[bytes] = set()
    for match in _PIECE.finditer(cell):
        piece = match.group()
        if piece[:1] in b"+-" and piece[1:].isdigit():
            return "sign"
        if not piece.isdigit():
            return "not-a-number"
        if piece[:1] == b"0" and len(piece) > 1:
            return "leading-zero"
        if len(piece) > len(str(column.highest)) or not 1 <= int(piece) <= column.highest:
            return "out-of-range"
        if column.known is not None and int(piece) not in column.known:
            return "out-of-range"
        if piece in seen and not allow_repetition and column.kind == "list":
            return "repeated-id"
        seen.add(piece)
        if column.kind == "id" and match.end() < len(cell):
            return "list-not-allowed"
    return None


# A file as rows: header checked, every line judged, faults gathered before anything is used.

_BOM = b"\xef\xbb\xbf"
_PARQUET = b"PAR1"
_OTHER = {
    b"PK\x03\x04": "an Excel workbook or a ZIP archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
}
"""How files begin that are taken for tables by mistake."""
_HEADER_CHARACTERS = 1_000
_DATA_CHARACTERS = frozenset(b"0123456789,* ")


@dataclass
class Sheet:
    """The bytes of a file below its header, and what was found wrong so far."""

    path: str | PathLike[str]
    layout: FileSchema
    data: bytes
    start: int
    faults: list[Fault] = field(default_factory=list)
    total: int = 0
    header_lines: int | None = 1

    def add(self, fault: Fault) -> None:
        """Note a fault."""
        self.total += 1
        if len(self.faults) < SHOWN_FAULTS:
            self.faults.append(fault)

    def refuse_faulty(self) -> None:
        """Raise if there was a fault."""
        if self.total:
            faults = [replace(fault, header_lines=self.header_lines) for fault in self.faults]
            order = sorted(faults, key=lambda fault: fault.row or 0)
            raise FileError(self.path, order, self.total)

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield number and cells of every row, after noting those at fault; for small files."""
        ended = self.data[self.start :].split(b"\n")
        last = ended.pop()
        lines = [line.removesuffix(b"\r") for line in ended] + ([last] if last else [])
        for row, line in enumerate(lines, 1):
            fault = find_long_line_fault(len(line), row, self.layout) or diagnose_line(line, row, self.layout)
            if fault is None:
                yield row, line.decode("ascii").split(",")
            else:
                self.add(fault)


def open_sheet(
    path: str | PathLike[str], *layouts: FileSchema, max_bytes: int | None = None, rows: int | None = None
) -> Sheet:
    """Read a file whose header is that of one of the layouts.

    A limit of its own is one that the caller's `max_bytes` sets. Where the number of `rows` is known, the
    file may be Parquet.
    """
    set_by = "" if max_bytes is None else "--max-bytes (max_bytes)"
    limit = MAX_BYTES if max_bytes is None else max_bytes
    data = read_bytes(path, max_bytes=limit, line_end=None, set_by=set_by)
    if data[:4] in _OTHER:
        raise FileError.whole(path, f"the file is {_OTHER[data[:4]]}", "no-table")
    are_lines = rows is None or not data.startswith(_PARQUET)
    if rows is not None and not are_lines:
        data = _read_parquet_as_csv(path, data, layouts, rows, limit, set_by)
    else:
        require_short_lines(path, data)
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
                raise FileError.whole(path, "there are no rows below the header", "no-rows")
            return Sheet(path, layout, data, stop + 1, header_lines=1 if are_lines else None)
    raise FileError(path, [_explain_header(header[:_HEADER_CHARACTERS], layouts)])


def _read_parquet_as_csv(
    path: str | PathLike[str],
    data: bytes,
    layouts: tuple[FileSchema, ...],
    rows: int,
    limit: int,
    set_by: str,
) -> bytes:
    """Return a Parquet file as the CSV file that it stands for."""
    from tracearena.io.pwscup.parquet import convert_parquet_to_csv, format_parquet_header

    header = format_parquet_header(path, data)
    for layout in layouts:
        if layout.header == header:
            text = convert_parquet_to_csv(path, data, layout, rows, limit)
            if text is None:
                raise limit_error(path, limit, set_by)
            return text
    raise FileError(path, [_explain_header(header.encode()[:_HEADER_CHARACTERS], layouts)])


def _explain_header(header: bytes, layouts: tuple[FileSchema, ...]) -> Fault:
    must = "the header must be " + " or ".join(layout.header for layout in layouts)
    shown = decode_for_display(header)
    other = name_files_with_header(shown)
    if other is not None:
        problem, code = f"this looks like {other}; {must}", "other-file"
    elif b"\0" in header:
        problem, code = f"the first line has a NUL byte; {must}", "nul-byte"
    elif b"\r" in header:
        problem, code = "lines must end in LF or CRLF, not CR alone", "cr-line-ends"
    elif any(shown == f",{layout.header}" for layout in layouts):
        problem, code = f"{VERDICTS['row-numbers']}; {must}", "row-numbers"
    elif header and _DATA_CHARACTERS.issuperset(header):
        problem, code = f"the first line is data; {must}", "missing-header"
    else:
        problem, code = must, "wrong-header"
    return Fault(0, None, shown, problem, code)


# Which ids the files can hold: plain whole numbers from 1.

_HIGHEST_REGION = 2**24


def build_place_column(places: Places, kind: str) -> SchemaColumn:
    """Return the column of region ids of these places."""
    ids = convert_region_ids(places)
    highest = int(ids.max(initial=0))
    known = None if highest == len(ids) else frozenset(ids.tolist())
    return SchemaColumn("reg_id", kind, highest, known)


def convert_region_ids(places: Places) -> NDArray[np.int32]:
    """Return the ids of places as the files can hold them: whole numbers from 1 on."""
    ids = places.ids
    if ids.dtype.kind != "i" or (len(ids) and not (ids.min() >= 1 and ids.max() <= _HIGHEST_REGION)):
        raise DataError(
            f"the ids of the places must be whole numbers from 1 to {_HIGHEST_REGION} in PWS Cup files"
        )
    return ids.astype(np.int32)


def convert_id_column(values: NDArray[Any], name: str) -> NDArray[np.int32]:
    """Return external ids as the files can hold them."""
    if values.dtype.kind != "i" or (len(values) and not (values.min() >= 1 and values.max() <= MAX_ID)):
        raise DataError(f"{name} must be whole numbers from 1 to {MAX_ID} in PWS Cup files")
    return values.astype(np.int32)


# Rows to bytes.

_NO_CODES = np.zeros(0, np.int32)
_NO_SETS = PlaceSets([0], [])


def write_rows(
    path: str | PathLike[str],
    layout: FileSchema,
    columns: list[NDArray[np.int32]],
    codes: NDArray[np.int32] = _NO_CODES,
    sets: PlaceSets = _NO_SETS,
    places: Places | None = None,
    *,
    private: bool = False,
) -> None:
    """Write the header and a row for each id, followed by the cell of places if there are codes."""
    from tracearena.io.pwscup._kernels import count_text_bytes, fill_text

    n_rows = len(columns[0]) if columns else len(codes)
    table = np.zeros((len(columns), n_rows), np.int32)
    for k, column in enumerate(columns):
        table[k] = column
    ids = np.zeros(0, np.int32) if places is None else convert_region_ids(places)
    # Copies, because read-only arrays are another type to the compiler: a second compilation.
    cells = (codes.copy(), sets.offsets.copy(), sets.members.copy(), ids)
    out = np.empty(count_text_bytes(table, *cells), np.uint8)
    fill_text(table, *cells, n_rows, out)
    with replacing(path, private=private) as file:
        file.write(layout.header.encode() + b"\n")
        file.write(out.data)


def write_lines(path: str | PathLike[str], layout: FileSchema, lines: list[str]) -> None:
    """Write the header and lines of text; for small files."""
    with replacing(path) as file:
        file.write("\n".join([layout.header, *lines, ""]).encode("ascii"))


# Large files: all rows through the compiled scanner, what it refuses through the grammar.

NO_LIMIT = 2**62


@dataclass(frozen=True)
class SheetRows:
    """What a file holds: its id columns, and for each row the code of its cell of places."""

    ids: NDArray[np.int32]
    codes: NDArray[np.int32]
    sets: PlaceSets

    def __len__(self) -> int:
        return len(self.codes)


def scan_sheet(
    sheet: Sheet,
    places: Places | None = None,
    *,
    n_keys: int = 0,
    expected_rows: int | None = None,
    allow_repetition: bool = False,
    max_listed_ids: int = NO_LIMIT,
) -> SheetRows:
    """Read all rows with the compiled scanner and note every fault in the sheet.

    With `places` the last column holds cells of places, whose ids the layout's last column knows.
    """
    from tracearena.io.pwscup._kernels import scan_rows

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
    # The index of each id, -1 if there is none; id 0 never is.
    lookup = np.zeros(0, np.int32)
    if places is not None:
        known = convert_region_ids(places)
        lookup = np.full(int(known.max(initial=0)) + 1, -1, np.int32)
        lookup[known] = np.arange(len(known), dtype=np.int32)
    n_rows, n_sets, n_faults = scan_rows(
        data,
        sheet.start,
        np.array([column.highest for column in columns], np.int64),
        lookup,
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
        sheet.add(_explain_fault(sheet, record, n_keys, allow_repetition, max_listed_ids))
    sheet.total += max(n_faults - SHOWN_FAULTS, 0)
    stopped = any(fault.code == "too-many-ids" for fault in sheet.faults)
    if expected_rows is not None and lines != expected_rows and not stopped:
        sheet.add(build_row_count_fault(lines, expected_rows))
    offsets = set_offsets[: n_sets + 1]
    return SheetRows(ids[:, :n_rows], codes[:n_rows], PlaceSets(offsets, members[: offsets[-1]]))


def _explain_fault(
    sheet: Sheet, record: list[int], n_keys: int, allow_repetition: bool, max_listed_ids: int
) -> Fault:
    """Explain why the scanner refused a line."""
    from tracearena.io.pwscup._kernels import BAD_LINE, DUPLICATE, TOO_MANY_IDS

    index, start, stop, kind = record
    row = index + 1
    raw = sheet.data[start:stop]
    raw = raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")
    if kind == TOO_MANY_IDS:
        limit = "the limit that --max-listed-ids (max_listed_ids) sets"
        problem = f"the file lists more than {max_listed_ids:,} ids up to here, {limit}"
        return Fault(row, None, None, problem, "too-many-ids")
    if kind == BAD_LINE:
        fault = find_long_line_fault(stop - start, row, sheet.layout)
        fault = fault or diagnose_line(raw, row, sheet.layout, allow_repetition=allow_repetition)
        if fault is None:
            raise RuntimeError(f"the scanner refuses {raw!r}, the grammar does not")
        return fault
    keys = ",".join(column.name for column in sheet.layout.columns[:n_keys])
    line = decode_for_display(raw)
    if kind == DUPLICATE:
        return Fault(row, keys, line, f"the same {keys} as in the row before", "duplicate-row")
    return Fault(row, keys, line, f"rows must ascend by {keys}", "unsorted-row")
