"""Obfuscated traces: for each event one place, several, or none."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces._arrays import checked, frozen
from tracearena.traces._events import EventTable
from tracearena.traces.clock import Clock
from tracearena.traces.places import Places
from tracearena.traces.traces import Traces

DELETED = -1
_FIRST_SET = -2
NO_EVENT = np.iinfo(np.int32).min


class PlaceSets:
    """A list of sets of places, as flat arrays; many events may share one.

    >>> sets = PlaceSets.of([[0, 1, 32, 33], [5, 6]])
    >>> len(sets), sets[1].tolist()
    (2, [5, 6])
    """

    __slots__ = ("members", "offsets")

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]

    def __init__(self, offsets: Any, members: Any) -> None:
        self.offsets = frozen(offsets, np.int64, "offsets")
        self.members = frozen(members, np.int32, "members")
        if not len(self.offsets) or self.offsets[0] != 0 or self.offsets[-1] != len(self.members):
            raise DataError("offsets of place sets must run from 0 to the number of members")
        checked(np.diff(self.offsets), lambda n: n >= 1, "size of place set", "at least 1")

    @classmethod
    def of(cls, sets: Any) -> PlaceSets:
        """Build from a list of lists of place indices."""
        lists = [np.asarray(one, np.int32) for one in sets]
        members = np.concatenate([np.zeros(0, np.int32), *lists])
        return cls(np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64), members)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.members[self.offsets[index] : self.offsets[index + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of places in each set."""
        return np.diff(self.offsets)


_NO_SETS = PlaceSets([0], [])


class ObfuscatedTraces(EventTable):
    """The events of `Traces`, each with the set of places that is released in its stead.

    The set is one number an event, so that single places cost nothing extra:
    ``codes[e] >= 0`` is that one place (kept or perturbed), ``DELETED`` (-1) is no place, and
    ``-2 - s`` is set ``s`` of `sets` (generalised).

    Events stand exactly where the original's events stand. With pseudonyms as user ids the same
    class holds anonymized traces.

    Examples
    --------
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> original = Traces.from_dense([[0, 1, 0]], places, Clock(instants_per_day=24))
    >>> released = ObfuscatedTraces.like(original, [0, DELETED, -2], PlaceSets.of([[0, 1]]))
    >>> released.cells()
    [[0], [], [0, 1]]
    """

    codes: NDArray[np.int32]
    sets: PlaceSets

    _per_event: ClassVar[tuple[str, ...]] = ("instants", "codes")

    def __init__(
        self,
        places: Places,
        clock: Clock,
        *,
        user_ids: Any,
        offsets: Any,
        instants: Any,
        codes: Any,
        sets: PlaceSets | None = None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self._set_frame(places, clock, user_ids, offsets, instants, span)
        self._set_codes(codes, sets)

    def _set_codes(self, codes: Any, sets: PlaceSets | None) -> None:
        self.codes = frozen(codes, np.int32, "codes")
        self.sets = _NO_SETS if sets is None else sets
        if len(self.codes) != self.n_events:
            raise DataError(f"{self.n_events} events need as many codes, not {len(self.codes)}")
        self._check_place_indices(self.codes, "codes", lowest=_FIRST_SET + 1 - len(self.sets))
        self._check_place_indices(self.sets.members, "members of place sets")

    @classmethod
    def like(cls, original: EventTable, codes: Any, sets: PlaceSets | None = None) -> ObfuscatedTraces:
        """Put codes on the events of other traces."""
        other = object.__new__(cls)
        for name in ("places", "clock", "user_ids", "offsets", "instants", "span"):
            other.__dict__[name] = getattr(original, name)
        other._set_codes(codes, sets)
        return other

    @classmethod
    def unchanged(cls, original: Traces) -> ObfuscatedTraces:
        """Release every event as it is."""
        return cls.like(original, original.place_index)

    @property
    def is_single(self) -> NDArray[np.bool_]:
        """True where one place is released."""
        return self.codes >= 0

    @property
    def is_deleted(self) -> NDArray[np.bool_]:
        """True where nothing is released."""
        return np.asarray(self.codes == DELETED)

    @property
    def is_set(self) -> NDArray[np.bool_]:
        """True where the event is generalised to a set."""
        return self.codes <= _FIRST_SET

    @property
    def set_index(self) -> NDArray[np.int32]:
        """Number of the set of each event; meaningful where `is_set`."""
        return (_FIRST_SET - self.codes).astype(np.int32)

    def cells(self) -> list[list[int]]:
        """Return the places of every event as lists; for looking at small data."""
        return [self.cell(event) for event in range(self.n_events)]

    def cell(self, event: int) -> list[int]:
        """Return the places of one event."""
        code = int(self.codes[event])
        if code >= 0:
            return [code]
        return [] if code == DELETED else [int(place) for place in self.sets[_FIRST_SET - code]]

    def dense_codes(self) -> NDArray[np.int32]:
        """Return the users × instants table of codes, `NO_EVENT` where there is no event."""
        return self._dense(self.codes, NO_EVENT)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObfuscatedTraces):
            return NotImplemented
        if not self._same_frame(other):
            return False
        if not (
            np.array_equal(self.is_set, other.is_set)
            and np.array_equal(self.codes.clip(-1), other.codes.clip(-1))
        ):
            return False
        mine, yours = self.set_index[self.is_set], other.set_index[other.is_set]
        pairs = np.unique(np.column_stack([mine, yours]), axis=0) if len(mine) else np.zeros((0, 2), np.int32)
        return all(np.array_equal(self.sets[a], other.sets[b]) for a, b in pairs)

    __hash__ = None

    def __repr__(self) -> str:
        return (
            f"<ObfuscatedTraces: {self.n_users:,} users, {self.n_events:,} events, "
            f"{int(self.is_set.sum()):,} generalised, {int(self.is_deleted.sum()):,} deleted>"
        )
