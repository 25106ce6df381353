"""A contest goes on with a newer version of tracearena: a backup first, then the tables of this version."""

from __future__ import annotations

from os import PathLike

from tracearena import __version__
from tracearena.server.operations.backup import backup
from tracearena.server.store import schema
from tracearena.server.store.audit_log import log
from tracearena.server.store.folder import Folder
from tracearena.server.store.occupancy import alone


def upgrade(folder: Folder, path: str | PathLike[str]) -> list[str]:
    """Bring the database up to date, and return what was applied; nothing happens if it is.

    Parameters
    ----------
    folder
        A contest that nobody serves.
    path
        New archive for a backup of the contest as it is. The older version can restore it.
    """
    schema.require_not_newer(folder)
    with alone(folder):
        steps = schema.missing()
        if steps:
            backup(folder, path, schema.stored_tables())
            schema.apply()
            log("command line", "contest upgraded", version=__version__, steps=steps)
    return steps
