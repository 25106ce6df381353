"""Who is who between an original and a release of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, shorten
from tracearena.traces import GpsTraces
from tracearena.traces.ids import positions

IdTable: TypeAlias = Mapping[Any, Any]
"""Pseudonym → user. Ids that are written alike are alike: 7, "7" and "007" unless both stand there."""

_MOST_USERS = 500
_MOST_TIMES = 40


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
        look safe; if most people's times of recording stand under another user's id; or if the table lacks
        a released user or names nobody of the original.

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
    order = positions(released.user_ids, original.user_ids)
    if released.n_users and order.max() < 0:
        raise DataError(
            f"none of the {released.n_users:,} released users (such as {shorten(str(released.user_ids[0]))}) "
            f"has an id of the original (such as {shorten(str(ids[0] if ids else ''))}): if they are "
            "pseudonyms, name the table of who is who with --id-table (in Python id_table=)"
        )
    _refuse_swapped(original, released, id_table is not None)
    ranked = np.argsort(np.where(order < 0, len(ids), order), kind="stable")
    return released if (np.diff(ranked) == 1).all() else released.take_users(ranked)


def _refuse_swapped(original: GpsTraces, released: GpsTraces, has_table: bool) -> None:
    """Refuse ids that are the same words for other people, seen by the times of the points.

    Noise moves places; most releases keep times. Who has more of a user's times than the user has, and at
    least half, is that user under another name; by accident two users would often find the same one.
    """
    others = _same_times(original, released)
    elsewhere = others[others >= 0]
    if 2 * len(elsewhere) <= len(others) or len(np.unique(elsewhere)) < 0.9 * len(elsewhere):
        return
    problem = (
        f"{len(elsewhere):,} of {len(others):,} users have their times of recording under another user's id"
    )
    if has_table:
        raise DataError(f"{problem}: the id table does not belong to this release")
    raise DataError(
        f"{problem}: if the ids are pseudonyms, name the table of who is who with --id-table "
        "(in Python id_table=)"
    )


def _same_times(original: GpsTraces, released: GpsTraces) -> NDArray[np.int64]:
    """Return, for some users, who else has most of their times in the release; -1 where nobody has more."""
    order = np.argsort(released.time_ms, kind="stable")
    times, owner = released.time_ms[order], released.user_index[order]
    position = positions(original.user_ids, released.user_ids)
    users = np.flatnonzero(np.diff(original.offsets) > 0)
    users = users[:: -(-len(users) // _MOST_USERS) or 1]
    found = np.full(len(users), -1, np.int64)
    for at, user in enumerate(users.tolist()):
        own = np.unique(original.time_ms[original.offsets[user] : original.offsets[user + 1]])
        own = own[:: -(-len(own) // _MOST_TIMES)]
        counts = np.zeros(released.n_users, np.int64)
        for first, stop in zip(
            np.searchsorted(times, own), np.searchsorted(times, own, "right"), strict=True
        ):
            counts[np.unique(owner[first:stop])] += 1
        best = int(counts.argmax())
        here = position[user]
        if 2 * counts[best] >= len(own) and counts[best] > (counts[here] if here >= 0 else 0):
            found[at] = best
    return found


def _renamed(ids: list[Any], released: GpsTraces, id_table: IdTable) -> GpsTraces:
    table, users = _Words(id_table), _Words({user: user for user in ids})
    names: list[Any] = []
    for pseudonym in released.user_ids.tolist():
        named = table.get(pseudonym)
        if named is None:
            word = shorten(str(pseudonym))
            raise DataError(f"the id table has no line for the released user {word}; it must name them all")
        user = users.get(named)
        names.append(named if user is None else user)
    if not any(users.get(name) is not None for name in names):
        theirs, ours = shorten(str(names[0])), shorten(str(ids[0] if ids else ""))
        raise DataError(
            f"the id table names no user of the original (such as {theirs}; the original has {ours})"
        )
    if len({str(name) for name in names}) < len(names):
        raise DataError("the id table gives two released users the same id; it must be one to one")
    if len({type(name) for name in names}) > 1:
        # ids are all numbers or all words; somebody whom the original lacks has the table's word
        names = [_number(name) for name in names]
    return released.with_user_ids(names)


def _number(name: Any) -> int:
    try:
        return int(name)
    except ValueError:
        raise DataError(f"the id table names {shorten(str(name))}, where the original has numbers") from None


class _Words:
    """Look ids up as they are written, and where that fails as numbers are written."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self._exact = {str(key): value for key, value in values.items()}
        plain: dict[str, Any] = {}
        for key, value in values.items():
            word = _plain(key)
            plain[word] = value if word not in plain else None
        self._plain = {word: value for word, value in plain.items() if value is not None}

    def get(self, key: Any) -> Any:
        """Return the value, None if there is none."""
        return self._exact.get(str(key), self._plain.get(_plain(key)))


def _plain(key: Any) -> str:
    word = str(key).strip()
    return str(int(word)) if word.isascii() and word.isdigit() else word
