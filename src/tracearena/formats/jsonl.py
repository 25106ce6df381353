"""JSON objects as rows, one a line or in one array, with the column names of a table (`intake.columns`).

Lines may be GeoJSON features too. Such files end in ``.jsonl`` or ``.ndjson``, an array in ``.json``. What
is no JSON object is left out and reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import Fault
from tracearena.formats import geojson
from tracearena.formats.json_text import TWICE, json_text, line_of, pieces
from tracearena.formats.named_rows import NamedRows
from tracearena.intake.report import Report

_RECORD = "\x1e"  # begins each text of a GeoJSON text sequence (RFC 8142)


def rows(path: str | PathLike[str], report: Report, user: str | None) -> pl.DataFrame:
    """Return one row a line, numbered by the line; `user`, if any, owns GeoJSON lines that name nobody."""
    report.header_lines = 0
    found, features = NamedRows(path), []
    for number, value in objects(path, report):
        if value.get("type") in geojson.TYPES[1:]:
            features.append((number, value))
        else:
            found.add(number, value)
    if features:
        for number in found.numbers:
            fault = Fault(number, None, None, "must be a GeoJSON feature, as others are", "bad-row", 0)
            report.drop_fault(fault)
        return geojson.rows_of_features(path, features, report, user)
    report.refuse_if_nothing_is_left(len(found), "holds no rows", "empty")
    return found.frame()


def objects(path: str | PathLike[str], report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the objects with the numbers of their lines, or of their places in the array."""
    text = json_text(path)
    if text.lstrip().startswith("["):
        report.header_lines = None
        for _, index, value in pieces(path, text):
            yield from _checked(index or 0, value, "", report)
        return
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip(f" \t\r{_RECORD}")
        if not content:
            continue
        try:
            value = line_of(content)
        except ValueError as error:
            report.drop_fault(Fault(number, None, content[:200], f"is not JSON: {error}", "bad-json", 0))
            continue
        yield from _checked(number, value, content, report)


def _checked(number: int, value: Any, shown: str, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(value, dict) and TWICE not in value:
        yield number, value
        return
    problem = "must be one JSON object with every key once"
    report.drop_fault(Fault(number, None, shown[:200], problem, "bad-row", report.header_lines))
