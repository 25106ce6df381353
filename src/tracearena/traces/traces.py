"""Traces: the events of users at places and instants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces._arrays import to_readonly_array
from tracearena.traces.clock import Clock, SlotPlan
from tracearena.traces.places import Places
from tracearena.traces.row_table import EventTable, arrange_rows, common_span, concat_user_ids

MISSING = -1


class Traces(EventTable):
    """Events (user, instant, place), sorted by user and time.

    Gaps of weeks and several events at one instant are normal; where there is at most one event
    per instant, `dense` is the users × instants view.

    Parameters
    ----------
    places, clock
        Places and clock of the events.
    user_ids, offsets, instants, place_index
        Users, where the events of each begin (with the end as last value), and for each event
        its instant and its place.
    timestamps
        Seconds since 1970 (UTC) of each event, if they are known more finely than instants.
    span
        First instant and one past the last; by default those of the events.

    See Also
    --------
    Traces.from_events : from unsorted columns or a data frame's columns.
    Traces.from_dense : from a users × instants table.

    Examples
    --------
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> clock = Clock(instants_per_day=24)
    >>> traces = Traces.from_dense([[0, 1, -1], [1, 1, 0]], places, clock)
    >>> traces
    <Traces: 2 users, 5 events, 2 places, instants 0 to 2>
    >>> traces.dense().tolist()
    [[0, 1, -1], [1, 1, 0]]
    """

    place_index: NDArray[np.int32]

    _columns: ClassVar[tuple[str, ...]] = ("instants", "place_index", "timestamps")

    def __init__(
        self,
        places: Places,
        clock: Clock,
        *,
        user_ids: Any,
        offsets: Any,
        instants: Any,
        place_index: Any,
        timestamps: Any = None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self._set_frame(places, clock, user_ids, offsets, instants, timestamps, span)
        self._set(place_index=to_readonly_array(place_index, np.int32, "place_index"))
        self._check_frame()
        self._check_place_indices(self.place_index, "place_index")

    @classmethod
    def from_events(
        cls,
        users: Any,
        instants: Any,
        place_index: Any,
        places: Places,
        clock: Clock,
        *,
        user_ids: Any = None,
        timestamps: Any = None,
        span: tuple[int, int] | None = None,
    ) -> Traces:
        """Build from one value per event, in any order.

        Columns of any data frame will do. Events of one user and instant keep the order of their
        timestamps, or the order given. Users are sorted by id unless `user_ids` lists them (which
        also admits users without events).
        """
        moments = np.asarray(instants)
        times = [moments] if timestamps is None else [moments, np.asarray(timestamps)]
        rows = arrange_rows(users, times, user_ids)
        return cls(
            places,
            clock,
            user_ids=rows.user_ids,
            offsets=rows.offsets,
            instants=moments[rows.order],
            place_index=np.asarray(place_index)[rows.order],
            timestamps=None if timestamps is None else np.asarray(timestamps)[rows.order],
            span=span,
        )

    @classmethod
    def from_dense(
        cls, table: Any, places: Places, clock: Clock, *, user_ids: Any = None, first_instant: int = 0
    ) -> Traces:
        """Build from a users × instants table of place indices, -1 where there is no event.

        Users are numbered from 1 unless `user_ids` names them.
        """
        dense = np.asarray(table)
        if dense.ndim != 2:
            raise DataError(f"a dense table has two dimensions, not {dense.ndim}")
        present = dense != MISSING
        columns = np.broadcast_to(np.arange(first_instant, first_instant + dense.shape[1]), dense.shape)
        return cls(
            places,
            clock,
            user_ids=np.arange(1, len(dense) + 1) if user_ids is None else user_ids,
            offsets=np.concatenate([[0], np.cumsum(present.sum(axis=1))]),
            instants=columns[present],
            place_index=dense[present],
            span=(first_instant, first_instant + dense.shape[1]),
        )

    @classmethod
    def like(cls, events: EventTable, place_index: Any) -> Traces:
        """Put places on the events of other traces, such as a release; their times to the second stay."""
        return cls._on_frame_of(events).with_places(place_index)

    @classmethod
    def concat(cls, parts: Sequence[Traces]) -> Traces:
        """Put together the events of several traces with the same places and clock.

        Events of users with the same id become one user's, such as reference and original traces.
        """
        users, user_ids = concat_user_ids(parts)
        stamped = all(part.timestamps is not None for part in parts)
        return cls.from_events(
            users,
            np.concatenate([part.instants for part in parts]),
            np.concatenate([part.place_index for part in parts]),
            parts[0].places,
            parts[0].clock,
            user_ids=user_ids,
            timestamps=np.concatenate([part.timestamps for part in parts]) if stamped else None,
            span=common_span(parts),
        )

    def with_places(self, place_index: Any) -> Traces:
        """Return the same events at other places."""
        index = to_readonly_array(place_index, np.int32, "place_index")
        if len(index) != self.n_events:
            raise DataError(f"{self.n_events} events need {self.n_events} places, not {len(index)}")
        self._check_place_indices(index, "place_index")
        return self._with(place_index=index)

    def onto(self, places: Places, new: Any = None) -> Traces:
        """Return the same events on other places: at ``new[p]`` what was at p, or at p without `new`."""
        index = self.place_index if new is None else np.asarray(new)[self.place_index]
        moved = self._with(places=places, place_index=to_readonly_array(index, np.int32, "place_index"))
        moved._check_place_indices(moved.place_index, "place_index")
        return moved

    def with_slots(self, slots: SlotPlan | Clock | str) -> Traces:
        """Return the same events with other slots, such as ``weekday 0-9,9-18,18-24; weekend 0-24``.

        The slots of another clock are taken as they are, from day 0 on.
        """
        if isinstance(slots, Clock):
            clock = replace(self.clock, instants_per_slot=slots.instants_per_slot, slots=slots.slots)
            return self._with(clock=clock)
        plan = SlotPlan.parse(slots) if isinstance(slots, str) else slots
        return self._with(clock=plan.on(self.clock))

    def dense(self) -> NDArray[np.int32]:
        """Return the users × instants table of place indices, -1 where there is no event."""
        return self._dense(self.place_index, MISSING)

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row per event.

        Columns ``user_id``; ``time`` in UTC with ``utc_offset_min`` where there are timestamps, local
        ``time`` where there are dates, or else ``time_id``, the instants counted from 1; ``place``,
        ``lat``, ``lng``; ``category`` where places have one. `tracearena.read` takes it back; users without
        events and places without visits have no row.

        `library` is ``polars``, ``pandas``, ``arrow`` or ``geopandas``, the last with a column of points
        instead of ``lat`` and ``lng``.
        """
        from tracearena.dataframes import export_frame
        from tracearena.traces.exports import build_event_frame

        return export_frame(build_event_frame(self), library, position=("lat", "lng"))

    def visit_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """Count the visits of each user to each place, as rows of a sparse table.

        Returns
        -------
        offsets, place_index, counts
            User ``u`` visited ``place_index[offsets[u]:offsets[u + 1]]`` (ascending), this many times.
        """
        cells = self.user_index.astype(np.int64) * max(len(self.places), 1) + self.place_index
        distinct, counts = np.unique(cells, return_counts=True)
        users, visited = np.divmod(distinct, max(len(self.places), 1))
        offsets = np.searchsorted(users, np.arange(self.n_users + 1))
        return offsets.astype(np.int64), visited.astype(np.int32), counts.astype(np.int64)

    def __repr__(self) -> str:
        first, stop = self.span
        return (
            f"<Traces: {self.n_users:,} users, {self.n_events:,} events, {len(self.places):,} places, "
            f"instants {first} to {stop - 1}>"
        )
