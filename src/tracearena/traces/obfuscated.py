"""Obfuscated traces, with one place, several or none per event, and tables of pseudonyms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import DataError, ParameterError, shorten
from tracearena.traces._arrays import check_values, to_id_array, to_readonly_array, unique_values
from tracearena.traces.clock import Clock
from tracearena.traces.places import Places
from tracearena.traces.row_table import EventTable, arrange_rows, common_span, concat_user_ids
from tracearena.traces.traces import Traces

DELETED = -1
_FIRST_SET = -2


class PlaceSets:
    """A list of sets of places, stored as flat arrays; several events can share a set.

    >>> sets = PlaceSets.of([[0, 1, 32, 33], [5, 6]])
    >>> len(sets), sets[1].tolist()
    (2, [5, 6])
    """

    __slots__ = ("members", "offsets")

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]

    def __init__(self, offsets: Any, members: Any) -> None:
        self.offsets = to_readonly_array(offsets, np.int64, "offsets")
        self.members = to_readonly_array(members, np.int32, "members")
        if not len(self.offsets) or self.offsets[0] != 0 or self.offsets[-1] != len(self.members):
            raise DataError("offsets of place sets must run from 0 to the number of members")
        check_values(np.diff(self.offsets), lambda n: n >= 1, "size of place set", "at least 1")

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

    def take(self, chosen: Any) -> PlaceSets:
        """Return some of the sets, by index, in the given order; a set may occur twice.

        >>> PlaceSets.of([[0, 1], [5]]).take([1, 0, 1]).members.tolist()
        [5, 0, 1, 5]
        """
        index = np.asarray(chosen, np.int64)
        sizes = self.sizes[index]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        members = np.repeat(self.offsets[index] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return PlaceSets(offsets, self.members[members])


_NO_SETS = PlaceSets([0], [])


class ReleasedPairs(NamedTuple):
    """Events and the places released for them, one pair after the other.

    Attributes
    ----------
    event, place
        An event and one of its places, in the order of events and of the places in their sets; an
        event that was deleted is in no pair.
    weight
        One over the number of places of the event.
    """

    event: NDArray[np.int64]
    place: NDArray[np.int32]
    weight: NDArray[np.float64]


class ObfuscatedTraces(EventTable):
    """The events of `Traces`, each with the places that are released instead of its own.

    Every event has one code, so that single places need no sets:
    ``codes[e] >= 0`` is that one place (kept or perturbed), ``DELETED`` (-1) is no place, and
    ``-2 - s`` is set ``s`` of `sets` (generalised). Deleted events stay in the table and count in `n_events`.

    Events have the users and instants of the original ones, unless a defence changed times; `timestamps` are
    theirs to the second if they are known. With pseudonyms as user ids the same class holds anonymized
    traces.

    Examples
    --------
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> original = Traces.from_dense([[0, 1, 0]], places, Clock(instants_per_day=24))
    >>> released = ObfuscatedTraces.like(original, [0, DELETED, -2], PlaceSets.of([[0, 1]]))
    >>> released.cells()
    [[0], [], [0, 1]]
    >>> event, place, weight = released.pairs()
    >>> event.tolist(), place.tolist(), weight.tolist()
    ([0, 2, 2], [0, 0, 1], [1.0, 0.5, 0.5])
    """

    codes: NDArray[np.int32]
    sets: PlaceSets

    _columns: ClassVar[tuple[str, ...]] = ("instants", "codes", "timestamps")

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
        timestamps: Any = None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self._set_frame(places, clock, user_ids, offsets, instants, timestamps, span)
        self._set_codes(codes, sets)
        self._check_frame()

    def _set_codes(self, codes: Any, sets: PlaceSets | None) -> None:
        self._set(codes=to_readonly_array(codes, np.int32, "codes"), sets=_NO_SETS if sets is None else sets)
        if len(self.codes) != self.n_events:
            raise DataError(f"{self.n_events} events need {self.n_events} codes, not {len(self.codes)}")
        self._check_place_indices(self.codes, "codes", lowest=_FIRST_SET + 1 - len(self.sets))
        self._check_place_indices(self.sets.members, "members of place sets")

    @classmethod
    def like(cls, original: EventTable, codes: Any, sets: PlaceSets | None = None) -> ObfuscatedTraces:
        """Build from the events of other traces and the codes of the released places."""
        other = cls._on_frame_of(original)
        other._set_codes(codes, sets)
        return other

    @classmethod
    def from_traces(cls, original: Traces) -> ObfuscatedTraces:
        """Release every event as it is."""
        return cls.like(original, original.place_index)

    @classmethod
    def concat(cls, parts: Sequence[ObfuscatedTraces]) -> ObfuscatedTraces:
        """Return the events of several releases with the same places and clock as one.

        Users with the same id become one user, such as the days of a release.
        """
        users, user_ids = concat_user_ids(parts)
        instants = np.concatenate([part.instants for part in parts])
        times = [instants]
        stamps = [part.timestamps for part in parts if part.timestamps is not None]
        if len(stamps) == len(parts):
            times.append(np.concatenate(stamps))
        rows = arrange_rows(users, times, user_ids)
        shifts = np.cumsum([0, *(len(part.sets) for part in parts)])
        codes = [
            np.where(part.is_set, part.codes - shift, part.codes)
            for part, shift in zip(parts, shifts, strict=False)
        ]
        ends = np.cumsum([0, *(len(part.sets.members) for part in parts)])
        starts = [part.sets.offsets[:-1] + end for part, end in zip(parts, ends, strict=False)]
        return cls(
            parts[0].places,
            parts[0].clock,
            user_ids=rows.user_ids,
            offsets=rows.offsets,
            instants=instants[rows.order],
            codes=np.concatenate(codes)[rows.order],
            sets=PlaceSets(
                np.concatenate([*starts, ends[-1:]]), np.concatenate([part.sets.members for part in parts])
            ),
            timestamps=times[1][rows.order] if len(times) > 1 else None,
            span=common_span(parts),
        )

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
        """Return the places of every event as lists, for small data."""
        return [self.cell(event) for event in range(self.n_events)]

    def cell(self, event: int) -> list[int]:
        """Return the places of one event."""
        code = int(self.codes[event])
        if code >= 0:
            return [code]
        return [] if code == DELETED else [int(place) for place in self.sets[_FIRST_SET - code]]

    def pairs(self) -> ReleasedPairs:
        """Return all pairs of an event and one of its k released places, with the weight 1/k.

        A deleted event is in no pair; the pairs of an event follow each other, in the order of its set.
        """
        sizes = np.where(self.codes == DELETED, 0, 1)
        in_set = np.flatnonzero(self.is_set)
        chosen = self.sets.take(_FIRST_SET - self.codes[in_set]) if len(in_set) else _NO_SETS
        sizes[in_set] = chosen.sizes
        event = np.repeat(np.arange(self.n_events), sizes)
        place = self.codes[event]
        place[self.is_set[event]] = chosen.members
        return ReleasedPairs(event, place, 1 / sizes[event])

    def to_frame(self, library: str = "polars", *, one_place_per_row: bool = False) -> Any:
        """Return a data frame with one row per event.

        Columns ``user_id``; local ``time``, to the second where there are timestamps, or ``time_id``, the
        instants counted from 1, where there are no dates; and ``places``, ``lat`` and ``lng``, lists of
        what is released: none where the event was deleted, several where it was generalised.

        Parameters
        ----------
        library
            One of `tracearena.dataframes.LIBRARIES`. Those with points need `one_place_per_row`.
        one_place_per_row
            Return one row per released place instead, with a column ``place``, as `Traces.to_frame` does: a
            deleted event has no row, and one that was generalised has several.
        """
        from tracearena.dataframes import export_frame
        from tracearena.traces.exports import build_released_frame, build_released_rows

        if one_place_per_row:
            return export_frame(build_released_rows(self), library, position=("lat", "lng"))
        return export_frame(build_released_frame(self), library)

    def _has_same_column(self, name: str, other: Self) -> bool:
        if name != "codes":
            return super()._has_same_column(name, other)
        # The same places are released for each event, however the sets are numbered.
        if not (
            np.array_equal(self.is_set, other.is_set)
            and np.array_equal(self.codes.clip(DELETED), other.codes.clip(DELETED))
        ):
            return False
        mine, yours = self.set_index[self.is_set], other.set_index[other.is_set]
        pairs = np.unique(np.column_stack([mine, yours]), axis=0) if len(mine) else np.zeros((0, 2), np.int32)
        return all(np.array_equal(self.sets[a], other.sets[b]) for a, b in pairs)

    def __repr__(self) -> str:
        return (
            f"<ObfuscatedTraces: {self.n_users:,} users, {self.n_events:,} events, "
            f"{int(self.is_set.sum()):,} generalised, {int(self.is_deleted.sum()):,} deleted>"
        )


class IdTable:
    """A table of pseudonyms and user ids, in ascending order of pseudonyms.

    In the judge's table every user occurs once (`is_one_to_one`); an inferred table may name a user twice.

    >>> IdTable([2001, 2002, 2003], [2, 3, 1]).is_one_to_one
    True
    """

    __slots__ = ("pseudonyms", "user_ids")

    pseudonyms: NDArray[Any]
    user_ids: NDArray[Any]

    def __init__(self, pseudonyms: Any, user_ids: Any) -> None:
        self.pseudonyms = to_id_array(pseudonyms, "pseudonyms")
        self.user_ids = to_id_array(user_ids, "user_ids")
        if len(self.pseudonyms) != len(self.user_ids):
            raise DataError(f"{len(self.pseudonyms)} pseudonyms but {len(self.user_ids)} user ids")
        if len(self.pseudonyms) > 1 and not (self.pseudonyms[:-1] < self.pseudonyms[1:]).all():
            raise DataError("pseudonyms must be different and in ascending order")

    def __len__(self) -> int:
        return len(self.pseudonyms)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the pseudonyms."""
        return iter(self.pseudonyms.tolist())

    def __getitem__(self, pseudonym: Any) -> Any:
        """Return the user of a pseudonym: ``table[2001]``."""
        found = np.flatnonzero(self.pseudonyms.astype(np.str_) == str(pseudonym))
        if not found.size:
            raise ParameterError(f"there is no pseudonym {shorten(str(pseudonym))} in the table")
        return self.user_ids[found[0]].item()

    def head(self, n: int = 5, library: str = "polars") -> Any:
        """Return a data frame of the first `n` pseudonyms, as `to_frame` makes it of all."""
        require_whole("n", n, at_least=0)
        return IdTable(self.pseudonyms[:n], self.user_ids[:n]).to_frame(library)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdTable):
            return NotImplemented
        return np.array_equal(self.pseudonyms, other.pseudonyms) and np.array_equal(
            self.user_ids, other.user_ids
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<IdTable of {len(self):,} pseudonyms>"

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row per pseudonym: ``pse_id``, ``user_id``.

        The table is secret.

        `library` is ``polars``, ``pandas``, ``arrow`` or ``geopandas`` (which is refused:
        there are no points).
        """
        from tracearena.dataframes import export_frame
        from tracearena.traces.exports import build_id_table_frame

        return export_frame(build_id_table_frame(self), library)

    def _repr_html_(self) -> str:
        from tracearena.dataframes import load_view

        html: str = load_view("id_table_html")(self)
        return html

    @property
    def is_one_to_one(self) -> bool:
        """Whether every user occurs once."""
        return len(unique_values(self.user_ids)) == len(self.user_ids)
