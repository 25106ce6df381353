"""Contests that are over, as their archives in the folder tell of them.

Anybody may have made such a file. So only four small parts of it are read, each within limits; everything in
them is checked and parsed before it is shown. A file that does not fit is not shown as a past contest.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from django.utils.translation import get_language

from tracearena.checks import require_number, require_whole
from tracearena.contest import AttackKind, ContestFile, Role, read_contest_file
from tracearena.contest.archive import BOARD, FORMAT, RESULTS, VERSION, WRITE_UPS
from tracearena.contest.board import make_awards
from tracearena.contest.contest_file import NAME as CHARTER
from tracearena.contest.contest_file import PSEUDONYMISED
from tracearena.contest.data import MANIFEST
from tracearena.errors import DataError, TracearenaError
from tracearena.files import digest_values
from tracearena.files.io import InMemoryFile
from tracearena.server import own_results
from tracearena.server.results import BoardDrawing, draw_result
from tracearena.server.store.folder import Folder
from tracearena.server.teams import label_parties

MOST_ARCHIVES = 200
"""This many are shown, by name."""
_ARCHIVE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.zip", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST_READ = 64 * 2**20
"""Bytes that are read of one archive, its list of files included."""
_MOST_UNPACKED = {
    MANIFEST: 2**24,
    CHARTER: 2**20,
    f"{RESULTS}/{BOARD}": 2**24,
    f"{RESULTS}/{WRITE_UPS}": 2**22,
}
_OPTIONAL = f"{RESULTS}/{WRITE_UPS}"
"""An archive that was made from files has none."""
_BROKEN = (TracearenaError, zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError, EOFError,
           AttributeError, NotImplementedError, RecursionError, RuntimeError, OSError)  # fmt: skip


@dataclass(frozen=True, eq=False)
class PastContest:
    """A contest that is over.

    Attributes
    ----------
    file, size
        Its archive.
    charter
        Name, teams, rules and schedule.
    drawn
        Its result, with the pictures.
    has_originals
        Whether the original traces are in the archive, so that every score can be found again.
    version
        Of the package that made it.
    write_ups
        What its teams say of their defences and attacks.
    """

    file: str
    size: int
    charter: ContestFile
    drawn: BoardDrawing
    has_originals: bool
    version: str
    write_ups: list[own_results.WriteUp]

    @property
    def when(self) -> Any:
        """When its results opened; None where its archive does not say."""
        return None if self.charter.schedule is None else self.charter.schedule.results_begin


def list_past_contests(folder: Folder, *, most_read: int = _MOST_READ) -> list[PastContest]:
    """Return every contest whose archive can be read, the last one first."""
    read = [_read_archive(path, most_read) for path in _list_archives(folder)]
    found = [one for one in read if isinstance(one, PastContest)]
    return sorted(found, key=lambda one: (one.when is not None, one.when, one.file), reverse=True)


def find_unreadable_archives(folder: Folder) -> list[tuple[str, str]]:
    """Return the names of files that are not archives of a contest, with the reasons, for the organiser."""
    found = [(path.name, _read_archive(path)) for path in _list_archives(folder)]
    return [(name, one) for name, one in found if isinstance(one, str)]


def find_past_contest(folder: Folder, file: str) -> PastContest | None:
    """Return one past contest by the name of its archive, None if there is none."""
    path = next((path for path in _list_archives(folder) if path.name == file), None)
    found = None if path is None else _read_archive(path)
    return found if isinstance(found, PastContest) else None


def find_archive_path(folder: Folder, past: PastContest) -> Path:
    """Return where the archive of a past contest lies."""
    return folder.archive / past.file


def _list_archives(folder: Folder) -> list[Path]:
    if not folder.archive.is_dir():
        return []
    found = (path for path in folder.archive.iterdir() if _ARCHIVE_NAME.fullmatch(path.name))
    return sorted(path for path in found if path.is_file() and not path.is_symlink())[:MOST_ARCHIVES]


def _read_archive(path: Path, most_read: int = _MOST_READ) -> PastContest | str:
    """Return a past contest, or what is wrong with its file."""
    state = path.stat()
    return _read_archive_once(path, state.st_mtime_ns, state.st_size, get_language(), most_read)


@lru_cache(maxsize=2 * MOST_ARCHIVES)
def _read_archive_once(
    path: Path, changed_at: int, size: int, language: str, most_read: int
) -> PastContest | str:
    """Read an archive once in each language: it never changes, and many look at it."""
    try:
        return _parse_contest(path.name, size, _read_members(path, most_read))
    except _BROKEN as error:
        return f"{type(error).__name__}: {error}"[:200]


class _SizeLimitReader:
    """A file that is read up to a limit: a list of files that takes gigabytes is never read."""

    def __init__(self, file: IO[bytes], most_read: int) -> None:
        self._file, self._most, self._left = file, most_read, most_read
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            size = os.fstat(self._file.fileno()).st_size - self._file.tell()
        if size > self._left:
            raise DataError(f"its list of files is larger than {self._most:,} bytes")
        self._left -= size
        return self._file.read(size)


def _read_members(path: Path, most_read: int) -> dict[str, bytes]:
    with path.open("rb") as file, zipfile.ZipFile(_SizeLimitReader(file, most_read)) as archive:
        parts = {}
        for name, most in _MOST_UNPACKED.items():
            if name == _OPTIONAL and name not in archive.namelist():
                continue
            with archive.open(name) as member:
                parts[name] = member.read(most + 1)
            if len(parts[name]) > most:
                raise DataError(f"{name} is larger than {most:,} bytes")
        return parts


def _parse_contest(file: str, size: int, parts: dict[str, bytes]) -> PastContest:
    manifest = _parse_json(parts[MANIFEST])
    if (manifest["format"], manifest["version"]) != (FORMAT, VERSION):
        raise DataError(f"its {MANIFEST} is not that of an archive of a contest, version {VERSION}")
    for name in (name for name in parts if name != MANIFEST):
        said = manifest["sha256"][name]
        if not _DIGEST.fullmatch(said) or digest_values(parts[name]) != said:
            raise DataError(f"{name} is not the one that its {MANIFEST} names")
    charter = read_contest_file(InMemoryFile(CHARTER, parts[CHARTER]))
    drawn = _draw_archive(charter, _parse_json(parts[f"{RESULTS}/{BOARD}"]), f"/archive/{file}/numbers/")
    labels = label_parties(_list_names(charter))
    return PastContest(
        file=file,
        size=size,
        charter=charter,
        drawn=drawn,
        has_originals=manifest["originals"] is True,
        version=str(manifest["tracearena"])[:20],
        write_ups=own_results.parse_write_ups(parts.get(_OPTIONAL, b"[]"), labels),
    )


def _draw_archive(charter: ContestFile, values: dict[str, Any], numbers: str) -> BoardDrawing:
    names = _list_names(charter)
    known = {one["team"] for one in names}
    clean = {
        "board": [_parse_row(row, known) for row in _require_list(values["board"])],
        "attacks": [
            _parse_attack(one, known, charter.rules.sample_attacks)
            for one in _require_list(values["attacks"])
        ],
        "awards": [],
    }
    # What awards are called is ours to say; who won is the archive's, since rounds before may count.
    titles = {one.name: one.title for one in make_awards(draw_result(clean, names, charter.rules, "").board)}
    clean["awards"] = [_parse_award_values(one, known, titles) for one in _require_list(values["awards"])]
    drawn = draw_result(clean, names, charter.rules, numbers)
    drawn.figures  # noqa: B018 (a file that cannot be drawn is refused)
    return drawn


def _list_names(charter: ContestFile) -> list[dict[str, Any]]:
    numbers: Iterable[tuple[str, Role]] = [
        *([(PSEUDONYMISED, Role.PSEUDONYMISED)] if charter.rules.pseudonymised_team else []),
        *((number, Role.TEAM) for number in charter.numbers),
        *((number, Role.SAMPLE) for number in charter.sample_numbers),
    ]
    return [
        {"team": number, "name": charter.names.get(number, number), "role": role.value}
        for number, role in numbers
    ]


def _parse_row(row: dict[str, Any], known: set[str]) -> dict[str, Any]:
    if row["s_R_min"] is None or row["s_T_min"] is None:
        raise DataError("a row of its board has no score")
    return {
        "utility": None if row["utility"] is None else _parse_number(row["utility"], 1),
        "s_R_min": _parse_number(row["s_R_min"], 1),
        "s_T_min": _parse_number(row["s_T_min"], 1),
        "team": _require_participant(row["team"], known),
        "role": Role(row["role"]).value,
        "data_set": _parse_whole(row["data_set"], 2),
        "valid": row["valid"] is True,
    }


def _parse_attack(one: dict[str, Any], known: set[str], samples: Iterable[str]) -> dict[str, Any]:
    return {
        "attacker": _require_participant(one["attacker"], known | set(samples)),
        "target": _require_participant(one["target"], known),
        "data_set": _parse_whole(one["data_set"], 2),
        "kind": AttackKind(one["kind"]).value,
        "score": _parse_number(one["score"], 1),
    }


def _parse_award_values(one: dict[str, Any], known: set[str], titles: dict[str, str]) -> dict[str, Any]:
    places = [
        {
            "place": _parse_whole(place["place"], 1_000),
            "team": _require_participant(place["team"], known),
            "value": _parse_number(place["value"], 10_000),
        }
        for place in _require_list(one["places"])
    ]
    return {"name": one["name"], "title": titles[one["name"]], "places": places}


def _parse_number(value: Any, most: int) -> float:
    require_number("score", value, at_least=0, at_most=most)
    return float(value)


def _parse_whole(value: Any, most: int) -> int:
    require_whole("place", value, at_least=1, at_most=most)
    return int(value)


def _require_participant(name: Any, known: set[str]) -> str:
    if not isinstance(name, str) or name not in known:
        raise DataError("its results name somebody who did not take part")
    return name


def _require_list(values: Any) -> list[dict[str, Any]]:
    if not isinstance(values, list):
        raise DataError("its board is not a list")
    return values


def _parse_json(content: bytes) -> dict[str, Any]:
    held = json.loads(content)
    if not isinstance(held, dict):
        raise DataError("its manifest or its board is not a table")
    return held
