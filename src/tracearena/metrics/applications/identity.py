"""Who is who between an original and a release of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, shorten
from tracearena.metrics.applications.swapping import refuse_swapped
from tracearena.metrics.applications.walking import AtOnce
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import identifiers, positions

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
        look safe; if most people's times of recording stand under another user's id; or if the table lacks
        a released user or names nobody of the original.

    Examples
    --------
    >>> original = GpsTraces.from_points(["ann", "bob"], [0, 0], [1.0, 2.0], [0.0, 0.0])
    >>> released = GpsTraces.from_points([8, 9], [0, 0], [2.0, 1.0], [0.0, 0.0])
    >>> with_true_ids(original, released, {"8": "bob", "9": "ann"}).user_ids.tolist()
    ['ann', 'bob']
    """
    ids = true_ids(original.user_ids, released.user_ids, id_table)
    require_known(original.user_ids, ids)
    order = true_order(original.user_ids, ids)
    named = released if id_table is None else released.with_user_ids(ids)
    ranked = named if (np.diff(order) == 1).all() else named.take_users(order)
    refuse_swapped(AtOnce(original, ranked), has_table=id_table is not None)
    return ranked


def true_ids(ours: NDArray[Any], theirs: NDArray[Any], id_table: IdTable | None) -> NDArray[Any]:
    """Return the ids of released users by the table; as they are without one.

    Parameters
    ----------
    ours, theirs
        Ids of the original, and of the release.
    """
    if id_table is None:
        return theirs
    table, users = _Words(id_table), _Words({user: user for user in ours.tolist()})
    names: list[Any] = []
    for pseudonym in theirs.tolist():
        named = table.get(pseudonym)
        if named is None:
            word = shorten(str(pseudonym))
            raise DataError(f"the id table has no line for the released user {word}; it must name them all")
        user = users.get(named)
        names.append(named if user is None else user)
    if not any(users.get(name) is not None for name in names):
        named, known = shorten(str(names[0])), shorten(str(ours[0] if len(ours) else ""))
        raise DataError(
            f"the id table names no user of the original (such as {named}; the original has {known})"
        )
    if len({str(name) for name in names}) < len(names):
        raise DataError("the id table gives two released users the same id; it must be one to one")
    if len({type(name) for name in names}) > 1:
        # ids are all numbers or all words; somebody whom the original lacks has the table's word
        names = [_number(name) for name in names]
    return identifiers(names, "user_ids")


def require_known(ours: NDArray[Any], ids: NDArray[Any]) -> None:
    """Refuse a release of which nobody, by true ids, is in the original."""
    if len(ids) and positions(ids, ours).max() < 0:
        raise DataError(
            f"none of the {len(ids):,} released users (such as {shorten(str(ids[0]))}) "
            f"has an id of the original (such as {shorten(str(ours[0] if len(ours) else ''))}): if they are "
            "pseudonyms, name the table of who is who with --id-table (in Python id_table=)"
        )


def true_order(ours: NDArray[Any], ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return the released users, by true ids, in the order of the original, those whom it lacks last."""
    places = positions(ids, ours)
    return np.argsort(np.where(places < 0, len(ours), places), kind="stable")


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
