"""The folder of a contest that is held by a server: what lies where, and who can read it.

::

    contest.toml        the contest as it was made
    server.json         for its owner alone: secret of the cookies, database, the judge's public key
    database.sqlite3    where no other database is named
    everybody/          what everybody may have: regions, times, sample teams; later all targets
    sealed/judge/       for the judge alone, sealed to its key: originals, references, ID tables, answers
    sealed/teams/       one bundle a team, sealed to the key of that team
    uploads/ab/SHA256   what was handed in, sealed to the judge's key
    incoming/           uploads that are still coming in, sealed likewise
    archive/            archives of contests that are over, for everybody to see
    exports/            archives of this one that the judge made for the organiser
    exports/everybody/  everybody's files as one archive, with the targets and without
    serving.lock        held while the contest is served

The judge's private key is not in it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path

from tracearena.contest.contest_file import NAME as CHARTER
from tracearena.contest.data import EVERYBODY
from tracearena.errors import FileError
from tracearena.files import read_bytes, replacing

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
    def charter(self) -> Path:
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
    def packed(self) -> Path:
        """Everybody's files as one archive."""
        return self.exports / EVERYBODY

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
        for place in (self.everybody, self.archive, self.exports):
            place.mkdir(exist_ok=True)
        self.lock.touch(0o644)

    def read_secrets(self) -> Secrets:
        """Read the server's own file; say so if this is no contest's folder."""
        if not self.settings.is_file():
            problem = "is no contest's folder: it has no server.json (`tracearena contest new` makes one)"
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
            problem = "is not there; restore the last backup: tracearena contest restore BACKUP NEW-FOLDER"
            raise FileError.whole(self.database, problem, "no-database")

    def write_secrets(self, secrets: Secrets) -> None:
        """Write the server's own file, for its owner alone."""
        with replacing(self.settings, private=True) as file:
            file.write((json.dumps(asdict(secrets), indent=1) + "\n").encode())
