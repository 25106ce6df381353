"""Who is behind which pseudonym: the judge's table and what teams submit as a guess."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault
from tracearena.formats.pwscup._ids import id_column
from tracearena.formats.pwscup._layout import ID_TABLE, INFERRED_TABLE
from tracearena.formats.pwscup._rows import write_rows
from tracearena.formats.pwscup._scan import scan
from tracearena.formats.pwscup._sheet import Sheet, open_sheet
from tracearena.formats.pwscup.traces import MAX_SUBMISSION_BYTES
from tracearena.traces import IdTable


def read_id_table(path: str | PathLike[str]) -> IdTable:
    """Read an ID table (``pse_id,user_id``): ascending by pseudonym, no user twice."""
    sheet = open_sheet(path, ID_TABLE)
    pseudonyms, users = scan(sheet, n_keys=1).ids
    _, first = np.unique(users, return_index=True)
    again = users > 0
    again[first] = False
    problem = "the user stands under another pseudonym already; an ID table is one to one"
    _note_users(sheet, users, again, problem, "repeated-user")
    sheet.refuse_faulty()
    return IdTable(pseudonyms, users)


def write_id_table(table: IdTable, path: str | PathLike[str]) -> None:
    """Write an ID table, for its owner's eyes alone."""
    columns = [id_column(table.pseudonyms, "pseudonyms"), id_column(table.user_ids, "user ids")]
    write_rows(path, ID_TABLE, columns, private=True)


def read_inferred_table(
    path: str | PathLike[str],
    pseudonyms: Any,
    *,
    users: Any = None,
    max_bytes: int | None = None,
) -> IdTable:
    """Read an inferred ID table (``user_id``): line i answers the i-th pseudonym.

    Parameters
    ----------
    pseudonyms
        The pseudonyms, ascending.
    users
        Ids of the users there are; others are refused. Without them any id is accepted.
    max_bytes
        Limit of a submission; by default `MAX_SUBMISSION_BYTES`.
    """
    limit = MAX_SUBMISSION_BYTES if max_bytes is None else max_bytes
    sheet = open_sheet(path, INFERRED_TABLE, max_bytes=limit, rows=len(pseudonyms))
    (guesses,) = scan(sheet, expected_rows=len(pseudonyms)).ids
    if users is not None:
        known = np.asarray(users)
        problem = f"there is no such user; it must be one of the {len(known):,} users {_range(known)}"
        _note_users(sheet, guesses, (guesses > 0) & ~np.isin(guesses, known), problem, "unknown-user")
    sheet.refuse_faulty()
    return IdTable(pseudonyms, guesses)


def write_inferred_table(table: IdTable, path: str | PathLike[str]) -> None:
    """Write the user ids of an inferred table, in the order of the pseudonyms."""
    write_rows(path, INFERRED_TABLE, [id_column(table.user_ids, "user ids")])


def _range(known: NDArray[Any]) -> str:
    return f"from {known.min()} to {known.max()}" if len(known) else ""


def _note_users(
    sheet: Sheet, users: NDArray[np.int32], bad: NDArray[np.bool_], problem: str, code: str
) -> None:
    for row in np.flatnonzero(bad).tolist():
        sheet.add(Fault(row + 1, "user_id", str(users[row]), problem, code))
