"""Tables of who is behind which pseudonym, the secret or a guess, of any two columns and any ids."""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault, FileError
from tracearena.files.io import read_bytes, replacing
from tracearena.traces import IdTable

HEADER = ("pse_id", "user_id")
_MOST_BYTES = 2**30
_PSEUDONYM = ("pse_id", "pseudonym", "pseudonym_id", "released_id")
_USER = ("user_id", "user", "uid", "original_id")


def read_pseudonyms(path: str | PathLike[str]) -> dict[str, str]:
    """Read a CSV table of pseudonyms and users (``pse_id,user_id``), the pseudonym first.

    The first line is a header; where its names say so (``user_id,pse_id``) the user may stand first. Ids are
    text here: the contest's tables of numbers and those of GPS users with names are read alike.
    """
    return _pairs(path, one_to_one=True)


def read_who_is_who(path: str | PathLike[str], *, one_to_one: bool = True) -> IdTable:
    """Read a table of pseudonyms and users, CSV or Parquet, by ascending pseudonym.

    Parameters
    ----------
    one_to_one
        Refuse a user who stands under two pseudonyms; a guess may name one twice.
    """
    pairs = _pairs(path, one_to_one=one_to_one)
    pseudonyms, users = _ids(list(pairs)), _ids(list(pairs.values()))
    order = np.argsort(pseudonyms, kind="stable")
    return IdTable(pseudonyms[order], users[order])


def write_who_is_who(table: IdTable, path: str | PathLike[str]) -> None:
    """Write a guess at who is who: Parquet where the name ends so, and CSV otherwise."""
    import polars as pl

    frame = pl.DataFrame(dict(zip(HEADER, (table.pseudonyms, table.user_ids), strict=True)))
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
        else:
            out.write(frame.write_csv().encode())


def _pairs(path: str | PathLike[str], *, one_to_one: bool) -> dict[str, str]:
    rows = _rows(path)
    if not rows:
        raise FileError.whole(path, "is empty; an id table has a header and a line a pseudonym", "empty")
    header = [name.strip().lower() for name in rows[0]]
    if len(header) != 2:
        problem = f"has {len(header)} columns; an id table has two, pse_id,user_id"
        raise FileError.whole(path, problem, "wrong-header", ",".join(rows[0]))
    swapped = header[0] in _USER and header[1] in _PSEUDONYM
    table: dict[str, str] = {}
    users: set[str] = set()
    for at, row in enumerate(rows[1:], start=1):
        if len(row) != 2 or not all(value.strip() for value in row):
            problem = "a line must hold a pseudonym and a user"
            raise FileError(path, [Fault(at, None, ",".join(row), problem, "wrong-length")])
        if any("\0" in value for value in row):
            raise FileError(path, [Fault(at, None, ",".join(row), "ids must not hold U+0000", "bad-id")])
        pseudonym, user = (value.strip() for value in (reversed(row) if swapped else row))
        if pseudonym in table or (one_to_one and user in users):
            column = rows[0][0 if (pseudonym in table) != swapped else 1]
            problem = "stands there already" + ("; an id table is one to one" if one_to_one else "")
            value = pseudonym if pseudonym in table else user
            raise FileError(path, [Fault(at, column, value, problem, "repeated-id")])
        table[pseudonym] = user
        users.add(user)
    if not table:
        raise FileError.whole(path, "has a header and no line", "empty")
    return table


def _rows(path: str | PathLike[str]) -> list[list[str]]:
    with open(path, "rb") as file:
        packed = file.read(4) == b"PAR1"
    if not packed:
        text = read_bytes(path, max_bytes=_MOST_BYTES).decode("utf-8-sig", "replace")
        # Ids may hold what `str.splitlines` takes for the end of a line.
        try:
            return [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        except csv.Error as error:
            raise FileError.whole(path, f"is not a CSV table: {error}", "bad-csv") from None
    from tracearena.intake.tables import expected, read_parquet

    frame = read_parquet(path, lambda names: names)
    columns = [expected(column, "user", path).cast(str).fill_null("").to_list() for column in frame]
    return [frame.columns, *map(list, zip(*columns, strict=True))]


def _ids(texts: list[str]) -> NDArray[Any]:
    """Return ids as numbers if all of them are, written the plain way, and as text otherwise."""
    import polars as pl

    from tracearena.intake.ids import identifiers

    ids = identifiers(pl.Series(texts, dtype=pl.String))
    return np.asarray(ids.to_list())
