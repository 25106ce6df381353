"""GPX 1.0 and 1.1: tracks of one person per file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from tracearena.errors import DataError, Fault, FileError
from tracearena.files.io import read_bytes, replacing, replacing_folder
from tracearena.io.fields.coordinates import (
    find_misplaced,
    report_odd_users,
    report_old_times,
    report_unsorted_times,
)
from tracearena.io.report import Reading, Report
from tracearena.traces import GpsTraces

MAX_BYTES = 2**30
_SUFFIXES = (".gpx", ".gpx.gz")
_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


def _list_gpx_files(folder: Path) -> list[Path]:
    from tracearena.io.tables import list_visible_files

    return [file for file in list_visible_files(folder) if file.name.endswith(_SUFFIXES)]


def read(
    path: str | PathLike[str], *, strict: bool = False, one_user: str | None = None
) -> Reading[GpsTraces]:
    """Read a GPX file, or every GPX file below a folder, but for hidden ones.

    A file is one user, named like the file; if the files are in several folders, like the folder
    that it is in (`folder_files.find_file_owners`). Every track segment is a trajectory. Way points and
    routes are not traces and are left out; so are points without a time, which is reported.

    Parameters
    ----------
    strict
        Refuse files with a point that cannot be used, instead of leaving it out and reporting it.
    one_user
        The id of the one person all files belong to.

    Notes
    -----
    Documents with a document type are refused, so entities cannot expand and nothing is fetched.
    """
    from tracearena.io.tables import find_file_owners

    place = Path(path)
    report = Report(str(place), "gpx", header_lines=0, strict=strict)
    files = _list_gpx_files(place) if place.is_dir() else [place]
    columns: dict[str, list[Any]] = {"user": [], "time": [], "lat": [], "lon": [], "segment": []}
    owners = {file: one_user or own for file, own in find_file_owners(files).items()}
    for number, (file, user) in enumerate(owners.items()):
        _append_file_points(file, user, number, columns, report)
    if not columns["time"]:
        report.refuse_if_nothing_is_left(0, "has no track points", "no-points")
    traces = GpsTraces.from_points(
        np.array(columns["user"], np.str_),
        np.array(columns["time"], np.int64),
        np.array(columns["lat"]),
        np.array(columns["lon"]),
        trajectories=np.array(columns["segment"], np.str_),
        user_ids=np.array(sorted(set(owners.values())), np.str_),
    )
    report_odd_users(str(place), traces, report)
    if one_user is None and len(files) > 1 and {file.parent for file in files} == {place}:
        problem = (
            "each file is read as one person, named like the file; use --one-user NAME if all files belong "
            "to one person"
        )
        report.notice("one file per person", len(files), Fault(None, None, None, problem, "a-file-a-person"))
    report.rows = traces.n_points + report.dropped_rows
    return Reading(traces, report)


def _append_file_points(
    path: Path, user: str, number: int, columns: dict[str, list[Any]], report: Report
) -> None:
    """Add the good points of one file; rows are counted from 1 through the file's track points."""
    found: list[tuple[int, int, float, float, int]] = []
    for row, segment, attributes, moment in _iterate_track_points(path):
        point = _parse_track_point(row, segment, attributes, moment, str(path), report)
        if point is not None:
            found.append(point)
    if not found:
        return
    rows, times, latitude, longitude, segments = (np.array(column) for column in zip(*found, strict=True))
    off = find_misplaced(str(path), latitude, longitude, rows, report, 0)
    report_old_times(str(path), times[~off], rows[~off], report, 0)
    report_unsorted_times(str(path), times[~off], rows[~off], report, 0)
    columns["user"].extend([user] * int((~off).sum()))
    columns["time"].extend(times[~off].tolist())
    columns["lat"].extend(latitude[~off].tolist())
    columns["lon"].extend(longitude[~off].tolist())
    columns["segment"].extend(f"{path.name}-{number}-{s}" for s in segments[~off].tolist())


def _iterate_track_points(path: Path) -> Iterator[tuple[int, int, dict[str, str], str | None]]:
    """Give number, segment, attributes and time of each track point, without keeping the document."""
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    segment, row = -1, 0
    root: Any = None
    try:
        for event, element in iterparse(
            io.BytesIO(read_bytes(path, max_bytes=MAX_BYTES, line_end=b">")),
            events=("start", "end"),
            forbid_dtd=True,
        ):
            name = element.tag.rpartition("}")[2]
            if root is None:
                root = element
                if name != "gpx":
                    raise FileError.whole(path, f"is a <{name}> document, not <gpx>", "not-gpx")
            if event == "start":
                segment += name == "trkseg"
            elif name == "trkpt":
                row += 1
                moment = next((c.text for c in element if c.tag.rpartition("}")[2] == "time"), None)
                yield row, segment, dict(element.attrib), moment
                element.clear()
            elif name in ("trkseg", "trk"):
                element.clear()
    except DefusedXmlException:
        raise FileError.whole(
            path, "has a document type or entities, which are not allowed in GPX", "hostile-xml"
        ) from None
    except (ParseError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError.whole(path, f"is not well-formed XML: {error}", "bad-xml") from None


def _parse_track_point(
    row: int, segment: int, attributes: dict[str, str], moment: str | None, path: str, report: Report
) -> tuple[int, int, float, float, int] | None:
    """Turn one point's text into numbers, or report it."""
    position = []
    for name, column in (("lat", "latitude"), ("lon", "longitude")):
        try:
            position.append(float(attributes[name]))
        except (KeyError, ValueError):
            fault = Fault(row, name, attributes.get(name, ""), "must be a number", f"bad-{column}", 0)
            report.drop_fault(fault, path=path)
            return None
    try:
        # UTC where the time names no zone.
        time = datetime.fromisoformat((moment or "").strip())
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        time_ms = round(time.timestamp() * 1000)
    except (ValueError, OverflowError):
        problem = "has no time" if moment is None else "must be a time such as 2008-11-03T10:13:36Z"
        report.drop_fault(Fault(row, "time", moment, problem, "bad-time", 0), path=path)
        return None
    return row, time_ms, position[0], position[1], segment


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write one user to a ``.gpx`` file, or every user to a file of their own in a new folder."""
    place = Path(path)
    if place.name.endswith(_SUFFIXES):
        if traces.n_users != 1:
            raise DataError(
                f"{place} is one GPX file for one user, but there are {traces.n_users}; name a folder instead"
            )
        with replacing(place) as out:
            out.write(_format_document(traces, 0))
        return
    with replacing_folder(place) as folder:
        for user, name in enumerate(traces.user_ids.tolist()):
            if not _SAFE.fullmatch(str(name)):
                raise DataError(f"user id {name!r} cannot be a file's name")
            (folder / f"{name}.gpx").write_bytes(_format_document(traces, user))


def _format_document(traces: GpsTraces, user: int) -> bytes:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<gpx version="1.1" creator="tracearena" xmlns="http://www.topografix.com/GPX/1/1">',
        f"<trk><name>{escape(str(traces.user_ids[user]))}</name>",
    ]
    for trajectory in np.flatnonzero(traces.trajectory_user == user):
        first, stop = traces.trajectory_offsets[trajectory : trajectory + 2]
        points = traces.trajectory_order[first:stop]
        whole = (traces.time_ms[points] % 1000 == 0).all()
        unit = "datetime64[s]" if whole else "datetime64[ms]"
        times = traces.time_ms[points].astype("datetime64[ms]").astype(unit).astype(str).tolist()
        positions = zip(traces.latitude[points].tolist(), traces.longitude[points].tolist(), strict=True)
        lines.append("<trkseg>")
        for (latitude, longitude), moment in zip(positions, times, strict=True):
            lines.append(f'<trkpt lat="{latitude!r}" lon="{longitude!r}"><time>{moment}Z</time></trkpt>')
        lines.append("</trkseg>")
    return "\n".join([*lines, "</trk></gpx>", ""]).encode()
