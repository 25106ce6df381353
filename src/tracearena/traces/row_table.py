"""The tables under all traces: rows sorted by user and time, and cheap ways to slice them.

`RowTable` is the base of points and events, `EventTable` of original and obfuscated traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import DataError, ParameterError, shorten
from tracearena.traces._arrays import (
    are_equal_arrays,
    check_values,
    mark_readonly,
    to_id_array,
    to_readonly_array,
    unique_values,
)
from tracearena.traces.clock import Clock
from tracearena.traces.places import Places

_BITS = 63
"""Of a whole number without its sign."""
_SHOWN_USERS = 3


class RowTable:
    """Rows of many users as flat arrays, sorted by user, then by time; never changed.

    Attributes
    ----------
    user_ids
        External id of each user (or pseudonym); a user may have no rows.
    offsets
        Rows of user ``u`` are ``offsets[u]:offsets[u + 1]``.
    """

    user_ids: NDArray[Any]
    offsets: NDArray[np.int64]

    _columns: ClassVar[tuple[str, ...]]
    """Attributes with a value for each row; the first is the time that rows are sorted by."""
    _row: ClassVar[str]
    """What a row is called."""
    _derived: ClassVar[frozenset[str]]
    """Attributes worked out from the others, which a changed copy must not take over."""

    def __init_subclass__(cls) -> None:
        named = (pair for kind in cls.__mro__ for pair in vars(kind).items())
        cls._derived = frozenset(name for name, value in named if isinstance(value, cached_property))

    def _set_users(self, user_ids: Any, offsets: Any) -> None:
        self._set(
            user_ids=to_id_array(user_ids, "user_ids"),
            offsets=to_readonly_array(offsets, np.int64, "offsets"),
        )

    def _set(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} cannot be changed; use replace to make new traces with another {name}"
        )

    def _check_rows(self) -> None:
        offsets, n, rows = self.offsets, len(self), f"{self._row}s"
        if len(offsets) != self.n_users + 1:
            raise DataError(f"{self.n_users} users need {self.n_users + 1} offsets, not {len(offsets)}")
        if offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 0).any():
            raise DataError(f"offsets must rise from 0 to the number of {rows}, {n}")
        if len(unique_values(self.user_ids)) != self.n_users:
            raise DataError("two users have the same id")
        for name in self._available_columns():
            if len(getattr(self, name)) != n:
                raise DataError(f"{n} {rows} but {len(getattr(self, name))} values in {name}")
        falls = np.flatnonzero(np.diff(self._times) < 0) + 1
        if falls.size and not np.isin(falls, offsets).all():
            raise DataError(f"the {rows} of a user must be sorted by time")

    @property
    def _times(self) -> NDArray[Any]:
        times: NDArray[Any] = getattr(self, self._columns[0])
        return times

    def _available_columns(self) -> list[str]:
        return [name for name in self._columns if getattr(self, name) is not None]

    def _with(self, **changed: Any) -> Self:
        """Return a copy with some attributes replaced by arrays that are known to be good."""
        other = object.__new__(type(self))
        other._set(**{name: value for name, value in self.__dict__.items() if name not in self._derived})
        for name, value in changed.items():
            other.__dict__[name] = mark_readonly(value) if isinstance(value, np.ndarray) else value
        return other

    def replace(self, **changed: Any) -> Self:
        """Return a copy with some attributes replaced, checked as if all were new."""
        own = {name: value for name, value in self.__dict__.items() if name not in self._derived}
        return type(self)(**(own | changed))

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the ids of the users, with which ``traces[user]`` takes one of them."""
        return iter(self.user_ids.tolist())

    def __contains__(self, user: object) -> bool:
        return str(user) in self._user_positions

    def __getitem__(self, user: Any) -> Self:
        """Return the traces of one user, by id, or of a list of users: ``traces[["anna", "ben"]]``."""
        if isinstance(user, slice):
            raise ParameterError("traces are not sliced: take users with take_users, or first rows with head")
        if isinstance(user, (list, np.ndarray)):
            return self.take_users([self._position(one) for one in user])
        at = self._position(user)
        return self.take_users(slice(at, at + 1))

    def _position(self, user: Any) -> int:
        at = self._user_positions.get(str(user))
        if at is None:
            known = ", ".join(repr(one) for one in self.user_ids[:_SHOWN_USERS].tolist()) or "nobody"
            raise ParameterError(f"there is no user {shorten(str(user))}; name one of them, such as {known}")
        return at

    @cached_property
    def _user_positions(self) -> dict[str, int]:
        """Index of each user by its id as text, so that 7 and "7" are the same user."""
        return {str(user): at for at, user in enumerate(self.user_ids.tolist())}

    def head(self, n: int = 5, library: str = "polars") -> Any:
        """Return a data frame of the first `n` rows, as `to_frame` makes it of all."""
        require_whole("n", n, at_least=0)
        first: Any = self._take_rows(slice(0, n), offsets=np.minimum(self.offsets, n))
        return first.to_frame(library)

    @property
    def n_users(self) -> int:
        """Number of users, with or without rows."""
        return len(self.user_ids)

    @cached_property
    def user_index(self) -> NDArray[np.int32]:
        """User (0..n_users-1) of each row."""
        return mark_readonly(np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(self.offsets)))

    def take_users(self, users: Any) -> Self:
        """Return the traces of some users, by index or mask, in the order given.

        A slice without a step copies nothing.
        """
        if isinstance(users, slice):
            first, stop, step = users.indices(self.n_users)
            if step == 1:
                stop = max(first, stop)
                begin, end = self.offsets[first], self.offsets[stop]
                offsets = self.offsets[first : stop + 1] - begin
                return self._take_rows(slice(begin, end), user_ids=self.user_ids[first:stop], offsets=offsets)
            users = np.arange(first, stop, step)
        chosen = np.asarray(users)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(self._mask(chosen, self.n_users, "users"))
        chosen = chosen.astype(np.int64)
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return self._take_rows(rows, user_ids=self.user_ids[chosen], offsets=offsets)

    def keep(self, mask: Any) -> Self:
        """Return the rows for which the mask is true; all users stay."""
        return self._keep(mask)

    def _keep(self, mask: Any, **changed: Any) -> Self:
        chosen = self._mask(mask, len(self), f"{self._row}s")
        before = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int64)
        return self._take_rows(chosen, offsets=before[self.offsets], **changed)

    @staticmethod
    def _mask(mask: Any, n: int, what: str) -> NDArray[np.bool_]:
        chosen = np.asarray(mask, bool)
        if chosen.shape != (n,):
            raise DataError(f"{n} {what} need a mask of {n} values, not of {chosen.size}")
        return chosen

    def _take_rows(self, rows: Any, **changed: Any) -> Self:
        """Return some rows, with the users and offsets that go with them."""
        columns = {name: getattr(self, name)[rows] for name in self._available_columns()}
        return self._with(**changed, **columns)

    def with_user_ids(self, user_ids: Any) -> Self:
        """Return the same traces under other ids."""
        ids = to_id_array(user_ids, "user_ids")
        if len(ids) != self.n_users or len(unique_values(ids)) != len(ids):
            raise DataError(f"{self.n_users} users need {self.n_users} different ids")
        return self._with(user_ids=ids)

    def has_rows_of(self, other: RowTable) -> bool:
        """Whether both have the same number of users, under whatever ids, with rows at the same times."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self._times, other._times)

    def has_users_of(self, other: RowTable) -> bool:
        """Whether both have users with the same ids in the same order."""
        return np.array_equal(self.user_ids, other.user_ids)

    def plot(
        self,
        kind: str | None = None,
        *,
        user: Any = None,
        timezone: str | None = None,
        interactive: bool = False,
    ) -> Any:
        """Draw where people are, one person's days, or the hours of the week.

        Parameters
        ----------
        kind
            ``places``: a map of how much happens where. ``person``: where one user was at which time
            of which day. ``hours``: how much happens at which time of the day, by weekday. By default
            ``person`` where a user is named, and ``places`` otherwise.
        user
            The id of a user, whose rows alone are drawn.
        timezone
            Of GPS points, the zone whose clocks are shown; by default that where most of them lie.
        interactive
            Return a Plotly figure to move about in, not one of Matplotlib.
        """
        from tracearena.dataframes import load_view

        return load_view("traces_picture")(self, kind, user=user, timezone=timezone, interactive=interactive)

    def explore(
        self,
        *,
        user: Any = None,
        show_people: bool = False,
        cell_m: float = 500.0,
        smallest_group: int = 10,
        tiles: str | None = None,
    ) -> Any:
        """Return a map to move about in (folium, extra ``maps``): how many people were in each cell.

        Parameters
        ----------
        user
            The id of a user, whose positions alone are drawn; needs `show_people`.
        show_people
            Draw every position, with user and time, instead of cells. Of real people, such a map is as
            secret as the traces.
        cell_m
            Side of the cells in metres, 10 to 1,000,000.
        smallest_group
            Leave out cells with fewer people.
        tiles
            The background that folium loads, such as ``OpenStreetMap``; none by default, because the server
            of the tiles learns which area you look at.
        """
        from tracearena.dataframes import load_view

        options = {"show_people": show_people, "cell_m": cell_m, "smallest_group": smallest_group}
        return load_view("explore_traces")(self, user=user, tiles=tiles, **options)

    def _repr_html_(self) -> str:
        from tracearena.dataframes import load_view

        html: str = load_view("traces_html")(self)
        return html

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._equals(other)

    def _equals(self, other: Self) -> bool:
        return (
            self.has_users_of(other)
            and self.has_rows_of(other)
            and all(self._has_same_column(name, other) for name in self._columns[1:])
        )

    def _has_same_column(self, name: str, other: Self) -> bool:
        return are_equal_arrays(getattr(self, name), getattr(other, name))

    __hash__ = None  # type: ignore[assignment]


class RowOrder(NamedTuple):
    """How rows in any order become a table.

    Attributes
    ----------
    user_ids, offsets
        As in `RowTable`.
    users
        User (0..n_users-1) of each row as it was given.
    order
        What sorts the rows by user and time; a slice where they are sorted already.
    """

    user_ids: NDArray[Any]
    offsets: NDArray[np.int64]
    users: NDArray[np.int64]
    order: Any


def arrange_rows(users: Any, times: Sequence[NDArray[Any]], user_ids: Any = None) -> RowOrder:
    """Arrange rows by user, then by the first of the times, then by the next; ties keep their order.

    Users are sorted by id unless `user_ids` lists them (which also admits users without rows).
    """
    known, index = unique_inverse(np.asarray(users))
    if user_ids is not None:
        listed = np.asarray(user_ids)
        position = {value: at for at, value in enumerate(listed.tolist())}
        unknown = [value for value in known.tolist() if value not in position]
        if unknown:
            raise DataError(f"a row belongs to user {unknown[0]!r}, who is not listed in user_ids")
        places = np.array([position[value] for value in known.tolist()], np.int64)
        known, index = listed, places[index] if len(known) else index.astype(np.int64)
    counts = np.bincount(index, minlength=len(known))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    keys = [index, *times]
    # Large data is mostly sorted already.
    tied = np.ones(max(len(index) - 1, 0), bool)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            return RowOrder(known, offsets, index, _argsort_rows(keys))
        tied &= key[1:] == key[:-1]
    return RowOrder(known, offsets, index, slice(None))


def _argsort_rows(keys: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the rows by the keys; ties keep their order.

    Whole numbers that fit into 63 bits together are sorted as one, with the number of the row in
    the bits that are left: values are sorted many times faster than places in a list.
    """
    n = len(keys[0])
    ranges = [(int(key.min()), int(key.max())) if key.dtype.kind == "i" else (0, 2**64) for key in keys]
    widths = [(high - low).bit_length() for low, high in ranges]
    if sum(widths) > _BITS:
        return np.lexsort(tuple(reversed(keys)))
    packed = np.zeros(n, np.int64)
    for key, (low, _), width in zip(keys, ranges, widths, strict=True):
        packed = packed << width | (key.astype(np.int64) - low)
    row_bits = (n - 1).bit_length()
    if sum(widths) + row_bits > _BITS:
        return np.argsort(packed, kind="stable")
    packed = packed << row_bits | np.arange(n)
    packed.sort()
    return packed & (1 << row_bits) - 1


def unique_inverse(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct values and the index of each; without sorting where they are dense."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values) + 1000:
            offset = values - values.dtype.type(low)
            present = np.zeros(high - low + 1, bool)
            present[offset] = True
            known = np.flatnonzero(present).astype(values.dtype) + values.dtype.type(low)
            return known, (np.cumsum(present) - 1)[offset]
    known, index = np.unique(values, return_inverse=True)
    return known, index


def concat_user_ids(parts: Sequence[RowTable]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the user id of each row of several tables in turn, and the ids of all their users, sorted."""
    if not parts:
        raise DataError("there are no traces to join")
    rows = np.concatenate([part.user_ids[part.user_index] for part in parts])
    return rows, unique_values(np.concatenate([part.user_ids for part in parts]))


def split_users(
    users: int | NDArray[np.int64], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw `count` of some users, or of the first users by their number; return them and the others, sorted.

    >>> drawn, others = split_users(5, 2, np.random.default_rng(1))
    >>> len(drawn), sorted([*drawn.tolist(), *others.tolist()])
    (2, [0, 1, 2, 3, 4])
    """
    order = rng.permutation(users)
    return np.sort(order[:count]), np.sort(order[count:])


class EventTable(RowTable):
    """Events of many users as flat arrays, sorted by user, then by instant.

    Attributes
    ----------
    places, clock
        What place indices and instants mean.
    instants
        Instant of each event.
    timestamps
        Seconds since 1970 (UTC) of each event, if they are known more finely than instants.
    span
        First instant and one past the last that the traces cover, with or without an event.
    """

    places: Places
    clock: Clock
    instants: NDArray[np.int32]
    timestamps: NDArray[np.int64] | None
    span: tuple[int, int]

    _columns: ClassVar[tuple[str, ...]] = ("instants",)
    _row: ClassVar[str] = "event"

    def _set_frame(
        self,
        places: Places,
        clock: Clock,
        user_ids: Any,
        offsets: Any,
        instants: Any,
        timestamps: Any,
        span: tuple[int, int] | None,
    ) -> None:
        self._set_users(user_ids, offsets)
        self._set(
            places=places,
            clock=clock,
            instants=to_readonly_array(instants, np.int32, "instants"),
            timestamps=None if timestamps is None else to_readonly_array(timestamps, np.int64, "timestamps"),
        )
        if span is None:
            span = (int(self.instants.min()), int(self.instants.max()) + 1) if self.instants.size else (0, 0)
        self._set(span=(int(span[0]), int(span[1])))

    @classmethod
    def _on_frame_of(cls, other: EventTable) -> Self:
        """Return the users and times of other events, to which places are still to be added."""
        made = object.__new__(cls)
        shared = ("places", "clock", "user_ids", "offsets", "instants", "timestamps", "span")
        made._set(**{name: getattr(other, name) for name in shared})
        return made

    def _check_frame(self) -> None:
        self._check_rows()
        first, stop = self.span
        if not 0 <= first <= stop:
            raise DataError(f"span {self.span} is not a range of instants")
        allowed = f"from {first} to {stop - 1}"
        check_values(self.instants, lambda a: (a >= first) & (a < stop), "instants", allowed)

    def _check_place_indices(self, indices: NDArray[np.int32], name: str, lowest: int = 0) -> None:
        top = len(self.places) - 1
        check_values(indices, lambda a: (a >= lowest) & (a <= top), name, f"from {lowest} to {top}")

    @property
    def n_events(self) -> int:
        """Number of events."""
        return len(self.instants)

    @property
    def n_instants(self) -> int:
        """Number of instants in the span."""
        return self.span[1] - self.span[0]

    @cached_property
    def is_regular(self) -> bool:
        """Whether no user has two events at one instant, so that a dense view exists."""
        same = np.flatnonzero(np.diff(self.instants) == 0) + 1
        return bool(np.isin(same, self.offsets).all())

    @property
    def is_complete(self) -> bool:
        """Whether every user has exactly one event at every instant of the span."""
        return self.n_events == self.n_users * self.n_instants and self.is_regular

    def take_instants(self, first: int, stop: int) -> Self:
        """Return the events from instant `first` up to but not including `stop`."""
        return self._keep((self.instants >= first) & (self.instants < stop), span=(first, stop))

    def take_days(self, first: int, stop: int) -> Self:
        """Return the events of days `first` up to but not including `stop` (day 0 is instant 0's)."""
        return self.take_instants(first * self.clock.instants_per_day, stop * self.clock.instants_per_day)

    def split_at(self, instant: int) -> tuple[Self, Self]:
        """Return what lies before an instant of the span, and what lies from it on."""
        first, stop = self.span
        return self.take_instants(first, instant), self.take_instants(instant, stop)

    def split_days(self, days: int) -> tuple[Self, Self]:
        """Cut after the first `days` days of the span, as into reference and original traces."""
        first, stop = self.span
        cut = int(self.clock.day_of(first) + days) * self.clock.instants_per_day
        if not first < cut < stop:
            raise DataError(
                f"cannot split after {days} days: the traces cover instants {first} to {stop - 1}"
            )
        return self.split_at(cut)

    def with_timestamps(self, timestamps: Any) -> Self:
        """Return the same events with the second (UTC) of each."""
        moments = to_readonly_array(timestamps, np.int64, "timestamps")
        if len(moments) != self.n_events:
            raise DataError(f"{self.n_events} events need {self.n_events} timestamps, not {len(moments)}")
        return self._with(timestamps=moments)

    def without_timestamps(self) -> Self:
        """Return the same events by their instants alone."""
        return self._with(timestamps=None)

    def _dense(self, values: NDArray[np.int32], missing: int) -> NDArray[np.int32]:
        if not self.is_regular:
            raise DataError("some users have several events at one instant: there is no dense view")
        table = np.full((self.n_users, self.n_instants), missing, np.int32)
        table[self.user_index, self.instants - self.span[0]] = values
        return table

    def _equals(self, other: Self) -> bool:
        return (
            self.span == other.span
            and self.clock == other.clock
            and super()._equals(other)
            and self.places == other.places
        )


def common_span(parts: Sequence[EventTable]) -> tuple[int, int]:
    """Return the span over all parts, which must have the same places and clock."""
    first = parts[0]
    if any(part.places != first.places or part.clock != first.clock for part in parts):
        raise DataError("traces with different places or clocks cannot be joined")
    return min(part.span[0] for part in parts), max(part.span[1] for part in parts)
