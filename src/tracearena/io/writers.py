"""Write events, releases and GPS points in all formats."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal

import numpy as np

from tracearena.algorithms.frames import read_warning_of_losses
from tracearena.dataframes import find_library
from tracearena.errors import ParameterError
from tracearena.files.atomic import replacing_all
from tracearena.io import pwscup
from tracearena.io.formats import checkins, released_table
from tracearena.io.formats.recognition import FORMAT_TABLE
from tracearena.io.id_mapping import UserKey
from tracearena.io.places import write_places
from tracearena.io.report import Report
from tracearena.traces import GpsTraces, ObfuscatedTraces, Places, Traces

_File = str | PathLike[str]

TABLE_NAMES = (".csv", ".csv.gz", ".parquet")
"""How the names of tables end."""

_TEXT_NAMES = (".csv", ".csv.gz", ".txt", ".txt.gz")
_IN_TEXT = ("table", "gowalla", "tsmc", "foursquare", "peopleflow", "pwscup", "ppmtf")
_OTHER_NAMES = {
    ".gpx": "gpx",
    ".gpx.gz": "gpx",
    ".geojson": "geojson",
    ".geojson.gz": "geojson",
    ".gpkg": "gpkg",
    ".geoparquet": "geoparquet",
}

_WRITTEN = [name for name, row in FORMAT_TABLE.items() if row.writer]
WRITABLE_FORMATS = tuple(name for name in _WRITTEN if FORMAT_TABLE[name].holds != "points")
"""Names of the formats that events can be written in."""

_POINT_FORMATS = (
    "points",
    "gpx",
    "geolife",
    *(name for name in _WRITTEN if FORMAT_TABLE[name].holds == "either"),
)


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
    traces
        Traces of any kind, or a data frame of them (`read`), without rows that cannot be used.
    to
        One of `WRITABLE_FORMATS` for events. By default it follows from the name: a table for .csv, .csv.gz
        and .parquet, or else geojson or gpkg. For GPS points also gpx and geolife (`guess_format_by_name`).
        Obfuscated traces are written as tables (`released_table`, which `read_released` reads) or as pwscup
        files of pseudonyms.
    """
    if find_library(traces) is not None:
        traces = read_warning_of_losses(traces)
    if isinstance(traces, GpsTraces):
        chosen = choose_points_format(path, to)
        if places_out is not None:
            raise ParameterError("GPS points have no places to write")
        resolve_name(f"tracearena.io.{FORMAT_TABLE[chosen].writer}")(traces, path)
        return [Path(path)]
    target = to or guess_format_by_name(path)
    if target not in WRITABLE_FORMATS:
        raise ParameterError.of("to", target, f"one of {', '.join(WRITABLE_FORMATS)}")
    if target == "foursquare" and isinstance(traces, Traces):
        return [Path(path), checkins.write_foursquare(traces, path, pois=places_out)]
    with replacing_all():
        beside = _write_events(traces, path, target)
        if places_out is not None:
            write_places(traces.places, places_out, to=target)
            beside.append(Path(places_out))
    return [Path(path), *beside]


def choose_points_format(path: _File, to: str | None = None) -> str:
    """Return the format in which GPS points go to a path; refuse one in which they are not written."""
    chosen = to or guess_format_by_name(path, "points")
    if chosen not in _POINT_FORMATS:
        names = ", ".join(_POINT_FORMATS)
        allowed = (
            f"one of {names}, at the prompt partitions (a folder of parts), or a format of events with a grid"
        )
        raise ParameterError.of("to", chosen, allowed)
    return chosen


def guess_format_by_name(
    path: _File, kind: Literal["events", "points"] = "events", like: str | None = None
) -> str:
    """Return what a new file of this name holds; a GeoLife folder of points only if it has no ending.

    Parameters
    ----------
    like
        The format of events where the name does not tell: it has no ending, or one of plain text, and
        the format is written as such.

    Examples
    --------
    >>> guess = guess_format_by_name
    >>> guess("out.parquet"), guess("out.csv", like="pwscup"), guess("out.geojson")
    ('table', 'pwscup', 'geojson')
    >>> [guess_format_by_name(name, "points") for name in ("out.csv", "out.gpx", "out")]
    ['points', 'gpx', 'geolife']
    """
    name = str(path)
    # The formats between which a name does not tell.
    possible = () if Path(name).suffix else WRITABLE_FORMATS
    if kind == "events" and like in (_IN_TEXT if name.endswith(_TEXT_NAMES) else possible):
        return str(like)
    if name.endswith(TABLE_NAMES):
        return "table" if kind == "events" else "points"
    if kind == "points" and not Path(path).suffix:
        return "geolife"
    others = {end: to for end, to in _OTHER_NAMES.items() if kind == "points" or to in WRITABLE_FORMATS}
    by_ending = next((to for end, to in others.items() if name.endswith(end)), None)
    if by_ending is not None:
        return by_ending
    formats = WRITABLE_FORMATS if kind == "events" else _POINT_FORMATS
    raise ParameterError(
        f"{path}: give a format (one of {', '.join(formats)}) or a file name that ends in "
        f"{', '.join([*TABLE_NAMES, *others])}"
    )


def _write_events(traces: Traces | ObfuscatedTraces, path: _File, to: str) -> list[Path]:
    """Write events in a format, and return the files that had to be written next to them."""
    if isinstance(traces, ObfuscatedTraces):
        if to not in ("pwscup", "table"):
            raise ParameterError.of("to", to, "table or pwscup for obfuscated traces")
        (released_table.write_released_table if to == "table" else pwscup.write_anonymized)(traces, path)
        return []
    beside = resolve_name(f"tracearena.io.{FORMAT_TABLE[to].writer}")(traces, path)
    return [beside] if isinstance(beside, Path) else []


# What of some traces a format can hold.


def fit_to_format(traces: Traces, to: str, report: Report, key: UserKey | None = None) -> Traces:
    """Return the traces as far as a format can represent them, and report what is lost.

    The files of pwscup and peopleflow have one event per instant and users with numbers from 1. Of several
    events at an instant, the first is kept. Users whose ids are such numbers keep them; the others get new
    numbers, which are added to `key`. In ppmtf files, commas in categories are replaced by blanks.
    """
    if to == "ppmtf":
        places = traces.places
        if places.categories is None:
            return traces
        plain = [re.sub(r"[,\r\n]", " ", category) for category in places.categories.tolist()]
        changed = int((np.asarray(plain, np.str_) != places.categories).sum())
        if changed == 0:
            return traces
        report.notice("categories with a comma, written without", changed)
        renamed = Places(
            places.latitude,
            places.longitude,
            ids=places.ids,
            sensitive=places.sensitive,
            categories=plain,
            grid=places.grid,
            km_per_degree=places.km_per_degree,
        )
        return traces.onto(renamed)
    if to not in ("pwscup", "peopleflow"):
        return traces
    again = np.zeros(traces.n_events, bool)
    again[1:] = (np.diff(traces.instants) == 0) & (np.diff(traces.user_index) == 0)
    if again.any():
        report.drop("second event at an instant", int(again.sum()))
        traces = traces.keep(~again)
    numbered = (UserKey() if key is None else key).number_users(traces, to)
    own, number = set(map(str, traces.user_ids.tolist())), set(map(str, numbered.user_ids.tolist()))
    report.notice("users with a new number", len(own - number))
    return numbered
