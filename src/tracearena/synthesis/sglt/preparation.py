"""What seed traces need first: no gaps, and not too many places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.traces import Places, Traces


@dataclass(frozen=True, eq=False)
class DaySeeds:
    """Days without gaps, one a row.

    Attributes
    ----------
    places
        Rows × instants of a day: the place at each instant.
    users
        Index of each row's user; ascending.
    days
        Day of each row.
    """

    places: NDArray[np.int32]
    users: NDArray[np.int64]
    days: NDArray[np.int64]

    @classmethod
    def of(cls, traces: Traces) -> DaySeeds:
        """Take every day on which a user has an event and fill its gaps.

        Where several events stand at one instant the first counts. A gap between two events is
        crossed in a straight line, through the places nearest to it; before the first event of a
        day and after the last the user stays.

        Examples
        --------
        >>> from tracearena.traces import Clock
        >>> places = Places([0, 0, 0], [0, 1, 2])
        >>> traces = Traces.from_dense([[-1, 0, -1, 2]], places, Clock(instants_per_day=4))
        >>> DaySeeds.of(traces).places.tolist()
        [[0, 0, 1, 2]]
        """
        length = traces.clock.instants_per_day
        day, time = traces.clock.day_of(traces.instants), traces.clock.time_of_day(traces.instants)
        user = traces.user_index.astype(np.int64)
        span = int(day.max(initial=0)) + 1
        keys, row = np.unique(user * span + day, return_inverse=True)
        table = np.full((len(keys), length), -1, np.int32)
        _, first = np.unique(row * length + time, return_index=True)
        table[row[first], time[first]] = traces.place_index[first]
        users, days = np.divmod(keys, span)
        return cls(_fill_table(table, traces.places), users, days)

    def take(self, chosen: NDArray[np.bool_]) -> DaySeeds:
        """Return some of the rows."""
        return DaySeeds(self.places[chosen], self.users[chosen], self.days[chosen])

    def as_traces(self, like: Traces) -> Traces:
        """Return the filled days under the users of the traces that they were made from."""
        length = self.places.shape[1]
        return Traces.from_events(
            like.user_ids[np.repeat(self.users, length)],
            (self.days[:, None] * length + np.arange(length)).ravel(),
            self.places.ravel(),
            like.places,
            like.clock,
            user_ids=like.user_ids,
            span=like.span if len(self.days) == 0 else _whole_day_span(like),
        )


def fill_gaps(traces: Traces) -> Traces:
    """Return the traces with an event at every instant of every day that has one ([sglt] section 5.1).

    >>> from tracearena.traces import Clock
    >>> places = Places([0, 0, 0], [0, 1, 2])
    >>> traces = Traces.from_dense([[0, -1, 2, -1]], places, Clock(instants_per_day=4))
    >>> fill_gaps(traces).dense().tolist()
    [[0, 1, 2, 2]]
    """
    return DaySeeds.of(traces).as_traces(traces)


def _whole_day_span(traces: Traces) -> tuple[int, int]:
    length = traces.clock.instants_per_day
    return traces.span[0] // length * length, -(-traces.span[1] // length) * length


def _fill_table(table: NDArray[np.int32], places: Places) -> NDArray[np.int32]:
    known = table >= 0
    if known.all():
        return table
    columns = np.arange(table.shape[1])
    before = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, columns, table.shape[1])[:, ::-1], axis=1)[:, ::-1]
    before = np.where(before < 0, after, before)
    after = np.where(after == table.shape[1], before, after)
    rows = np.arange(len(table))[:, None]
    start, end = table[rows, before], table[rows, after]
    filled = np.where(start == end, start, table)
    row, column = np.nonzero(filled < 0)
    between = after[row, column] - before[row, column]
    share = (column - before[row, column]) / between
    filled[row, column] = _find_nearest_place(places, start[row, column], end[row, column], share)
    return filled


def _find_nearest_place(
    places: Places, start: NDArray[np.int32], end: NDArray[np.int32], share: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Return the place nearest to the point that lies `share` of the way from start to end."""
    from scipy.spatial import cKDTree

    points = places.points_km
    wanted = points[start] + share[:, None] * (points[end] - points[start])
    return np.asarray(cKDTree(points).query(wanted)[1], np.int32)


@dataclass(frozen=True, eq=False)
class MergedPlaces:
    """Fewer places, and where the old ones went.

    Attributes
    ----------
    traces
        The same events at the merged places.
    merged_into
        For each old place, the index of the place that took it in.
    """

    traces: Traces
    merged_into: NDArray[np.int32]


def merge_places(traces: Traces, places: int) -> MergedPlaces:
    """Join nearby, rarely visited places until so many are left ([sglt] section 5.1).

    Agglomerative: the two places with the smallest distance times the product of their visits are
    joined, again and again. A joined place lies at the mean of its members, weighted by visits, and
    has the id, category and sensitivity of the most visited one (sensitive if any member is).

    Parameters
    ----------
    places
        Number of places to keep, at least 1.

    Notes
    -----
    Visits are counted from 1 up, so that places which nobody visits are joined to near ones, not
    to any.

    Examples
    --------
    >>> from tracearena.traces import Clock
    >>> row = Places([0, 0, 0, 0], [0, 1, 2, 10], km_per_degree=(111, 111))
    >>> traces = Traces.from_dense([[0, 0, 0, 1, 2, 3, 3]], row, Clock(instants_per_day=7))
    >>> merge_places(traces, 3).merged_into.tolist()
    [0, 1, 1, 2]
    """
    require_whole("places", places, at_least=1)
    from tracearena.synthesis.sglt._kernels import join_nearest

    old = traces.places
    visits = np.bincount(traces.place_index, minlength=len(old)).astype(np.float64)
    label = join_nearest(np.array(old.points_km), visits + 1, int(places))
    _, first, kept = np.unique(label, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    merged_into: NDArray[np.int32] = order[kept].astype(np.int32)
    joined = _build_merged_places(old, visits + 1, merged_into)
    return MergedPlaces(traces.onto(joined, merged_into), merged_into)


def _build_merged_places(old: Places, weight: NDArray[np.float64], into: NDArray[np.int32]) -> Places:
    total = np.bincount(into, weights=weight)
    leading = np.lexsort((-weight, into))[np.searchsorted(np.sort(into), np.arange(len(total)))]
    return Places(
        np.bincount(into, weights=weight * old.latitude) / total,
        np.bincount(into, weights=weight * old.longitude) / total,
        ids=old.ids[leading],
        sensitive=np.bincount(into, weights=old.sensitive) > 0,
        categories=None if old.categories is None else old.categories[leading],
        km_per_degree=old.km_per_degree,
    )
