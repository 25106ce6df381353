"""What phones record: Google's location history (old and new export) and OwnTracks.

Google's location history as Takeout gives it: ``Records.json``, every position of one person.

``{"locations": [{"latitudeE7": 481371079, "longitudeE7": 115753822, "timestamp":
"2013-12-16T05:42:25.711Z", "deviceTag": 1184882232, …}, …]}``; before 2022 with ``"timestampMs":
"1387172545711"``. The file names nobody: its points are those of one user, and each device
(``deviceTag``) is a trajectory, since a tablet stays at home while the telephone travels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import Fault
from tracearena.io.formats import json_files
from tracearena.io.formats.json_files import (
    TWICE,
    JsonRows,
    build_json_column,
    iterate_json_pieces,
    parse_json_line,
    parse_json_start,
    read_json_text,
)
from tracearena.io.report import Report
from tracearena.io.tables import ROW

DIGITS = 1e7
_OVERFLOW = 2**32


def read_google_records(path: str | PathLike[str], report: Report, user: str) -> pl.DataFrame:
    """Return one row a position, numbered from 1; all of them belong to `user`.

    Notes
    -----
    Some exports hold positions beyond the ends of the earth, which have lost a bit of 32: 2^32 is
    added to or taken from them, and the report counts it.
    """
    report.header_lines = None
    found = JsonRows("time", "latitudeE7", "longitudeE7", "traj")
    for key, index, place in iterate_json_pieces(path, read_json_text(path)):
        if key != "locations" or index is None:
            continue
        if not isinstance(place, dict) or TWICE in place:
            found.add(index, None, None, None, None)
            continue
        get = place.get
        found.add(index, _find_record_time(get), get("latitudeE7"), get("longitudeE7"), get("deviceTag"))
    frame = found.frame("traj")
    latitude = _scale_record_degrees(frame, "latitudeE7", 90, report).alias("lat")
    longitude = _scale_record_degrees(frame, "longitudeE7", 180, report).alias("lon")
    return frame.drop("latitudeE7", "longitudeE7").with_columns(
        pl.lit(user).alias("user"), latitude, longitude
    )


def _find_record_time(get: Callable[[str], Any]) -> Any:
    """Return a time as text, whichever of the two ways it is written."""
    moment = get("timestamp")
    if moment is not None:
        return moment
    milliseconds = get("timestampMs")
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, TypeError, OverflowError, OSError):
        return str(milliseconds)


def _scale_record_degrees(frame: pl.DataFrame, name: str, limit: int, report: Report) -> pl.Series:
    """Return degrees of ten-millionths of them; other values stay unchanged, and are reported later."""
    given = frame[name]
    numbers = given.cast(pl.Float64, strict=False)
    beyond = (numbers.abs() > limit * DIGITS) & (numbers.abs() <= _OVERFLOW)
    if beyond.any():
        numbers = pl.select(
            pl.when(beyond.fill_null(False)).then(numbers - numbers.sign() * _OVERFLOW).otherwise(numbers)
        ).to_series()
        at = beyond.arg_true()
        first = int(at[0])
        problem = "lost a bit (32-bit overflow), and was corrected"
        fault = Fault(int(frame[ROW][first]), name, str(frame[name][first]), problem, "overflow", None)
        report.notice_fault(fault, len(at))
    degrees = numbers / DIGITS
    if degrees.null_count() == given.null_count():
        return degrees
    shown: Iterable[Any] = zip(degrees.to_list(), given.to_list(), strict=True)
    return build_json_column(name, [text if number is None else number for number, text in shown])


# Google's Timeline as the telephone exports it since 2024: what one person did, in segments.

SEGMENTS, SIGNALS = "semanticSegments", "rawSignals"
KINDS = ("timelinePath", "activity", "visit", "timelineMemory")
_NUMBER = r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
_POSITION = re.compile(rf"(?:geo:)?\s*{_NUMBER}[^\d,.+-]*,\s*{_NUMBER}[^\d,.+-]*")


def read_google_timeline(path: str | PathLike[str], report: Report, user: str) -> pl.DataFrame:
    """Return one row per point, numbered by the segment it is of; all of them belong to `user`."""
    report.header_lines = None
    segments, signals = JsonRows("time", "lat", "lon"), JsonRows("time", "lat", "lon")
    for key, index, value in iterate_json_pieces(path, read_json_text(path)):
        if index is None or not isinstance(value, dict):
            continue
        if key in (None, SEGMENTS):
            for time, position in _iterate_segment_points(value):
                segments.add(index, time, *_parse_position(position))
        elif key == SIGNALS and isinstance(value.get("position"), dict):
            signal = value["position"]
            position = signal.get("LatLng", signal.get("latLng"))
            signals.add(index, signal.get("timestamp"), *_parse_position(position))
    found = segments if len(segments) else signals
    report.refuse_if_nothing_is_left(len(found), "has no position", "no-points")
    return found.frame().with_columns(pl.lit(user).alias("user"))


def _iterate_segment_points(segment: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Give time and position of the points of a segment."""
    start: Any = segment.get("startTime")
    end = segment.get("endTime")
    if TWICE in segment:
        yield None, None
        return
    path, activity, visit = (segment.get(kind) for kind in KINDS[:3])
    if isinstance(path, list):
        for point in path:
            known = point if isinstance(point, dict) else {}
            minutes = known.get("durationMinutesOffsetFromStartTime")
            time = known.get("time")
            if minutes is not None:
                try:
                    time = (datetime.fromisoformat(start) + timedelta(minutes=float(minutes))).isoformat()
                except (ValueError, TypeError, OverflowError):
                    time = f"{start} + {minutes} min"
            yield time, known.get("point")
    if isinstance(activity, dict):
        yield start, activity.get("start")
        yield end, activity.get("end")
    if isinstance(visit, dict):
        best = visit.get("topCandidate")
        place = best.get("placeLocation") if isinstance(best, dict) else None
        yield start, place
        yield end, place


def _parse_position(position: Any) -> tuple[Any, Any]:
    """Return latitude and longitude of a position, and nothing of what is none."""
    if isinstance(position, dict):
        position = position.get("latLng", position.get("LatLng"))
    found = _POSITION.fullmatch(position.strip()) if isinstance(position, str) else None
    return (None, None) if found is None else (float(found[1]), float(found[2]))


# OwnTracks: what its recorder keeps (``.rec``), and its messages as JSON or JSON lines.

RECORDER_LINE = re.compile(r"(\d{4}-\d\d-\d\dT\S*)\t[^\t]*\t\s*(\{.*)")


def read_owntracks(path: str | PathLike[str], report: Report, user: str) -> pl.DataFrame:
    """Return one row a position; `user` owns those that say nothing about whose they are."""
    report.header_lines = None
    found, others = JsonRows("user", "time", "lat", "lon", "traj"), 0
    for number, message in _iterate_messages(path, report):
        kind = message.get("_type") if TWICE not in message else "twice"
        if kind in ("encrypted", "twice"):
            problem = "is encrypted" if kind == "encrypted" else f"has {message[TWICE]!a} twice"
            report.drop_fault(Fault(number, "_type", str(kind), problem, f"{kind}-message", None))
        elif kind != "location":
            others += 1
        else:
            # User and device, as far as the message tells them.
            topic = message.get("topic")
            if isinstance(topic, str) and topic.count("/") >= 2:
                _, owner, device = (part or None for part in topic.split("/")[:3])
            else:
                named = message.get("username") or message.get("user") or message.get("tid")
                carried = message.get("device")
                owner = None if named in (None, "") else str(named)
                device = None if carried is None else str(carried)
            position = message.get("lat"), message.get("lon")
            found.add(number, owner or user, message.get("tst"), *position, device)
    if others:
        problem = "messages have another type than location, and no position"
        report.notice_fault(Fault(None, "_type", None, problem, "other-messages", None), others)
    report.refuse_if_nothing_is_left(len(found), "has no message of type location", "no-points")
    return found.frame("traj")


def _iterate_messages(path: str | PathLike[str], report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the messages of a file, whichever of its shapes it has, with their numbers."""
    text = read_json_text(path)
    first, _, _ = text.lstrip().partition("\n")
    if RECORDER_LINE.match(first):
        report.header_lines = 0
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            parts = RECORDER_LINE.match(line)
            try:
                value = None if parts is None else parse_json_line(parts[2])
            except ValueError:
                value = None
            if isinstance(value, dict):
                yield number, value
            else:
                problem = "must be a time, a mark and a JSON message, separated by tabs"
                report.drop_fault(Fault(number, None, line[:200], problem, "bad-row", 0))
        return
    kind, found = parse_json_start(first)
    if kind == "object" and any(piece.key == "_type" for piece in found):
        yield from json_files.iterate_json_objects(path, report)
        return
    for _, index, value in iterate_json_pieces(path, text):
        if isinstance(value, dict) and index is not None:
            yield index, value
        elif index is not None:
            problem = "must be a message of OwnTracks"
            report.drop_fault(Fault(index, None, str(value)[:200], problem, "bad-row", None))
