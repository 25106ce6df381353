"""The formats that are known, and how each is recognised: by its first lines, its columns or its names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.files.io import MOST_COLUMNS
from tracearena.io.fields.columns import (
    INSTANTS,
    build_missing_faults,
    has_enough_columns,
    has_only_points,
    has_released_columns,
    has_trip_columns,
    simplify_name,
)
from tracearena.io.fields.times import LARGEST_INSTANT
from tracearena.io.formats import geo_tables, json_files, phones, released_table, trips
from tracearena.io.formats.json_files import Piece, parse_json_line, parse_json_start
from tracearena.io.options import AS_NAMED, Layout
from tracearena.io.tables import (
    read_parquet,
    split_header_fields,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Format:
    """A format of traces, one row of the table of all formats.

    Attributes
    ----------
    name
        As ``--from`` and ``--to`` have it.
    holds
        ``events``, ``points`` or ``either``.
    signs
        How it is recognised, in words.
    reader
        The function that reads it, given the `Input` and what the caller asks for, as ``module:function``
        below `io`.
    writer
        The function that writes it, in the same way; none where it is only read.
    layout
        What of a `Layout` it has a use for.
    in_chunks
        Whether its tables are read a few users at a time if they are large.
    """

    name: str
    holds: Literal["events", "points", "either"]
    signs: str
    reader: str
    writer: str = ""
    layout: tuple[str, ...] = ()
    in_chunks: bool = False


_NAMED = ("columns", "decimal", "time_format", "one_user")
_ALL = (*_NAMED, "header", "delimiter")
FORMAT_TABLE: Mapping[str, Format] = {
    row.name: row
    for row in (
        Format("pwscup", "events", "the header user_id,time_id,reg_id", "readers:read_prepared",
            "pwscup:write_traces"),
        Format("ppmtf", "events", "the headers of the PPMTF tools", "readers:read_prepared",
            "ppmtf:write_traces"),
        Format("peopleflow", "events", "35 instants per user, or the header of raw people flow",
            "readers:read_people_flow", "formats.checkins:write_people_flow"),
        Format("foursquare", "events", "four tab-separated fields, the third a time as Twitter writes it",
            "readers:read_foursquare", "formats.checkins:write_foursquare"),
        Format("tsmc", "events", "eight tab-separated fields, the last a time as Twitter writes it",
            "readers:read_check_ins", "formats.checkins:write_tsmc"),
        Format("gowalla", "events", "five tab-separated fields, the second a time in UTC",
            "readers:read_check_ins", "formats.checkins:write_gowalla"),
        Format("table", "events", "columns of a user, a time and a place", "readers:read_check_ins",
            "formats.checkins:write_event_table", _ALL, in_chunks=True),
        Format("partitions", "events", "a folder of Parquet files", "readers:read_check_ins",
            "formats.checkins:write_partitions", _ALL, in_chunks=True),
        Format("geojson", "either", "a document of GeoJSON or OGC Moving Features", "readers:read_row_format",
            "formats.json_files:write_geojson", _NAMED),
        Format("jsonl", "either", "one JSON object per line, or an array of them", "readers:read_row_format",
            layout=_NAMED),
        Format("gpkg", "either", "an SQLite database with layers", "readers:read_row_format",
            "formats.geo_tables:write_geopackage", _NAMED),
        Format("geoparquet", "either", "Parquet with a column of geometries", "readers:read_row_format",
            "formats.geo_tables:write_geoparquet", _NAMED),
        Format(released_table.FORMAT, "events", "the columns of our tables of released traces",
            "readers:read_released_events"),
        Format("geolife", "points", "files that end in .plt", "readers:read_geolife",
            "formats.geolife:write"),
        Format("gpx", "points", "files that end in .gpx or .gpx.gz", "readers:read_gpx", "formats.gpx:write",
            ("one_user",)),
        Format("points", "points", "columns of a user, a time and coordinates, and none of a place",
            "readers:read_point_table", "points:write", _ALL, in_chunks=True),
        Format("google-records", "points", "a JSON document with the key locations",
            "readers:read_row_format", layout=("one_user",)),
        Format("google-timeline", "points", "a JSON document with segments or signals",
            "readers:read_row_format", layout=("one_user",)),
        Format("owntracks", "points", "JSON with the key _type, or lines of the recorder",
            "readers:read_row_format", layout=("one_user",)),
        Format("trips", "points", "columns of the start and the end of a trip", "readers:read_row_format",
            layout=_NAMED),
        Format("porto", "points", "the columns of Porto's taxis", "readers:read_row_format"),
    )
}  # fmt: skip
"""Every format of traces, by its name."""

READABLE = tuple(FORMAT_TABLE)
"""Names of all formats that traces are read from: also releases whose events have one place each."""

EITHER = tuple(name for name, row in FORMAT_TABLE.items() if row.holds == "either")
"""Names of the formats that hold GPS traces or events, as a table does."""

GPS_FORMATS = tuple(name for name, row in FORMAT_TABLE.items() if row.holds == "points")
"""Names of the formats that hold GPS traces."""

FORMATS = tuple(name for name in READABLE if name not in (released_table.FORMAT, *GPS_FORMATS))
"""Names of the formats that hold traces of events."""


def check_known_format(format: str | None) -> None:
    """Refuse the name of a format that is not known; None is to be recognised."""
    if format not in (None, *READABLE):
        raise ParameterError.of("format", format, f"one of {', '.join(READABLE)}")


def guess_text_format(lines: list[str], path: str | PathLike[str], layout: Layout) -> FormatGuess:
    """Return what a text looks like by its first lines, with what is said about its columns."""
    if not {"header", "delimiter"} & set(layout.option_names) and (
        look := guess_json_format(lines, layout)
        or guess_trips_format(split_header_fields(lines[0])[0], layout)
    ):
        return look
    if not {"columns", "header", "delimiter"} & set(layout.option_names) and (
        look := guess_by_first_lines(lines, path)
    ):
        return look
    return guess_table_format(lines, path, layout) or FormatGuess(
        (), f"an unknown format; its first line is {lines[0][:60]!a}"
    )


def guess_frame_format(frame: pl.DataFrame, layout: Layout = AS_NAMED) -> str:
    """Return what a data frame holds: ``points`` or events (``table``)."""
    found = layout.roles(frame.columns)
    if not has_only_points(found):
        return "table"
    times = [str(time) for time in frame[find_time_column(found)].head(SAMPLE).to_list()]
    return "table" if are_instants(times, found, layout) else "points"


def is_trips_frame(names: Sequence[str], layout: Layout) -> bool:
    """Whether the columns of a data frame are those of trips with starts and ends."""
    look = guess_trips_format(names, layout)
    return look is not None and look.formats == ("trips",)


# Formats that come down to rows of a table.

DATABASE = b"SQLite format 3\0"
"""How a GeoPackage begins, which is a database."""

_ZONES = {"pulocationid", "dolocationid"}
_RECORD = "\x1e"


def guess_json_format(lines: list[str], layout: Layout) -> FormatGuess | None:
    """Look at text that begins as JSON does, or as a file of OwnTracks' recorder."""
    if phones.RECORDER_LINE.match(lines[0]):
        return FormatGuess(("owntracks",), "positions stored by the recorder of OwnTracks")
    text = "\n".join(lines).lstrip(f" \t\n{_RECORD}")
    if not text.startswith(("{", "[")):
        return None
    first, _, rest = text.partition("\n")
    try:
        row = parse_json_line(first)
    except ValueError:
        row = None
    if isinstance(row, dict):
        has_more = bool(rest.strip())
        if isinstance(row.get("_type"), str):
            return FormatGuess(("owntracks", "jsonl"), "messages of OwnTracks, one per line")
        if row.get("type") in json_files.TYPES[1:] and has_more:
            of_points = _has_point_columns(_list_properties(row), layout)
            return FormatGuess(("jsonl",), "GeoJSON, one feature per line", of_points=of_points)
        if has_more:
            return _build_row_guess(row, "JSON lines", layout)
    kind, pieces = parse_json_start(text)
    known = _guess_document_format(kind, pieces, layout)
    if known is not None:
        return known
    if isinstance(row, dict):
        return _build_row_guess(row, "JSON lines", layout)
    keys = ", ".join(str(piece.key) for piece in pieces[:40] if piece.number is None)[:80]
    return FormatGuess((), f"JSON of an unknown kind; its keys: {keys or 'none'}")


def _build_row_guess(row: Mapping[str, Any], words: str, layout: Layout) -> FormatGuess:
    points = has_trip_columns(list(row)) or _has_point_columns(list(row), layout)
    return FormatGuess(("jsonl",), words, of_points=points)


def _guess_document_format(kind: str, pieces: Sequence[Piece], layout: Layout) -> FormatGuess | None:
    """Look at the first members or elements of a document."""
    members = {piece.key: piece.value for piece in reversed(pieces) if piece.value is not None}
    keys = {piece.key for piece in pieces}
    first = members.get(None)
    if kind == "array" and isinstance(first, dict):
        if isinstance(first.get("_type"), str):
            return FormatGuess(("owntracks", "jsonl"), "messages of OwnTracks")
        if "startTime" in first and any(name in first for name in phones.KINDS):
            return FormatGuess(("google-timeline",), "a Google Timeline exported by an iPhone")
        return _build_row_guess(first, "an array of JSON objects", layout)
    if "locations" in keys:
        return FormatGuess(("google-records",), "Google's location history (Records.json)")
    if keys & {phones.SEGMENTS, phones.SIGNALS}:
        return FormatGuess(("google-timeline",), "a Google Timeline exported by an Android phone")
    if "timelineObjects" in keys:
        words = "Google's Semantic Location History of a month, a summary of Records.json, which can be read"
        return FormatGuess((), words)
    data = members.get("data")
    if isinstance(data, dict) and "_type" in data:
        return FormatGuess(("owntracks",), "messages of OwnTracks")
    if members.get("type") in json_files.TYPES or "features" in keys or "temporalGeometry" in keys:
        feature = members.get("features")
        names = _list_properties(feature if isinstance(feature, dict) else members)
        return FormatGuess(("geojson",), "GeoJSON", of_points=_has_point_columns(names, layout))
    return None


def _list_properties(feature: Mapping[Any, Any]) -> list[str]:
    given = feature.get("properties")
    return list(given) if isinstance(given, dict) else []


def _has_point_columns(names: Sequence[str], layout: Layout) -> bool:
    """Whether columns next to a position make GPS points: no place among them, and a time that is one."""
    found = layout.roles([*names, "lat", "lon"])
    return "venue" not in found and simplify_name(found.get("time", "")) != INSTANTS


def guess_trips_format(names: Sequence[str], layout: Layout) -> FormatGuess | None:
    """Look at the columns of a table, unless it is said where a point of its rows is."""
    if not set(layout.columns) <= {"user", "trajectory"}:
        return None
    if set(trips.COLUMNS) <= set(names):
        return FormatGuess(("porto",), "trips of Porto's taxis")
    if has_trip_columns(names):
        return FormatGuess(("trips",), "a table of trips with their starts and ends")
    if {simplify_name(name) for name in names} >= _ZONES:
        return FormatGuess((), "trips between zones, without coordinates")
    return None


def guess_parquet_rows_format(
    path: str | PathLike[str], names: Sequence[str], layout: Layout
) -> FormatGuess | None:
    """Look at the columns of a Parquet file for geometries and trips."""
    if not {"lat", "lon"} <= set(layout.roles(list(names))) and is_geoparquet(path):
        return FormatGuess(("geoparquet",), "a GeoParquet file", of_points=_has_point_columns(names, layout))
    return guess_trips_format(names, layout)


def guess_geopackage_format(path: str | PathLike[str], layout: Layout) -> FormatGuess:
    """Look at the layers of a GeoPackage."""
    try:
        layers = geo_tables.read_layers(path)
    except FileError as error:
        return FormatGuess((), f"a database that {error.faults[0].problem}")
    names = [name for layer in layers.values() for name in layer.columns]
    return FormatGuess(("gpkg",), "a GeoPackage", of_points=_has_point_columns(names, layout))


def is_geoparquet(path: str | PathLike[str]) -> bool:
    """Whether the footer of a Parquet file tells of a column of geometries."""
    with open(path, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - 8 - length, 0))
        return b'"primary_column"' in file.read(length)


@dataclass(frozen=True)
class FormatGuess:
    """What a file looks like.

    Attributes
    ----------
    formats
        The formats that can read it, the most specific first; none if it holds no traces.
    words
        The same as half a sentence.
    faults
        What a table lacks to be one of events or points.
    of_points
        Of a format that may hold either, whether it holds GPS points.
    """

    formats: tuple[str, ...]
    words: str
    faults: tuple[Fault, ...] = ()
    of_points: bool = False

    @property
    def holds_points(self) -> bool:
        """Whether what looks like this is GPS traces."""
        return self.of_points or self.formats[:1] in [(name,) for name in GPS_FORMATS]


# Text that is known by its first lines: of contests, of published programs, and check-ins.

_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_TWITTER = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d [+-]\d{4} \d{4}")
_NUMBER_CELL = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")

_OTHER_HEADERS = {
    "reg_id": "obfuscated or inferred traces of PWS Cup 2019, which need the original traces",
    "user_id": "an inferred ID table of PWS Cup 2019",
    "pse_id,user_id": "an ID table of PWS Cup 2019",
    "pse_id,time_id,reg_id": "public (anonymized) traces of PWS Cup 2019",
    "ref/org,time_id,day,hour,min": "the times of PWS Cup 2019 (info_time.csv)",
    "reg_id,y_id,x_id,y(center),x(center),hospital": "the regions of PWS Cup 2019 (info_region.csv)",
    "reg_id,y_id,x_id,y(center),x(center)": "the regions of people flow",
    "poi_id,y,x,category,y_id,x_id,2D_id,count": "POIs of the PPMTF tools (POI_*.csv)",
    "poi_id,y,x,category,count": "POIs of the PPMTF tools (POI_*.csv)",
    "poi_id,poi_index,category,counts": "an index of POIs of the PPMTF tools",
    "user_id,user_index": "an index of users of the PPMTF tools",
}
_PPMTF_HEADERS = (
    "user_index,poi_index,category,unixtime,dow,hour,min",
    "user,trace_no,time_slot,time_instant,poi_index,category",
    "user,trace_no,time_period,time_instant,poi_index,category",
)
_INSTANTS = "user_id,time_id,reg_id"
_RAW_PEOPLE_FLOW = "user_id,y,x,y_id,x_id,2D_id,unixtime,"
_CONTEST = FormatGuess(("pwscup", "peopleflow", "table"), "reference or original traces of PWS Cup 2019")
_TAB_LAYOUTS: tuple[tuple[int, Callable[[list[str]], bool], FormatGuess], ...] = (
    (5,
        lambda f: all(look.fullmatch(f[k]) for k, look in ((1, _ISO), (2, _NUMBER_CELL), (3, _NUMBER_CELL))),
     FormatGuess(("gowalla",), "check-ins of Gowalla or Brightkite")),
    (8, lambda f: bool(_TWITTER.fullmatch(f[7])), FormatGuess(("tsmc",),
        "Foursquare check-ins of TSMC 2014")),
    (4, lambda f: bool(_TWITTER.fullmatch(f[2])), FormatGuess(("foursquare",),
        "Foursquare check-ins of WWW 2019")),
    (5, lambda f: bool(_NUMBER_CELL.fullmatch(f[1]) and _NUMBER_CELL.fullmatch(f[2])),
     FormatGuess((), "Foursquare venues of WWW 2019 (raw_POIs.txt)")),
)  # fmt: skip


def guess_by_first_lines(lines: list[str], path: str | PathLike[str]) -> FormatGuess | None:
    """Return what a text is by its first lines; None where its columns must be looked at."""
    first = lines[0]
    if first == _INSTANTS and Path(path).with_name("info_time.csv").is_file():
        return _CONTEST
    if first == _INSTANTS:
        # PWS Cup has 20 instants per day, people flow 35 in all.
        events = [line.split(",") for line in lines[1:-1]]
        times = [event[1:2] for event in events if event[0] == events[0][0]]
        if times == [[str(time)] for time in range(1, 36)]:
            return FormatGuess(("peopleflow", "pwscup", "table"), "people flow (35 instants per user)")
        return _CONTEST
    if first.startswith(_PPMTF_HEADERS):
        return FormatGuess(("ppmtf",), "traces of the PPMTF tools")
    if first.startswith(_RAW_PEOPLE_FLOW):
        return FormatGuess(("peopleflow",), "raw people flow of the PPMTF tools")
    if first in _OTHER_HEADERS:
        return FormatGuess((), _OTHER_HEADERS[first])
    if first.startswith("Geolife trajectory"):
        return FormatGuess((), "a GeoLife PLT file of GPS points, whose name must end in .plt")
    if first.lstrip().startswith(("<?xml", "<gpx")):
        return FormatGuess((), "an XML file such as GPX")
    # The first lines decide together, so that one broken line does not.
    rows = [line.split("\t") for line in lines[:20] if "\t" in line]
    for width, fits, look in _TAB_LAYOUTS:
        if 2 * sum(len(row) == width and fits(row) for row in rows) > len(rows) > 0:
            return look
    return None


# What a table holds by its columns: GPS points, events at places, a release, or neither.

SAMPLE = 100
"""Rows that show whether times are instants."""

_RELEASED = FormatGuess((released_table.FORMAT,), "obfuscated or anonymized traces in a table")


def guess_parquet_format(path: str | PathLike[str], columns: Sequence[str], layout: Layout) -> FormatGuess:
    """Look at the columns of a Parquet file, and at its first times."""
    if has_released_columns(columns):
        return _RELEASED
    if look := guess_parquet_rows_format(path, columns, layout):
        return look
    layout.require_columns(columns, path)
    found = layout.roles(columns)
    if has_only_points(found):
        column = find_time_column(found)
        times = [str(time) for time in read_parquet(path, lambda _: [column], SAMPLE)[column].to_list()]
        if not are_instants(times, found, layout):
            return FormatGuess(("points", "table", "peopleflow"), "a Parquet table of GPS points")
    if has_enough_columns(found):
        return FormatGuess(_list_table_formats(found), "a Parquet table of events")
    shown = ", ".join(columns[:8])
    words = f"a Parquet file without columns for user, time and place: {shown}"
    return FormatGuess((), words, tuple(build_missing_faults(columns, found)))


def are_instants(times: list[str], found: Mapping[str, str], layout: Layout) -> bool:
    """Whether times are numbers too small to be seconds since 1970: they count instants.

    Next to a date they are hours, minutes and perhaps seconds.
    """
    if {"date", "time"} <= set(found) or layout.time_format is not None:
        return False
    numbers = [float(time) for time in times if _NUMBER_CELL.fullmatch(time.strip())]
    return bool(numbers) and 2 * len(numbers) > len(times) and median(numbers) < LARGEST_INSTANT


def _list_table_formats(found: Mapping[str, str]) -> tuple[str, ...]:
    """Events with coordinates can be read as points too, if that is asked for."""
    as_points = ("points",) if {"lat", "lon"} <= set(found) else ()
    return ("table", "peopleflow", *as_points)


def find_time_column(found: Mapping[str, str]) -> str:
    """Return the column of times, or of dates where there is no other."""
    return found["time"] if "time" in found else found["date"]


def guess_table_format(lines: list[str], path: str | PathLike[str], layout: Layout) -> FormatGuess | None:
    """Look at the header of a text, and at the times of its first rows."""
    names, separator = split_header_fields(lines[0], layout)
    if has_released_columns(names):
        return _RELEASED
    layout.require_columns(names, path)
    found = layout.roles(names)
    if has_only_points(found):
        at = names.index(find_time_column(found))
        sample = lines[int(layout.header) : SAMPLE]
        try:
            fields = list(csv.reader(sample, delimiter=separator))
        except csv.Error:
            fields = [line.split(separator) for line in sample]
        if not are_instants([row[at].strip('" ') for row in fields if len(row) > at], found, layout):
            return FormatGuess(("points", "table", "peopleflow"), "a table of GPS points")
    if has_enough_columns(found):
        return FormatGuess(_list_table_formats(found), "a table of events with a header")
    if len(names) > 1:
        shown = ", ".join(names[:8])
        words = f"a table without columns for user, time and place: {shown[:80]}"
        # What is wider than any table, or has no second line within reach, lacks more than a column.
        is_table = len(names) <= MOST_COLUMNS and len(lines) > 1
        lacking = build_missing_faults(names, found, header=layout.header) if is_table else ()
        return FormatGuess((), words, tuple(lacking))
    return None
