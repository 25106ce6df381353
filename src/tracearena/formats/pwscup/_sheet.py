"""A file as rows: header checked, every line judged, faults gathered before anything is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike

from tracearena.errors import SHOWN_FAULTS, Fault, FileError
from tracearena.files.io import MAX_BYTES, beyond, read_bytes, require_short_lines
from tracearena.formats.pwscup._layout import Layout, looks_like
from tracearena.formats.pwscup._verdicts import diagnose_line, long_line_fault, text_of

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
    layout: Layout
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
            fault = long_line_fault(len(line), row, self.layout) or diagnose_line(line, row, self.layout)
            if fault is None:
                yield row, line.decode("ascii").split(",")
            else:
                self.add(fault)


def open_sheet(
    path: str | PathLike[str], *layouts: Layout, max_bytes: int | None = None, rows: int | None = None
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
        data = _of_parquet(path, data, layouts, rows, limit, set_by)
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
                raise FileError.whole(path, "nothing stands below the header", "no-rows")
            return Sheet(path, layout, data, stop + 1, header_lines=1 if are_lines else None)
    raise FileError(path, [_header_fault(header[:_HEADER_CHARACTERS], layouts)])


def _of_parquet(
    path: str | PathLike[str], data: bytes, layouts: tuple[Layout, ...], rows: int, limit: int, set_by: str
) -> bytes:
    """Return a Parquet file as the CSV file that it stands for."""
    from tracearena.formats.pwscup._parquet import csv_of, header_of

    header = header_of(path, data)
    for layout in layouts:
        if layout.header == header:
            text = csv_of(path, data, layout, rows, limit)
            if text is None:
                raise beyond(path, limit, set_by)
            return text
    raise FileError(path, [_header_fault(header.encode()[:_HEADER_CHARACTERS], layouts)])


def _header_fault(header: bytes, layouts: tuple[Layout, ...]) -> Fault:
    must = "the header must be " + " or ".join(layout.header for layout in layouts)
    other = looks_like(text_of(header))
    if other is not None:
        return Fault(0, None, text_of(header), f"this looks like {other}; {must}", "other-file")
    if b"\0" in header:
        return Fault(0, None, text_of(header), f"the first line has a NUL byte; {must}", "nul-byte")
    if b"\r" in header:
        return Fault(0, None, text_of(header), "lines must end in LF or CRLF, not CR alone", "cr-line-ends")
    if header and _DATA_CHARACTERS.issuperset(header):
        return Fault(0, None, text_of(header), f"the first line is data; {must}", "missing-header")
    return Fault(0, None, text_of(header), must, "wrong-header")
