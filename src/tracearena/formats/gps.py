"""GPS traces from and to whatever a path names."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from tracearena.errors import FileError
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


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write a table (``.csv``, ``.csv.gz``, ``.parquet``), a ``.gpx`` file, or a GeoLife folder."""
    place = Path(path)
    if points.looks_like_points(place):
        points.write(traces, place)
    elif gpx.looks_like_gpx(place) and not place.is_dir():
        gpx.write(traces, place)
    else:
        geolife.write(traces, place)
