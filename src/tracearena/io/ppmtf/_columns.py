"""Comma-separated tables in which every cell is checked, and their faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import SHOWN_FAULTS, DataError, Fault, FileError
from tracearena.files.io import read_bytes, replacing, require_columns

if TYPE_CHECKING:
    import polars as pl

_BOM = b"\xef\xbb\xbf"
_LONGEST_TEXT = 1000
UNKNOWN = "-"


class CellTable:
    """The cells of one file as text, read column by column; faults are collected until `close`.

    A fault in one column does not hide those of the next: unreadable cells become 0 and are
    remembered, and `close` raises with all of them in file order.
    """

    def __init__(self, path: str | PathLike[str], cells: pl.DataFrame, header_lines: int = 1) -> None:
        self.path = path
        self.columns: tuple[str, ...] = tuple(cells.columns)
        self._cells = cells
        self._header_lines = header_lines
        self._faults: list[Fault] = []
        self._total = 0

    def __len__(self) -> int:
        return len(self._cells)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def text(self, column: str) -> NDArray[np.str_]:
        """Return a column as it stands; no cell may be longer than 1,000 characters."""
        # An array of text is as wide as its longest cell, in every row.
        long = (self._cells[column].str.len_chars() > _LONGEST_TEXT).to_numpy()
        self._report(column, long, f"must have at most {_LONGEST_TEXT:,} characters", "too-long")
        cells = self._cells[column].str.head(_LONGEST_TEXT)
        return np.asarray(cells.to_numpy(), dtype=np.str_)

    def whole(self, column: str, low: int = 0, high: int = 2**31 - 1) -> NDArray[np.int64]:
        """Return a column of whole numbers from `low` to `high`."""
        import polars as pl

        values = self._cells[column].str.strip_chars(" ").cast(pl.Int64, strict=False)
        good = values.is_between(low, high).fill_null(False).to_numpy()
        self._report(column, ~good, f"must be a whole number from {low} to {high}", "bad-number")
        return np.where(good, values.fill_null(low).to_numpy(), low)

    def number(self, column: str, low: float = -np.inf, high: float = np.inf) -> NDArray[np.float64]:
        """Return a column of finite numbers from `low` to `high`."""
        import polars as pl

        cells = self._cells[column].str.strip_chars(" ")
        values = cells.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        good = np.isfinite(values) & (values >= low) & (values <= high)
        limits = f" from {low:g} to {high:g}" if np.isfinite(low) and np.isfinite(high) else ""
        self._report(column, ~good, f"must be a finite number{limits}", "bad-number")
        return np.where(good, values, 0.0)

    def matrix(self) -> NDArray[np.float64]:
        """Return all columns as rows × columns of finite numbers."""
        return np.column_stack([self.number(column) for column in self.columns])

    def require(self, column: str, good: NDArray[np.bool_], allowed: str, code: str) -> None:
        """Report every cell of a column for which `good` is false."""
        self._report(column, ~good, allowed, code)

    def _report(self, column: str, bad: NDArray[np.bool_], problem: str, code: str) -> None:
        rows = np.flatnonzero(bad)
        self._total += len(rows)
        for row in rows[:SHOWN_FAULTS].tolist():
            value = str(self._cells[column][row])
            self._faults.append(Fault(row + 1, column, value, problem, code, self._header_lines))

    def close(self) -> None:
        """Raise if any cell was at fault."""
        if self._total:
            faults = sorted(self._faults, key=lambda fault: fault.row or 0)
            raise FileError(self.path, faults, self._total)


def read_table(path: str | PathLike[str], *layouts: Sequence[str]) -> CellTable:
    """Read a file with a header line, which must be one of the layouts.

    LF and CRLF, a byte order mark, and gzip are all accepted. Cells are never quoted in these
    files, so a comma in a cell is a column too many.
    """
    first, _, body = _strip_bom(read_bytes(path)).partition(b"\n")
    header = first.decode("utf-8", "replace")
    names = tuple(name.strip() for name in header.split(","))
    if names not in {tuple(layout) for layout in layouts}:
        allowed = " or ".join(",".join(layout) for layout in layouts)
        raise FileError(path, [Fault(0, None, header, f"must be {allowed}", "bad-header")])
    return CellTable(path, _read_cells(path, body, names))


def read_bare_table(path: str | PathLike[str], names: Sequence[str] | None = None) -> CellTable:
    """Read a file without header; columns are numbered from 1 unless they have names."""
    body = _strip_bom(read_bytes(path))
    if names is None:
        columns = body.partition(b"\n")[0].count(b",") + 1
        require_columns(path, columns)
        names = [str(column) for column in range(1, columns + 1)]
    return CellTable(path, _read_cells(path, body, names, header_lines=0), header_lines=0)


def _strip_bom(data: bytes) -> bytes:
    data = data.removeprefix(_BOM)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    data = data.rstrip(b"\n")
    return data + b"\n" if data else b""


def _read_cells(
    path: str | PathLike[str], body: bytes, names: Sequence[str], header_lines: int = 1
) -> pl.DataFrame:
    import polars as pl

    _check_widths(path, body, len(names), header_lines)
    schema = dict.fromkeys(names, pl.String)
    if not body:
        return pl.DataFrame(schema=schema)
    cells = pl.read_csv(body, has_header=False, schema=schema, quote_char=None, encoding="utf8-lossy")
    return cells.fill_null("")


def _check_widths(path: str | PathLike[str], body: bytes, width: int, header_lines: int) -> None:
    """Refuse rows with too few or too many cells, and blank ones."""
    letters = np.frombuffer(body, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    commas = np.flatnonzero(letters == ord(","))
    cells = np.diff(np.searchsorted(commas, ends), prepend=0) + 1
    blank = np.diff(ends, prepend=-1) == 1
    bad = np.flatnonzero((cells != width) | blank)
    if bad.size:
        starts = np.concatenate([[0], ends[:-1] + 1])
        faults = [
            Fault(
                row + 1,
                None,
                body[starts[row] : ends[row]].decode("utf-8", "replace"),
                "is blank" if blank[row] else f"has {cells[row]} cells; {width} are needed",
                "bad-row",
                header_lines,
            )
            for row in bad[:SHOWN_FAULTS].tolist()
        ]
        raise FileError(path, faults, int(bad.size))


def write_table(
    path: str | PathLike[str], columns: Mapping[str, Any], *, header: bool = True, decimals: int | None = None
) -> None:
    """Write columns of numbers and text; floats in full unless `decimals` are given."""
    import polars as pl

    arrays = {name: np.asarray(column) for name, column in columns.items()}
    for name, values in arrays.items():
        for text in np.unique(values).tolist() if values.dtype.kind == "U" else ():
            if "," in text or "\n" in text or "\r" in text:
                raise DataError(
                    f"{name} {text!r} has a comma or a line break, which this format does not allow"
                )
    frame = pl.DataFrame(arrays)
    with replacing(path) as file:
        frame.write_csv(file, include_header=header, float_precision=decimals, quote_style="never")
