"""Whether a database can take a contest: it answers, and is empty."""

from __future__ import annotations

from tracearena.errors import DataError, ParameterError
from tracearena.server.store.database import database_settings, shown
from tracearena.server.store.folder import Folder

_OURS = "contest_contest"


def require_empty(url: str | None) -> None:
    """Refuse a PostgreSQL database that does not answer or holds something; SQLite is made anew anyway.

    Tables without a contest, as a run that was stopped leaves them, are nothing.
    """
    if url is None:
        return
    import psycopg

    known = database_settings(Folder("."), url)
    try:
        with psycopg.connect(
            dbname=known["NAME"],
            user=known["USER"] or None,
            password=known["PASSWORD"] or None,
            host=known["HOST"] or None,
            port=known["PORT"] or None,
            **known["OPTIONS"],
        ) as connection:
            found = {
                row[0]
                for row in connection.execute(
                    "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
                )
            }
            is_held = _OURS in found and connection.execute(f"SELECT 1 FROM {_OURS}").fetchone()
    except psycopg.Error as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise ParameterError(f"--database: {shown(url)} does not answer: {said[0].strip()}") from None
    if is_held:
        raise DataError(f"{shown(url)} holds a contest already; name an empty database")
    if found and _OURS not in found:
        raise DataError(f"{shown(url)} holds tables of something else; name an empty database")
