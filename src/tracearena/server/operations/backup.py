"""Backup, restore, change of the database, upgrade: everything of a contest, moved as one.

A backup is made while the contest runs. A file is there before the database knows of it, so a database that
is read first finds all its files. An archive that is restored is taken for hostile until all of it is
checked. The rows of the database are lines of text that any other database takes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from itertools import groupby, islice
from os import PathLike
from pathlib import Path
from typing import IO, Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import DatabaseError, connection, connections, models, transaction

from tracearena import __version__
from tracearena.contest.contest_file import NAME as CHARTER
from tracearena.errors import DataError, FileError, ParameterError, TracearenaError
from tracearena.files import replacing, replacing_folder
from tracearena.files.archives import ArchiveMember, iter_members
from tracearena.server import clock
from tracearena.server.settings import configure
from tracearena.server.store.database import (
    apply_migrations,
    format_database_url,
    list_missing_migrations,
    load_stored_tables,
    require_empty_database,
    require_not_newer,
)
from tracearena.server.store.folder import SETTINGS, Folder, lock_exclusively

ROWS_FILE, MANIFEST = "database.jsonl", "manifest.json"
FORMAT, VERSION = "tracearena-contest-backup", 1
BACKUP_KIND = "backup"
BACKUP_FOLDERS = ("everybody", "wheels", "sealed", "uploads")
"""Folders of a contest that are kept; what is still coming in is not."""
_OLD_DATABASE = "database.before-move.sqlite3"
_COPY_BYTES = 2**20
_LONGEST_MANIFEST = 2**28
_LONGEST_ERROR_TEXT = 200
_BATCH_ROWS = 500
_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "DateTimeField": lambda at: at.isoformat(),
    "BinaryField": lambda content: base64.b64encode(bytes(content)).decode(),
}
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "DateTimeField": datetime.fromisoformat,
    "BinaryField": base64.b64decode,
}


def write_backup(
    folder: Folder,
    path: str | PathLike[str],
    stored: dict[str, Any] | None = None,
    *,
    actor: str = "command line",
) -> dict[str, Any]:
    """Write everything of the contest to one new archive, for its owner alone; return its manifest.

    Parameters
    ----------
    folder
        The contest, which may be served meanwhile.
    path
        The archive, whose name ends in ``.tar``.
    stored
        Tables of an older version, as `load_stored_tables` gives them: then nothing is written to
        them.
    actor
        Who makes it, for the audit log.
    """
    target = Path(path)
    if not target.name.endswith(".tar"):
        raise ParameterError(f"{path}: a backup is a tar archive; its name must end in .tar")
    if target.exists():
        raise FileError.whole(path, "already exists; a backup is never overwritten", "exists")
    made_at = clock.now()
    with replacing(target, private=True) as file, tarfile.open(fileobj=file, mode="w|") as archive:
        writer = _ArchiveWriter(archive)
        with tempfile.TemporaryFile() as rows:
            with read_consistently():
                rows.writelines(dump_rows(stored))
            writer.add(ROWS_FILE, rows)
        secrets = replace(folder.read_secrets(), database=None)
        writer.add_bytes(SETTINGS, json.dumps(asdict(secrets)).encode())
        for one in _list_files(folder):
            with open(one, "rb") as content:
                writer.add(one.relative_to(folder.path).as_posix(), content)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "made_at": made_at.isoformat(),
            "files": writer.known,
        }
        writer.add_bytes(MANIFEST, json.dumps(manifest).encode())
    if stored is None:
        from tracearena.server.models import Contest

        Contest.objects.filter(pk=1).update(backed_up_at=made_at)
        _log_act("backup made", actor, file=target.name, files=len(writer.known))
    return manifest


def request_backup(actor: str) -> None:
    """Let the judge write a backup, if it does not write one already."""
    # Tables can be imported once Django is configured: a backup is restored before there is a contest.
    from tracearena.server.store import queue
    from tracearena.server.store.audit_log import log_act

    with transaction.atomic():
        if not queue.find_open_jobs(BACKUP_KIND).exists():
            name = f"{clock.now():%Y%m%dT%H%M%S}"
            queue.enqueue(BACKUP_KIND, f"{BACKUP_KIND}/{name}", {"name": f"{name}.tar"})
            log_act(actor, "backup asked for", name=f"{name}.tar")


def _log_act(act: str, actor: str = "command line", **details: Any) -> None:
    from tracearena.server.store.audit_log import log_act

    log_act(actor, act, **details)


class _ArchiveWriter:
    """Adds files to an archive, and keeps their sizes and hashes."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self.known: dict[str, dict[str, Any]] = {}

    def add(self, name: str, content: IO[bytes]) -> None:
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
        content.seek(0)
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        self._archive.addfile(entry, content)
        self.known[name] = {"size": size, "sha256": digest}

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content))


def _list_files(folder: Folder) -> Iterator[Path]:
    yield folder.contest_file
    for name in BACKUP_FOLDERS:
        # `rglob` would leave out a folder that this user may not read.
        walked = os.walk(folder.path / name, onerror=_refuse_unreadable)
        for path in sorted(Path(place) / file for place, _, files in walked for file in files):
            # What stands under a temporary name is not there yet.
            if not path.name.startswith("."):
                yield path


def _refuse_unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def restore_backup(
    path: str | PathLike[str], place: str | PathLike[str], *, database: str | None = None
) -> Folder:
    """Make a contest's folder and database from a backup; all of it, or nothing.

    Parameters
    ----------
    path
        The archive.
    place
        A new folder.
    database
        URL of an empty PostgreSQL database; SQLite in the folder if left out.
    """
    require_empty_database(database)
    with replacing_folder(place, private=True) as new:
        folder = Folder(new)
        folder.make()
        rows = _unpack_archive(Path(path), folder)
        folder.write_secrets(replace(folder.read_secrets(), database=database))
        _restore_rows(folder, rows, Path(path).name)
    restored = Folder(place)
    configure(restored)
    return restored


def _restore_rows(folder: Folder, rows: Path, name: str) -> None:
    configure(folder)
    from tracearena.server.models import Worker
    from tracearena.server.store import queue

    with open(rows, "rb") as source:
        load_rows(source)
    # Those who worked on the contest that was backed up do not work on this one.
    Worker.objects.all().delete()
    queue.requeue_running()
    rows.unlink()
    _log_act("contest restored", file=name)
    connections.close_all()


def _unpack_archive(path: Path, folder: Folder) -> Path:
    """Write the files of an archive into a folder, each as its manifest has it; return the rows."""
    single_files = {ROWS_FILE, SETTINGS, CHARTER}
    found: dict[str, dict[str, Any]] = {}
    listed: dict[str, Any] | None = None
    for member in iter_members(path):
        if listed is not None:
            raise FileError.whole(path, "has more data after its manifest", "bad-backup")
        if member.name == MANIFEST:
            listed = _read_file_list(path, member)
            continue
        is_known = member.name in single_files or member.name.partition("/")[0] in BACKUP_FOLDERS
        if member.name in found or not is_known:
            raise FileError.whole(
                path, "has a file that does not belong in a backup", "bad-backup", member.name
            )
        try:
            found[member.name] = _copy_member(member, folder.path / member.name)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            problem = "has the same name for a file and a folder"
            raise FileError.whole(path, problem, "bad-backup", member.name) from None
    if listed is None:
        raise FileError.whole(path, "is not a complete backup: it has no manifest at its end", "bad-backup")
    wrong = sorted(name for name in found.keys() | listed.keys() if found.get(name) != listed.get(name))
    if wrong or not single_files <= found.keys():
        raise FileError.whole(path, "differs from its manifest", "changed", wrong[0] if wrong else None)
    return folder.path / ROWS_FILE


def _read_file_list(path: Path, member: ArchiveMember) -> dict[str, Any]:
    try:
        manifest = json.loads(member.read(path, _LONGEST_MANIFEST))
        if (manifest["format"], manifest["version"]) == (FORMAT, VERSION):
            return dict(manifest["files"])
    except (ValueError, KeyError, TypeError):
        pass
    raise FileError.whole(path, "is not a backup of a contest that this version can read", "bad-backup")


def _copy_member(member: ArchiveMember, target: Path) -> dict[str, Any]:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    with replacing(target, private=target.parts[-2] != "everybody") as out:
        while piece := member.content.read(_COPY_BYTES):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return {"size": size, "sha256": digest.hexdigest()}


def move_database(folder: Folder, database: str | None) -> dict[str, int]:
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
        raise DataError(f"the contest is in {format_database_url(database)} already")
    require_empty_database(database)
    with lock_exclusively(folder), tempfile.TemporaryDirectory(prefix=".moving-", dir=folder.path) as place:
        configure(folder)
        was = hash_tables()
        rows = os.path.join(place, "rows.jsonl")
        with open(rows, "wb") as file:
            file.writelines(dump_rows())
        staging = Folder(place)
        staging.write_secrets(replace(secrets, database=database))
        with _switch_database(staging, folder):
            with open(rows, "rb") as file:
                load_rows(file)
            now = hash_tables()
            for name in was:
                if was[name] != now.get(name):
                    problem = "the copy differs from the original; the contest stays where it was"
                    raise DataError(f"{name}: {problem}")
        if database is None:
            staging.database.replace(folder.database)
        # From here on the contest is in the new database, wherever a kill strikes.
        folder.write_secrets(replace(secrets, database=database))
        if secrets.database is None:
            folder.database.replace(folder.path / _OLD_DATABASE)
    configure(folder)
    moved = {"from": format_database_url(secrets.database), "to": format_database_url(database)}
    _log_act("database moved", **moved)
    return {name: count for name, (count, _) in was.items()}


@contextmanager
def _switch_database(staging: Folder, back: Folder) -> Iterator[None]:
    """Let Django work on another contest's database, and on the one before when the block ends."""
    configure(staging)
    try:
        yield
    finally:
        connections.close_all()
        configure(back)


def upgrade_database(folder: Folder, path: str | PathLike[str]) -> list[str]:
    """Bring the database up to date, and return the applied steps; empty if it already was.

    Parameters
    ----------
    folder
        A contest that nobody serves.
    path
        New archive for a backup of the contest as it is. The older version can restore it.
    """
    require_not_newer(folder)
    with lock_exclusively(folder):
        steps = list_missing_migrations()
        if steps:
            write_backup(folder, path, load_stored_tables())
            apply_migrations()
            _log_act("contest upgraded", version=__version__, steps=steps)
    return steps


# The rows of the database as lines of text.


def list_tables() -> dict[str, type[models.Model]]:
    """Return every table that belongs to a contest, logins included, by its name."""
    found = [*apps.get_app_config("contest").get_models(), *apps.get_app_config("sessions").get_models()]
    return {model._meta.db_table: model for model in found}


@contextmanager
def read_consistently() -> Iterator[None]:
    """See the database as it is now, however much is written meanwhile; nobody has to wait."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def dump_rows(stored: dict[str, Any] | None = None) -> Iterator[bytes]:
    """Yield every row of every table, in a fixed order; of tables of another version if they are given."""
    for name, model in (stored or list_tables()).items():
        for row in model._default_manager.order_by("pk").iterator(_BATCH_ROWS):
            written = {
                field.attname: _convert(_ENCODERS, field, getattr(row, field.attname))
                for field in model._meta.concrete_fields
            }
            yield json.dumps([name, written], sort_keys=True, ensure_ascii=False).encode() + b"\n"


def hash_tables() -> dict[str, tuple[int, str]]:
    """Return number of rows and SHA-256 of every table's content, the same in every database."""
    found = {name: (0, hashlib.sha256()) for name in list_tables()}
    for line in dump_rows():
        name = json.loads(line)[0]
        count, digest = found[name]
        digest.update(line)
        found[name] = count + 1, digest
    return {name: (count, digest.hexdigest()) for name, (count, digest) in found.items()}


def load_rows(source: IO[bytes]) -> None:
    """Put rows into the empty database of this process, all or none of them."""
    apply_migrations()
    known = list_tables()
    try:
        with transaction.atomic():
            for name, rows in groupby(map(_parse_line, source), key=lambda line: line[0]):
                if name not in known:
                    raise DataError(f"there is no table {name!r} in this version of tracearena")
                _insert_batches(known[name], (row for _, row in rows))
            with connection.cursor() as cursor:
                for statement in connection.ops.sequence_reset_sql(no_style(), list(known.values())):
                    cursor.execute(statement)
    except TracearenaError:
        raise
    except (ValueError, TypeError, DatabaseError, ValidationError) as error:
        raise DataError(
            f"the content of the database cannot be read: {str(error)[:_LONGEST_ERROR_TEXT]}"
        ) from None


def _insert_batches(model: type[models.Model], rows: Iterable[dict[str, Any]]) -> None:
    fields = {field.attname: field for field in model._meta.concrete_fields}
    given = iter(rows)
    while batch := list(islice(given, _BATCH_ROWS)):
        made = []
        for row in batch:
            if set(row) != set(fields):
                raise DataError(f"a row of {model._meta.db_table} has other columns than this version's")
            made.append(
                model(**{name: _convert(_DECODERS, fields[name], value) for name, value in row.items()})
            )
        model._default_manager.bulk_create(made)


def _parse_line(line: bytes) -> tuple[str, dict[str, Any]]:
    try:
        name, row = json.loads(line)
        if isinstance(name, str) and isinstance(row, dict):
            return name, row
    except (ValueError, TypeError):
        pass
    raise DataError("the content of the database cannot be read: a line does not have a table and a row")


def _convert(converters: dict[str, Callable[[Any], Any]], field: Any, value: Any) -> Any:
    convert = converters.get(field.get_internal_type())
    return value if value is None or convert is None else convert(value)
