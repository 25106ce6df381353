"""Delimited text to a frame of text columns, with rows of the wrong length marked, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike

import polars as pl

from tracearena.errors import Fault, FileError, shorten
from tracearena.files.io import MAX_BYTES, read_bytes, replacing
from tracearena.intake.report import Report, Rule

EXTRA = "_extra"
BOM = b"\xef\xbb\xbf"
_ASCII = re.compile(r"[\x00-\x7f]+")
_SHOWN_LINE = 80
WINDOWS_1252 = "text that is no UTF-8, read as Windows-1252 (Western European)"
"""What a report is told of another encoding."""


def text_bytes(
    path: str | PathLike[str],
    *,
    max_bytes: int = MAX_BYTES,
    line_end: bytes = b"\n",
    report: Report | None = None,
) -> bytes:
    """Return a text file in UTF-8, without its byte order mark; refuse what is empty or no text.

    A report is told of another encoding.
    """
    data = read_bytes(path, max_bytes=max_bytes, line_end=line_end).removeprefix(BOM)
    if not data or data.isspace():
        raise FileError.whole(path, "is empty", "empty")
    require_text(path, data)
    if is_windows_1252(data):
        data = from_windows_1252(data)
        if report is not None:
            report.notice(WINDOWS_1252)
    return data


def require_text(path: str | PathLike[str], data: bytes) -> None:
    """Refuse bytes that are no text."""
    if b"\0" in data:
        raise FileError.whole(path, "is not text: it holds zero bytes (UTF-16 or a binary file)", "binary")


def from_windows_1252(data: bytes) -> bytes:
    """Return what a spreadsheet of Windows has written in UTF-8."""
    return data.decode("cp1252", "replace").encode()


def is_windows_1252(data: bytes) -> bool:
    """Whether most letters beyond ASCII are no UTF-8, so that a spreadsheet of Windows has written them.

    >>> is_windows_1252("Müller".encode()), is_windows_1252("Müller".encode("cp1252"))
    (False, True)
    """
    if is_utf8(data):
        return False
    broken, beyond_ascii = odd_letters(data)
    return 2 * broken > beyond_ascii


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def odd_letters(data: bytes) -> tuple[int, int]:
    """Count letters that are no UTF-8, and all letters beyond ASCII; sums over lines are those of a file."""
    if data.isascii():
        return 0, 0
    text = data.decode("utf-8", "replace")
    return text.count("\ufffd"), len(_ASCII.sub("", text))


def text_of_start(start: bytes) -> str:
    """Return the first bytes of a file as text, whatever stands at their cut end."""
    encoding = "cp1252" if is_windows_1252(start) else "utf-8-sig"
    return start.decode(encoding, "replace")


def split_header(data: bytes) -> tuple[str, bytes]:
    """Return the first line and what follows."""
    first, _, rest = data.partition(b"\n")
    return first.decode("utf-8", "replace").rstrip("\r"), rest


def read_rows(
    path: str | PathLike[str],
    data: bytes,
    columns: Sequence[str],
    separator: str,
    *,
    quoted: bool = False,
    numbers: Sequence[str] = (),
    taken: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Read rows without a header as text columns, with ``row`` (from 1) and ``_extra`` added.

    A row that is too short has nulls, one that is too long something in ``_extra``. Text that is
    not UTF-8 survives with its broken letters replaced. The columns in `numbers` are numbers if
    all of their fields are: most files are clean, and parse faster so. Only the columns in `taken` are
    kept, if they are named.
    """
    whole = separator.join([*columns, EXTRA]).encode() + b"\n" + data
    types = {name: pl.Float64 if name in numbers else pl.String for name in (*columns, EXTRA)}
    options = {
        "separator": separator,
        "quote_char": '"' if quoted else None,
        "truncate_ragged_lines": True,
        "row_index_name": "row",
        "row_index_offset": 1,
        "columns": None if taken is None else [*taken, EXTRA],
    }
    try:
        return pl.read_csv(whole, schema_overrides=types, **options)  # type: ignore[arg-type]
    except pl.exceptions.PolarsError:
        pass
    try:
        return pl.read_csv(whole, infer_schema=False, encoding="utf8-lossy", **options)  # type: ignore[arg-type]
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as a table: {str(error).splitlines()[0]}"
        raise FileError.whole(path, problem, "unreadable") from None


def length_rules(columns: Sequence[str], shown: str = "") -> list[Rule]:
    """Rules for rows with too many or too few fields; the columns may be shown under other names."""
    rules = [Rule(reason="too many fields", bad=pl.col(EXTRA).is_not_null(), column=EXTRA)]
    if columns:
        missing = pl.any_horizontal(*[pl.col(name).is_null() for name in columns])
        rules.append(Rule(reason="missing fields", bad=missing, column=", ".join(columns), shown=shown))
    return rules


def read_headless(
    path: str | PathLike[str], columns: Sequence[str], required: Sequence[str], report: Report
) -> pl.DataFrame:
    """Read a tab-separated file without header whose rows have the given columns.

    Rows of another length are dropped and counted; a file whose rows are mostly so is refused.
    """
    data = text_bytes(path, report=report)
    frame = read_rows(path, data, columns, "\t", numbers=("lat", "lon"))
    report.rows = frame.height
    kept = report.sift(frame, length_rules(required))
    if 2 * kept.height < frame.height:
        raise _wrong_length(path, data, len(columns), report)
    return kept.drop(EXTRA)


def _wrong_length(path: str | PathLike[str], data: bytes, expected: int, report: Report) -> FileError:
    line = data[:4096].partition(b"\n")[0].decode("utf-8", "replace")
    problem = (
        f"{report.dropped_rows:,} of {report.rows:,} rows do not have the {expected} tab-separated fields "
        f"of the {report.format} format; the first line is {shorten(line[:_SHOWN_LINE])}"
    )
    return FileError(path, [Fault(None, None, None, problem, "columns")])


def write_tabs(frame: pl.DataFrame, path: str | PathLike[str]) -> None:
    """Write rows without header or quotes; tabs and line ends inside text become blanks."""
    text = [
        pl.col(name).str.replace_all(r"[\t\r\n]", " ")
        for name in frame.columns
        if frame[name].dtype == pl.String
    ]
    content = frame.with_columns(text).write_csv(separator="\t", include_header=False, quote_style="never")
    with replacing(path) as out:
        out.write(content.encode())
