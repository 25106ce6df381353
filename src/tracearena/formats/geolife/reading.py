"""Reading GeoLife: many small text files, from a folder, a tar or a zip archive."""

from __future__ import annotations

import os
from collections.abc import Iterator
from os import PathLike
from os.path import join
from pathlib import Path

from tracearena.engine import block_ranges, run_blocks
from tracearena.files import archives
from tracearena.formats.geolife.parsing import HEADER_LINES, parsed
from tracearena.formats.geolife.recordings import Recording, joined
from tracearena.intake.positions import odd_users
from tracearena.intake.report import Reading, Report
from tracearena.traces import GpsTraces

MAX_FILE_BYTES = 512 * 2**20
_FILES_PER_BLOCK = 64


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
    traces = joined(recordings, users)
    nothing = "holds no PLT file with points (Data/NNN/Trajectory/*.plt)"
    report.refuse_if_nothing_is_left(len(traces), nothing, "no-points")
    odd_users(str(place), traces, report)
    report.rows = traces.n_points + report.dropped_rows
    return Reading(traces, report)


def _from_folder(root: Path, strict: bool) -> tuple[list[Recording], Report, set[str]]:
    names, users = _found_in(root)

    def work(block: int, first: int, stop: int) -> tuple[list[Recording], Report]:
        found = _report(root, strict)
        return parsed(((name, _limited(join(root, name))) for name in names[first:stop]), found), found

    results = run_blocks(work, block_ranges(len(names), _FILES_PER_BLOCK), report=True)
    report = _report(root, strict)
    for _, found in results:
        report.add(found)
    return [recording for recordings, _ in results for recording in recordings], report, users


def _found_in(root: Path) -> tuple[list[str], set[str]]:
    """Return the PLT files below a folder, in order, and the users who have a folder, empty or not."""
    names: list[str] = []
    users: set[str] = set()
    for folder, folders, files in os.walk(root):
        place = Path(folder)
        if "Trajectory" in folders:
            users.add(place.name)
        below = "".join(f"{part}/" for part in place.relative_to(root).parts)
        names.extend(below + file for file in files if file.endswith(".plt"))
    return sorted(names, key=lambda name: name.split("/")), users


def _from_archive(place: Path, strict: bool) -> tuple[list[Recording], Report]:
    report = _report(place, strict)
    return parsed(_members(place), report), report


def _report(place: Path, strict: bool) -> Report:
    return Report(str(place), "geolife", header_lines=HEADER_LINES, strict=strict)


def _limited(path: str | Path) -> bytes:
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
            raise archives.too_large(path, MAX_FILE_BYTES)
        return file.readall()


def _members(place: Path) -> Iterator[tuple[str, bytes]]:
    """Give name and content of each PLT file of an archive, or the file itself."""
    if place.suffix == ".plt":
        yield place.name, _limited(place)
        return
    for member in archives.members(place):
        if member.name.endswith(".plt"):
            yield member.name, member.read(place, MAX_FILE_BYTES)
