"""Reading GeoLife: many small text files, from a folder, a tar or a zip archive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import Fault
from tracearena.files import archives
from tracearena.files.limits import require_short_lines
from tracearena.intake.positions import misplaced, odd_users, oddly_dated, unsorted
from tracearena.intake.report import Reading, Report
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import trusted

HEADER_LINES = 6
MAX_FILE_BYTES = 512 * 2**20
_FILES_PER_BLOCK = 64


@dataclass(frozen=True)
class _Recording:
    """One PLT file, parsed."""

    user: str
    name: str
    time_ms: NDArray[np.int64]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]


def looks_like_geolife(path: str | PathLike[str]) -> bool:
    """Whether a path is a PLT file, or a folder or an archive with PLT files."""
    place = Path(path)
    if place.is_dir():
        return next(place.rglob("*.plt"), None) is not None
    if archives.is_archive(place):
        return any(member.name.endswith(".plt") for member in archives.members(place))
    return place.name.endswith(".plt")


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
        recordings, report, users = _from_folder(place, strict)
    else:
        recordings, report = _from_archive(place, strict)
        users = set()
    traces = _joined(recordings, users)
    nothing = "holds no PLT file with points (Data/NNN/Trajectory/*.plt)"
    report.refuse_if_nothing_is_left(len(traces), nothing, "no-points")
    odd_users(str(place), traces, report)
    report.rows = traces.n_points + report.dropped_rows
    return Reading(traces, report)


def _from_folder(root: Path, strict: bool) -> tuple[list[_Recording], Report, set[str]]:
    paths = sorted(root.rglob("*.plt"))
    users = {folder.parent.name for folder in root.rglob("Trajectory") if folder.is_dir()}

    def work(block: int, first: int, stop: int) -> tuple[list[_Recording], Report]:
        found = _report(root, strict)
        return [_parsed(p.relative_to(root).as_posix(), _limited(p), found) for p in paths[first:stop]], found

    results = run_blocks(work, block_ranges(len(paths), _FILES_PER_BLOCK), report=True)
    report = _report(root, strict)
    for _, found in results:
        report.add(found)
    return [recording for recordings, _ in results for recording in recordings], report, users


def _from_archive(place: Path, strict: bool) -> tuple[list[_Recording], Report]:
    report = _report(place, strict)
    recordings = [_parsed(name, text, report) for name, text in _members(place)]
    return recordings, report


def _report(place: Path, strict: bool) -> Report:
    return Report(str(place), "geolife", header_lines=HEADER_LINES, strict=strict)


def _limited(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise archives.too_large(path, MAX_FILE_BYTES)
    return path.read_bytes()


def _members(place: Path) -> Iterator[tuple[str, bytes]]:
    """Give name and content of each PLT file of an archive, or the file itself."""
    if place.suffix == ".plt":
        yield place.name, _limited(place)
        return
    for member in archives.members(place):
        if member.name.endswith(".plt"):
            yield member.name, member.read(place, MAX_FILE_BYTES)


def _parsed(path: str, text: bytes, report: Report) -> _Recording:
    """Parse one PLT file; rows that cannot be used are reported and left out."""
    from tracearena.formats.geolife import _kernels as kernels

    require_short_lines(path, text)
    data = np.frombuffer(text, np.uint8)[3 if text.startswith(b"\xef\xbb\xbf") else 0 :]
    skip = _header_lines(path, text, report)
    size = max(int(kernels.count_lines(data)), 1)
    latitude, longitude = np.empty(size), np.empty(size)
    time_ms, state = np.empty(size, np.int64), np.empty(size, np.int8)
    rows = int(kernels.parse_rows(data, skip, latitude, longitude, time_ms, state))
    state = state[:rows]
    bad = np.flatnonzero(state != kernels.GOOD)
    if bad.size:
        _mend(path, text, skip, bad, (latitude, longitude, state), report)
    good = np.flatnonzero(state == kernels.GOOD)
    latitude, longitude, time_ms = latitude[good], longitude[good], time_ms[good]
    off = misplaced(path, latitude, longitude, good + 1, report, max(skip, 0))
    if off.any():
        latitude, longitude, time_ms, good = latitude[~off], longitude[~off], time_ms[~off], good[~off]
    oddly_dated(path, time_ms, good + 1, report, skip)
    unsorted(path, time_ms, good + 1, report, skip)
    return _Recording(_user_of(path), PurePosixPath(path).stem, time_ms, latitude, longitude)


def _header_lines(path: str, text: bytes, report: Report) -> int:
    """Return 6, or 0 for a file that begins with data at once."""
    first = text.lstrip(b"\xef\xbb\xbf").partition(b"\n")[0]
    if first.count(b",") == 6 and first[:1] in b"+-.0123456789":
        problem = "the six header lines are missing; the first line is read as a point"
        report.notice_fault(Fault(None, None, None, problem, "no-header"), path=path)
        return 0
    return HEADER_LINES


def _mend(
    path: str,
    text: bytes,
    skip: int,
    bad: NDArray[np.int64],
    columns: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int8]],
    report: Report,
) -> None:
    """Read long numbers the slow way; report the rest."""
    from tracearena.formats.geolife import _kernels as kernels

    latitude, longitude, state = columns
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
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
                latitude[row], longitude[row] = float(fields[0]), float(fields[1])
                state[row] = kernels.GOOD
                continue
            except ValueError:
                kind = kernels.LATITUDE if not _is_number(fields[0]) else kernels.LONGITUDE
        if kind == kernels.BLANK:
            continue
        column, problem, code = wrong[kind]
        value = line if column is None else fields[column]
        name = None if column is None else names[column]
        report.drop_fault(Fault(row + 1, name, value, problem, code, skip), path=path)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _user_of(path: str) -> str:
    folders = PurePosixPath(path).parts[:-1]
    if folders and folders[-1] == "Trajectory":
        folders = folders[:-1]
    return folders[-1] if folders else PurePosixPath(path).stem


_NOTHING = (np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0, np.int32))


def _joined(recordings: list[_Recording], users: set[str]) -> GpsTraces:
    """Join the recordings, user by user, each user's points sorted by time."""
    by_user: dict[str, list[_Recording]] = {user: [] for user in users}
    for recording in recordings:
        by_user.setdefault(recording.user, []).append(recording)
    columns = [_NOTHING]
    names: list[str] = []
    for user in sorted(by_user):
        kept = [r for r in by_user[user] if len(r.time_ms)]
        kept.sort(key=lambda r: (int(r.time_ms[0]), r.name))
        columns.append(_sorted_user(kept, len(names)))
        names.extend(r.name for r in kept)
    time_ms, latitude, longitude, trajectory = (
        trusted(np.concatenate(parts)) for parts in zip(*columns, strict=True)
    )
    return GpsTraces(
        user_ids=np.array(sorted(by_user), np.str_),
        offsets=np.cumsum([len(column[0]) for column in columns]),
        time_ms=time_ms,
        latitude=latitude,
        longitude=longitude,
        trajectory=trajectory,
        trajectory_ids=np.array(names, np.str_),
    )


def _sorted_user(
    recordings: list[_Recording], first: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    if not recordings:
        return _NOTHING
    time_ms = np.concatenate([r.time_ms for r in recordings])
    latitude = np.concatenate([r.latitude for r in recordings])
    longitude = np.concatenate([r.longitude for r in recordings])
    number = np.arange(first, first + len(recordings), dtype=np.int32)
    trajectory = np.repeat(number, [len(r.time_ms) for r in recordings])
    if (np.diff(time_ms) < 0).any():
        order = np.argsort(time_ms, kind="stable")
        return time_ms[order], latitude[order], longitude[order], trajectory[order]
    return time_ms, latitude, longitude, trajectory
