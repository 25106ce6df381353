"""Rows of a table, whatever holds them: CSV, Parquet, a folder of Parquet; data frames are in `dataframes`.

Columns are chosen by their roles (`Layout.roles`) and keep their names; they are of a kind that a
reader expects, or refused by name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from os.path import commonpath
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import polars as pl

from tracearena.errors import Fault, FileError, ParameterError, shorten
from tracearena.files.io import (
    MAX_BYTES,
    MAX_TABLE_EXPANSION,
    read_bytes,
    replacing,
    require_columns,
    require_expansion,
)
from tracearena.io.fields import times
from tracearena.io.fields.columns import (
    EVENTS,
    INSTANTS,
    WORDS,
    build_missing_faults,
    convert_ids,
    find_rival_columns,
    has_enough_columns,
    is_utc_name,
    simplify_name,
)
from tracearena.io.fields.times import goes_with_a_date, has_instant_numbers, join_date_and_time
from tracearena.io.options import AS_NAMED, ONE_USER, Layout
from tracearena.io.report import DropRule, Report

if TYPE_CHECKING:
    from tracearena.io.suggestions import Sample

ROW = "row in the file"
"""The name of the column with the numbers of the rows, where some were dropped already."""

BYTES_A_VALUE = 8
"""Bytes that a value of Parquet takes in memory."""

_NUMBERS = "text or numbers"
_EXPECTED = {
    "time": "times, dates, text or numbers",
    "date": "dates, text or numbers",
    "category": "text, numbers or true and false",
    "sensitive": "true and false, text or numbers",
}
_WIDE = ("UInt64", "Int128", "UInt128")
UNDELIMITED = ("columns", "decimal", "time_format", "one_user")


def read_role_rows(
    path: str | PathLike[str],
    report: Report,
    wanted: Sequence[str] = EVENTS,
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> pl.DataFrame:
    """Read the columns of a CSV or Parquet file, or of a folder of Parquet files, that have a role.

    With a `sample`, the rows of some people alone are read; the report says of how many.
    """
    from tracearena.io import suggestions

    layout.require_roles(wanted, path)

    def chosen(names: list[str]) -> list[str]:
        found = find_table_roles(path, names, wanted, layout)
        report_rival_columns(names, found, report, layout)
        return [column for column in found.values() if column != ONE_USER]

    if layout.one_user is not None:
        sample = None
    if not Path(path).is_dir() and not is_parquet(path):
        if sample is not None:
            return suggestions.sample_text(path, report, wanted, layout, sample)
        data = read_utf8_bytes(path, report=report)
        table, rest = TextTable.read_header(path, data, report, wanted, layout)
        if not rest.strip():
            raise FileError.whole(path, "has a header and no rows", "empty")
        frame = table.read(rest)
        report.rows = frame.height
        good = table.drop_short_rows(frame, report, ROW)
        report.refuse_if_nothing_is_left(good.height)
        return good
    report.header_lines = None  # rows of Parquet are not lines
    layout.refuse_all_but(UNDELIMITED, path, "Parquet, whose columns have names")
    if sample is not None:
        return suggestions.sample_parquet(
            Path(path), report, chosen, lambda names: layout.roles(names, wanted)["user"], sample
        )
    files = list_parquet_parts(Path(path))
    frames = [read_parquet(file, chosen) for file in files]
    require_same_columns(files, [frame.schema for frame in frames])
    return pl.concat(frames)


def select_by_role(
    raw: pl.DataFrame, report: Report, wanted: Sequence[str] = EVENTS, layout: Layout = AS_NAMED
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the columns under the names of their roles, with ``row``, and what the file calls them.

    All that are needed are there, each of a kind that is expected; a date and a time of day are one
    column. Other columns that might have been meant are reported.
    """
    columns = [name for name in raw.columns if name != ROW]
    layout.require_roles(wanted, report.path)
    found = find_table_roles(report.path, columns, wanted, layout)
    if not {"lat", "lon"} <= set(found):
        found = {role: column for role, column in found.items() if role not in ("lat", "lon")}
    report_rival_columns(columns, found, report, layout)
    given = {
        role: check_column_type(raw[column], role, report.path)
        for role, column in found.items()
        if column != ONE_USER
    }
    if layout.one_user is not None:
        given["user"] = pl.Series([layout.one_user]).new_from_index(0, raw.height)
    _join_date_and_time(given, report.path, layout)
    names = {role: series.name for role, series in given.items() if role in found}
    return pl.DataFrame({"row": find_row_numbers(raw), **given}), names


def find_table_roles(
    path: str | PathLike[str], names: list[str], wanted: Sequence[str], layout: Layout
) -> dict[str, str]:
    """Return which column has which role; refuse a table without all that are needed."""
    layout.require_columns(names, path)
    found = layout.roles(names, wanted)
    if not has_enough_columns(found):
        raise FileError(path, build_missing_faults(names, found, wanted, layout.header))
    return found


def _join_date_and_time(given: dict[str, pl.Series], path: str, layout: Layout) -> None:
    """Make one column of a date and a time of day; a date alone is the time, a time with a date is whole."""
    date, time = given.pop("date", None), given.get("time")
    if date is None:
        return
    if time is None:
        given["time"] = date
    elif {"date", "time"} <= set(layout.columns) or goes_with_a_date(time):
        given["time"] = join_date_and_time(date, time)
    elif "date" in layout.columns:
        raise ParameterError.about(
            path,
            f"date={date.name} does not apply, because the column {time.name!r} has no times of day; "
            f"use --columns time={date.name} to read only the dates",
        )
    elif simplify_name(time.name) != INSTANTS and layout.time_format is None and has_instant_numbers(time):
        problem = (
            f"numbers next to a date ({date.name}) must be times of day such as 930 or 93000; if they "
            f"are instants, use --columns time={time.name} (columns=)"
        )
        raise FileError(path, [Fault(None, time.name, str(time.drop_nulls()[0]), problem, "time")])


def report_rival_columns(
    names: Sequence[str], found: Mapping[str, str], report: Report, layout: Layout
) -> None:
    """Report columns that could have had a role that another has, unless it was said to."""
    for role, others in find_rival_columns(
        names, found, [role for role in found if role not in layout.columns]
    ).items():
        word, read = WORDS.get(role, role), found[role] or layout.one_user
        reason = f"columns that could also be the {word}, ignored: {', '.join(others)} (read is {read})"
        if reason not in report.noticed:
            report.notice(reason, len(others))


def find_row_numbers(raw: pl.DataFrame) -> pl.Series:
    """Return the number of each row in its file, from 1."""
    return raw[ROW] if ROW in raw.columns else pl.int_range(1, raw.height + 1, eager=True)


def list_parquet_files(folder: str | PathLike[str]) -> list[Path]:
    """Return the Parquet files of a folder by name, without those that begin with ``.`` or ``_``."""
    found = Path(folder).glob("*.parquet")
    return sorted(path for path in found if path.name[0] not in "._" and path.is_file())


def is_parquet(path: str | PathLike[str]) -> bool:
    """Whether the file begins as Parquet does."""
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def list_parquet_parts(path: Path) -> list[Path]:
    """Return the Parquet files of a folder, of which there must be one, or the file itself."""
    files = list_parquet_files(path) if path.is_dir() else [path]
    if not files:
        raise FileError.whole(path, "has no .parquet files", "empty")
    return files


def require_same_columns(files: Sequence[Path], schemas: Sequence[Mapping[str, pl.DataType]]) -> None:
    """Refuse files that are one table if their columns have other names or types than those of the first."""
    for file, schema in zip(files, schemas, strict=True):
        if schema != schemas[0]:
            pair = schema, schemas[0]
            own, first = (", ".join(f"{name} {kind}" for name, kind in one.items()) for one in pair)
            problem = f"has other columns or types than {files[0].name}: {own}, not {first}"
            raise FileError.whole(file, problem, "columns")


def read_parquet(
    path: str | PathLike[str], wanted: Callable[[list[str]], list[str]], most: int | None = None
) -> pl.DataFrame:
    """Read some columns of a Parquet file, which are chosen by their names, or their first `most` rows."""
    with blame_parquet(path):
        lazy = pl.scan_parquet(Path(path), glob=False)
        names = lazy.collect_schema().names()
        require_columns(path, len(names))
        chosen = wanted(names)
        if most is not None:
            return lazy.select(chosen).head(most).collect()
        rows = int(lazy.select(pl.len()).collect().item())
        unpacked = rows * len(chosen) * BYTES_A_VALUE
        require_expansion(path, Path(path).stat().st_size, unpacked, MAX_TABLE_EXPANSION)
        return lazy.select(chosen).collect()


def read_parquet_schema(path: str | PathLike[str]) -> Mapping[str, pl.DataType]:
    """Return the names and types of the columns of a Parquet file."""
    with blame_parquet(path):
        schema = pl.read_parquet_schema(Path(path))
    require_columns(path, len(schema))
    return schema


def check_column_type(column: pl.Series, role: str, path: str | PathLike[str]) -> pl.Series:
    """Return a column as text, numbers of 64 bits, or for times as dates; refuse every other kind.

    Categories become text, decimals and wide whole numbers plain numbers if they fit.

    Parameters
    ----------
    role
        What the column is for: ``time``, ``category``, ``sensitive``, or any other, which is an id
        or a number.
    """
    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum) or kind == pl.Null:
        return column.cast(pl.String)
    if kind == pl.Boolean and role in ("category", "sensitive"):
        return column.cast(pl.String) if role == "category" else column.cast(pl.Int8)
    if str(kind) in _WIDE or (isinstance(kind, pl.Decimal) and not kind.scale):
        narrow = column.cast(pl.Int64, strict=False)
        lost = (narrow.is_null() & column.is_not_null()).arg_true()
        if len(lost) == 0:
            return narrow
        row = int(lost[0])
        problem = (
            f"the column has the type {_format_type(kind)}; a whole number must fit 64 bits with its sign"
        )
        fault = Fault(row + 1, column.name, str(column[row]), problem, "column-type", header_lines=None)
        raise FileError(path, [fault], len(lost))
    if isinstance(kind, pl.Decimal):
        return column.cast(pl.Float64)
    if kind == pl.String or kind.is_integer() or kind.is_float():
        return column
    if role in ("time", "date") and (kind in (pl.Date, pl.Time) or isinstance(kind, pl.Datetime)):
        return column
    problem = f"the column has the type {_format_type(kind)}; it must have {_EXPECTED.get(role, _NUMBERS)}"
    raise FileError(path, [Fault(None, column.name, None, problem, "column-type")])


def _format_type(kind: pl.DataType) -> str:
    return str(kind).partition("(")[0]


@contextmanager
def blame_parquet(path: str | PathLike[str]) -> Iterator[None]:
    """Turn what Polars says of a Parquet file that it cannot read into an error of the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = (str(error).splitlines() or ["it cannot be read"])[0]
        problem = f"is not a complete Parquet file: {said[:200]}"
        raise FileError.whole(path, problem, "bad-parquet") from None


# Tables as text: which columns the first line names, and the rows, all at once or in pieces.

_SEPARATORS = ",;\t|"
_NEEDED = ("user", "time", "date", "lat", "lon")


def split_header_fields(line: str, layout: Layout = AS_NAMED) -> tuple[list[str], str]:
    """Split a header at the delimiter, or else at the one it holds most of; return names and delimiter.

    The columns of a table without a header are called by their numbers.
    """
    delimiter = layout.delimiter or max(_SEPARATORS, key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        names = [line]
    return (names if layout.header else [str(i) for i in range(1, len(names) + 1)]), delimiter


@dataclass(frozen=True)
class TextTable:
    """How the rows of a table are cut into columns, and which of them are read.

    Attributes
    ----------
    names, delimiter
        What the columns are called, and what stands between them.
    found
        The column of each role.
    numbers
        Columns that are numbers if all of their fields are, by their place.
    """

    path: str
    names: list[str]
    delimiter: str
    found: dict[str, str]
    numbers: tuple[str, ...]

    @classmethod
    def read_header(
        cls, path: str | PathLike[str], data: bytes, report: Report, wanted: Sequence[str], layout: Layout
    ) -> tuple[Self, bytes]:
        """Read the header at the begin of `data`, if there is one; return what follows it too."""
        header, rest = split_header(data)
        names, delimiter = split_header_fields(header, layout)
        require_columns(path, len(names))
        found = find_table_roles(path, names, wanted, layout)
        report_rival_columns(names, found, report, layout)
        if not layout.header:
            rest, report.header_lines = data, 0
        numbers = [
            f"column{names.index(found[role])}"
            for role in ("lat", "lon")
            if role in found and layout.decimal == "."
        ]
        return cls(str(path), names, delimiter, found, tuple(numbers)), rest

    @property
    def _role_columns(self) -> dict[str, str]:
        """Return the place of each role's column."""
        return {
            role: f"column{self.names.index(column)}"
            for role, column in self.found.items()
            if column != ONE_USER
        }

    def read(self, data: bytes, *, as_text: bool = False) -> pl.DataFrame:
        """Read rows, numbered from 1, as they stand; numbers too are text if that is asked for."""
        columns = [f"column{i}" for i in range(len(self.names))]
        taken = list(dict.fromkeys(self._role_columns.values()))
        numbers = () if as_text else self.numbers
        return read_rows(self.path, data, columns, self.delimiter, quoted=True, numbers=numbers, taken=taken)

    def drop_short_rows(self, frame: pl.DataFrame, report: Report, row: str) -> pl.DataFrame:
        """Return the rows that have all fields they need; names are the file's, and `row` of the numbers."""
        kept = self._role_columns
        needed = {kept[role]: self.found[role] for role in _NEEDED if role in kept}
        good = report.sift(frame, build_length_rules(list(needed), ", ".join(needed.values())))
        named = (pl.col(kept[role]).alias(self.found[role]) for role in kept)
        return good.select(pl.col("row").alias(row), *named)


# Delimited text to a frame of text columns, with rows of the wrong length marked, and back.

EXTRA = "_extra"
_ROWS_AT_A_TIME = 1 << 18
BOM = b"\xef\xbb\xbf"
_ASCII = re.compile(r"[\x00-\x7f]+")
WINDOWS_1252 = "text that is not UTF-8, read as Windows-1252 (Western European)"
"""The note in a report that a file has another encoding."""


def read_utf8_bytes(
    path: str | PathLike[str],
    *,
    max_bytes: int = MAX_BYTES,
    line_end: bytes = b"\n",
    report: Report | None = None,
) -> bytes:
    """Return a text file in UTF-8, without its byte order mark; refuse what is empty or no text.

    Another encoding is noted in the report.
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
    """Refuse bytes that are not text."""
    if b"\0" in data:
        raise FileError.whole(path, "is not text: it contains zero bytes (UTF-16 or a binary file)", "binary")


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
    broken, beyond_ascii = count_odd_letters(data)
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


def count_odd_letters(data: bytes) -> tuple[int, int]:
    """Count letters that are no UTF-8, and all letters beyond ASCII; sums over lines are those of a file."""
    if data.isascii():
        return 0, 0
    text = data.decode("utf-8", "replace")
    return text.count("\ufffd"), len(_ASCII.sub("", text))


def decode_start(start: bytes) -> str:
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


def read_named_columns(
    path: str | PathLike[str], chosen: Callable[[list[str]], list[str]], report: Report | None = None
) -> pl.DataFrame:
    """Return some columns of a CSV or Parquet file with the number of each row; those of CSV are text.

    Parameters
    ----------
    chosen
        Chooses columns by their names.
    report
        Gets the rows with more fields than the header, which are dropped then.
    """
    if is_parquet(path):
        return read_parquet(path, chosen).with_row_index(ROW, 1)
    header, rest = split_header(read_utf8_bytes(path))
    names, separator = split_header_fields(header)
    require_columns(path, len(names))
    if not rest.strip():
        raise FileError.whole(path, "has a header and no rows", "empty")
    plain = [f"column {i}" for i in range(len(names))]
    frame = read_rows(path, rest, plain, separator, quoted=True)
    if report is not None:
        frame = report.sift(frame, build_length_rules(()))
        report.refuse_if_nothing_is_left(frame.height)
    named = {plain[names.index(name)]: name for name in chosen(names)}
    return frame.select("row", *named).rename({"row": ROW, **named})


def build_length_rules(columns: Sequence[str], shown: str = "") -> list[DropRule]:
    """Rules for rows with too many or too few fields; the columns may be shown under other names."""
    rules = [DropRule(reason="too many fields", bad=pl.col(EXTRA).is_not_null(), column=EXTRA)]
    if columns:
        missing = pl.any_horizontal(*[pl.col(name).is_null() for name in columns])
        rules.append(DropRule(reason="missing fields", bad=missing, column=", ".join(columns), shown=shown))
    return rules


def read_headless(
    path: str | PathLike[str], columns: Sequence[str], required: Sequence[str], report: Report
) -> pl.DataFrame:
    """Read a tab-separated file without header whose rows have the given columns.

    Rows of another length are dropped and counted; a file whose rows are mostly so is refused.
    """
    data = read_utf8_bytes(path, report=report)
    frame = read_rows(path, data, columns, "\t", numbers=("lat", "lon"))
    report.rows = frame.height
    kept = report.sift(frame, build_length_rules(required))
    if 2 * kept.height < frame.height:
        line = data[:4096].partition(b"\n")[0].decode("utf-8", "replace")
        problem = (
            f"{report.dropped_rows:,} of {report.rows:,} rows do not have the {len(columns)} tab-separated "
            f"fields of the {report.format} format; the first line is {shorten(line[:80])}"
        )
        raise FileError(path, [Fault(None, None, None, problem, "columns")])
    return kept.drop(EXTRA)


def write_frame(
    frame: pl.DataFrame, path: str | PathLike[str], format: Callable[[], pl.DataFrame] | None = None
) -> None:
    """Write Parquet where the name ends so, and CSV (packed with ``.gz``) otherwise.

    Parameters
    ----------
    format
        Gives the rows of CSV, where they are not those of the frame.
    """
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
        else:
            write_csv_rows(frame if format is None else format(), out)


def write_csv_rows(frame: pl.DataFrame, out: IO[bytes], *, has_header: bool = True) -> None:
    """Write rows as CSV, some at a time.

    Polars does not write to the file itself: it would flush it, which shows in the bytes of a packed one.
    """
    for first in range(0, max(frame.height, 1), _ROWS_AT_A_TIME):
        part = frame.slice(first, _ROWS_AT_A_TIME)
        out.write(part.write_csv(include_header=has_header and first == 0).encode())


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


# Which files of a folder are read, and whose each is: one rule for all formats.


def list_visible_files(folder: Path, pattern: str = "*") -> list[Path]:
    """Return the files below a folder by name, without those that begin with ``.`` or ``_``."""
    files = _list_all_files(folder, pattern)
    return [file for file in files if not is_hidden(file.relative_to(folder).parts)]


def list_hidden_files(folder: Path) -> list[Path]:
    """Return the files below a folder that `list_visible_files` omits, without those that macOS adds."""
    passed = [file for file in _list_all_files(folder) if is_hidden(file.relative_to(folder).parts)]
    return [file for file in passed if not file.name.startswith("._") and "__MACOSX" not in file.parts]


def _list_all_files(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def is_hidden(parts: Sequence[str]) -> bool:
    """Whether the name of a file, or of a folder that it is in, begins with ``.`` or ``_``."""
    return any(part.startswith((".", "_")) for part in parts)


def find_file_owners(files: Sequence[Path]) -> dict[Path, str]:
    """Return whose file each is, where it does not say so.

    >>> list(find_file_owners([Path("x/data/1.txt"), Path("x/data/2.txt")]).values())
    ['1', '2']
    >>> list(find_file_owners([Path("x/ann/Records.json"), Path("x/bob/Records.json")]).values())
    ['ann', 'bob']
    """
    if not files:
        return {}
    top = Path(commonpath([file.parent for file in files]))
    return {
        file: file.relative_to(top).parts[0] if file.parent != top else strip_endings(file) for file in files
    }


def strip_endings(path: str | PathLike[str]) -> str:
    """Return the name of a file without its endings.

    >>> strip_endings("people/ann.json.gz")
    'ann'
    """
    return Path(Path(path).name.removesuffix(".gz")).stem


# Columns of a table that no reader uses, which may tell people apart all the same.

MOST_COLUMNS = 20
"""Of a table with more columns that nobody reads, the first are looked at."""


def read_column_values(
    path: str | PathLike[str], columns: Sequence[str], layout: Layout, sample: Sample | None = None
) -> dict[str, pl.DataFrame]:
    """Return for each column who has which value when: ``user`` and ``value`` as text, ``at`` in seconds.

    Columns of lists and rows without a value are left out. A sample of people is that of the other readers.
    """
    found = {}
    for column in columns[:MOST_COLUMNS]:
        # Tables are read for roles: here the column takes that of the category, which is any text.
        as_category = replace(layout, columns={**layout.columns, "category": column})
        report = Report(str(path), "table")
        raw = read_role_rows(path, report, EVENTS, as_category, sample)
        if raw.schema[column].is_nested():
            continue
        rows, names = select_by_role(
            raw.with_columns(pl.col(column).cast(pl.String)), report, EVENTS, as_category
        )
        are_utc = is_utc_name(names["time"])
        at = times.parse_times(rows["time"], style=layout.time_format, are_utc=are_utc).at
        users = convert_ids(rows["user"]).cast(pl.String)
        made = pl.DataFrame({"user": users, "at": at, "value": rows["category"].str.strip_chars()})
        found[column] = made.filter(pl.col("value") != "").drop_nulls()
    return found
