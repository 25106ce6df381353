"""GeoJSON: points with properties, and lines with a time for each of their positions.

- A feature with a *point* is a row; its properties are the columns, under the names that tables have
  (`intake.columns`): a user, a time, perhaps a place or a trajectory.
- A feature with a *line* (or several, or several points) is a trajectory. The times of its positions are
  a list in its properties: ``coordTimes``, ``times``, ``timestamps``, ``datetimes``, or the same under
  ``coordinateProperties``; as many as there are positions. Its user is in the properties, or else all
  lines belong to one user.
- OGC Moving Features JSON: ``MovingPoint`` with ``coordinates`` and ``datetimes``, in a feature
  (``temporalGeometry``) or alone as MobilityDB writes it, with ``sequences`` of them too.

A collection, a single feature, and one feature a line (``.geojsonl``) are read. An old ``crs`` member
with another coordinate system than WGS84 is heeded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.io import replacing
from tracearena.io.fields.columns import NAMES, find_roles, simplify_name
from tracearena.io.fields.coordinates import convert_to_degrees
from tracearena.io.formats.json_text import (
    TWICE,
    NamedRows,
    iterate_json_pieces,
    parse_json_line,
    read_json_text,
)
from tracearena.io.report import Report
from tracearena.traces import GpsTraces, Traces

TYPES = ("FeatureCollection", "Feature", "MovingPoint", "MovingGeomPoint")
_MOVING = ("MovingPoint", "MovingGeomPoint")
_LINES = ("LineString", "MultiPoint", "MultiLineString")
_TIMES = ("coordtimes", "times", "timestamps", "datetimes", *NAMES["time"])
_HOURS_ONLY = re.compile(r"\d\d:\d\d[+-]\d\d$|\.\d+[+-]\d\d$")
X, Y = "x of the geometry", "y of the geometry"
_Track = tuple[Any, Any]


def read_geojson_rows(path: str | PathLike[str], report: Report, user: str | None) -> pl.DataFrame:
    """Return one row a position, numbered by its feature; `user`, if any, owns lines that name nobody."""
    report.header_lines = None
    found = _FeatureRows(path, report)
    single: dict[str, Any] = {}
    for key, index, value in iterate_json_pieces(path, read_json_text(path)):
        if key == "features" and index is not None:
            found.add(index, value)
        elif index is None and key is not None:
            single[key] = value
        elif key is not None:
            single.setdefault(key, []).append(value)
    if single.get("type") in TYPES[1:]:
        found.add(1, single)
    return found.frame(user, single.get("crs"))


def read_feature_rows(
    path: str | PathLike[str], features: Iterable[tuple[int, Any]], report: Report, user: str | None
) -> pl.DataFrame:
    """Return the rows of features with their numbers, as they stand one a line in a file."""
    found = _FeatureRows(path, report)
    for number, feature in features:
        found.add(number, feature)
    return found.frame(user, None)


class _FeatureRows:
    """Positions of features, gathered."""

    def __init__(self, path: str | PathLike[str], report: Report) -> None:
        self._rows, self._report = NamedRows(path), report
        self._system: Any = None
        self._has_lines = False

    def add(self, number: int, feature: Any) -> None:
        """Add the positions of a feature, or report why there are none."""
        if not isinstance(feature, dict) or TWICE in feature:
            self._drop(number, "feature", feature, "must be a feature with every key once")
            return
        given = feature.get("properties")
        properties = dict(given) if isinstance(given, dict) else {}
        for name in list(properties):
            if simplify_name(name) in (*NAMES["lat"], *NAMES["lon"]):
                del properties[name]
        if "id" in feature:
            properties.setdefault("feature id", feature["id"])
        moving = feature.get("temporalGeometry", feature if feature.get("type") in _MOVING else None)
        geometry = feature.get("geometry")
        if isinstance(moving, dict):
            self._system = self._system or moving.get("crs", feature.get("crs"))
            self._lines(number, list(_iterate_sequences(moving)), properties)
        elif not isinstance(geometry, dict) or TWICE in geometry:
            self._drop(number, "geometry", geometry, "must be a point, or a line with times")
        elif geometry.get("type") == "Point":
            self._add_position(number, geometry.get("coordinates"), properties)
        elif geometry.get("type") in _LINES:
            tracks = list(_iterate_tracks(geometry, feature, properties))
            self._lines(number, tracks, _drop_lists(properties))
        else:
            shown = geometry.get("type")
            self._drop(number, "geometry", shown, "must be a point, or a line with times")

    def _lines(self, number: int, tracks: list[_Track], properties: dict[str, Any]) -> None:
        """Add the positions of lines, each with its own time, as trajectories."""
        self._has_lines = True
        named = find_roles(list(properties), ("trajectory",)).get("trajectory")
        name = str(number) if named is None else str(properties.pop(named))
        for part, (coordinates, times) in enumerate(tracks, 1):
            if not isinstance(coordinates, list) or not isinstance(times, list):
                self._drop(number, "times", times, "must be a list with a time for each position")
                continue
            if len(coordinates) != len(times):
                counted = f"{len(times)} times for {len(coordinates)} positions"
                self._drop(number, "times", counted, "must be as many as there are positions")
                continue
            trajectory = name if len(tracks) == 1 else f"{name}-{part}"
            for position, time in zip(coordinates, times, strict=True):
                self._add_position(
                    number, position, properties | {"time": _complete_zone(time), "traj": trajectory}
                )

    def _add_position(self, number: int, position: Any, row: dict[str, Any]) -> None:
        x, y = [*position, None, None][:2] if isinstance(position, list) else (None, None)
        self._rows.add(number, row | {X: x, Y: y})

    def _drop(self, number: int, column: str, value: Any, problem: str) -> None:
        shown = value if isinstance(value, str) else json.dumps(value, default=str)[:200]
        self._report.drop_fault(Fault(number, column, shown, problem, "bad-feature", None))

    def frame(self, user: str | None, system: Any) -> pl.DataFrame:
        """Return the rows with latitude and longitude."""
        self._report.refuse_if_nothing_is_left(len(self._rows), "holds no features", "no-points")
        frame = self._rows.frame()
        named = _parse_system_name(self._report.path, system or self._system)
        frame = _add_degrees(frame, named, self._report)
        if self._has_lines and user is not None and "user" not in find_roles(frame.columns):
            problem = f"no property names a user; all lines are those of one, {user!a}"
            self._report.notice_fault(Fault(None, "user", None, problem, "one-user", None))
            frame = frame.with_columns(pl.lit(user).alias("user"))
        return frame


def _add_degrees(frame: pl.DataFrame, system: str | None, report: Report) -> pl.DataFrame:
    x, y = frame[X].alias("lon"), frame[Y].alias("lat")
    if system is not None:
        east, north = (given.cast(pl.Float64, strict=False) for given in (x, y))
        latitude, longitude = convert_to_degrees(east.to_numpy(), north.to_numpy(), system, report)
        x, y = pl.Series("lon", longitude), pl.Series("lat", latitude)
    return frame.drop(X, Y).with_columns(y, x)


def _iterate_sequences(moving: dict[str, Any]) -> Iterator[_Track]:
    """Give coordinates and times of a moving point, which may consist of several."""
    parts = moving.get("sequences", moving.get("prisms", [moving]))
    for part in parts if isinstance(parts, list) else [None]:
        known = part if isinstance(part, dict) else {}
        yield known.get("coordinates"), known.get("datetimes")


def _iterate_tracks(
    geometry: dict[str, Any], feature: dict[str, Any], properties: dict[str, Any]
) -> Iterator[_Track]:
    """Give coordinates and times of each line of a geometry."""
    coordinates, times = geometry.get("coordinates"), _find_line_times(feature, properties)
    if geometry["type"] != "MultiLineString":
        yield coordinates, times
        return
    lines = coordinates if isinstance(coordinates, list) else [None]
    nested = isinstance(times, list) and len(times) == len(lines) and all(isinstance(t, list) for t in times)
    if isinstance(times, list) and not nested:
        positions = [position for line in lines if isinstance(line, list) for position in line]
        if len(positions) != len(times):
            yield positions, times
            return
    first = 0
    for number, line in enumerate(lines):
        count = len(line) if isinstance(line, list) else 0
        if isinstance(times, list):
            yield line, times[number] if nested else times[first : first + count]
        else:
            yield line, times
        first += count


def _complete_zone(time: Any) -> Any:
    """Return a time whose zone has minutes, which PostgreSQL leaves out."""
    return f"{time}:00" if isinstance(time, str) and _HOURS_ONLY.search(time) else time


def _find_line_times(feature: dict[str, Any], properties: dict[str, Any]) -> Any:
    """Return the list of times of a line."""
    for holder in (properties.get("coordinateProperties"), properties, feature):
        if isinstance(holder, dict):
            plain = {simplify_name(name): value for name, value in holder.items() if isinstance(value, list)}
            for name in _TIMES:
                if name in plain:
                    return plain[name]
    return None


def _drop_lists(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties that hold for a whole line: not its times, nor any other list."""
    return {
        name: value
        for name, value in properties.items()
        if not isinstance(value, (list, dict)) and simplify_name(name) not in _TIMES
    }


def _parse_system_name(path: str, crs: Any) -> str | None:
    """Return the coordinate system of a ``crs`` member, None if there is none."""
    if crs is None:
        return None
    known = crs.get("properties") if isinstance(crs, dict) else None
    name = known.get("name") if isinstance(known, dict) else crs
    if isinstance(name, str):
        return name
    problem = 'must name a coordinate system, such as {"properties": {"name": "EPSG:3857"}}'
    raise FileError(path, [Fault(None, "crs", json.dumps(crs)[:200], problem, "coordinate-system", None)])


def write(traces: GpsTraces | Traces, path: str | PathLike[str]) -> None:
    """Write a collection of points, one feature a line, with the columns of a table as properties."""
    frame = traces.to_frame()
    latitude, longitude = (frame[find_roles(frame.columns)[role]] for role in ("lat", "lon"))
    properties = frame.drop(latitude.name, longitude.name).with_columns(_format_times(frame))
    with replacing(path) as out:
        out.write(b'{"type": "FeatureCollection", "features": [\n')
        rows = zip(longitude.to_list(), latitude.to_list(), _format_objects(properties), strict=True)
        for number, (x, y, row) in enumerate(rows):
            geometry = f'{{"type": "Point", "coordinates": [{x!r}, {y!r}]}}'
            feature = f'{{"type": "Feature", "geometry": {geometry}, "properties": {row}}}'
            out.write((",\n" if number else "").encode() + feature.encode())
        out.write(b"\n]}\n")


def _format_objects(frame: pl.DataFrame) -> list[str]:
    """Return each row as a JSON object; ids may hold what `str.splitlines` takes for the end of a line."""
    return frame.write_ndjson().removesuffix("\n").split("\n")


def _format_times(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the times as text, with the zone that they have, as CSV tables have them."""
    made = []
    for column in frame:
        if isinstance(column.dtype, pl.Datetime):
            whole = bool((column.dt.millisecond() == 0).all())
            layout = "%Y-%m-%dT%H:%M:%S" if whole else "%Y-%m-%dT%H:%M:%S%.3f"
            made.append(column.dt.to_string(layout + ("Z" if column.dtype.time_zone else "")))
    return made


# JSON objects as rows, one a line or in one array, with the column names of a table
# (`intake.columns`).


_RECORD = "\x1e"  # begins each text of a GeoJSON text sequence (RFC 8142)


def read_jsonl_rows(path: str | PathLike[str], report: Report, user: str | None) -> pl.DataFrame:
    """Return one row a line, numbered by the line; `user`, if any, owns GeoJSON lines that name nobody."""
    report.header_lines = 0
    found, features = NamedRows(path), []
    for number, value in iterate_json_objects(path, report):
        if value.get("type") in TYPES[1:]:
            features.append((number, value))
        else:
            found.add(number, value)
    if features:
        for number in found.numbers:
            fault = Fault(number, None, None, "must be a GeoJSON feature, as others are", "bad-row", 0)
            report.drop_fault(fault)
        return read_feature_rows(path, features, report, user)
    report.refuse_if_nothing_is_left(len(found), "holds no rows", "empty")
    return found.frame()


def iterate_json_objects(path: str | PathLike[str], report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the objects with the numbers of their lines, or of their places in the array."""
    text = read_json_text(path)
    if text.lstrip().startswith("["):
        report.header_lines = None
        for _, index, value in iterate_json_pieces(path, text):
            yield from _check_json_object(index or 0, value, "", report)
        return
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip(f" \t\r{_RECORD}")
        if not content:
            continue
        try:
            value = parse_json_line(content)
        except ValueError as error:
            report.drop_fault(Fault(number, None, content[:200], f"is not JSON: {error}", "bad-json", 0))
            continue
        yield from _check_json_object(number, value, content, report)


def _check_json_object(
    number: int, value: Any, shown: str, report: Report
) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(value, dict) and TWICE not in value:
        yield number, value
        return
    problem = "must be one JSON object with every key once"
    report.drop_fault(Fault(number, None, shown[:200], problem, "bad-row", report.header_lines))
