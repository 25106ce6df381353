"""OwnTracks: what its recorder keeps (``.rec``), and its messages as JSON or JSON lines.

A line of a ``.rec`` file is a time, a mark and a message, with tabs between: ``2015-09-22T12:06:16Z	*
        {"_type": "location", "tst": 1442923576, "lat": 48.85, "lon": 2.295, "tid": "jj", …}``. Exports are an
array of messages, or an object that has it as ``data``, or a message a line.

Messages of other types (``transition``, ``waypoint``, ``lwt``, …) are no positions and counted in the
report; encrypted ones are left out. Whose message it is says its ``topic`` (``owntracks/USER/DEVICE``) or
``username``, else ``tid``, else the file. Each device is a trajectory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import Fault
from tracearena.formats import jsonl
from tracearena.formats.json_text import TWICE, Rows, json_text, line_of, pieces, start_of
from tracearena.intake.report import Report

_LINE = re.compile(r"(\d{4}-\d\d-\d\dT\S*)\t[^\t]*\t\s*(\{.*)")


def looks_like_rec(line: str) -> bool:
    """Whether a line is one of a recorder's file."""
    return _LINE.match(line) is not None


def rows(path: str | PathLike[str], report: Report, user: str) -> pl.DataFrame:
    """Return one row a position; `user` owns those that say nothing about whose they are."""
    report.header_lines = None
    found, others = Rows("user", "time", "lat", "lon", "traj"), 0
    for number, message in _messages(path, report):
        kind = message.get("_type") if TWICE not in message else "twice"
        if kind in ("encrypted", "twice"):
            problem = "is encrypted" if kind == "encrypted" else f"has {message[TWICE]!a} twice"
            report.drop_fault(Fault(number, "_type", str(kind), problem, f"{kind}-message", None))
        elif kind != "location":
            others += 1
        else:
            owner, device = _owner(message)
            found.add(
                number, owner or user, message.get("tst"), message.get("lat"), message.get("lon"), device
            )
    if others:
        problem = "messages are of another type than location, and hold no position of theirs"
        report.notice_fault(Fault(None, "_type", None, problem, "other-messages", None), others)
    report.refuse_if_nothing_is_left(len(found), "holds no message of the type location", "no-points")
    return found.frame("traj")


def _messages(path: str | PathLike[str], report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the messages of a file, whichever of its shapes it has, with their numbers."""
    text = json_text(path)
    first, _, _ = text.lstrip().partition("\n")
    if looks_like_rec(first):
        report.header_lines = 0
        yield from _recorded(text, report)
    elif _is_line(first):
        yield from jsonl.objects(path, report)
    else:
        for _, index, value in pieces(path, text):
            if index is None:
                continue
            if isinstance(value, dict):
                yield index, value
            else:
                problem = "must be a message of OwnTracks"
                report.drop_fault(Fault(index, None, str(value)[:200], problem, "bad-row", None))


def _is_line(first: str) -> bool:
    kind, found = start_of(first)
    return kind == "object" and any(piece.key == "_type" for piece in found)


def _recorded(text: str, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        parts = _LINE.match(line)
        try:
            value = None if parts is None else line_of(parts[2])
        except ValueError:
            value = None
        if isinstance(value, dict):
            yield number, value
        else:
            problem = "must be a time, a mark and a message in JSON, with tabs between"
            report.drop_fault(Fault(number, None, line[:200], problem, "bad-row", 0))


def _owner(message: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return user and device of a message, as far as it tells them."""
    topic = message.get("topic")
    if isinstance(topic, str) and topic.count("/") >= 2:
        _, named, carried = topic.split("/")[:3]
        return named or None, carried or None
    user = message.get("username") or message.get("user") or message.get("tid")
    device = message.get("device")
    return (None if user in (None, "") else str(user)), (None if device is None else str(device))
