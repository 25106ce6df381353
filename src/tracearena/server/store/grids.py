"""Where and when the people of a contest can be: two files that everybody has, read once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tracearena.contest.data import REGIONS, TIMES
from tracearena.formats import pwscup
from tracearena.formats.pwscup.times import Times
from tracearena.server.store.folder import Folder
from tracearena.traces import Places

_Version = tuple[int, int]


def grid_of(folder: Folder) -> tuple[Places, Times]:
    """Return the regions and the instants of a contest, read anew only where a file has changed."""
    regions, times = folder.everybody / REGIONS, folder.everybody / TIMES
    return _read(regions, times, _version(regions), _version(times))


def _version(path: Path) -> _Version:
    state = path.stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=2)
def _read(regions: Path, times: Path, *versions: _Version) -> tuple[Places, Times]:
    return pwscup.read_places(regions), pwscup.read_times(times)
