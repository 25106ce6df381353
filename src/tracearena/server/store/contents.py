"""All that a contest's database holds, as lines of text that any other database takes.

A line is a JSON list: the name of the table, and the row. Times have every microsecond, bytes are base64.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby, islice
from typing import IO, Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import DatabaseError, connection, models, transaction

from tracearena.errors import DataError, TracearenaError

_BATCH = 500
_SHOWN = 200
_WRITTEN: dict[str, Callable[[Any], Any]] = {
    "DateTimeField": lambda at: at.isoformat(),
    "BinaryField": lambda content: base64.b64encode(bytes(content)).decode(),
}
_READ: dict[str, Callable[[Any], Any]] = {
    "DateTimeField": datetime.fromisoformat,
    "BinaryField": base64.b64decode,
}


def tables() -> dict[str, type[models.Model]]:
    """Return every table that belongs to a contest, logins included, by its name."""
    found = [*apps.get_app_config("contest").get_models(), *apps.get_app_config("sessions").get_models()]
    return {model._meta.db_table: model for model in found}


@contextmanager
def at_one_moment() -> Iterator[None]:
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


def lines(stored: dict[str, Any] | None = None) -> Iterator[bytes]:
    """Yield every row of every table, in a fixed order; of tables of another version if they are given."""
    for name, model in (stored or tables()).items():
        for row in model._default_manager.order_by("pk").iterator(_BATCH):
            written = {field.attname: _plain(field, row) for field in model._meta.concrete_fields}
            yield json.dumps([name, written], sort_keys=True, ensure_ascii=False).encode() + b"\n"


def digests() -> dict[str, tuple[int, str]]:
    """Return number of rows and SHA-256 of every table's content, the same in every database."""
    found = {name: (0, hashlib.sha256()) for name in tables()}
    for line in lines():
        name = json.loads(line)[0]
        count, digest = found[name]
        digest.update(line)
        found[name] = count + 1, digest
    return {name: (count, digest.hexdigest()) for name, (count, digest) in found.items()}


def fill(source: IO[bytes]) -> None:
    """Put rows into the empty database of this process, all or none of them."""
    call_command("migrate", verbosity=0)
    try:
        _fill(source)
    except TracearenaError:
        raise
    except (ValueError, TypeError, DatabaseError, ValidationError) as error:
        raise DataError(f"the content of the database is none: {str(error)[:_SHOWN]}") from None


def _fill(source: IO[bytes]) -> None:
    known = tables()
    with transaction.atomic():
        for name, rows in groupby(map(_parsed, source), key=lambda line: line[0]):
            if name not in known:
                raise DataError(f"there is no table {name!r} in this version of tracearena")
            _insert(known[name], (row for _, row in rows))
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), list(known.values())):
                cursor.execute(statement)


def _insert(model: type[models.Model], rows: Iterable[dict[str, Any]]) -> None:
    fields = {field.attname: field for field in model._meta.concrete_fields}
    given = iter(rows)
    while batch := list(islice(given, _BATCH)):
        made = []
        for row in batch:
            if set(row) != set(fields):
                raise DataError(f"a row of {model._meta.db_table} has other columns than this version's")
            made.append(model(**{name: _value(fields[name], value) for name, value in row.items()}))
        model._default_manager.bulk_create(made)


def _parsed(line: bytes) -> tuple[str, dict[str, Any]]:
    try:
        name, row = json.loads(line)
        if isinstance(name, str) and isinstance(row, dict):
            return name, row
    except (ValueError, TypeError):
        pass
    raise DataError("the content of the database cannot be read: a line is no table and row")


def _plain(field: Any, row: models.Model) -> Any:
    value = getattr(row, field.attname)
    convert = _WRITTEN.get(field.get_internal_type())
    return value if value is None or convert is None else convert(value)


def _value(field: Any, value: Any) -> Any:
    convert = _READ.get(field.get_internal_type())
    return value if value is None or convert is None else convert(value)
