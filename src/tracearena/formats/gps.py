"""GPS traces from and to whatever a path names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from tracearena.errors import FileError, ParameterError
from tracearena.files.whole import require_lasting
from tracearena.formats import geolife, gpx, partitions, points, recognition
from tracearena.intake.gps_reading import GpsReading
from tracearena.traces import GpsTraces
from tracearena.traces.time import require_zone

FORMATS = ("geolife", "gpx", "points")
"""Names of the formats that hold GPS traces."""

_READERS: Mapping[str, Callable[..., GpsReading]] = {"geolife": geolife.read, "gpx": gpx.read}


def is_gps(path: str | PathLike[str], format: str | None = None) -> bool:
    """Whether a path holds GPS traces: as the format says, or else by its content.

    Coordinates without places are GPS points, whatever the file is called; events at places are not.
    """
    if format is not None:
        return format in FORMATS
    require_lasting(path)
    if geolife.looks_like_geolife(path) or gpx.looks_like_gpx(path):
        return True
    return recognition.look_at(path).formats[:1] == ("points",)


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    timezone: str | None = None,
    strict: bool = False,
) -> GpsReading:
    """Read a GeoLife folder or archive, a GPX file or folder, or CSV or Parquet tables of points.

    Parameters
    ----------
    format
        One of `FORMATS`; found out if left out.
    timezone
        Zone of the times in a table that name none (UTC if left out), and of the hours of the day
        (guessed from the coordinates if left out, see `GpsReading.local_time`).
    strict
        Refuse input with a point that cannot be used, instead of leaving it out and reporting it.
    """
    place = Path(path)
    if timezone is not None:
        require_zone(timezone)
    if format is not None and format not in FORMATS:
        raise ParameterError.of("format", format, f"one of {', '.join(FORMATS)}")
    if not place.exists():
        raise FileError.whole(place, "does not exist", "missing-file")
    known = format or _format_of_content(place)
    if known == "points":
        return points.read(place, timezone=timezone, strict=strict)
    return dataclasses.replace(_READERS[known](place, strict=strict), timezone=timezone)


def _format_of_content(place: Path) -> str:
    if points.looks_like_points(place) and place.is_file():
        return "points"
    if geolife.looks_like_geolife(place):
        return "geolife"
    if gpx.looks_like_gpx(place):
        return "gpx"
    look = None if place.is_dir() and not partitions.files_of(place) else recognition.look_at(place)
    if look is not None and "points" in look.formats:
        return "points"
    raise FileError.whole(
        place,
        "is not known as GPS traces: a folder with PLT or GPX files, .plt, .tar.gz, .zip, .gpx, .csv "
        "or .parquet" + ("" if look is None else f"; it looks like {look.words}"),
        "unknown-format",
    )


def format_of(path: str | PathLike[str]) -> str:
    """Return what a new file of this name would hold: points, gpx, or else a GeoLife folder.

    >>> format_of("out.parquet"), format_of("out.gpx"), format_of("out")
    ('points', 'gpx', 'geolife')
    """
    if points.looks_like_points(path):
        return "points"
    return "gpx" if Path(path).name.endswith((".gpx", ".gpx.gz")) else "geolife"


def write(traces: GpsTraces, path: str | PathLike[str], to: str | None = None) -> None:
    """Write a table (``.csv``, ``.csv.gz``, ``.parquet``), GPX, or a GeoLife folder.

    Parameters
    ----------
    to
        ``points``, ``gpx`` or ``geolife``; by default what the name says (`format_of`).
    """
    writers = {"points": points.write, "gpx": gpx.write, "geolife": geolife.write}
    chosen = to or format_of(path)
    if chosen not in writers:
        raise ParameterError.of("to", chosen, "points, gpx or geolife, or a format of events with a grid")
    writers[chosen](traces, path)
