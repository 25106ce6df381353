"""A contest changes its database: SQLite to PostgreSQL, or back, with everything compared in between."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.db import connections

from tracearena.errors import DataError
from tracearena.server.settings import configure
from tracearena.server.store import contents
from tracearena.server.store.audit_log import log
from tracearena.server.store.database import shown
from tracearena.server.store.folder import Folder
from tracearena.server.store.new_database import require_empty
from tracearena.server.store.occupancy import alone

_BEFORE = "database.before-move.sqlite3"


def move(folder: Folder, database: str | None) -> dict[str, int]:
    """Copy all rows to another database, compare, and turn to it; return the rows of each table.

    Nothing changes unless every table of the new database holds what that of the old one does. The old
    database stays as it was; a SQLite file gets another name.

    Parameters
    ----------
    folder
        A contest that nobody serves.
    database
        URL of an empty PostgreSQL database; None for SQLite in the folder.
    """
    secrets = folder.read_secrets()
    if secrets.database == database:
        raise DataError(f"the contest is in {shown(database)} already")
    require_empty(database)
    with alone(folder), tempfile.TemporaryDirectory(prefix=".moving-", dir=folder.path) as place:
        configure(folder)
        was = contents.digests()
        rows = os.path.join(place, "rows.jsonl")
        with open(rows, "wb") as file:
            file.writelines(contents.lines())
        staging = Folder(place)
        staging.write_secrets(replace(secrets, database=database))
        with _turned_to(staging, folder):
            with open(rows, "rb") as file:
                contents.fill(file)
            _require_same(was, contents.digests())
        if database is None:
            staging.database.replace(folder.database)
        # From here on the contest is in the new database, wherever a kill strikes.
        folder.write_secrets(replace(secrets, database=database))
        if secrets.database is None:
            folder.database.replace(folder.path / _BEFORE)
    configure(folder)
    log("command line", "database moved", **{"from": shown(secrets.database), "to": shown(database)})
    return {name: count for name, (count, _) in was.items()}


@contextmanager
def _turned_to(staging: Folder, back: Folder) -> Iterator[None]:
    """Let Django work on another contest's database, and on the one before when the block ends."""
    configure(staging)
    try:
        yield
    finally:
        connections.close_all()
        configure(back)


def _require_same(was: dict[str, tuple[int, str]], now: dict[str, tuple[int, str]]) -> None:
    for name in was:
        if was[name] != now.get(name):
            raise DataError(f"{name}: the copy differs from the original; the contest stays where it was")
