"""Writing GeoLife: a folder of PLT files that appears whole or not at all."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

import numpy as np

from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError
from tracearena.files.io import replacing_folder
from tracearena.traces import GpsTraces

_HEADER = (
    b"Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n"
    b"0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
)
_BYTES_PER_ROW = 80
_FILES_PER_BLOCK = 64
_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


def write(
    traces: GpsTraces,
    path: str | PathLike[str],
) -> None:
    """Write ``Data/NNN/Trajectory/*.plt`` under a new folder.

    Notes
    -----
    Coordinates have seven decimals (1 cm), times whole seconds, the altitude is -777 (unknown):
    the format has no more. A trajectory's file is named by its first point's time.
    """
    folders = [_folder_name(user) for user in traces.user_ids.tolist()]
    if len(set(folders)) != len(folders):
        raise DataError("two user ids give the same folder name")
    with replacing_folder(path) as root:
        for folder in folders:
            (root / "Data" / folder / "Trajectory").mkdir(parents=True)
        targets = _targets(traces, folders)

        def work(block: int, first: int, stop: int) -> None:
            for trajectory in range(first, stop):
                (root / targets[trajectory]).write_bytes(_text(traces, trajectory))

        # Computed before the threads start, because a cached value is not.
        _ = traces.trajectory_order, traces.trajectory_offsets
        run_blocks(work, block_ranges(traces.n_trajectories, _FILES_PER_BLOCK), report=True)


def _folder_name(user: int | str) -> str:
    name = f"{user:03d}" if isinstance(user, int) else user
    if not _SAFE.fullmatch(name):
        raise DataError(f"user id {user!r} cannot be a folder's name; letters, digits, '.', '_' and '-' can")
    return name


def _targets(traces: GpsTraces, folders: list[str]) -> list[Path]:
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


def _text(traces: GpsTraces, trajectory: int) -> bytes:
    from tracearena.formats.geolife._format_kernels import format_rows

    first, stop = traces.trajectory_offsets[trajectory : trajectory + 2]
    points = traces.trajectory_order[first:stop]
    out = np.empty(_BYTES_PER_ROW * len(points), np.uint8)
    size = format_rows(traces.latitude[points], traces.longitude[points], traces.time_ms[points], out)
    return _HEADER + out[:size].tobytes()
