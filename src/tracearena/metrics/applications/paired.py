"""An original and a release of it, with the matching of their users and points.

The data may come whole or in chunks of users (`ComparisonChunks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.engine.blocks import S
from tracearena.errors import DataError, shorten
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import find_positions, to_id_array, unique_values
from tracearena.traces.geodesy import distance_bounds_m, distance_m
from tracearena.traces.spread import UniqueCounts, may_start_with, select_starting_with

Ints = NDArray[np.int64]
IdTable: TypeAlias = Mapping[Any, Any]
"""Pseudonym → user. Ids that are written alike are alike: 7, "7" and "007" unless both stand there."""


def with_true_ids(original: GpsTraces, released: GpsTraces, id_table: IdTable | None = None) -> GpsTraces:
    """Return the release with the ids of the original, its users in the original's order.

    Parameters
    ----------
    id_table
        Pseudonym → user, if the release has other ids than the original. Without it, users are matched by
        their ids.

    Raises
    ------
    DataError
        If no released user has an id of the original, because the release would then look safe; if the
        recording times of most people belong to another user id; or if the table lacks a released user or
        names no user of the original.

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
    check_swapped_ids(WholeComparison(original, ranked), has_table=id_table is not None)
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
    table, users = _IdLookup(id_table), _IdLookup({user: user for user in ours.tolist()})
    names: list[Any] = []
    for pseudonym in theirs.tolist():
        named = table.get(pseudonym)
        if named is None:
            word = shorten(str(pseudonym))
            raise DataError(
                f"the id table has no row for the released user {word}; it must name all released users"
            )
        user = users.get(named)
        names.append(named if user is None else user)
    if not any(users.get(name) is not None for name in names):
        named, known = shorten(str(names[0])), shorten(str(ours[0] if len(ours) else ""))
        raise DataError(
            "the id table has no user of the original (it has users such as "
            f"{named}, the original such as {known})"
        )
    if len({str(name) for name in names}) < len(names):
        raise DataError("the id table gives two released users the same id; every id must be unique")
    if len({type(name) for name in names}) > 1:
        # ids are all numbers or all words; somebody whom the original lacks has the table's word
        names = [_parse_number(name) for name in names]
    return to_id_array(names, "user_ids")


def require_known(ours: NDArray[Any], ids: NDArray[Any]) -> None:
    """Refuse a release of which nobody, by true ids, is in the original."""
    if len(ids) and find_positions(ids, ours).max() < 0:
        raise DataError(
            f"none of the {len(ids):,} released users (such as {shorten(str(ids[0]))}) has an id of "
            f"the original (such as {shorten(str(ours[0] if len(ours) else ''))}): if they are "
            "pseudonyms, give the table of true identities with --id-table (in Python: id_table=)"
        )


def true_order(ours: NDArray[Any], ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return the released users, by true ids, in the order of the original, those whom it lacks last."""
    places = find_positions(ids, ours)
    return np.argsort(np.where(places < 0, len(ours), places), kind="stable")


def _parse_number(name: Any) -> int:
    try:
        return int(name)
    except ValueError:
        raise DataError(
            f"the id table has the id {shorten(str(name))}, but the ids of the original are numbers"
        ) from None


class _IdLookup:
    """Look ids up as they are written, and where that fails as numbers are written."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self._exact = {str(key): value for key, value in values.items()}
        plain: dict[str, Any] = {}
        for key, value in values.items():
            word = _normalise_id(key)
            plain[word] = value if word not in plain else None
        self._plain = {word: value for word, value in plain.items() if value is not None}

    def get(self, key: Any) -> Any:
        """Return the value, None if there is none."""
        return self._exact.get(str(key), self._plain.get(_normalise_id(key)))


def _normalise_id(key: Any) -> str:
    word = str(key).strip()
    return str(int(word)) if word.isascii() and word.isdigit() else word


# Which released point stands for which original one.


def are_row_by_row(original: GpsTraces, released: GpsTraces) -> bool:
    """Whether a release has the users of the original, and each the same times: its points one by one."""
    return original.has_users_of(released) and original.has_rows_of(released)


def match_points(
    original: GpsTraces, released: GpsTraces, *, row_by_row: bool | None = None
) -> tuple[Ints, Ints]:
    """Return pairs of original and released points of the same user, nearest in time.

    Parameters
    ----------
    row_by_row
        Whether the points are to be taken one by one; as `are_row_by_row` says if omitted. Of some users of
        many, it is for all of them to say.
    """
    if are_row_by_row(original, released) if row_by_row is None else row_by_row:
        everything = np.arange(len(original))
        return everything, everything
    pairs = []
    for user, other in enumerate(find_positions(original.user_ids, released.user_ids).tolist()):
        if other < 0 or released.offsets[other] == released.offsets[other + 1]:
            continue
        points = np.arange(original.offsets[user], original.offsets[user + 1])
        first = released.offsets[other]
        times = released.time_ms[first : released.offsets[other + 1]]
        pairs.append((points, first + find_nearest_times(times, original.time_ms[points])))
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])


def find_nearest_times(times: Ints, wanted: Ints) -> Ints:
    """Return the index of the time nearest to each wanted one; the earlier of two."""
    after = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(wanted - times[before]) <= np.abs(times[after] - wanted), before, after)


# An original and its release together: all users at once, or chunk by chunk.

T = TypeVar("T")
_POINTS_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class ComparisonChunk:
    """Some users of an original, and what is released of them, under the same ids.

    Attributes
    ----------
    original, released
        Consecutive users of each. Only the release may have somebody whom the original lacks.
    row_by_row
        Whether all users of the release, not only these, have their original points one by one.
    first, first_released
        Number of the first user among all of the original, and among all of the release.
    """

    original: GpsTraces
    released: GpsTraces
    row_by_row: bool
    first: int = 0
    first_released: int = 0

    @cached_property
    def same(self) -> NDArray[np.int64]:
        """Index of each user of the original in the release, -1 for users who are not in it."""
        return find_positions(self.original.user_ids, self.released.user_ids)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Metres between the original points that have a counterpart and these, nearest in time."""
        ends = self._ends
        metres = np.empty(len(ends[0]))

        def work(block: int, first: int, stop: int) -> None:
            metres[first:stop] = distance_m(*(degrees[first:stop] for degrees in ends))

        run_blocks(work, block_ranges(len(metres), _POINTS_PER_BLOCK))
        return metres

    def distances_starting_with(self, keys: NDArray[np.int64]) -> UniqueCounts:
        """Return the distances that begin with some first bits; most points are told apart by bounds."""
        if "distances" in self.__dict__:
            return select_starting_with(self.distances, keys)
        ends = self._ends
        chosen = may_start_with(*distance_bounds_m(*ends), keys)
        return select_starting_with(distance_m(*(degrees[chosen] for degrees in ends)), keys)

    @property
    def _ends(self) -> tuple[NDArray[np.float64], ...]:
        """Latitudes and longitudes of the original points, and of their counterparts."""
        mine, theirs = match_points(self.original, self.released, row_by_row=self.row_by_row)
        before, after = self.original, self.released
        return before.latitude[mine], before.longitude[mine], after.latitude[theirs], after.longitude[theirs]


class ComparisonChunks(Protocol):
    """The way through an original and its release: every user of both is in one part, in order."""

    @property
    def points(self) -> NDArray[np.int64]:
        """How many points each user of the original has."""

    @property
    def is_released(self) -> NDArray[np.bool_]:
        """Which users of the original have released points."""

    @property
    def released_points(self) -> int:
        """How many points the release has."""

    def visit(self, work: Callable[[ComparisonChunk], T]) -> list[T]:
        """Return what the work makes of every part, in their order."""

    def fold(self, work: Callable[[ComparisonChunk], S]) -> S:
        """Return the sum of what the work makes of every part."""


@dataclass(frozen=True)
class WholeComparison:
    """All users in one part."""

    original: GpsTraces
    released: GpsTraces

    @cached_property
    def _part(self) -> ComparisonChunk:
        return ComparisonChunk(self.original, self.released, are_row_by_row(self.original, self.released))

    @property
    def points(self) -> NDArray[np.int64]:
        """How many points each user of the original has."""
        return np.diff(self.original.offsets)

    @property
    def is_released(self) -> NDArray[np.bool_]:
        """Which users of the original have released points."""
        # Users who are not released have number -1: the False at the end.
        return np.append(np.diff(self.released.offsets) > 0, False)[self._part.same]

    @property
    def released_points(self) -> int:
        """How many points the release has."""
        return len(self.released)

    def visit(self, work: Callable[[ComparisonChunk], T]) -> list[T]:
        """Do the work once."""
        return [work(self._part)]

    def fold(self, work: Callable[[ComparisonChunk], S]) -> S:
        """Do the work once."""
        return work(self._part)


# Ids that name other people in the release than in the original, detected by the times of points.

_MOST_USERS = 500
_MOST_TIMES = 40


def check_swapped_ids(walk: ComparisonChunks, *, has_table: bool) -> None:
    """Refuse ids that name other people in the release, detected by the times of the points.

    Noise moves places; most releases keep times. An id that has more of a user's times than her own id,
    and at least half of them, is that user under another name; by accident two users would often find
    the same one.
    """
    users = np.flatnonzero(walk.points)
    users = users[:: -(-len(users) // _MOST_USERS) or 1]

    def sample_times(part: ComparisonChunk) -> list[Ints]:
        """Return some times of each of the users who are in a chunk."""
        here = users[(users >= part.first) & (users < part.first + part.original.n_users)] - part.first
        offsets, found = part.original.offsets, []
        for user in here.tolist():
            own = unique_values(part.original.time_ms[offsets[user] : offsets[user + 1]])
            found.append(own[:: -(-len(own) // _MOST_TIMES)])
        return found

    asked = [times for part in walk.visit(sample_times) for times in part]
    matches = walk.fold(lambda part: _TimeMatches.of(part, users, asked))
    enough = 2 * matches.most >= np.array([len(times) for times in asked], np.int64)
    others = np.where(enough & (matches.most > matches.own), matches.who, -1)
    elsewhere = others[others >= 0]
    if 2 * len(elsewhere) <= len(others) or len(np.unique(elsewhere)) < 0.9 * len(elsewhere):
        return
    problem = f"{len(elsewhere):,} of {len(others):,} users have the recording times of another user"
    if has_table:
        raise DataError(f"{problem}: the id table does not belong to this release")
    raise DataError(
        f"{problem}: if the ids are pseudonyms, give the table of true identities with "
        "--id-table (in Python: id_table=)"
    )


@dataclass(frozen=True)
class _TimeMatches:
    """How many times of each user the release has under the id that has the most, and under her own."""

    most: Ints
    who: Ints
    own: Ints

    @classmethod
    def of(cls, part: ComparisonChunk, users: Ints, asked: list[Ints]) -> Self:
        released, n = part.released, part.released.n_users
        most, who, own = (np.zeros(len(asked), np.int64) for _ in range(3))
        if not n:
            return cls(most, who, own)
        order = np.argsort(released.time_ms, kind="stable")
        times, owner = released.time_ms[order], released.user_index[order].astype(np.int64)
        for at, (user, wanted) in enumerate(zip(users.tolist(), asked, strict=True)):
            first, stop = np.searchsorted(times, wanted), np.searchsorted(times, wanted, "right")
            lengths = stop - first
            begin = np.cumsum(lengths) - lengths
            rows = np.repeat(first - begin, lengths) + np.arange(lengths.sum())
            pairs = unique_values(np.repeat(np.arange(len(wanted)), lengths) * n + owner[rows])
            counts = np.bincount(pairs % n, minlength=n)
            best = int(counts.argmax())
            most[at], who[at] = counts[best], part.first_released + best
            here = part.same[user - part.first] if 0 <= user - part.first < part.original.n_users else -1
            own[at] = counts[here] if here >= 0 else 0
        return cls(most, who, own)

    def __add__(self, other: _TimeMatches) -> _TimeMatches:
        fewer = other.most > self.most
        return _TimeMatches(
            np.where(fewer, other.most, self.most),
            np.where(fewer, other.who, self.who),
            self.own + other.own,
        )
