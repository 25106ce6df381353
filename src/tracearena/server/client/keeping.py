"""Where a team's token is kept: in a file of its owner alone, among the settings of the system's user."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tracearena.errors import FileError, ParameterError
from tracearena.files import read_bytes, replacing

_MOST_BYTES = 2**16


@dataclass(frozen=True)
class Login:
    """Which contest, and by which token."""

    url: str
    token: str = field(repr=False)


def login_file() -> Path:
    """Return where the login is kept: under ``XDG_CONFIG_HOME``, which is ``~/.config`` by default."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "tracearena" / "contest-login.json"


def keep(login: Login) -> Path:
    """Write the login down, for its owner alone, and return where."""
    path = login_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with replacing(path, private=True) as file:
        file.write((json.dumps(asdict(login)) + "\n").encode())
    path.chmod(0o600)
    return path


def kept() -> Login:
    """Return the login that was kept."""
    path = login_file()
    if not path.is_file():
        raise ParameterError("nobody has logged in: tracearena contest client login https://…")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise FileError.whole(
            path, f"can be read by others (mode {mode:04o}); say: chmod 600 {path}", "not-private"
        )
    try:
        return Login(**json.loads(read_bytes(path, max_bytes=_MOST_BYTES)))
    except (ValueError, TypeError):
        raise FileError.whole(path, "cannot be read; log in again", "not-json") from None
