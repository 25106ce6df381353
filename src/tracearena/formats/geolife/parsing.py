"""What PLT files say: their rows to columns, and a word about every row that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault
from tracearena.files.io import require_short_lines
from tracearena.formats.geolife.recordings import Recording
from tracearena.intake.positions import OLDEST_MS, misplaced, oddly_dated, unsorted
from tracearena.intake.report import Report

HEADER_LINES = 6
_BYTES_AT_A_TIME = 4 * 2**20
_BOM = b"\xef\xbb\xbf"

_Columns: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def parsed(
    files: Iterable[tuple[str, bytes]], report: Report, *, bytes_at_a_time: int = _BYTES_AT_A_TIME
) -> list[Recording]:
    """Parse PLT files, some at a time; rows that cannot be used are reported and left out."""
    recordings: list[Recording] = []
    held: list[tuple[str, bytes]] = []
    size = 0
    for name, text in files:
        if held and size + len(text) > bytes_at_a_time:
            recordings += _parsed_together(held, report)
            held, size = [], 0
        held.append((name, text))
        size += len(text)
    if held:
        recordings += _parsed_together(held, report)
    return recordings


def _parsed_together(files: list[tuple[str, bytes]], report: Report) -> list[Recording]:
    """Parse files in one go; look again at those of which something has to be said."""
    from tracearena.formats.geolife import _kernels as kernels

    texts = [text for _, text in files]
    headers = [0 if _begins_with_a_point(text) else HEADER_LINES for text in texts]
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
            columns = _sifted(path, text, headers[number], columns, state[own], report)
        folder, _, name = path.rpartition("/")
        stem = name.removesuffix(".plt") or name
        recordings.append(Recording(_user_of(folder) or stem, stem, *columns))
    return recordings


def _begins_with_a_point(text: bytes) -> bool:
    """Whether a file has no header."""
    end = text.find(b"\n")
    first = text[: end if end >= 0 else None].lstrip(_BOM)
    return first.count(b",") == 6 and first[:1] in b"+-.0123456789"


def _sifted(
    path: str,
    text: bytes,
    skip: int,
    columns: _Columns,
    state: NDArray[np.int8],
    report: Report,
) -> _Columns:
    """Return the rows of a file that can be used, and report the others and whatever is odd."""
    from tracearena.formats.geolife import _kernels as kernels

    if not skip:
        problem = "the six header lines are missing; the first line is read as a point"
        report.notice_fault(Fault(None, None, None, problem, "no-header"), path=path)
    time_ms, latitude, longitude = columns
    bad = np.flatnonzero(state != kernels.GOOD)
    if bad.size:
        _mend(path, text, skip, bad, (latitude, longitude, state), report)
    good = np.flatnonzero(state == kernels.GOOD)
    off = misplaced(path, latitude[good], longitude[good], good + 1, report, skip)
    good = good[~off]
    time_ms = time_ms[good]
    oddly_dated(path, time_ms, good + 1, report, skip)
    unsorted(path, time_ms, good + 1, report, skip)
    return time_ms, latitude[good], longitude[good]


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


@lru_cache(64)
def _user_of(folder: str) -> str:
    """Return the user whose recordings a folder holds; nobody's name if it is no folder."""
    parts = PurePosixPath(folder).parts
    if parts and parts[-1] == "Trajectory":
        parts = parts[:-1]
    return parts[-1] if parts else ""
