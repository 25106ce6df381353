"""The database: SQLite in the contest's folder, or PostgreSQL by its URL.

Whether it can take a contest, whether its tables are those of this version, and what to do if it breaks.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tracearena.errors import DataError, ParameterError
from tracearena.server.store.folder import Folder

DATABASE_TIMEOUT_S = 30
_CONTEST_TABLE = "contest_contest"


def database_settings(folder: Folder, url: str | None) -> dict[str, Any]:
    """Return what Django wants to know of the database.

    SQLite writes ahead (readers never wait for a writer), puts every commit on the disk before it
    answers, and takes its lock at the beginning of a transaction: one that reads first and writes later
    could otherwise fail at the write, however long it waits.
    """
    if url is None:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(folder.database.absolute()),
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": DATABASE_TIMEOUT_S,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
            },
        }
    return _postgresql_settings(url)


def format_database_url(url: str | None) -> str:
    """Return a database's URL without its password, for people.

    >>> format_database_url("postgresql://ann:secret@db/contest")
    'postgresql://ann@db/contest'
    """
    if url is None:
        return "SQLite"
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return f"{parts.scheme}://{name + '@' if name else ''}{host}{parts.path}"


def require_no_password(url: str | None) -> str | None:
    """Return what an option says of the database, if it has no password in it."""
    parts = urlsplit(url or "")
    if parts.password is not None or "password" in dict(parse_qsl(parts.query)):
        raise ParameterError(
            f"--database: {format_database_url(url)} was given with a password, which everybody on this "
            "machine can read "
            "in the list of processes; leave it out, and put it where PostgreSQL's own programs look: "
            "~/.pgpass (mode 0600), the file that PGPASSFILE names, or PGPASSWORD"
        )
    return url


def explain_database_error(error: BaseException) -> str:
    """Say what is wrong with the database of the contest that is held, and what to do."""
    from django.conf import settings

    folder, url = settings.CONTEST_FOLDER, settings.CONTEST_SECRETS.database
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if "locked" in said:
        return f"{folder.database}: is busy ({said}); try again in a minute"
    restore = "restore the last backup: tracearena contest restore BACKUP NEW-FOLDER"
    if url is None:
        return (
            f"{folder.database}: cannot be used ({said}). If it is there, is yours and the disk works, it is "
            f"damaged: end the server, keep the file, and {restore}"
        )
    shown = format_database_url(url)
    return f"{shown} cannot be used ({said}). Start PostgreSQL again; if its data is lost, {restore}"


def require_intact() -> None:
    """Refuse a database of which a page is damaged; PostgreSQL looks after its own."""
    from django.db import DatabaseError, connection

    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            found = cursor.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise DataError(explain_database_error(DatabaseError(found.replace("\n", " "))))


def _postgresql_settings(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in ("postgresql", "postgres") or not name or "/" in name:
        raise ParameterError(
            f"--database: got {format_database_url(url)}; it must be postgresql://user@host:port/name"
        )
    try:
        port = parts.port
    except ValueError:
        raise ParameterError(f"--database: {format_database_url(url)} has no port from 1 to 65535") from None
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": "" if port is None else str(port),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": DATABASE_TIMEOUT_S} | dict(parse_qsl(parts.query)),
    }


def require_empty_database(url: str | None) -> None:
    """Refuse a PostgreSQL database that does not answer or holds something; SQLite is always a new file.

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
            listed = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
            )
            found = {row[0] for row in listed}
            is_held = (
                _CONTEST_TABLE in found and connection.execute(f"SELECT 1 FROM {_CONTEST_TABLE}").fetchone()
            )
    except psycopg.Error as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise ParameterError(
            f"--database: {format_database_url(url)} does not answer: {said[0].strip()}"
        ) from None
    if is_held:
        raise DataError(f"{format_database_url(url)} already contains a contest; name an empty database")
    if found and _CONTEST_TABLE not in found:
        raise DataError(
            f"{format_database_url(url)} contains tables of another program; name an empty database"
        )


# Tables of this version and of others.


def list_missing_migrations() -> list[str]:
    """Return what must be applied before this version can use the database, in order."""
    executor = _make_executor()
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{one.app_label}.{one.name}" for one, _ in plan]


def require_current(folder: Folder) -> None:
    """Refuse a database whose tables are of another version, and say what to do."""
    require_not_newer(folder)
    if list_missing_migrations():
        raise DataError(
            f"{folder.path}: was made by an older version of tracearena; bring its database up to date: "
            f"tracearena contest upgrade {folder.path} BACKUP.tar"
        )


def require_not_newer(folder: Folder) -> None:
    """Refuse a database whose tables this version does not know."""
    loader = _make_executor().loader
    unknown = set(loader.applied_migrations) - set(loader.disk_migrations)
    if unknown:
        names = ", ".join(sorted(".".join(one) for one in unknown))
        raise DataError(
            f"{folder.path}: was used by a newer version of tracearena, which knows {names}; install that one"
        )


def load_stored_tables() -> dict[str, Any]:
    """Return the tables of the contest as they are in the database now, by name, of whatever version."""
    loader = _make_executor().loader
    apps = loader.project_state(list(loader.applied_migrations)).apps
    models = [*apps.get_app_config("contest").get_models(), *apps.get_app_config("sessions").get_models()]
    return {model._meta.db_table: model for model in models}


def apply_migrations() -> None:
    """Give the database the tables of this version; each step is made whole or not at all."""
    call_command("migrate", verbosity=0)


def _make_executor() -> Any:
    return MigrationExecutor(connection)
