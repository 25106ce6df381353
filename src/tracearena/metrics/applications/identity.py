"""Who is who between an original and a release of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tracearena.errors import DataError, shorten
from tracearena.traces import GpsTraces

IdTable: TypeAlias = Mapping[Any, Any]
"""Pseudonym → user. Ids that are written alike are alike: 7, "7" and "007" unless both stand there."""


def with_true_ids(original: GpsTraces, released: GpsTraces, id_table: IdTable | None = None) -> GpsTraces:
    """Return the release with the ids of the original, its users in the original's order.

    Parameters
    ----------
    id_table
        Pseudonym → user, where the release has other ids than the original. Without it users are matched
        by their ids.

    Raises
    ------
    DataError
        If no released user has an id of the original, so that nobody would be found and the release would
        look safe; or if the table lacks a released user or names nobody of the original.

    Examples
    --------
    >>> original = GpsTraces.from_points(["ann", "bob"], [0, 0], [1.0, 2.0], [0.0, 0.0])
    >>> released = GpsTraces.from_points([8, 9], [0, 0], [2.0, 1.0], [0.0, 0.0])
    >>> with_true_ids(original, released, {"8": "bob", "9": "ann"}).user_ids.tolist()
    ['ann', 'bob']
    """
    ids = original.user_ids.tolist()
    if id_table is not None:
        released = _renamed(ids, released, id_table)
    position = {user: at for at, user in enumerate(ids)}
    order = [position.get(user, -1) for user in released.user_ids.tolist()]
    if released.n_users and max(order) < 0:
        raise DataError(
            f"none of the {released.n_users:,} released users has an id of the original (such as "
            f"{shorten(str(released.user_ids[0]))} and {shorten(str(ids[0] if ids else ''))}): if they are pseudonyms, "
            "name the table of who is who with --id-table (in Python id_table=)"
        )
    ranked = np.argsort([len(ids) if at < 0 else at for at in order], kind="stable")
    return released if (np.diff(ranked) == 1).all() else released.take_users(ranked)


def strangers(original: GpsTraces, released: GpsTraces, id_table: IdTable | None = None) -> int:
    """Count released users whom the original does not have."""
    known = set(original.user_ids.tolist())
    return sum(user not in known for user in with_true_ids(original, released, id_table).user_ids.tolist())


def _renamed(ids: list[Any], released: GpsTraces, id_table: IdTable) -> GpsTraces:
    table = _Words({pseudonym: user for pseudonym, user in id_table.items()})
    users = _Words({user: user for user in ids})
    names: list[Any] = []
    taken: set[Any] = set()
    for pseudonym in released.user_ids.tolist():
        if pseudonym not in table:
            raise DataError(
                f"the id table has no line for the released user {shorten(str(pseudonym))}; it must name them all"
            )
        named = table[pseudonym]
        user = users[named] if named in users else named
        if user in taken:
            raise DataError(f"the id table gives two released users the id {shorten(str(named))}")
        taken.add(user)
        names.append(user)
    if not any(user in users for user in names):
        raise DataError(
            f"the id table names no user of the original (it has such as {shorten(str(names[0]))}, "
            f"the original {shorten(str(ids[0] if ids else ''))})"
        )
    kind = {type(name) for name in names}
    if len(kind) > 1:
        # somebody whom the original does not have keeps the word of the table
        raise DataError("the id table mixes numbers and words; users it names must be those of the original")
    return released.renamed(names)


class _Words:
    """Look ids up as they are written, and where that fails as numbers are written."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self._exact = {str(key): value for key, value in values.items()}
        plain: dict[str, Any] = {}
        for key, value in values.items():
            word = _plain(key)
            plain[word] = value if word not in plain else None
        self._plain = {word: value for word, value in plain.items() if value is not None}

    def __contains__(self, key: Any) -> bool:
        return str(key) in self._exact or _plain(key) in self._plain

    def __getitem__(self, key: Any) -> Any:
        return self._exact[str(key)] if str(key) in self._exact else self._plain[_plain(key)]


def _plain(key: Any) -> str:
    word = str(key).strip()
    return str(int(word)) if word.isascii() and word.isdigit() else word
