"""Ids that are the same words for other people, found out by the times of their points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.metrics.applications.walking import Part, Walk
from tracearena.traces._arrays import different

Ints = NDArray[np.int64]

_MOST_USERS = 500
_MOST_TIMES = 40


def refuse_swapped(walk: Walk, *, has_table: bool) -> None:
    """Refuse ids that are the same words for other people, seen by the times of the points.

    Noise moves places; most releases keep times. Who has more of a user's times than the user has, and at
    least half, is that user under another name; by accident two users would often find the same one.
    """
    others = _same_times(walk)
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


def _same_times(walk: Walk) -> Ints:
    """Return, for some users, who else has most of their times in the release; -1 where nobody has more."""
    users = np.flatnonzero(walk.points)
    users = users[:: -(-len(users) // _MOST_USERS) or 1]
    asked = [times for part in walk.visit(lambda part: _some_times(part, users)) for times in part]
    held = walk.fold(lambda part: _Held.of(part, users, asked))
    enough = 2 * held.most >= np.array([len(times) for times in asked], np.int64)
    return np.where(enough & (held.most > held.own), held.who, -1)


def _some_times(part: Part, users: Ints) -> list[Ints]:
    """Return times of those of the users who are in a part."""
    here = users[(users >= part.first) & (users < part.first + part.original.n_users)] - part.first
    offsets, found = part.original.offsets, []
    for user in here.tolist():
        own = different(part.original.time_ms[offsets[user] : offsets[user + 1]])
        found.append(own[:: -(-len(own) // _MOST_TIMES)])
    return found


@dataclass(frozen=True)
class _Held:
    """How many times of each user the release has under the id that has the most, and under her own."""

    most: Ints
    who: Ints
    own: Ints

    @classmethod
    def of(cls, part: Part, users: Ints, asked: list[Ints]) -> Self:
        released, n = part.released, part.released.n_users
        most, who, own = (np.zeros(len(asked), np.int64) for _ in range(3))
        if not n:
            return cls(most, who, own)
        order = np.argsort(released.time_ms, kind="stable")
        times, owner = released.time_ms[order], released.user_index[order].astype(np.int64)
        for at, (user, wanted) in enumerate(zip(users.tolist(), asked, strict=True)):
            counts = _counted(wanted, times, owner, n)
            best = int(counts.argmax())
            most[at], who[at] = counts[best], part.first_released + best
            here = part.same[user - part.first] if 0 <= user - part.first < part.original.n_users else -1
            own[at] = counts[here] if here >= 0 else 0
        return cls(most, who, own)

    def __add__(self, other: _Held) -> _Held:
        fewer = other.most > self.most
        return _Held(
            np.where(fewer, other.most, self.most),
            np.where(fewer, other.who, self.who),
            self.own + other.own,
        )


def _counted(wanted: Ints, times: Ints, owner: Ints, n_users: int) -> Ints:
    """Count how many of the wanted times each user has."""
    first, stop = np.searchsorted(times, wanted), np.searchsorted(times, wanted, "right")
    lengths = stop - first
    begin = np.cumsum(lengths) - lengths
    rows = np.repeat(first - begin, lengths) + np.arange(lengths.sum())
    pairs = different(np.repeat(np.arange(len(wanted)), lengths) * n_users + owner[rows])
    return np.bincount(pairs % n_users, minlength=n_users)
