"""Google's Timeline as the telephone exports it since 2024: what one person did, in segments.

Android: ``{"semanticSegments": […], "rawSignals": […], …}`` with positions ``"48.1371°, 11.5753°"``.
iPhone: an array of segments with positions ``"geo:48.1371,11.5753"``. A segment has a start, an end,
and one of

- ``timelinePath``, points with a time each (on the iPhone minutes after the start): each is a point;
- ``activity``, a way from one position to another: two points, at start and end;
- ``visit``, a stay at a place that Google guessed: two points at that place, at start and end, since
  whoever reads the export reads where somebody lives from it;
- ``timelineMemory`` and others, which hold no positions.

``rawSignals`` are what the last weeks' segments were made of. Their positions are read only where there
are no segments, so that no moment counts twice. ``userLocationProfile`` has no times, and is not read.
The export names nobody: its points are those of one user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from os import PathLike
from typing import Any

import polars as pl

from tracearena.formats.json_text import TWICE, Rows, json_text, pieces
from tracearena.intake.report import Report

SEGMENTS, SIGNALS = "semanticSegments", "rawSignals"
KINDS = ("timelinePath", "activity", "visit", "timelineMemory")
_NUMBER = r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
_POSITION = re.compile(rf"(?:geo:)?\s*{_NUMBER}[^\d,.+-]*,\s*{_NUMBER}[^\d,.+-]*")


def rows(path: str | PathLike[str], report: Report, user: str) -> pl.DataFrame:
    """Return one row a point, numbered by the segment it is of; all of them belong to `user`."""
    report.header_lines = None
    segments, signals = Rows("time", "lat", "lon"), Rows("time", "lat", "lon")
    for key, index, value in pieces(path, json_text(path)):
        if index is None or not isinstance(value, dict):
            continue
        if key in (None, SEGMENTS):
            for time, position in _points(value):
                segments.add(index, time, *_degrees(position))
        elif key == SIGNALS and isinstance(value.get("position"), dict):
            signal = value["position"]
            position = signal.get("LatLng", signal.get("latLng"))
            signals.add(index, signal.get("timestamp"), *_degrees(position))
    found = segments if len(segments) else signals
    report.refuse_if_nothing_is_left(len(found), "holds no position", "no-points")
    return found.frame().with_columns(pl.lit(user).alias("user"))


def _points(segment: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Give time and position of the points of a segment."""
    start, end = segment.get("startTime"), segment.get("endTime")
    if TWICE in segment:
        yield None, None
        return
    path, activity, visit = (segment.get(kind) for kind in KINDS[:3])
    if isinstance(path, list):
        for point in path:
            known = point if isinstance(point, dict) else {}
            minutes = known.get("durationMinutesOffsetFromStartTime")
            time = known.get("time") if minutes is None else _later(start, minutes)
            yield time, known.get("point")
    if isinstance(activity, dict):
        yield start, activity.get("start")
        yield end, activity.get("end")
    if isinstance(visit, dict):
        best = visit.get("topCandidate")
        place = best.get("placeLocation") if isinstance(best, dict) else None
        yield start, place
        yield end, place


def _later(start: Any, minutes: Any) -> str | None:
    try:
        return (datetime.fromisoformat(start) + timedelta(minutes=float(minutes))).isoformat()
    except (ValueError, TypeError, OverflowError):
        return f"{start} + {minutes} min"


def _degrees(position: Any) -> tuple[Any, Any]:
    """Return latitude and longitude of a position, and nothing of what is none."""
    if isinstance(position, dict):
        position = position.get("latLng", position.get("LatLng"))
    found = _POSITION.fullmatch(position.strip()) if isinstance(position, str) else None
    return (None, None) if found is None else (float(found[1]), float(found[2]))
