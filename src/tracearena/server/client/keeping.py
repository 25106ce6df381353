"""Where a team's token and its receipts are kept: in files of their owner, among the user's settings."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tracearena.errors import FileError, ParameterError
from tracearena.files import read_bytes, replacing

_MOST_BYTES = 2**16
_OF_A_RECEIPT = ("id", "target", "sha256", "salt", "received_at", "late")


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


def receipts_file() -> Path:
    """Return where receipts are kept, one a line."""
    return login_file().with_name("contest-receipts.jsonl")


def keep_receipt(url: str, receipt: dict[str, Any]) -> None:
    """Write a receipt down, with the contest that gave it; the first one of a number stays."""
    if all(one["id"] != receipt["id"] for one in kept_receipts(url)):
        path = receipts_file()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(path, "a", encoding="utf-8") as file:
            said = {name: receipt[name] for name in _OF_A_RECEIPT}
            file.write(json.dumps({"url": url, "receipt": said}) + "\n")
        path.chmod(0o600)


def kept_receipts(url: str) -> list[dict[str, Any]]:
    """Return the receipts of a contest, as they were kept."""
    path = receipts_file()
    if not path.is_file():
        return []
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [line["receipt"] for line in lines if line["url"] == url]
    except (ValueError, TypeError, KeyError):
        raise FileError.whole(path, "cannot be read; move it away", "not-json") from None


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
