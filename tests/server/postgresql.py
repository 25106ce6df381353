"""A PostgreSQL server of our own: Debian's binaries, a private folder, a private port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = "PostgreSQL is not installed: apt-get install postgresql"


def binaries() -> Path | None:
    """Return the folder of initdb and pg_ctl, None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return None if on_path is None else Path(on_path).parent


@contextmanager
def running() -> Iterator[str]:
    """Run a server in a folder of its own, and give the URL of its databases, without a name at the end.

    Not in pytest's folder: each start of pytest closes that to other users, such as the server's own.
    """
    place, port = binaries(), _free_port()
    assert place is not None, MISSING
    with tempfile.TemporaryDirectory(prefix="tracearena-postgresql-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "data"
        data.mkdir()
        if os.getuid() == 0:
            # PostgreSQL refuses to run as root.
            for one in (Path(folder), data):
                shutil.chown(one, "postgres", "postgres")
        with _started(place, port, data):
            yield f"postgresql://contest@127.0.0.1:{port}/"


@contextmanager
def _started(place: Path, port: int, data: Path) -> Iterator[None]:
    _run(place / "initdb", "-D", data, "--auth=trust", "--username=contest", "--encoding=UTF8", "--no-sync")
    unsafe = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    options = f"-h 127.0.0.1 -p {port} -k {data} -c max_connections=200 {unsafe}"
    _run(place / "pg_ctl", "-D", data, "-w", "-l", data / "log", "-o", options, "start")
    try:
        yield
    finally:
        _run(place / "pg_ctl", "-D", data, "-m", "immediate", "stop")


def _run(*command: object) -> None:
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    subprocess.run([*as_user, *map(str, command)], check=True, capture_output=True, cwd="/")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
