"""The folder of a contest that is held by a server: what lies where, and who can read it.

::

    contest.toml        the contest as it was made
    server.json         for its owner alone: secret of the cookies, database, the judge's public key
    database.sqlite3    where no other database is named
    everybody/          what everybody may have: regions, times, sample teams; later all targets
    wheels/             a wheel of tracearena for teams to install, if the organiser gave one
    sealed/judge/       for the judge alone, sealed to its key: originals, references, ID tables, answers
    sealed/teams/       one bundle per team, sealed to the key of that team
    uploads/ab/SHA256   what was handed in, sealed to the judge's key
    incoming/           uploads that are still coming in, sealed likewise
    archive/            archives of contests that are over, for everybody to see
    exports/            archives of this one that the judge made for the organiser
    exports/everybody/  everybody's files as one archive, with the targets and without
    exports/backups/    backups that an organiser asked for
    serving.lock        held while the contest is served

The judge's private key is not in it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from os import PathLike
from pathlib import Path

from tracearena.contest.contest_file import NAME as CHARTER
from tracearena.contest.data import EVERYBODY, REGIONS, TIMES
from tracearena.errors import DataError, FileError
from tracearena.files import read_bytes, replacing
from tracearena.io import pwscup
from tracearena.io.pwscup.official_times import ContestTimes
from tracearena.traces import Places

SETTINGS, DATABASE = "server.json", "database.sqlite3"
_LAYOUT = 1
_MOST_BYTES = 2**16


@dataclass(frozen=True)
class Secrets:
    """What `server.json` holds.

    Attributes
    ----------
    secret_key
        What signs cookies and forms.
    judge_public_key
        To whom uploads are sealed, as 64 hexadecimal digits.
    database
        The URL of the database; None is SQLite in the folder.
    layout
        The version of the folder's layout.
    """

    secret_key: str = field(repr=False)
    judge_public_key: str
    database: str | None = None
    layout: int = _LAYOUT


class Folder:
    """Where everything of one contest lies.

    >>> Folder("friday").upload("ab12" + 60 * "0").parent.as_posix()
    'friday/uploads/ab'
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"Folder({str(self.path)!r})"

    @property
    def contest_file(self) -> Path:
        """The contest as it was made."""
        return self.path / CHARTER

    @property
    def settings(self) -> Path:
        """The server's own file."""
        return self.path / SETTINGS

    @property
    def database(self) -> Path:
        """The database, where no other is named."""
        return self.path / DATABASE

    @property
    def everybody(self) -> Path:
        """What everybody may have."""
        return self.path / EVERYBODY

    @property
    def wheels(self) -> Path:
        """A wheel of tracearena for teams to install, if the organiser gave one."""
        return self.path / "wheels"

    @property
    def incoming(self) -> Path:
        """Uploads that are still coming in."""
        return self.path / "incoming"

    @property
    def archive(self) -> Path:
        """Archives of contests that are over, for everybody to see."""
        return self.path / "archive"

    @property
    def exports(self) -> Path:
        """Archives of this contest that the judge made for the organiser."""
        return self.path / "exports"

    @property
    def public_archives(self) -> Path:
        """Everybody's files as one archive."""
        return self.exports / EVERYBODY

    @property
    def backups(self) -> Path:
        """Backups that an organiser asked for; a backup holds none of them."""
        return self.exports / "backups"

    @property
    def lock(self) -> Path:
        """What those hold who serve the contest."""
        return self.path / "serving.lock"

    @property
    def uploads(self) -> Path:
        """What was handed in."""
        return self.path / "uploads"

    def upload(self, sha256: str) -> Path:
        """Return where an upload lies, by the hash of its content."""
        return self.uploads / sha256[:2] / sha256

    def for_judge(self, name: str) -> Path:
        """Return where a file lies that only the judge can open."""
        return self.path / "sealed" / "judge" / name

    def for_team(self, number: str) -> Path:
        """Return where the bundle of a team lies."""
        return self.path / "sealed" / "teams" / f"team{number}"

    def make(self) -> None:
        """Make the folders, for their owner alone but for what is everybody's."""
        for place in (self.for_judge(""), self.for_team("").parent, self.uploads, self.incoming):
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        for place in (self.everybody, self.wheels, self.archive, self.exports):
            place.mkdir(exist_ok=True)
        self.lock.touch(0o644)

    def read_secrets(self) -> Secrets:
        """Read the server's own file; raise an error if this is not the folder of a contest."""
        if not self.settings.is_file():
            problem = (
                "is not the folder of a contest: it has no server.json (`tracearena contest new` makes one)"
            )
            raise FileError.whole(self.path, problem, "no-contest")
        try:
            held = Secrets(**json.loads(read_bytes(self.settings, max_bytes=_MOST_BYTES)))
        except (ValueError, TypeError) as error:
            raise FileError.whole(self.settings, f"cannot be read: {error}", "not-json") from None
        if held.layout != _LAYOUT:
            problem = f"is of layout {held.layout}; this version of tracearena knows {_LAYOUT}"
            raise FileError.whole(self.settings, problem, "other-version")
        return held

    def require_database(self) -> None:
        """Refuse a folder whose own database is gone, before SQLite makes an empty one in its place."""
        if self.read_secrets().database is None and not self.database.is_file():
            problem = "is missing; restore the last backup: tracearena contest restore BACKUP NEW-FOLDER"
            raise FileError.whole(self.database, problem, "no-database")

    def write_secrets(self, secrets: Secrets) -> None:
        """Write the server's own file, for its owner alone."""
        with replacing(self.settings, private=True) as file:
            file.write((json.dumps(asdict(secrets), indent=1) + "\n").encode())


# Who works on a contest's folder: several may serve it, and anyone who moves it must be alone.


_LONGEST_COMMAND = 200
_ENDING_S = 15.0
"""Processes of a server that was killed notice that they are alone, and have this long to end."""


@contextmanager
def lock_for_serving(folder: Folder, *, first: bool = False) -> Iterator[int]:
    """Serve a contest together with others; nobody moves it meanwhile.

    The descriptor that it gives is the lock: a process that inherits it holds it too.

    Parameters
    ----------
    folder
        The contest.
    first
        Refuse a contest that somebody else serves already.
    """
    with _open_lock(folder) as handle:
        if first and not _wait_until_free(handle):
            raise DataError(
                f"{folder.path}: is already being served{_describe_holders(handle)}; end that first "
                "(Ctrl-C, or SIGTERM), or add to it with --only judges or --only web"
            )
        if not _try_lock(handle, fcntl.LOCK_SH):
            raise DataError(
                f"{folder.path}: is being moved{_describe_holders(handle)}; wait until that is done"
            )
        yield handle


@contextmanager
def lock_exclusively(folder: Folder) -> Iterator[None]:
    """Work on a contest that nobody serves."""
    with _open_lock(folder) as handle:
        if not _try_lock(handle, fcntl.LOCK_EX):
            raise DataError(
                f"{folder.path}: is being served{_describe_holders(handle)}; end that first (Ctrl-C, or "
                "SIGTERM)"
            )
        yield


@contextmanager
def _open_lock(folder: Folder) -> Iterator[int]:
    # The lock goes with the process, however it ends; the file stays and means nothing.
    handle = os.open(folder.lock, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _try_lock(handle: int, kind: int) -> bool:
    """Whether the lock is ours now."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_until_free(handle: int) -> bool:
    """Whether nobody else serves the contest; what is left of a server that was killed is waited for."""
    until = time.monotonic() + _ENDING_S
    while not (is_free := _try_lock(handle, fcntl.LOCK_EX)):
        if _describe_holders(handle) or time.monotonic() >= until:
            break
        time.sleep(0.1)
    return is_free


def _describe_holders(handle: int) -> str:
    """Return which processes hold the lock, as far as the kernel tells: none of other machines."""
    place = os.fstat(handle).st_ino
    found = []
    with suppress(OSError):
        # Such as: 1: FLOCK  ADVISORY  READ  4711 fe:00:1049127 0 EOF
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.replace("->", "").split()
            if words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(place):
                found.append(int(words[4]))
    described = [f"process {pid} ({command})" for pid in found if (command := _read_command(pid))]
    return f" by {' and '.join(described)}" if described else ""


def _read_command(process: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        return " ".join(words).strip()[:_LONGEST_COMMAND]
    return ""


def read_grid(folder: Folder) -> tuple[Places, ContestTimes]:
    """Return the regions and the instants of a contest, read again only where a file has changed."""
    regions, times = folder.everybody / REGIONS, folder.everybody / TIMES
    states = regions.stat(), times.stat()
    return _read_grid_once(regions, times, *((state.st_mtime_ns, state.st_size) for state in states))


@lru_cache(maxsize=2)
def _read_grid_once(regions: Path, times: Path, *versions: tuple[int, int]) -> tuple[Places, ContestTimes]:
    return pwscup.read_places(regions), pwscup.read_times(times)
