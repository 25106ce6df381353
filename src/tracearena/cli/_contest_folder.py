"""What commands on a contest's folder have in common: the folder, the judge's key, the extra they need."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._output import note
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.server.store.folder import Folder


_NEEDED = {
    "server": ("django", "ninja", "argon2", "gunicorn", "psycopg", "whitenoise"),
    "client": ("httpx",),
}
_LONGEST_PASSPHRASE = 1_000

ContestArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The contest's folder, as `contest new` makes it.")
]
_BASE_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?", re.ASCII)
_LONGEST_BASE_URL = 200


def check_base_url(url: str | None) -> str | None:
    """Refuse what is no beginning of a link, before anything is done whose link would be lost."""
    if url is not None and (len(url) > _LONGEST_BASE_URL or not _BASE_URL.fullmatch(url)):
        raise ParameterError.of("--base-url", url, "an address such as https://contest.example.org")
    return url


BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        callback=check_base_url,
        help="Where browsers reach the contest, for links; remembered. [default: what was said before]",
    ),
]
JudgeKeyOption = Annotated[
    Path | None,
    typer.Option("--judge-key", help="File of the judge's private key. [default: DIR.judge-key]"),
]
DATABASE_HELP = "postgresql://user@host/name, without its password."


def check_database_url(url: str | None) -> str | None:
    """Refuse a password in an option."""
    if url is None:
        return None
    from tracearena.server.store.database import require_no_password

    return require_no_password(url)


DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", callback=check_database_url, help=f"{DATABASE_HELP} [default: SQLite]"),
]
PassphraseFdOption = Annotated[
    int | None,
    typer.Option(
        "--passphrase-fd",
        min=0,
        max=1_023,
        help="Read the passphrase of the judge's key from this file descriptor; asked for if omitted.",
    ),
]


def require_extra(extra: str) -> None:
    """Refuse to go on without the packages of an extra, and say how they come."""
    missing = [name for name in _NEEDED[extra] if find_spec(name) is None]
    if missing:
        raise ParameterError(f"this needs {', '.join(missing)}: pip install 'tracearena[{extra}]'")


def open_contest(path: Path, *, any_version: bool = False) -> Folder:
    """Return a contest's folder, with Django turned to it; its tables must be those of this version."""
    require_extra("server")
    from tracearena.server.settings import configure
    from tracearena.server.store.folder import Folder

    folder = Folder(path)
    configure(folder)
    folder.require_database()
    if not any_version:
        from tracearena.server.store.database import require_current

        require_current(folder)
    return folder


def find_key_file(folder: Path, judge_key: Path | None) -> Path:
    """Return where the judge's private key lies: beside the folder, if nothing else is said."""
    whole = folder.absolute()
    return judge_key or whole.with_name(f"{whole.name}.judge-key")


def read_contest_key(folder: Path, judge_key: Path | None, passphrase_fd: int | None) -> bytes:
    """Return the judge's private key, which must be that of the contest."""
    from tracearena.server.sandbox import process_control
    from tracearena.server.store.crypto import derive_public_key, needs_passphrase, read_judge_key
    from tracearena.server.store.folder import Folder

    process_control.hide_process_memory()
    path = find_key_file(folder, judge_key)
    secrets = Folder(folder).read_secrets()
    if not path.is_file():
        raise ParameterError(f"{path}: is not there; --judge-key names the file of the judge's key")
    passphrase = read_passphrase(passphrase_fd, str(path)) if needs_passphrase(path) else None
    private = read_judge_key(path, passphrase)
    if derive_public_key(private).hex() != secrets.judge_public_key:
        raise ParameterError(f"{path}: is the key of another contest")
    return private


def read_passphrase(descriptor: int | None, what: str, *, twice: bool = False) -> str:
    """Return a passphrase: a line of a file descriptor, or what is typed in the terminal."""
    if descriptor is not None:
        try:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                line = file.readline(_LONGEST_PASSPHRASE).decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError(f"--passphrase-fd {descriptor}: cannot be read: {error}") from None
        if not line:
            raise ParameterError(f"--passphrase-fd {descriptor}: holds no passphrase")
        return line
    if not sys.stdin.isatty():
        raise ParameterError(f"{what}: there is no terminal to ask for the passphrase; use --passphrase-fd")
    typed: str = typer.prompt(f"Passphrase of {what}", hide_input=True, confirmation_prompt=twice, err=True)
    return typed


def print_link(said: str, secret: str, base: str, as_json: bool, **facts: str) -> None:
    """Print a link by which somebody comes in, and for whom it is.

    Parameters
    ----------
    said
        For whom, for people; `facts` say so in JSON.
    secret
        The link's.
    base
        Where browsers reach the contest.
    """
    from tracearena.server.accounts import build_link_path

    link = base + build_link_path(secret)
    if as_json:
        typer.echo(json.dumps(facts | {"link": link}))
        return
    typer.echo(f"{said}  {link}")
    note("the link is shown once, and is good for 72 hours")
