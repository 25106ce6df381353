"""GPS traces from and to whatever a path names."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from tracearena.errors import FileError, ParameterError
from tracearena.formats import geolife, gpx, points
from tracearena.formats.gps_reading import GpsReading
from tracearena.traces import GpsTraces


def read(path: str | PathLike[str], *, timezone: str = "UTC", strict: bool = False) -> GpsReading:
    """Read a GeoLife folder or archive, a GPX file or folder, or a CSV or Parquet table of points.

    Parameters
    ----------
    timezone
        Zone of the times in a table that name none.
    strict
        Refuse input with a point that cannot be used, instead of leaving it out and reporting it.
    """
    place = Path(path)
    if not place.exists():
        raise FileError.whole(place, "does not exist", "missing-file")
    if points.looks_like_points(place):
        return points.read(place, timezone=timezone, strict=strict)
    if geolife.looks_like_geolife(place):
        return geolife.read(place, strict=strict)
    if gpx.looks_like_gpx(place):
        return gpx.read(place, strict=strict)
    raise FileError.whole(
        place,
        "is not known as GPS traces: a folder with PLT or GPX files, .plt, .tar.gz, .zip, .gpx, .csv "
        "or .parquet",
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
