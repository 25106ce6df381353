"""What an unknown table may mean: a layout to try, by its names and by its values, and what it would read.

A proposal is for people to look at. Nothing is read by one unless they say so.
"""

from __future__ import annotations

import csv
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tracearena.errors import FileError, TracearenaError
from tracearena.files.io import MAX_TABLE_EXPANSION, open_unpacked, require_expansion
from tracearena.io.dataframes import convert_frame
from tracearena.io.fields import times
from tracearena.io.fields.columns import EVENTS, find_option_name, has_enough_columns, simplify_name
from tracearena.io.options import DELIMITERS, Layout
from tracearena.io.report import Reading, Report
from tracearena.io.rows import FIRST_PLAUSIBLE_S, parse_rows
from tracearena.io.tables import (
    BYTES_A_VALUE,
    ROW,
    blame_parquet,
    decode_start,
    is_parquet,
    list_parquet_parts,
    read_parquet,
    read_parquet_schema,
    require_same_columns,
    select_by_role,
)
from tracearena.traces import GpsTraces, Traces
from tracearena.traces.clock import DAY_S

_ROWS = 1000
_MOST_COLUMNS = 200
_START = 2**20
_SHOWN = 3
_GOOD = 0.9
_NUMBER = r"^\s*-?\d+([.,]\d+)?\s*$"
_DEGREES = r"^\s*-?\d{1,3}[.,]\d{2,}\s*$"
_DAY_FIRST = ("%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y")
_MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y")
_SLASHED = (
    *(day + clock for day in (*_DAY_FIRST, *_MONTH_FIRST) for clock in (" %H:%M:%S", " %H:%M", "")),
    *(day + clock for day in (*_MONTH_FIRST, *_DAY_FIRST) for clock in (" %I:%M:%S %p", " %I:%M %p")),
)
_HINTS = {"lat": ("lat", "breite", "緯度"), "lon": ("lon", "lng", "laenge", "経度")}


@dataclass(frozen=True)
class Proposal:
    """A layout to try, for a table that names its columns in a way nobody knows.

    Attributes
    ----------
    layout
        The layout: columns, delimiter, decimal separator and format of times as the first rows suggest
        them.
    rows
        The first rows as they would be read: user, time, latitude and longitude, or place.
    doubts
        What the first rows leave open, such as whether the day or the month comes first.
    whose
        Of a folder whose files name nobody, whose each file is.
    """

    layout: Layout
    rows: tuple[Mapping[str, Any], ...]
    doubts: tuple[str, ...] = ()
    whose: str = ""

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `read` that say it."""
        layout = self.layout
        said: dict[str, Any] = {name: getattr(layout, name) for name in layout.option_names}
        return said | (
            {"columns": {find_option_name(r): c for r, c in layout.columns.items()}} if layout.columns else {}
        )

    @property
    def sentence(self) -> str:
        """Both for people, with the names of users for files that name nobody."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.keywords.items())
        return f"try to read it with {self.options} ({said})" + (f"; {self.whose}" if self.whose else "")

    @property
    def options(self) -> str:
        """The options of a command line that say it."""
        words = {delimiter: word for word, delimiter in DELIMITERS.items() if delimiter in "\t "}
        written = []
        for name, value in self.keywords.items():
            if name == "header":
                written.append("--no-header")
            elif name == "columns":
                written.append(
                    f"--columns {_quote_for_shell(','.join(f'{o}={c}' for o, c in value.items()))}"
                )
            else:
                written.append(f"--{name.replace('_', '-')} {_quote_for_shell(words.get(value, value))}")
        return " ".join(written)

    def to_dict(self) -> dict[str, Any]:
        """Return the proposal as plain values for JSON."""
        return {
            "options": self.options,
            "keywords": self.keywords,
            "rows": [dict(row) for row in self.rows],
            "doubts": list(self.doubts),
        }


def propose_layout(path_or_frame: Any) -> Proposal | None:
    """Return a layout by which a table of unknown columns can be read; None if none is found.

    Columns with a known name have their role. Of the others, times are what can be read as a time
    since 2003, coordinates decimals within the range of degrees, and users what repeats.
    """
    is_file = isinstance(path_or_frame, (str, PathLike))
    try:
        if is_file:
            layout, frame = _sample_file(Path(path_or_frame))
        else:
            layout, frame = Layout(), convert_frame(path_or_frame).head(_ROWS)
        found = _complete_layout(frame, layout, Path(path_or_frame).stem if is_file else "me")
        if found is None:
            return None
        return Proposal(found, _format_first_rows(frame, found), _list_doubts(frame, found))
    except (TracearenaError, OSError, pl.exceptions.PolarsError, csv.Error):
        # What cannot be opened or read so is refused by its reader, with more to say about it.
        return None


def _sample_file(path: Path) -> tuple[Layout, pl.DataFrame]:
    if is_parquet(path):
        plain = [name for name, kind in read_parquet_schema(path).items() if not kind.is_nested()]
        return Layout(), read_parquet(path, lambda _: plain[:_MOST_COLUMNS], _ROWS)
    with open_unpacked(path) as file:
        start = file.read(_START)
    lines = [line for line in decode_start(start).splitlines() if line.strip()]
    if not lines:
        raise FileError.whole(path, "is empty", "empty")
    lines = lines[: _ROWS + 1]
    delimiter = max(DELIMITERS.values(), key=lambda d: (min(line.count(d) for line in lines[:20]), d != " "))
    table = list(csv.reader(lines, delimiter=delimiter))
    if len(table[0]) > _MOST_COLUMNS:
        raise FileError.whole(path, f"has more than {_MOST_COLUMNS} columns to choose from", "too-wide")
    header = not any(pl.Series([table[0]]).explode().str.contains(_NUMBER))
    width = len(table[0])
    names = table[0] if header else [str(i) for i in range(1, width + 1)]
    rows = [row for row in table[int(header) :] if len(row) == width]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    sniffed = Layout(delimiter=None if delimiter in ",;\t|" else delimiter)
    # Without a header every role is a number; which ones is found below.
    return (sniffed if header else replace(sniffed, header=False, columns={"time": "1"})), frame


def _complete_layout(frame: pl.DataFrame, layout: Layout, name: str) -> Layout | None:
    """Complete the layout: roles by name, the others by values."""
    known = Layout().roles(frame.columns)
    chosen: dict[str, str] = {}
    left = [column for column in frame.columns if column not in known.values()]
    if not {"time", "date"} & set(known):
        # The first column of times; or of dates and, if there is one, of times of day.
        others = [frame[name] for name in left]
        clocks = [column.name for column in others if times.looks_like_time_of_day(column)]
        for column in others:
            if column.name in clocks:
                continue
            if _is_time_column(column) or _choose_date_style(column) is not None:
                chosen = {"date": column.name, "time": clocks[0]} if clocks else {"time": column.name}
                break
    moment = _find_moment_column(frame, known | chosen)
    if moment is None:
        return None
    left = [column for column in left if column not in chosen.values()]
    if "venue" not in known and not {"lat", "lon"} <= set(known):
        chosen |= _find_coordinate_columns(frame.select(left), known)
        left = [column for column in left if column not in chosen.values()]
    user = None if "user" in known else _find_user_column(frame.select(left), layout.header)
    if user is not None:
        chosen["user"] = user
    one_user = name if "user" not in known | chosen else None
    degrees = [frame[(known | chosen)[role]] for role in ("lat", "lon") if role in known | chosen]
    commas = any(column.dtype == pl.String and column.str.contains(r"\d,\d").any() for column in degrees)
    found = replace(
        layout,
        columns={role: chosen[role] for role in EVENTS if role in chosen},
        decimal="," if commas else ".",
        time_format=_choose_date_style(moment),
        one_user=one_user,
    )
    return found if has_enough_columns(found.roles(frame.columns)) else None


def _find_moment_column(frame: pl.DataFrame, found: Mapping[str, str]) -> pl.Series | None:
    """The column of times, or those of date and time of day as one."""
    if {"time", "date"} <= set(found) and times.goes_with_a_date(frame[found["time"]]):
        return times.join_date_and_time(frame[found["date"]], frame[found["time"]])
    name = found.get("time", found.get("date"))
    return None if name is None else frame[name]


def _is_time_column(column: pl.Series) -> bool:
    if column.dtype.is_nested() or column.dtype == pl.Boolean:
        return False
    read = times.parse_times(column)
    good = read.at.is_between(FIRST_PLAUSIBLE_S, int(time.time()) + DAY_S).sum()
    return not read.are_instants and good >= _GOOD * max(column.count(), 1)


def _choose_date_style(column: pl.Series) -> str | None:
    """The way of writing dates that all values fit, day first before month first, if it must be said."""
    if column.dtype != pl.String or not column.count() or _is_time_column(column):
        return None
    return next(iter(_iterate_matching_styles(column)), None)


def _iterate_matching_styles(column: pl.Series) -> Iterator[str]:
    text = column.drop_nulls()
    return (style for style in _SLASHED if times.parse_times(text, style=style).at.null_count() == 0)


def _list_doubts(frame: pl.DataFrame, layout: Layout) -> tuple[str, ...]:
    """Return where the values would allow another layout as well."""
    doubts = []
    moment = _find_moment_column(frame, layout.roles(frame.columns))
    if layout.time_format is not None and moment is not None:
        other = next(
            (style for style in _iterate_matching_styles(moment) if style[1] != layout.time_format[1]), None
        )
        if other is not None:
            doubts.append(f"day and month may be in the other order: --time-format {_quote_for_shell(other)}")
    pair = [layout.columns.get(role) for role in ("lat", "lon")]
    unnamed = [name for name in pair if name is not None and not any(_is_name_hint(name, r) for r in _HINTS)]
    degrees = [_parse_degree_column(frame[name]) for name in unnamed]
    if len(unnamed) == 2 and all(read is not None and _is_narrow_range(read) for read in degrees):
        doubts.append(f"the latitude may be {unnamed[1]} and the longitude {unnamed[0]}")
    return tuple(doubts)


def _is_narrow_range(degrees: pl.Series) -> bool:
    return float(degrees.abs().max() or 0) <= 90  # type: ignore[arg-type]


def _find_coordinate_columns(frame: pl.DataFrame, known: Mapping[str, str]) -> dict[str, str]:
    """Two columns of decimals in the range of degrees; the one beyond 90 is the longitude."""
    degrees = {column.name: read for column in frame if (read := _parse_degree_column(column)) is not None}
    lat, lon = known.get("lat"), known.get("lon")
    named = {role: [c for c in degrees if _is_name_hint(c, role)] for role in _HINTS}
    narrow = {name for name, read in degrees.items() if _is_narrow_range(read)}
    pairs = (
        itertools.permutations(degrees, 2)
        if not (lat or lon)
        else [(lat, other) if lat else (other, str(lon)) for other in degrees]
    )
    fit = [(a, b) for a, b in pairs if a in narrow or a == lat]
    if not fit:
        return {}
    best = max(
        fit, key=lambda pair: (pair[0] in named["lat"], pair[1] in named["lon"], pair[1] not in narrow)
    )
    return {role: name for role, name in zip(("lat", "lon"), best, strict=True) if role not in known}


def _is_name_hint(column: str, role: str) -> bool:
    return any(hint in simplify_name(column) for hint in _HINTS[role])


def _parse_degree_column(column: pl.Series) -> pl.Series | None:
    if column.dtype == pl.String:
        text = column.drop_nulls()
        if not len(text) or text.str.contains(_DEGREES).sum() < _GOOD * len(text):
            return None
        column = text.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    if not column.dtype.is_float() or not column.count():
        return None
    return column if float(column.abs().max() or 0) <= 180 else None  # type: ignore[arg-type]


def _find_user_column(frame: pl.DataFrame, header: bool) -> str | None:
    """The column that repeats with the most different values; one that is called an id before others.

    One value throughout is somebody's id where it is called so, or is the first of nameless columns. What is
    0 in some rows and 1 in the others is a flag, such as whether a taxi has a passenger.
    """
    repeated = []
    for column in frame:
        is_called_id = simplify_name(column.name).endswith("id")
        if not is_called_id and set(column.cast(pl.String).drop_nulls().unique().to_list()) == {"0", "1"}:
            continue
        is_id = is_called_id or (not header and column.name == "1")
        decimals = column.dtype.is_float() or (
            column.dtype == pl.String and bool(column.str.contains(_DEGREES).any())
        )
        different = column.n_unique()
        if not decimals and (
            1 < different <= column.count() / 2 or (is_id and different == 1 < column.count())
        ):
            repeated.append((is_id, different, column.name))
    return max(repeated)[2] if repeated else None


def _format_first_rows(frame: pl.DataFrame, layout: Layout) -> tuple[dict[str, Any], ...]:
    report = Report("proposal", "table")
    given, names = select_by_role(frame, report, EVENTS, layout)
    read = parse_rows(given, report, unit="ms", layout=layout, names=names).frame.head(_SHOWN)
    shown = []
    for row in read.iter_rows(named=True):
        moment = pl.Series([row["_at"]]).cast(pl.Datetime("ms")).dt.to_string("%Y-%m-%d %H:%M:%S")[0]
        # A time that names its zone is shown in UTC.
        zoned = moment if moment is None or row["_offset"] is None else f"{moment}Z"
        where = {"lat": row.get("_lat"), "lng": row.get("_lon"), "place": row.get("venue")}
        shown.append(
            {"user": row["user"], "time": zoned} | {name: v for name, v in where.items() if v is not None}
        )
    return tuple(shown)


def _quote_for_shell(value: str) -> str:
    import shlex

    return shlex.quote(value)


# A random sample of people of a table that is too large to be read for a first look.

_BYTES_OF_TEXT = 64 << 20
_LEAST_USERS = 200


@dataclass(frozen=True)
class Sample:
    """How many people are read of a table of more.

    Attributes
    ----------
    users
        At most this many people.
    rows
        People are fewer, but at least 200, where they have more rows than this together.
    seed
        Who is drawn.
    """

    users: int = 2_000
    rows: int = 2_000_000
    seed: int = 0

    def draw_users(self, counts: pl.DataFrame) -> pl.Series | None:
        """Return the ids of the people drawn; None if all people fit.

        Parameters
        ----------
        counts
            One row per person: ``user``, and how many rows the person has, ``len``.
        """
        mean = max(counts["len"].sum() / max(counts.height, 1), 1)
        wanted = min(self.users, max(int(self.rows / mean), _LEAST_USERS))
        if wanted >= counts.height:
            return None
        chosen = np.random.default_rng(self.seed).choice(counts.height, wanted, replace=False)
        return counts["user"].sort().gather(np.sort(chosen))


class SampleSize(NamedTuple):
    """How many people of how many were read."""

    users: int
    of: int

    def __str__(self) -> str:
        return f"a random sample of {self.users:,} of {self.of:,} people was read"


def sample_users(reading: Reading[Traces | GpsTraces], sample: Sample) -> Reading[Traces | GpsTraces]:
    """Draw people of traces that were read as a whole, unless their reader has drawn some."""
    traces, report = reading
    counts = pl.DataFrame({"user": np.arange(traces.n_users), "len": np.diff(traces.offsets)})
    drawn = None if report.sampled is not None else sample.draw_users(counts)
    if drawn is None:
        return reading
    report.sampled = SampleSize(len(drawn), traces.n_users)
    return Reading(traces.take_users(drawn.to_numpy()), report)


def sample_parquet(
    path: Path, report: Report, wanted: Callable[[list[str]], list[str]], user: Callable[[list[str]], str],
    sample: Sample,
) -> pl.DataFrame:  # fmt: skip
    """Return some columns of the rows of the people drawn, with the numbers of the rows in the file."""
    files = list_parquet_parts(path)
    require_same_columns(files, [read_parquet_schema(file) for file in files])
    with blame_parquet(path):
        lazy = pl.scan_parquet(files, glob=False, hive_partitioning=False)
        names = lazy.collect_schema().names()
        chosen, column = wanted(names), user(names)
        rows = int(lazy.select(pl.len()).collect().item())
        size = sum(file.stat().st_size for file in files)
        require_expansion(path, size, rows * len(chosen) * BYTES_A_VALUE, MAX_TABLE_EXPANSION)
        # First who there is, from one column; then the rows of those drawn alone.
        people = lazy.select(pl.col(column).alias("user")).drop_nulls().group_by("user").len()
        counts = people.collect(engine="streaming")
        drawn = sample.draw_users(counts)
        numbered = lazy.select(chosen).with_row_index(ROW, 1).with_columns(pl.col(ROW).cast(pl.Int64))
        if drawn is None:
            return numbered.collect()
        report.sampled = SampleSize(len(drawn), counts.height)
        return numbered.filter(pl.col(column).is_in(drawn.implode())).collect(engine="streaming")


def sample_text(
    path: str | PathLike[str], report: Report, wanted: Sequence[str], layout: Layout, sample: Sample
) -> pl.DataFrame:
    """Return the rows of the people drawn of a text file, which is read twice, a piece at a time."""
    from tracearena.io.text_rows import TextReadMode, TextSource, WrongReadMode, iterate_rows

    text, manner = TextSource(Path(path), layout), TextReadMode()

    def pieces(own: Report) -> Iterator[tuple[pl.DataFrame, str]]:
        for raw, table, _ in iterate_rows(text, tuple(wanted), own, _BYTES_OF_TEXT, manner):
            yield raw, table.found["user"]

    while True:
        lost = Report(str(path), report.format, strict=report.strict)
        try:
            parts = [
                raw.select(pl.col(user).cast(pl.String).alias("user")).drop_nulls().group_by("user").len()
                for raw, user in pieces(Report(str(path), report.format))
            ]
            counts = pl.concat(parts).group_by("user").agg(pl.col("len").sum())
            drawn = sample.draw_users(counts)
            kept = [
                raw if drawn is None else raw.filter(pl.col(user).cast(pl.String).is_in(drawn.implode()))
                for raw, user in pieces(lost)
            ]
            break
        except WrongReadMode as other:
            manner = other.manner
    report.header_lines = lost.header_lines
    report.add(lost)
    whole = pl.concat(kept)
    report.rows = whole.height + report.dropped_rows
    if drawn is not None:
        report.sampled = SampleSize(len(drawn), counts.height)
    report.refuse_if_nothing_is_left(whole.height)
    return whole
