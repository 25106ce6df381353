"""Rows of a table, whatever holds them: CSV, Parquet, a folder of Parquet; data frames are in `frames`.

Columns are chosen by their roles (`Layout.roles`) and keep their names; they are of a kind that a
reader expects, or refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.files.io import MAX_TABLE_EXPANSION, require_columns, require_expansion
from tracearena.intake.columns import EVENTS, INSTANTS, WORDS, are_enough, missing, plain_name, rivals
from tracearena.intake.delimited import text_bytes
from tracearena.intake.layout import AS_NAMED, ONE_USER, Layout
from tracearena.intake.report import Report
from tracearena.intake.text_tables import TextTable
from tracearena.intake.times import count_instants, goes_with_a_date, joined

if TYPE_CHECKING:
    from tracearena.intake.sampling import Sample

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
_SHOWN = 12


def rows_of_file(
    path: str | PathLike[str],
    report: Report,
    wanted: Sequence[str] = EVENTS,
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> pl.DataFrame:
    """Read the columns of a CSV or Parquet file, or of a folder of Parquet files, that have a role.

    With a `sample`, the rows of some people alone are read; the report says of how many.
    """
    from tracearena.intake import sampling

    layout.require_roles(wanted, path)

    def chosen(names: list[str]) -> list[str]:
        layout.require_columns(names, path)
        found = layout.roles(names, wanted)
        notice_rivals(names, found, report, layout)
        return _columns_of(found) if are_enough(found) else names[:_SHOWN]

    if layout.one_user is not None:
        sample = None
    if not Path(path).is_dir() and not is_parquet(path):
        if sample is not None:
            return sampling.sample_text(path, report, wanted, layout, sample)
        return _csv(path, report, wanted, layout)
    report.header_lines = None  # rows of Parquet are no lines
    layout.refuse_all_but(UNDELIMITED, path, "Parquet, whose columns have names")
    if sample is not None:
        return sampling.sample_parquet(
            Path(path), report, chosen, lambda names: layout.roles(names, wanted)["user"], sample
        )
    return _rows_of_folder(Path(path), chosen) if Path(path).is_dir() else read_parquet(path, chosen)


def by_role(
    raw: pl.DataFrame, report: Report, wanted: Sequence[str] = EVENTS, layout: Layout = AS_NAMED
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the columns under the names of their roles, with ``row``, and what the file calls them.

    All that are needed are there, each of a kind that is expected; a date and a time of day are one
    column. Other columns that might have been meant are reported.
    """
    columns = [name for name in raw.columns if name != ROW]
    layout.require_roles(wanted, report.path)
    layout.require_columns(columns, report.path)
    found = layout.roles(columns, wanted)
    if not are_enough(found):
        raise FileError(report.path, missing(columns, found, wanted, layout.header))
    if not {"lat", "lon"} <= set(found):
        found = {role: column for role, column in found.items() if role not in ("lat", "lon")}
    notice_rivals(columns, found, report, layout)
    given = {
        role: expected(raw[column], role, report.path) for role, column in found.items() if column != ONE_USER
    }
    if layout.one_user is not None:
        given["user"] = pl.Series([layout.one_user]).new_from_index(0, raw.height)
    _join_date_and_time(given, report.path, layout)
    names = {role: series.name for role, series in given.items() if role in found}
    return pl.DataFrame({"row": row_numbers(raw), **given}), names


def _join_date_and_time(given: dict[str, pl.Series], path: str, layout: Layout) -> None:
    """Make one column of a date and a time of day; a date alone is the time, a time with a date is whole."""
    date = given.pop("date", None)
    if date is None:
        return
    if "time" not in given:
        given["time"] = date
    elif {"date", "time"} <= set(layout.columns) or goes_with_a_date(given["time"]):
        given["time"] = joined(date, given["time"])
    else:
        _refuse_unread_date(date, given["time"], path, layout)


def _refuse_unread_date(date: pl.Series, time: pl.Series, path: str, layout: Layout) -> None:
    """Refuse a date that was named and has no time of day beside it, or only numbers that mean nothing."""
    if "date" in layout.columns:
        raise ParameterError(
            f"{path}: date={date.name} does not apply: the column {time.name!r} holds no times of day to go "
            f"with it; --columns time={date.name} reads the dates alone"
        )
    if plain_name(time.name) != INSTANTS and layout.time_format is None and count_instants(time):
        problem = (
            f"numbers beside a date ({date.name}) must be times of day such as 930 or 93000; if they count "
            f"instants, --columns time={time.name} (columns=) says so"
        )
        raise FileError(path, [Fault(None, time.name, str(time.drop_nulls()[0]), problem, "time")])


def notice_rivals(names: Sequence[str], found: Mapping[str, str], report: Report, layout: Layout) -> None:
    """Report columns that could have had a role that another has, unless it was said to."""
    for role, others in rivals(names, found, [role for role in found if role not in layout.columns]).items():
        word, read = WORDS.get(role, role), found[role] or layout.one_user
        reason = f"columns that could be the {word} too, unread: {', '.join(others)} (read is {read})"
        if reason not in report.noticed:
            report.notice(reason, len(others))


def _columns_of(found: Mapping[str, str]) -> list[str]:
    return [column for column in found.values() if column != ONE_USER]


def row_numbers(raw: pl.DataFrame) -> pl.Series:
    """Return the number of each row in its file, from 1."""
    return raw[ROW] if ROW in raw.columns else pl.int_range(1, raw.height + 1, eager=True)


def files_of(folder: str | PathLike[str]) -> list[Path]:
    """Return the Parquet files of a folder by name, without those that begin with ``.`` or ``_``."""
    found = Path(folder).glob("*.parquet")
    return sorted(path for path in found if path.name[0] not in "._" and path.is_file())


def is_parquet(path: str | PathLike[str]) -> bool:
    """Whether the file begins as Parquet does."""
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _csv(path: str | PathLike[str], report: Report, wanted: Sequence[str], layout: Layout) -> pl.DataFrame:
    data = text_bytes(path, report=report)
    table, rest = TextTable.begun(path, data, report, wanted, layout)
    if not rest.strip():
        raise FileError.whole(path, "has a header and no rows", "empty")
    frame = table.read(rest)
    report.rows = frame.height
    notice_rivals(table.names, table.found, report, layout)
    good = table.good(frame, report, ROW)
    report.refuse_if_nothing_is_left(good.height)
    return good


def _rows_of_folder(folder: Path, wanted: Callable[[list[str]], list[str]]) -> pl.DataFrame:
    """Return some columns, chosen by their names, of all files; their types must be the same."""
    files = files_of(folder)
    if not files:
        raise FileError.whole(folder, "holds no .parquet files", "empty")
    frames = [read_parquet(file, wanted) for file in files]
    for file, frame in zip(files, frames, strict=True):
        if frame.schema != frames[0].schema:
            differ = f"{_columns(frame)}, not {_columns(frames[0])}"
            problem = f"has other columns or types than {files[0].name}: {differ}"
            raise FileError.whole(file, problem, "columns")
    return pl.concat(frames)


def parts_of(path: Path) -> list[Path]:
    """Return the Parquet files of a folder, whose columns must be of the same types, or the file itself."""
    if not path.is_dir():
        return [path]
    files = files_of(path)
    if not files:
        raise FileError.whole(path, "holds no .parquet files", "empty")
    first = parquet_schema(files[0])
    for file in files[1:]:
        if parquet_schema(file) != first:
            raise FileError.whole(file, f"has other columns or types than {files[0].name}", "columns")
    return files


def _columns(frame: pl.DataFrame) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in frame.schema.items())


def read_parquet(
    path: str | PathLike[str], wanted: Callable[[list[str]], list[str]], most: int | None = None
) -> pl.DataFrame:
    """Read some columns of a Parquet file, which are chosen by their names, or their first `most` rows."""
    try:
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
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise broken(path, error) from None


def parquet_schema(path: str | PathLike[str]) -> Mapping[str, pl.DataType]:
    """Return the names and types of the columns of a Parquet file."""
    try:
        schema = pl.read_parquet_schema(Path(path))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise broken(path, error) from None
    require_columns(path, len(schema))
    return schema


def columns_of_parquet(path: str | PathLike[str]) -> list[str]:
    """Return the names of the columns of a Parquet file, none if it is broken."""
    try:
        return list(parquet_schema(path))
    except FileError:
        return []


def expected(column: pl.Series, role: str, path: str | PathLike[str]) -> pl.Series:
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
        return _narrowed(column, path)
    if isinstance(kind, pl.Decimal):
        return column.cast(pl.Float64)
    if kind == pl.String or kind.is_integer() or kind.is_float():
        return column
    if role in ("time", "date") and (kind in (pl.Date, pl.Time) or isinstance(kind, pl.Datetime)):
        return column
    problem = f"the column has the type {_shown(kind)}; it must hold {_EXPECTED.get(role, _NUMBERS)}"
    raise FileError(path, [Fault(None, column.name, None, problem, "column-type")])


def _narrowed(column: pl.Series, path: str | PathLike[str]) -> pl.Series:
    narrow = column.cast(pl.Int64, strict=False)
    lost = (narrow.is_null() & column.is_not_null()).arg_true()
    if len(lost) == 0:
        return narrow
    row = int(lost[0])
    problem = f"the column has the type {_shown(column.dtype)}; a whole number must fit 64 bits with its sign"
    fault = Fault(row + 1, column.name, str(column[row]), problem, "column-type", header_lines=None)
    raise FileError(path, [fault], len(lost))


def _shown(kind: pl.DataType) -> str:
    return str(kind).partition("(")[0]


def broken(path: str | PathLike[str], error: BaseException) -> FileError:
    """Return what to raise of a Parquet file that Polars cannot read."""
    said = (str(error).splitlines() or ["it cannot be read"])[0]
    return FileError.whole(path, f"is not a whole Parquet file: {said[:200]}", "bad-parquet")
