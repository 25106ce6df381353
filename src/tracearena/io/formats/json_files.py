"""GeoJSON, JSON lines, and the JSON parser with limits that both share.

GeoJSON: points with properties, and lines with a time for each of their positions.

- A feature with a *point* is a row; its properties are the columns, under the names that tables have
  (`fields.columns`): a user, a time, perhaps a place or a trajectory.
- A feature with a *line* (or several, or several points) is a trajectory. The times of its positions are
  a list in its properties: ``coordTimes``, ``times``, ``timestamps``, ``datetimes``, or the same under
  ``coordinateProperties``; as many as there are positions. Its user is in the properties, or else all
  lines belong to one user.
- OGC Moving Features JSON: ``MovingPoint`` with ``coordinates`` and ``datetimes``, in a feature
  (``temporalGeometry``) or alone as MobilityDB writes it, with ``sequences`` of them too.

A collection, a single feature, and one feature per line (``.geojsonl``) are read. An old ``crs`` member
with another coordinate system than WGS84 is heeded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecodeError, JSONDecoder
from os import PathLike
from typing import Any, NamedTuple

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.io import replacing
from tracearena.io.fields.columns import NAMES, find_roles, simplify_name
from tracearena.io.fields.coordinates import convert_to_degrees
from tracearena.io.report import Report
from tracearena.io.tables import ROW, read_utf8_bytes
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
            # A moving point may consist of several.
            parts = moving.get("sequences", moving.get("prisms", [moving]))
            tracks = [
                (part.get("coordinates"), part.get("datetimes")) if isinstance(part, dict) else (None, None)
                for part in (parts if isinstance(parts, list) else [None])
            ]
            self._lines(number, tracks, properties)
        elif not isinstance(geometry, dict) or TWICE in geometry:
            self._drop(number, "geometry", geometry, "must be a point, or a line with times")
        elif geometry.get("type") == "Point":
            self._add_position(number, geometry.get("coordinates"), properties)
        elif geometry.get("type") in _LINES:
            tracks = list(_iterate_tracks(geometry, feature, properties))
            # Lists of times and others do not hold for each point of a line.
            plain = {
                name: value
                for name, value in properties.items()
                if not isinstance(value, (list, dict)) and simplify_name(name) not in _TIMES
            }
            self._lines(number, tracks, plain)
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
                # PostgreSQL leaves out the minutes of a zone.
                full = f"{time}:00" if isinstance(time, str) and _HOURS_ONLY.search(time) else time
                self._add_position(number, position, properties | {"time": full, "traj": trajectory})

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
        crs = system or self._system
        x, y = frame[X].alias("lon"), frame[Y].alias("lat")
        if crs is not None:
            known = crs.get("properties") if isinstance(crs, dict) else None
            named = known.get("name") if isinstance(known, dict) else crs
            if not isinstance(named, str):
                problem = 'must name a coordinate system, such as {"properties": {"name": "EPSG:3857"}}'
                fault = Fault(None, "crs", json.dumps(crs)[:200], problem, "coordinate-system", None)
                raise FileError(self._report.path, [fault])
            east, north = (given.cast(pl.Float64, strict=False) for given in (x, y))
            latitude, longitude = convert_to_degrees(east.to_numpy(), north.to_numpy(), named, self._report)
            x, y = pl.Series("lon", longitude), pl.Series("lat", latitude)
        frame = frame.drop(X, Y).with_columns(y, x)
        if self._has_lines and user is not None and "user" not in find_roles(frame.columns):
            problem = f"no property names a user: all lines are read as one user, {user!a}"
            self._report.notice_fault(Fault(None, "user", None, problem, "one-user", None))
            frame = frame.with_columns(pl.lit(user).alias("user"))
        return frame


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


def _find_line_times(feature: dict[str, Any], properties: dict[str, Any]) -> Any:
    """Return the list of times of a line."""
    for holder in (properties.get("coordinateProperties"), properties, feature):
        if isinstance(holder, dict):
            plain = {simplify_name(name): value for name, value in holder.items() if isinstance(value, list)}
            for name in _TIMES:
                if name in plain:
                    return plain[name]
    return None


def write_geojson(traces: GpsTraces | Traces, path: str | PathLike[str]) -> None:
    """Write a collection of points, one feature per line, with the columns of a table as properties."""
    frame = traces.to_frame()
    latitude, longitude = (frame[find_roles(frame.columns)[role]] for role in ("lat", "lon"))
    properties = frame.drop(latitude.name, longitude.name).with_columns(_format_times(frame))
    with replacing(path) as out:
        out.write(b'{"type": "FeatureCollection", "features": [\n')
        # Ids may hold what `str.splitlines` takes for the end of a line.
        objects = properties.write_ndjson().removesuffix("\n").split("\n")
        rows = zip(longitude.to_list(), latitude.to_list(), objects, strict=True)
        for number, (x, y, row) in enumerate(rows):
            geometry = f'{{"type": "Point", "coordinates": [{x!r}, {y!r}]}}'
            feature = f'{{"type": "Feature", "geometry": {geometry}, "properties": {row}}}'
            out.write((",\n" if number else "").encode() + feature.encode())
        out.write(b"\n]}\n")


def _format_times(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the times as text, with the zone that they have, as CSV tables have them."""
    made = []
    for column in frame:
        if isinstance(column.dtype, pl.Datetime):
            whole = bool((column.dt.millisecond() == 0).all())
            layout = "%Y-%m-%dT%H:%M:%S" if whole else "%Y-%m-%dT%H:%M:%S%.3f"
            made.append(column.dt.to_string(layout + ("Z" if column.dtype.time_zone else "")))
    return made


# JSON objects as rows, one per line or in one array, with the column names of a table.

_RECORD = "\x1e"  # begins each text of a GeoJSON text sequence (RFC 8142)


def read_jsonl_rows(path: str | PathLike[str], report: Report, user: str | None) -> pl.DataFrame:
    """Return one row per line, numbered by the line; `user`, if any, owns GeoJSON lines that name nobody."""
    report.header_lines = 0
    found, features = NamedRows(path), []
    for number, value in iterate_json_objects(path, report):
        if value.get("type") in TYPES[1:]:
            features.append((number, value))
        else:
            found.add(number, value)
    if features:
        for number in found.numbers:
            fault = Fault(number, None, None, "must be a GeoJSON feature, like the others", "bad-row", 0)
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


# JSON in pieces, within limits: the elements of the outer arrays one at a time.

MAX_BYTES = 2 * 2**30
"""Bytes of a JSON file, unpacked."""

TWICE = "\0twice"
"""Where an object tells which of its keys it has twice."""

_BLANK = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)"
)
_PLAIN = {int, float, type(None)}


class Piece(NamedTuple):
    """One value of a document.

    Attributes
    ----------
    key
        Of what member of the outer object; None where the document is an array.
    number
        Which element of an array, from 1; None for what is no array.
    value
        The value itself. ``NaN`` and ``Infinity``, which are no JSON, are text.
    """

    key: str | None
    number: int | None
    value: Any


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                made[TWICE] = key
                break
            seen.add(key)
    return made


_decode = JSONDecoder(object_pairs_hook=_build_object, parse_constant=str).raw_decode


def read_json_text(path: str | PathLike[str]) -> str:
    """Return the text of a JSON file, packed or not; broken letters are replaced."""
    return _replace_half_letters(
        read_utf8_bytes(path, max_bytes=MAX_BYTES, line_end=b",").decode("utf-8", "replace")
    )


def _replace_half_letters(text: str) -> str:
    """Replace escapes that are half of a letter (``\\ud800`` alone), which no table and no report can hold.

    >>> _replace_half_letters(r'["\\ud83d\\ude00", "\\ud83d"]')
    '["\\\\ud83d\\\\ude00", "\\\\ufffd"]'
    """
    if _SURROGATE.search(text) is None:
        return text
    return _ESCAPES.sub(lambda found: r"\ufffd" if found[1] else found[0], text)


def iterate_json_pieces(path: str | PathLike[str], text: str) -> Iterator[Piece]:
    """Give the members of the outer object, or the elements of the outer array; inner arrays by element."""
    try:
        end = yield from _iterate_outer(text, _skip_blanks(text, 0))
        if end != len(text):
            raise JSONDecodeError("Extra data", text, end)
    except RecursionError:
        raise FileError.whole(path, "is nested too deeply", "too-deep") from None
    except ValueError as error:
        raise FileError.whole(path, f"is not complete JSON: {error}", "bad-json") from None


def parse_json_line(line: str) -> Any:
    """Return the one value of a line; a `ValueError` says why there is none."""
    line = _replace_half_letters(line)
    try:
        value, end = _decode(line, _skip_blanks(line, 0))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _skip_blanks(line, end) != len(line):
        raise ValueError("more than one value in the line")
    return value


def parse_json_start(start: str) -> tuple[str, list[Piece]]:
    """Look at the first characters of a file: ``object`` or ``array``, and the pieces that are whole.

    An array whose first element is cut off is there as its key, with the value None.
    """
    start = _replace_half_letters(start)
    at, found = _skip_blanks(start, 0), []
    kind = {"{": "object", "[": "array"}.get(start[at : at + 1], "")
    try:
        for piece in _iterate_outer(start, at, opened=True):
            found.append(piece)
    except (ValueError, RecursionError):
        pass
    return kind, found


def _skip_blanks(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]


def _iterate_outer(text: str, at: int, opened: bool = False) -> Any:
    if text.startswith("{", at):
        end = yield from _iterate_members(text, at, opened)
    elif text.startswith("[", at):
        end = yield from _iterate_elements(text, at, None)
    else:
        value, end = _decode(text, at)
        yield Piece(None, None, value)
    return _skip_blanks(text, end)


def _iterate_members(text: str, at: int, opened: bool) -> Any:
    seen: set[str] = set()
    at = _skip_blanks(text, at + 1)
    while not (text.startswith("}", at) and not seen):
        key, at = _decode(text, at)
        if not isinstance(key, str):
            raise JSONDecodeError("Expecting a key in double quotes", text, at)
        if key in seen:
            raise ValueError(f"the key {key[:40]!a} occurs twice")
        seen.add(key)
        at = _skip_blanks(text, _skip_sign(text, _skip_blanks(text, at), ":"))
        if opened:
            yield Piece(key, None, None)
        if text.startswith("[", at):
            at = yield from _iterate_elements(text, at, key)
        else:
            value, at = _decode(text, at)
            yield Piece(key, None, value)
        at = _skip_blanks(text, at)
        if text.startswith("}", at):
            break
        at = _skip_blanks(text, _skip_sign(text, at, ","))
    return at + 1


def _iterate_elements(text: str, at: int, key: str | None) -> Any:
    at, index = _skip_blanks(text, at + 1), 0
    if text.startswith("]", at):
        return at + 1
    while True:
        value, at = _decode(text, at)
        index += 1
        yield Piece(key, index, value)
        at = _skip_blanks(text, at)
        if text.startswith("]", at):
            return at + 1
        at = _skip_blanks(text, _skip_sign(text, at, ","))


def _skip_sign(text: str, at: int, sign: str) -> int:
    if not text.startswith(sign, at):
        raise JSONDecodeError(f"Expecting {sign!r}", text, at)
    return at + 1


class JsonRows:
    """Rows as they are found in a document, with the number that the document has for each.

    Parameters
    ----------
    *columns
        Their names, under which `add` takes the values.
    """

    def __init__(self, *columns: str) -> None:
        self._numbers: list[int] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in columns}
        self._lists = list(self._columns.values())

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, *values: Any) -> None:
        """Add one row."""
        self._numbers.append(number)
        for column, value in zip(self._lists, values, strict=True):
            column.append(value)

    def frame(self, *optional: str) -> pl.DataFrame:
        """Return the rows, without those `optional` columns that hold nothing."""
        made = [build_json_column(name, values) for name, values in self._columns.items()]
        kept = [values for values in made if values.name not in optional or values.null_count() < len(self)]
        return pl.DataFrame([pl.Series(ROW, self._numbers, dtype=pl.Int64), *kept])


def build_json_column(name: str, values: list[Any]) -> pl.Series:
    """Return values as numbers if all are, and otherwise as text; objects and arrays as their JSON."""
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        try:
            return pl.Series(name, values, dtype=pl.Float64 if float in kinds else pl.Int64)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            pass  # a whole number of more than 64 bits
    texts: list[str | None] = []
    for value in values:
        try:
            is_text = value is None or isinstance(value, str)
            texts.append(value if is_text else json.dumps(value)[:200])
        except (ValueError, RecursionError):
            texts.append("a number or a nesting that is too large")
    return pl.Series(name, texts, dtype=pl.String)


# Rows of which each names its columns itself, as the objects of JSON lines and GeoJSON do.

MOST_NAMES = 128
"""Names of columns in all; each costs a cell in every row, whichever row has it."""

_KEPT_NAMES = 64


class NamedRows:
    """Rows as they come, each with names of its own.

    The first 64 names are columns; later ones only if they can be a user, a time or a position.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        self.numbers: list[int] = []
        """The number of each row in the file."""
        self._columns: dict[str, tuple[list[int], list[Any]]] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """Add one row with its number in the file."""
        at = len(self.numbers)
        self.numbers.append(number)
        for name, value in row.items():
            known = self._columns.get(name)
            if known is None:
                if len(self._columns) >= _KEPT_NAMES and not find_roles([name], tuple(NAMES)):
                    continue
                if len(self._columns) >= MOST_NAMES:
                    problem = (
                        f"has more than {MOST_NAMES} names of columns that could be of use; it is refused"
                    )
                    raise FileError.whole(self._path, problem, "too-wide")
                known = self._columns[name] = ([], [])
            known[0].append(at)
            known[1].append(value)

    def frame(self) -> pl.DataFrame:
        """Return all rows, with nothing where a row has no such column."""
        height = len(self.numbers)
        made = [pl.Series(ROW, self.numbers, dtype=pl.Int64)]
        for name, (at, values) in self._columns.items():
            if name == ROW:
                continue
            given = build_json_column(name, values)
            if len(at) < height:
                given = pl.repeat(None, height, dtype=given.dtype, eager=True).scatter(at, given).alias(name)
            made.append(given)
        return pl.DataFrame(made)
