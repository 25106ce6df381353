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
from tracearena.intake.columns import INSTANTS, plain_name
from tracearena.intake.layout import Layout
from tracearena.intake.text_tables import header_fields

DATABASE = b"SQLite format 3\0"
"""How a GeoPackage begins, which is a database."""

_ZONES = {"pulocationid", "dolocationid"}
_RECORD = "\x1e"


def at_json(lines: list[str], layout: Layout) -> Look | None:
    """Look at text that begins as JSON does, or as a file of OwnTracks' recorder."""
    if owntracks.looks_like_rec(lines[0]):
        return Look(("owntracks",), "positions as OwnTracks' recorder keeps them")
    text = "\n".join(lines).lstrip(f" \t\n{_RECORD}")
    if not text.startswith(("{", "[")):
        return None
    first, _, rest = text.partition("\n")
    row = _object(first)
    if row is not None and (found := _at_row(row, bool(rest.strip()), layout)):
        return found
    kind, pieces = start_of(text)
    known = _at_document(kind, pieces, layout)
    if known is not None:
        return known
    if row is not None:
        return _rows_look(row, "JSON lines", layout)
    keys = ", ".join(str(piece.key) for piece in pieces[:40] if piece.number is None)[:80]
    return Look((), f"JSON of no kind known here; its keys: {keys or 'none'}")


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = line_of(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _at_row(row: Mapping[str, Any], more: bool, layout: Layout) -> Look | None:
    """Look at the object of a first line."""
    if isinstance(row.get("_type"), str):
        return Look(("owntracks", "jsonl"), "messages of OwnTracks, one a line")
    if row.get("type") in geojson.TYPES[1:] and more:
        return Look(
            ("jsonl",), "GeoJSON, one feature a line", of_points=_are_points(_properties(row), layout)
        )
    return _rows_look(row, "JSON lines", layout) if more else None


def _rows_look(row: Mapping[str, Any], words: str, layout: Layout) -> Look:
    points = trips.are_trips(list(row)) or _are_points(list(row), layout)
    return Look(("jsonl",), words, of_points=points)


def _at_document(kind: str, pieces: Sequence[Piece], layout: Layout) -> Look | None:
    """Look at the first members or elements of a document."""
    members = {piece.key: piece.value for piece in reversed(pieces) if piece.value is not None}
    keys = {piece.key for piece in pieces}
    first = members.get(None)
    if kind == "array" and isinstance(first, dict):
        if isinstance(first.get("_type"), str):
            return Look(("owntracks", "jsonl"), "messages of OwnTracks")
        if "startTime" in first and any(name in first for name in google_timeline.KINDS):
            return Look(("google-timeline",), "a Timeline of Google, as an iPhone exports it")
        return _rows_look(first, "an array of JSON objects", layout)
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
        names = _properties(feature if isinstance(feature, dict) else members)
        return Look(("geojson",), "GeoJSON", of_points=_are_points(names, layout))
    return None


def _properties(feature: Mapping[Any, Any]) -> list[str]:
    given = feature.get("properties")
    return list(given) if isinstance(given, dict) else []


def _are_points(names: Sequence[str], layout: Layout) -> bool:
    """Whether columns beside a position make GPS points: no place among them, and a time that is one."""
    found = layout.roles([*names, "lat", "lon"])
    return "venue" not in found and plain_name(found.get("time", "")) != INSTANTS


def at_lines(lines: list[str], layout: Layout) -> Look | None:
    """Look at the first lines of a text file, unless they are said to be those of a table."""
    if {"header", "delimiter"} & set(layout.given):
        return None
    return at_json(lines, layout) or at_trips(header_fields(lines[0])[0], layout)


def at_trips(names: Sequence[str], layout: Layout) -> Look | None:
    """Look at the columns of a table, unless it is said where a point of its rows is."""
    if not set(layout.columns) <= {"user", "trajectory"}:
        return None
    if porto.are_porto(names):
        return Look(("porto",), "trips of Porto's taxis")
    if trips.are_trips(names):
        return Look(("trips",), "a table of trips with their starts and ends")
    if {plain_name(name) for name in names} >= _ZONES:
        return Look((), "trips between zones, without coordinates")
    return None


def at_parquet(path: str | PathLike[str], names: Sequence[str], layout: Layout) -> Look | None:
    """Look at the columns of a Parquet file for geometries and trips."""
    if not {"lat", "lon"} <= set(layout.roles(list(names))) and is_geoparquet(path):
        return Look(("geoparquet",), "a GeoParquet file", of_points=_are_points(names, layout))
    return at_trips(names, layout)


def at_geopackage(path: str | PathLike[str], layout: Layout) -> Look:
    """Look at the layers of a GeoPackage."""
    try:
        layers = geo_tables.layers_of(path)
    except FileError as error:
        return Look((), f"a database that {error.faults[0].problem}")
    names = [name for layer in layers.values() for name in layer.columns]
    return Look(("gpkg",), "a GeoPackage", of_points=_are_points(names, layout))


def is_geoparquet(path: str | PathLike[str]) -> bool:
    """Whether the footer of a Parquet file tells of a column of geometries."""
    with open(path, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - 8 - length, 0))
        return b'"primary_column"' in file.read(length)
