"""Which format a file has: from its name where that tells, or else from its first lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.errors import Fault, FileError
from tracearena.files import archives
from tracearena.files.io import require_lasting
from tracearena.formats import geolife, gpx, released_table
from tracearena.formats.column_looks import SAMPLE, are_instants, parquet_look, table_look, time_of
from tracearena.formats.first_lines import known_layout
from tracearena.formats.look import Look
from tracearena.intake.columns import EVENTS, POINTS, are_points
from tracearena.intake.delimited import text_of_start
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.tables import files_of, is_parquet, parquet_schema
from tracearena.intake.text_tables import header_fields

if TYPE_CHECKING:
    import polars as pl

_START = 2**16
_TABLES = ("table", "points", "partitions")
_OWN_POINTS = {"user_id", "time", "latitude", "longitude", "traj"}
_OWN_EVENTS = {"user_id", "place", "lat", "lng"}
_OWN_OTHERS = {"time", "utc_offset_min", "time_id", "category"}
_ENDINGS: Mapping[str, tuple[str, ...]] = {"geolife": (".plt",), "gpx": (".gpx", ".gpx.gz")}
_IN_ONE_FILE = (("table",), ("points",))
GPS_FORMATS = (
    "geolife",
    "gpx",
    "points",
    "google-records",
    "google-timeline",
    "owntracks",
    "trips",
    "porto",
)
"""Names of the formats that hold GPS traces."""

EITHER = ("geojson", "jsonl", "gpkg", "geoparquet")
"""Names of the formats that hold GPS traces or events, as a table does."""

FORMATS = (
    "pwscup",
    "ppmtf",
    "peopleflow",
    "foursquare",
    "tsmc",
    "gowalla",
    "table",
    "partitions",
    *EITHER,
)
"""Names of the formats that hold traces of events."""

READABLE = (*FORMATS, released_table.FORMAT, *GPS_FORMATS)
"""Names of all formats that traces are read from: also releases whose events have one place each."""

ROW_FORMATS = (*GPS_FORMATS[3:], *EITHER)
"""Names of the formats that come down to rows of a table (`row_formats`)."""


def recognise(path: str | PathLike[str], layout: Layout = AS_NAMED) -> str:
    """Return the format of a file of traces."""
    look = look_at(path, layout)
    if not look.formats:
        from tracearena.formats import bundles

        problem = f"holds no traces that can be read: it looks like {look.words}"
        proposal = None if layout.given else bundles.propose(Path(path))
        faults = list(look.faults)
        if proposal is not None:
            problem = f"{problem}; {proposal.sentence}"
            # How a table without a header may be read is an example there, and known better now.
            faults = faults if proposal.layout.header else []
        raise FileError(path, [Fault(None, None, None, problem, "format"), *faults])
    return look.formats[0]


def is_gps(path: str | PathLike[str], format: str | None = None, layout: Layout = AS_NAMED) -> bool:
    """Whether a path holds GPS traces: as the format says, or else by its content.

    Coordinates without places are GPS points, whatever the file is called; events at places are not.
    """
    if format is not None and format not in EITHER:
        return format in GPS_FORMATS
    require_lasting(path)
    return holds_points(look_at(path, layout, format))


def holds_points(look: Look) -> bool:
    """Whether what a file looks like is GPS traces."""
    return look.of_points or look.formats[:1] in [(name,) for name in GPS_FORMATS]


def require(path: str | PathLike[str], format: str, layout: Layout = AS_NAMED) -> None:
    """Refuse a file that is plainly of another format, and say of which."""
    look = look_at(path, layout, format)
    if format in _TABLES and look.faults:
        raise FileError(path, look.faults)
    if format not in look.formats:
        advice = f" (--from {look.formats[0]})" if look.formats else ""
        raise FileError.whole(path, f"is not a {format} file: it looks like {look.words}{advice}", "format")


def is_read_whole(folder: Path, format: str, layout: Layout = AS_NAMED) -> bool:
    """Whether the reader of a format takes a folder as it is, instead of one file after the other.

    Where traces in another format lie beside, it would pass them over.
    """
    if format in ("geolife", "partitions", released_table.FORMAT):
        return True
    whole = format == "gpx" or (format == "points" and bool(files_of(folder)))
    return whole and next(traces_beside(folder, format, layout), None) is None


def traces_beside(folder: Path, format: str, layout: Layout = AS_NAMED) -> Iterator[tuple[Path, Look]]:
    """Give the files of a folder that hold traces, and that a reader of the whole folder passes over."""
    from tracearena.formats import folder_files

    tables = set(files_of(folder)) if format in ("points", "partitions", released_table.FORMAT) else set()
    ending = _ENDINGS.get(format, ())
    for file in folder_files.files_of(folder):
        if file not in tables and not file.name.endswith(ending):
            look = look_at_one(file, layout)[0]
            if look.formats:
                yield file, look


def is_prepared(path: str | PathLike[str]) -> bool:
    """Whether a file has the three columns of prepared people flow, not raw points."""
    return "pwscup" in look_at(path).formats


def is_synthetic(path: str | PathLike[str]) -> bool:
    """Whether a file of the PPMTF tools holds synthetic traces."""
    return _start(path).startswith(b"user,trace_no,")


def look_at(path: str | PathLike[str], layout: Layout = AS_NAMED, wanted: str | None = None) -> Look:
    """Look at the first lines, at the columns of a Parquet file, or into a folder of them.

    What is said about the columns makes a table of a text file, whatever its first lines look like.
    Of a folder or an archive of several files, one of the format that is `wanted` is looked for.
    """
    if not Path(path).exists():
        raise FileError.whole(path, "No such file or directory", "missing-file")
    if geolife.looks_like_geolife(path):
        return Look(("geolife",), "GPS points of GeoLife")
    if (wanted in (None, "gpx") or not Path(path).is_dir()) and gpx.looks_like_gpx(path):
        return Look(("gpx",), "GPS points in GPX")
    if Path(path).is_dir() and (files := files_of(path)) and _are_partitions(Path(path), layout, wanted):
        inside = look_at(files[0], layout)
        if inside.formats[:1] == ("points",):
            return Look(("points", "partitions"), "a folder of Parquet tables of GPS points")
        if inside.formats == (released_table.FORMAT,):
            return inside
        return Look(("partitions",), "a folder of Parquet tables") if inside.formats else inside
    if Path(path).is_dir() or archives.is_archive(path):
        from tracearena.formats import bundles

        return bundles.look_into(Path(path), lambda file: look_at_one(file, layout)[0], wanted)
    if is_parquet(path):
        return parquet_look(path, layout)
    from tracearena.formats import glances

    start = _start(path)
    if start.startswith(glances.DATABASE):
        return glances.at_geopackage(path, layout)
    if not start.strip():
        return Look((), "an empty file")
    if b"\0" in start:
        return Look((), "a binary file or UTF-16 text")
    lines = [line.rstrip("\r") for line in text_of_start(start).split("\n")]
    if look := glances.at_lines(lines, layout):
        return look
    if not {"columns", "header", "delimiter"} & set(layout.given):
        look = known_layout(lines, path)
        if look is not None:
            return look
    return table_look(lines, path, layout) or Look(
        (), f"no format known here; its first line is {lines[0][:60]!a}"
    )


def _are_partitions(folder: Path, layout: Layout, wanted: str | None) -> bool:
    """Whether the Parquet files of a folder are all its traces, or all that is wanted."""
    return wanted == "partitions" or next(traces_beside(folder, "partitions", layout), None) is None


def look_at_one(file: Path, layout: Layout) -> tuple[Look, Layout]:
    """Look at a file among others, which may name nobody; return how its table is laid out too."""
    if archives.is_archive(file):
        return Look((), "an archive, which must be unpacked to be read beside other files"), layout
    alone = replace(layout, one_user=layout.one_user or file.name) if "user" not in layout.columns else layout
    look = Look((), "nothing known here")
    for known in (layout, alone):
        try:
            look = look_at(file, known)
        except FileError as error:
            if error.faults[0].code != "columns":
                raise
            look = Look((), f"a table of other columns: {error.faults[0].problem}")
        if look.formats:
            return look, known
    return look, layout


def look_at_frame(frame: pl.DataFrame, layout: Layout = AS_NAMED) -> str:
    """Return what a data frame holds: ``points`` or events (``table``)."""
    found = layout.roles(frame.columns)
    if not are_points(found):
        return "table"
    times = [str(time) for time in frame[time_of(found)].head(SAMPLE).to_list()]
    return "table" if are_instants(times, found, layout) else "points"


def are_trips(names: Sequence[str], layout: Layout) -> bool:
    """Whether the columns of a data frame are those of trips with starts and ends."""
    from tracearena.formats import glances

    look = glances.at_trips(names, layout)
    return look is not None and look.formats == ("trips",)


def first_line(path: str | PathLike[str]) -> str:
    """Return the first line of a text file, packed or not."""
    return text_of_start(_start(path)).partition("\n")[0].rstrip("\r")


def unread_columns(path: str | PathLike[str], format: str, layout: Layout = AS_NAMED) -> list[str]:
    """Return the columns of a table of events or points that have no role and are left out."""
    if format not in _TABLES or Path(path).is_dir() or archives.is_archive(path):
        return []
    if look_at(path, layout).formats[:1] not in _IN_ONE_FILE:
        return []
    names = list(parquet_schema(path)) if is_parquet(path) else header_fields(first_line(path), layout)[0]
    taken = set(layout.roles(names, POINTS if format == "points" else EVENTS).values())
    return [name for name in names if name not in taken]


def is_own_table(path: str | PathLike[str]) -> bool:
    """Whether a table has exactly the columns that we write: of events, or of GPS points."""
    names = set(parquet_schema(path) if is_parquet(path) else header_fields(first_line(path))[0])
    return names == _OWN_POINTS or _OWN_EVENTS <= names <= _OWN_EVENTS | _OWN_OTHERS


def _start(path: str | PathLike[str]) -> bytes:
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            return gzip.GzipFile(fileobj=raw).read(_START) if packed else raw.read(_START)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileError.whole(path, f"is not a whole gzip file: {error}", "bad-gzip") from None
