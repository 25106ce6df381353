"""Secret tables of who is behind which pseudonym, of any two columns."""

from __future__ import annotations

import csv
from os import PathLike

from tracearena.errors import Fault, FileError
from tracearena.files.whole import read_bytes

_MOST_BYTES = 2**30
_PSEUDONYM = ("pse_id", "pseudonym", "pseudonym_id", "released_id")
_USER = ("user_id", "user", "uid", "original_id")


def read_pseudonyms(path: str | PathLike[str]) -> dict[str, str]:
    """Read a CSV table of pseudonyms and users (``pse_id,user_id``), the pseudonym first.

    The first line is a header; where its names say so (``user_id,pse_id``) the user may stand first. Ids are
    text here: the contest's tables of numbers and those of GPS users with names are read alike.
    """
    text = read_bytes(path, max_bytes=_MOST_BYTES).decode("utf-8-sig", "replace")
    rows = [row for row in csv.reader(text.splitlines()) if row]
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
        pseudonym, user = (value.strip() for value in (reversed(row) if swapped else row))
        if pseudonym in table or user in users:
            column = rows[0][0 if (pseudonym in table) != swapped else 1]
            problem = "stands there already; an id table is one to one"
            value = pseudonym if pseudonym in table else user
            raise FileError(path, [Fault(at, column, value, problem, "repeated-id")])
        table[pseudonym] = user
        users.add(user)
    if not table:
        raise FileError.whole(path, "has a header and no line", "empty")
    return table
