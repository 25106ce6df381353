"""How the formats that come down to rows (`row_formats`) are known from their first lines."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from tracearena.errors import FileError
from tracearena.formats import geo_tables, geojson, google_timeline, owntracks, porto, trips
from tracearena.formats.json_text import Piece, line_of, start_of
from tracearena.formats.look import Look
from tracearena.intake.columns import INSTANTS, plain_name, roles
from tracearena.intake.tables import header_fields

DATABASE = b"SQLite format 3\0"
"""How a GeoPackage begins, which is a database."""

_ZONES = {"pulocationid", "dolocationid"}
_RECORD = "\x1e"


def at_json(lines: list[str]) -> Look | None:
    """Look at text that begins as JSON does, or as a file of OwnTracks' recorder."""
    if owntracks.looks_like_rec(lines[0]):
        return Look(("owntracks",), "positions as OwnTracks' recorder keeps them")
    text = "\n".join(lines).lstrip(f" \t\n{_RECORD}")
    if not text.startswith(("{", "[")):
        return None
    first, _, rest = text.partition("\n")
    row = _object(first)
    if row is not None and (found := _at_row(row, bool(rest.strip()))):
        return found
    kind, pieces = start_of(text)
    known = _at_document(kind, pieces)
    if known is not None:
        return known
    if row is not None:
        return _rows_look(row, "JSON lines")
    keys = ", ".join(str(piece.key) for piece in pieces[:40] if piece.number is None)[:80]
    return Look((), f"JSON of no kind known here; its keys: {keys or 'none'}")


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = line_of(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _at_row(row: Mapping[str, Any], more: bool) -> Look | None:
    """Look at the object of a first line."""
    if isinstance(row.get("_type"), str):
        return Look(("owntracks", "jsonl"), "messages of OwnTracks, one a line")
    if row.get("type") in geojson.TYPES[1:] and more:
        return Look(("jsonl",), "GeoJSON, one feature a line", _are_points(_properties(row)))
    return _rows_look(row, "JSON lines") if more else None


def _rows_look(row: Mapping[str, Any], words: str) -> Look:
    return Look(("jsonl",), words, trips.are_trips(list(row)) or _are_points(list(row)))


def _at_document(kind: str, pieces: Sequence[Piece]) -> Look | None:
    """Look at the first members or elements of a document."""
    members = {piece.key: piece.value for piece in reversed(pieces) if piece.value is not None}
    keys = {piece.key for piece in pieces}
    first = members.get(None)
    if kind == "array" and isinstance(first, dict):
        if isinstance(first.get("_type"), str):
            return Look(("owntracks", "jsonl"), "messages of OwnTracks")
        if "startTime" in first and any(name in first for name in google_timeline.KINDS):
            return Look(("google-timeline",), "a Timeline of Google, as an iPhone exports it")
        return _rows_look(first, "an array of JSON objects")
    if "locations" in keys:
        return Look(("google-records",), "Google's location history (Records.json)")
    if keys & {google_timeline.SEGMENTS, google_timeline.SIGNALS}:
        return Look(("google-timeline",), "a Timeline of Google, as an Android telephone exports it")
    if "timelineObjects" in keys:
        words = "Google's Semantic Location History of a month, a summary of Records.json, which can be read"
        return Look((), words)
    data = members.get("data")
    if isinstance(data, dict) and "_type" in data:
        return Look(("owntracks",), "messages of OwnTracks")
    if members.get("type") in geojson.TYPES or "features" in keys or "temporalGeometry" in keys:
        feature = members.get("features")
        names = _properties(feature) if isinstance(feature, dict) else list(members.get("properties") or {})
        return Look(("geojson",), "GeoJSON", _are_points(names))
    return None


def _properties(feature: Mapping[str, Any]) -> list[str]:
    given = feature.get("properties")
    return list(given) if isinstance(given, dict) else []


def _are_points(names: Sequence[str]) -> bool:
    """Whether columns beside a position make GPS points: no place among them, and a time that is one."""
    found = roles(list(names))
    return "venue" not in found and plain_name(found.get("time", "")) != INSTANTS


def at_header(lines: list[str]) -> Look | None:
    """Look at the header of a table of trips."""
    return at_columns(header_fields(lines[0])[0])


def at_columns(names: Sequence[str]) -> Look | None:
    """Look at the columns of a table of trips."""
    if porto.are_porto(names):
        return Look(("porto",), "trips of Porto's taxis")
    if trips.are_trips(names):
        return Look(("trips",), "a table of trips with their starts and ends")
    if {plain_name(name) for name in names} >= _ZONES:
        return Look((), "trips between zones, without coordinates")
    return None


def at_geopackage(path: str | PathLike[str]) -> Look:
    """Look at the layers of a GeoPackage."""
    try:
        layers = geo_tables.layers_of(path)
    except FileError as error:
        return Look((), f"a database that {error.faults[0].problem}")
    names = [name for layer in layers.values() for name in layer.columns]
    return Look(("gpkg",), "a GeoPackage", _are_points(names))


def is_geoparquet(path: str | PathLike[str]) -> bool:
    """Whether the footer of a Parquet file tells of a column of geometries."""
    with open(path, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - 8 - length, 0))
        return b'"primary_column"' in file.read(length)


def at_geoparquet(names: Sequence[str]) -> Look:
    """Look at the columns of a GeoParquet file."""
    return Look(("geoparquet",), "a GeoParquet file", _are_points(names))
