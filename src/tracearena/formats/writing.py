"""One door to write all formats: events, releases and GPS points alike."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import ModuleType

from tracearena.errors import ParameterError
from tracearena.files.staging import replacing_all
from tracearena.formats import (
    foursquare,
    geolife,
    gowalla,
    gpx,
    partitions,
    peopleflow,
    points,
    pwscup,
    released_table,
    table,
    tsmc,
)
from tracearena.formats.place_files import write_places
from tracearena.formats.recognition import EITHER, FORMATS
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

_File = str | PathLike[str]

_CHECK_INS: Mapping[str, ModuleType] = {
    "table": table,
    "partitions": partitions,
    "gowalla": gowalla,
    "tsmc": tsmc,
    "peopleflow": peopleflow,
}
_GPS_WRITERS = {"points": points.write, "gpx": gpx.write, "geolife": geolife.write}
_GEO_WRITERS = ("geojson", "gpkg", "geoparquet")
_TABLE_NAMES = (".csv", ".csv.gz", ".parquet")
_OTHER_NAMES = {
    ".gpx": "gpx",
    ".gpx.gz": "gpx",
    ".geojson": "geojson",
    ".geojson.gz": "geojson",
    ".gpkg": "gpkg",
    ".geoparquet": "geoparquet",
}

WRITTEN = tuple(name for name in FORMATS if name not in EITHER or name in _GEO_WRITERS)
"""Names of the formats that events can be written in."""


def write(
    traces: Traces | GpsTraces | ObfuscatedTraces,
    path: _File,
    *,
    to: str | None = None,
    places_out: _File | None = None,
) -> list[Path]:
    """Write traces, and their places if `places_out` is given; return the files written.

    They appear together, or none of them.

    Parameters
    ----------
    to
        One of `WRITTEN` for events, by default what the name says: a table for names that end in
        .csv, .csv.gz or .parquet, or else geojson or gpkg. For GPS points also gpx and geolife
        (`format_of_points`). Of obfuscated traces there are tables (`released_table`, which
        `read_released` reads) and pwscup files of pseudonyms.
    """
    if isinstance(traces, GpsTraces):
        chosen = to or format_of_points(path)
        if chosen not in (*_GPS_WRITERS, *_GEO_WRITERS):
            allowed = f"one of {', '.join([*_GPS_WRITERS, *_GEO_WRITERS])}, or a format of events with a grid"
            raise ParameterError.of("to", chosen, allowed)
        if places_out is not None:
            raise ParameterError("GPS points lie at no places: there are none to write")
        if chosen in _GEO_WRITERS:
            _write_geo(traces, path, chosen)
        else:
            _GPS_WRITERS[chosen](traces, path)
        return [Path(path)]
    target = to or _format_of_name(path)
    if target not in WRITTEN:
        raise ParameterError.of("to", target, f"one of {', '.join(WRITTEN)}")
    if target == "foursquare" and isinstance(traces, Traces):
        return [Path(path), foursquare.write(traces, path, pois=places_out)]
    with replacing_all():
        beside = _write_events(traces, path, target)
        if places_out is not None:
            write_places(traces.places, places_out, to=target)
            beside.append(Path(places_out))
    return [Path(path), *beside]


def format_of_points(path: _File) -> str:
    """Return what a new file of GPS points of this name holds; a GeoLife folder if it does not tell.

    >>> format_of_points("out.parquet"), format_of_points("out.gpx"), format_of_points("out")
    ('points', 'gpx', 'geolife')
    """
    if str(path).endswith(_TABLE_NAMES):
        return "points"
    return _told_by_name(path) or "geolife"


def _told_by_name(path: _File) -> str | None:
    return next((format for end, format in _OTHER_NAMES.items() if str(path).endswith(end)), None)


def _write_events(traces: Traces | ObfuscatedTraces, path: _File, to: str) -> list[Path]:
    """Write events in a format, and return the files that had to be written beside them."""
    if isinstance(traces, ObfuscatedTraces):
        if to not in ("pwscup", "table"):
            raise ParameterError.of("to", to, "table or pwscup for obfuscated traces")
        (released_table.write if to == "table" else pwscup.write_anonymized)(traces, path)
    elif to == "pwscup":
        times = pwscup.write_traces(traces, path)
        return [] if times is None else [times]
    elif to == "ppmtf":
        from tracearena.formats import ppmtf

        ppmtf.write_traces(traces, path)
    elif to in _GEO_WRITERS:
        _write_geo(traces, path, to)
    else:
        _CHECK_INS[to].write(traces, path)
    return []


def _write_geo(traces: Traces | GpsTraces, path: _File, to: str) -> None:
    from tracearena.formats import geo_tables, geojson

    if to == "geojson":
        geojson.write(traces, path)
    elif to == "gpkg":
        geo_tables.write_geopackage(traces, path)
    else:
        geo_tables.write_geoparquet(traces, path)


def _format_of_name(path: _File) -> str:
    if str(path).endswith(_TABLE_NAMES):
        return "table"
    told = _told_by_name(path)
    if told in WRITTEN:
        return str(told)
    endings = [end for end, format in _OTHER_NAMES.items() if format in WRITTEN]
    raise ParameterError(
        f"{path}: name a format (one of {', '.join(WRITTEN)}) or a file that ends in "
        f"{', '.join([*_TABLE_NAMES, *endings])}"
    )
