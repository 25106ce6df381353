"""GeoLife: many small PLT files, read from a folder, a tar or a zip archive, and written to a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from os.path import join
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError, Fault
from tracearena.files import archives
from tracearena.files.io import limit_error, replacing_folder, require_short_lines
from tracearena.io.fields.coordinates import (
    OLDEST_MS,
    find_misplaced,
    report_odd_users,
    report_old_times,
    report_unsorted_times,
)
from tracearena.io.report import Reading, Report
from tracearena.traces import GpsTraces

MAX_FILE_BYTES = 512 * 2**20
_FILES_PER_READ_BLOCK = 64


def read(path: str | PathLike[str], *, strict: bool = False) -> Reading[GpsTraces]:
    """Read a GeoLife folder, archive or single PLT file.

    Each PLT file is a trajectory; the user is the folder above ``Trajectory``. Archives are read
    as a stream, never unpacked to disk.

    Parameters
    ----------
    path
        Folder, ``.tar[.gz|.bz2|.xz]``, ``.zip`` or ``.plt``.
    strict
        Refuse input with a row that cannot be used, instead of leaving it out and reporting it.

    Notes
    -----
    Altitudes are not kept. Points dated before 2005, falling times, several points of a user in
    one second and users without points are kept and reported.
    """
    place = Path(path)
    if place.is_dir():
        recordings, report, users = _read_plt_folder(place, strict)
    else:
        report = _build_report(place, strict)
        files: Iterable[tuple[str, bytes]]
        if place.suffix == ".plt":
            files = [(place.name, _read_limited(place))]
        else:
            members = (one for one in archives.iter_members(place) if one.name.endswith(".plt"))
            files = ((one.name, one.read(place, MAX_FILE_BYTES)) for one in members)
        recordings, users = parse_recordings(files, report), set()
    traces = join_plt_recordings(recordings, users)
    nothing = "has no PLT file with points (Data/NNN/Trajectory/*.plt)"
    report.refuse_if_nothing_is_left(len(traces), nothing, "no-points")
    report_odd_users(str(place), traces, report)
    report.rows = traces.n_points + report.dropped_rows
    return Reading(traces, report)


def _read_plt_folder(root: Path, strict: bool) -> tuple[list[Recording], Report, set[str]]:
    """Return the recordings below a folder, in order, and the users who have a folder, empty or not."""
    names: list[str] = []
    users: set[str] = set()
    for folder, folders, files in os.walk(root):
        place = Path(folder)
        if "Trajectory" in folders:
            users.add(place.name)
        below = "".join(f"{part}/" for part in place.relative_to(root).parts)
        names.extend(below + file for file in files if file.endswith(".plt"))
    names.sort(key=lambda name: name.split("/"))

    def work(block: int, first: int, stop: int) -> tuple[list[Recording], Report]:
        found = _build_report(root, strict)
        return parse_recordings(
            ((name, _read_limited(join(root, name))) for name in names[first:stop]), found
        ), found

    results = run_blocks(work, block_ranges(len(names), _FILES_PER_READ_BLOCK), report=True)
    report = _build_report(root, strict)
    for _, found in results:
        report.add(found)
    return [recording for recordings, _ in results for recording in recordings], report, users


def _build_report(place: Path, strict: bool) -> Report:
    return Report(str(place), "geolife", header_lines=HEADER_LINES, strict=strict)


def _read_limited(path: str | Path) -> bytes:
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
            raise limit_error(path, MAX_FILE_BYTES)
        return file.readall()


# The rows of PLT files as columns, and a fault for every row that cannot be used.

HEADER_LINES = 6
_BYTES_AT_A_TIME = 4 * 2**20
_BOM = b"\xef\xbb\xbf"

_Columns: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def parse_recordings(
    files: Iterable[tuple[str, bytes]], report: Report, *, bytes_at_a_time: int = _BYTES_AT_A_TIME
) -> list[Recording]:
    """Parse PLT files, some at a time; rows that cannot be used are reported and left out."""
    recordings: list[Recording] = []
    held: list[tuple[str, bytes]] = []
    size = 0
    for name, text in files:
        if held and size + len(text) > bytes_at_a_time:
            recordings += _parse_file_batch(held, report)
            held, size = [], 0
        held.append((name, text))
        size += len(text)
    if held:
        recordings += _parse_file_batch(held, report)
    return recordings


def _parse_file_batch(files: list[tuple[str, bytes]], report: Report) -> list[Recording]:
    """Parse files in one go; look again at those of which something has to be said."""
    from tracearena.io.formats import _geolife_kernels as kernels

    texts = [text for _, text in files]
    headers = []
    for text in texts:
        end = text.find(b"\n")
        first = text[: end if end >= 0 else None].lstrip(_BOM)
        is_headless = first.count(b",") == 6 and first[:1] in b"+-.0123456789"
        headers.append(0 if is_headless else HEADER_LINES)
    sizes = np.array([len(text) for text in texts], np.int64)
    stops = np.cumsum(sizes)
    starts = stops - sizes + [len(_BOM) if text.startswith(_BOM) else 0 for text in texts]
    data = np.frombuffer(b"".join(texts), np.uint8)
    size = int(kernels.count_lines(data)) + len(files)
    latitude, longitude = np.empty(size), np.empty(size)
    time_ms, state = np.empty(size, np.int64), np.empty(size, np.int8)
    rows, plain = np.empty(len(files) + 1, np.int64), np.empty(len(files), np.bool_)
    kernels.parse_files(
        data, starts, stops, np.array(headers), OLDEST_MS, latitude, longitude, time_ms, state, rows, plain
    )
    recordings = []
    for number, (path, text) in enumerate(files):
        own = slice(rows[number], rows[number + 1])
        columns = time_ms[own], latitude[own], longitude[own]
        require_short_lines(path, text)
        if not (plain[number] and headers[number]):
            columns = _drop_bad_rows(path, text, headers[number], columns, state[own], report)
        folder, _, name = path.rpartition("/")
        stem = name.removesuffix(".plt") or name
        recordings.append(Recording(_find_user(folder) or stem, stem, *columns))
    return recordings


def _drop_bad_rows(
    path: str, text: bytes, skip: int, columns: _Columns, state: NDArray[np.int8], report: Report
) -> _Columns:
    """Return the rows of a file that can be used, and report the others and whatever is odd."""
    from tracearena.io.formats import _geolife_kernels as kernels

    if not skip:
        problem = "the six header lines are missing; the first line is read as a point"
        report.notice_fault(Fault(None, None, None, problem, "no-header"), path=path)
    time_ms, latitude, longitude = columns
    bad = np.flatnonzero(state != kernels.GOOD)
    if bad.size:
        _reparse_bad_rows(path, text, skip, bad, (latitude, longitude, state), report)
    good = np.flatnonzero(state == kernels.GOOD)
    off = find_misplaced(path, latitude[good], longitude[good], good + 1, report, skip)
    good = good[~off]
    time_ms = time_ms[good]
    report_old_times(path, time_ms, good + 1, report, skip)
    report_unsorted_times(path, time_ms, good + 1, report, skip)
    return time_ms, latitude[good], longitude[good]


def _reparse_bad_rows(
    path: str,
    text: bytes,
    skip: int,
    bad: NDArray[np.int64],
    columns: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int8]],
    report: Report,
) -> None:
    """Read long numbers the slow way; report the rest."""
    from tracearena.io.formats import _geolife_kernels as kernels

    latitude, longitude, state = columns
    lines = text.removeprefix(_BOM).split(b"\n")
    wrong = {
        kernels.FIELDS: (None, "must have 7 fields separated by commas", "bad-row"),
        kernels.LATITUDE: (0, "must be a number", "bad-latitude"),
        kernels.LONGITUDE: (1, "must be a number", "bad-longitude"),
        kernels.DATE: (5, "must be a date such as 2008-11-03", "bad-date"),
        kernels.TIME: (6, "must be a time such as 10:13:36", "bad-time"),
    }
    names = ("latitude", "longitude", "", "", "", "date", "time")
    for row in bad.tolist():
        line = lines[skip + row].rstrip(b"\r ").decode("utf-8", "replace")
        fields = line.split(",")
        kind = int(state[row])
        if kind == kernels.SLOW:
            try:
                kind = kernels.LATITUDE
                north = float(fields[0])
                kind = kernels.LONGITUDE
                latitude[row], longitude[row], state[row] = north, float(fields[1]), kernels.GOOD
                continue
            except ValueError:
                pass  # `kind` says which of the two is not a number
        if kind == kernels.BLANK:
            continue
        column, problem, code = wrong[kind]
        value = line if column is None else fields[column]
        name = None if column is None else names[column]
        report.drop_fault(Fault(row + 1, name, value, problem, code, skip), path=path)


@lru_cache(64)
def _find_user(folder: str) -> str:
    """Return the user whose recordings a folder holds; an empty name if it is not a folder."""
    parts = PurePosixPath(folder).parts
    if parts and parts[-1] == "Trajectory":
        parts = parts[:-1]
    return parts[-1] if parts else ""


# Recordings, one per PLT file, joined to traces.


@dataclass(frozen=True)
class Recording:
    """One PLT file, parsed."""

    user: str
    name: str
    time_ms: NDArray[np.int64]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]


def join_plt_recordings(recordings: list[Recording], users: set[str]) -> GpsTraces:
    """Join the recordings, user by user, each user's points sorted by time."""
    by_user: dict[str, list[Recording]] = {user: [] for user in users}
    for recording in recordings:
        by_user.setdefault(recording.user, []).append(recording)
    names = sorted(by_user)
    kept: list[Recording] = []
    counts: list[int] = []
    for user in names:
        own = [r for r in by_user[user] if len(r.time_ms)]
        kept += sorted(own, key=lambda r: (int(r.time_ms[0]), r.name))
        counts.append(sum(len(r.time_ms) for r in own))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    lengths = [len(r.time_ms) for r in kept]
    trajectory = np.repeat(np.arange(len(kept), dtype=np.int32), lengths)
    time_ms = _concatenate([r.time_ms for r in kept], np.int64)
    latitude = _concatenate([r.latitude for r in kept], np.float64)
    longitude = _concatenate([r.longitude for r in kept], np.float64)
    # The points of those users are sorted whose recordings overlap, or are not sorted themselves.
    falls = np.flatnonzero(time_ms[1:] < time_ms[:-1]) + 1
    within = falls[~np.isin(falls, offsets)]
    for number in np.unique(np.searchsorted(offsets, within, "right") - 1):
        rows = slice(offsets[number], offsets[number + 1])
        order = np.argsort(time_ms[rows], kind="stable")
        for column in (time_ms, latitude, longitude, trajectory):
            column[rows] = column[rows][order]
    return GpsTraces.of_checked(
        user_ids=np.array(names, np.str_),
        offsets=offsets,
        time_ms=time_ms,
        latitude=latitude,
        longitude=longitude,
        trajectory=trajectory,
        trajectory_ids=np.array([r.name for r in kept], np.str_),
    )


def _concatenate(parts: list[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    return np.concatenate([np.empty(0, kind), *parts])


# Writing a folder of PLT files, which appears as a whole or not at all.

_HEADER = (
    b"Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n"
    b"0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
)
_BYTES_PER_ROW = 80
_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write ``Data/NNN/Trajectory/*.plt`` under a new folder.

    Notes
    -----
    Coordinates have seven decimals (1 cm), times whole seconds, the altitude is -777 (unknown):
    the format has no more. A trajectory's file is named by its first point's time.
    """
    from tracearena.io.formats._geolife_kernels import format_rows

    folders = []
    for user in traces.user_ids.tolist():
        folders.append(f"{user:03d}" if isinstance(user, int) else user)
        if not _SAFE.fullmatch(folders[-1]):
            allowed = "letters, digits, '.', '_' and '-' can"
            raise DataError(f"user id {user!r} cannot be a folder's name; {allowed}")
    if len(set(folders)) != len(folders):
        raise DataError("two user ids give the same folder name")
    with replacing_folder(path) as root:
        for folder in folders:
            (root / "Data" / folder / "Trajectory").mkdir(parents=True)
        targets = _name_files(traces, folders)

        def work(block: int, first: int, stop: int) -> None:
            for trajectory in range(first, stop):
                begin, end = traces.trajectory_offsets[trajectory : trajectory + 2]
                points = traces.trajectory_order[begin:end]
                out = np.empty(_BYTES_PER_ROW * len(points), np.uint8)
                columns = traces.latitude[points], traces.longitude[points], traces.time_ms[points]
                size = format_rows(*columns, out)
                (root / targets[trajectory]).write_bytes(_HEADER + out[:size].tobytes())

        # Computed before the threads start, because a cached value is not.
        _ = traces.trajectory_order, traces.trajectory_offsets
        run_blocks(work, block_ranges(traces.n_trajectories, _FILES_PER_READ_BLOCK), report=True)


def _name_files(traces: GpsTraces, folders: list[str]) -> list[Path]:
    """Name the file of each trajectory; a second one that starts in the same second gets a number."""
    starts = traces.time_ms[traces.trajectory_order[traces.trajectory_offsets[:-1]]]
    seconds = starts.astype("datetime64[ms]").astype("datetime64[s]").astype(str)
    targets, used = [], set()
    for user, moment in zip(traces.trajectory_user.tolist(), seconds.tolist(), strict=True):
        stem = re.sub(r"\D", "", moment)
        place = Path("Data", folders[user], "Trajectory", f"{stem}.plt")
        number = 2
        while place in used:
            place = place.with_name(f"{stem}_{number}.plt")
            number += 1
        used.add(place)
        targets.append(place)
    return targets
