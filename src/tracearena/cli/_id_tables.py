"""The secret table of who is who on disk, with the salt of the commitment to it beside it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracearena.contest import Commitment
    from tracearena.traces import IdTable


def salt_of(id_table: Path) -> Path:
    """Return where the salt of the commitment to an ID table stands.

    >>> str(salt_of(Path("ptable.csv")))
    'ptable.csv.salt'
    """
    return Path(f"{id_table}.salt")


def secrets_at(id_table: Path) -> list[Path]:
    """Return which of an ID table and its salt are there."""
    return [path for path in (id_table, salt_of(id_table)) if path.is_file()]


def refuse_to_replace(id_table: Path) -> None:
    """Refuse to write where an ID table or its salt is there."""
    from tracearena.errors import ParameterError

    there = secrets_at(id_table)
    if there:
        raise ParameterError(
            f"{there[0]}: exists, and may be the only way back from another release; nothing was drawn and "
            "nothing changed. Name another file, or draw anew with --again, which makes the commitment to "
            "this one void"
        )


def keep(stack: ExitStack, table: IdTable, path: Path) -> dict[str, Any]:
    """Write the ID table and the salt for their owner alone, if all else is written too; say where.

    The digest is that of the two files one after the other. Where the table goes to a pipe there is
    nothing to put the salt beside, and it is told.
    """
    from tracearena.contest import commit, id_table_text
    from tracearena.files.io import is_stream, replacing

    commitment = commit(table)
    stack.enter_context(replacing(path, private=True)).write(id_table_text(table).encode())
    if not is_stream(path):
        salt = stack.enter_context(replacing(salt_of(path), private=True))
        salt.write(f"{commitment.salt}\n".encode())
    return _told(table, path, commitment)


def kept_already(table: IdTable, path: Path) -> dict[str, Any]:
    """Return what is told of an ID table that is there with its salt; nothing if it is not, or another is.

    So a run leaves it that was killed before its release got its name.
    """
    from tracearena.contest import commit, id_table_text
    from tracearena.errors import ParameterError
    from tracearena.files.io import read_bytes

    if len(secrets_at(path)) < 2 or read_bytes(path) != id_table_text(table).encode():
        return {}
    try:
        commitment = commit(table, salt=salt_of(path).read_text(errors="replace").rstrip("\n"))
    except ParameterError:  # the salt of something else
        return {}
    return _told(table, path, commitment)


def _told(table: IdTable, path: Path, commitment: Commitment) -> dict[str, Any]:
    from tracearena.files.io import is_stream

    told = {"id_table": str(path), "pseudonyms": len(table), "commitment": commitment.digest}
    if is_stream(path):
        return told | {"commitment_salt": commitment.salt}
    return told | {"commitment_salt_file": str(salt_of(path))}
