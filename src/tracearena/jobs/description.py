"""Describe a file of traces or of what is released of them, whole or in chunks of users.

`ValueCounts` gives quantiles of many whole numbers from how often each occurs; `TableCounter` counts what the
metrics of utility compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import Cluster, block_ranges, fold_blocks, use
from tracearena.errors import Fault
from tracearena.files.atomic import scratch_folder
from tracearena.io import Input, read_released
from tracearena.io.alignment import build_common_places, find_place_indices
from tracearena.io.discretisation import count_oddities
from tracearena.io.large import is_point_table
from tracearena.io.large.first_pass import EventFirstPass, FirstPass
from tracearena.io.large.user_chunks import UserChunkTable
from tracearena.jobs.chunking import (
    EVENTS,
    POINTS,
    TableKind,
    can_be_processed_in_chunks,
    is_processed_in_chunks,
)
from tracearena.jobs.feedback import join_cluster, note, show_progress, show_unsaved_progress
from tracearena.jobs.outputs import File, as_path, check_outputs, refuse_options
from tracearena.jobs.reading import EVENTS_ONLY, ReadingOptions, note_problems
from tracearena.metrics.counts import TraceCounts
from tracearena.pages.describe import (
    LONG_GAP_MS,
    ReleaseSummary,
    Summary,
    build_description_page,
    build_release_page,
    compute_quartiles,
    describe_point_span,
    exact_seconds,
    format_instant,
    summarise,
    summarise_release,
)
from tracearena.traces import Box, Clock, GpsTraces, Places, Traces
from tracearena.traces.clock import SlotPlan
from tracearena.traces.time import (
    BARE_AS_UTC,
    build_chosen_local_time,
    build_guessed_local_time,
    count_zone_cells,
    find_zone_of_cells,
    merge_zone_cells,
)

Ints = NDArray[np.int64]

MOST_VALUES = 1 << 22
_DENSE = 1 << 20
_KEPT_BITS = 14


def describe(
    file: File | Input,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    original: File | None = None,
    html: File | None = None,
    cluster: Cluster | str | None = None,
) -> Summary | ReleaseSummary:
    """Describe traces: users, events, places, span, gaps, duplicates, and dropped rows with reasons.

    For obfuscated or anonymized traces, it counts the events that are kept, moved, generalised and deleted.

    Parameters
    ----------
    original
        For obfuscated traces: the original traces, for comparison.
    html
        File for a page with a map and plots.
    cluster
        A Dask cluster, or the address of one.
    """
    source, original, html = reading.open(file), as_path(original), as_path(html)
    check_outputs(html, inputs=(source.path, original, *reading.files))
    if html is None and original is None:
        summary = _describe_in_chunks(reading, source, cluster)
        if summary is not None:
            return summary
    refuse_options("files that are read at once", cluster=cluster)
    if original is not None or (source.asked_format is None and source.is_release):
        return _describe_release(reading, source, original, html)
    with show_unsaved_progress(f"reading {source.path.name}"):
        traces, report = reading.read(source)
    with show_unsaved_progress("counting"):
        summary = summarise(traces, report)
        if html is not None:
            build_description_page(traces, report).write(html)
            note(f"wrote {html}")
    return summary


def _describe_in_chunks(
    reading: ReadingOptions, source: Input, cluster: Cluster | str | None
) -> Summary | None:
    """Describe a large table a few users at a time; None if it is read whole."""
    if can_be_processed_in_chunks(EVENTS, reading, source):
        if not is_processed_in_chunks(EVENTS, reading, source, cluster=cluster):
            return None
        return _describe_table(EVENTS, reading, source, cluster, describe_events)
    if any(getattr(reading, name) for name in EVENTS_ONLY):
        return None
    if not is_processed_in_chunks(POINTS, reading, source, cluster=cluster):
        return None
    if source.asked_format is None and not is_point_table(source):
        return None
    return _describe_table(POINTS, reading, source, cluster, describe_points)


def _describe_release(
    reading: ReadingOptions, source: Input, original: Path | None, html: Path | None
) -> ReleaseSummary:
    truth = None
    with show_unsaved_progress(f"reading {source.path.name}"):
        if original is None:
            refuse_options("released traces", hours=reading.hours, resample=reading.resample)
            refuse_options("released traces", from_date=reading.from_date, to_date=reading.to_date)
            alone = read_released(
                source, places=reading.places, times=reading.times, choices=reading.choices()
            )
            note_problems(alone)
            released, report = alone
        else:
            whole = reading.read(original).as_events()
            note_problems(whole)
            truth = whole.traces
            released, report = reading.read_obfuscated(source, whole)
    with show_unsaved_progress("counting"):
        summary = summarise_release(released, report, truth)
        if html is not None:
            build_release_page(released, report, truth).write(html)
            note(f"wrote {html}")
    return summary


def _describe_table(
    kind: TableKind[Any],
    reading: ReadingOptions,
    source: Input,
    cluster: Cluster | str | None,
    count: Callable[[UserChunkTable[Any], Any], Summary],
) -> Summary:
    """Open a table of points or events, and count it a few users at a time."""
    with join_cluster(cluster) as workers, scratch_folder() as scratch:
        with show_progress(f"reading {source.path.name}", workers):
            found_by = source if workers is None else source.resolve()
            table, found = kind.open(reading, found_by, scratch, is_shared=False)
        found.report.path = str(source)
        with show_progress("counting", None if table.is_in_scratch else workers):
            return count(table, found)


# Tables in chunks: quantiles of many whole numbers from how often each occurs, and what metrics compare.


@dataclass(frozen=True)
class ValueCounts:
    """Values of 0 and more, ascending, and how often each occurs.

    Attributes
    ----------
    values, counts
        The values, and how often each occurs.
    most_values
        Up to this many different values are told apart; by default four million. Where there are more, those
        above a million are rounded down by at most one part in 8,192.

    Examples
    --------
    >>> tally = ValueCounts.of(np.array([5, 1, 5])) + ValueCounts.of(np.array([9]))
    >>> tally.quantile(0.5), tally.total
    (5.0, 4)
    """

    values: Ints
    counts: Ints
    most_values: int = MOST_VALUES

    @classmethod
    def of(cls, numbers: Ints, most_values: int = MOST_VALUES) -> Self:
        """Count numbers; most are small, and counted without sorting."""
        small = numbers < _DENSE
        if small.all():
            low, high = numbers, np.empty(0, np.int64)
        else:
            low, high = numbers[small], numbers[~small]
        counted = np.bincount(low)
        seen = np.flatnonzero(counted)
        values, counts = np.unique(high, return_counts=True)
        return cls(np.concatenate([seen, values]), np.concatenate([counted[seen], counts]), most_values)

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return int(self.counts.sum())

    def __add__(self, other: ValueCounts) -> ValueCounts:
        values = np.concatenate([self.values, other.values])
        counts = np.concatenate([self.counts, other.counts])
        joined = self._merge_values(values, counts)
        if len(joined.values) <= self.most_values:
            return joined
        bits = np.frexp(joined.values.astype(np.float64))[1]
        shift = np.where(joined.values < _DENSE, 0, bits - _KEPT_BITS)
        return self._merge_values(joined.values >> shift << shift, joined.counts)

    def quantile(self, share: float) -> float:
        """Return what ``numpy.quantile`` returns of all the numbers."""
        place = share * (self.total - 1)
        low = int(np.floor(place))
        at = np.searchsorted(np.cumsum(self.counts), [low, min(low + 1, self.total - 1)], side="right")
        a, b = self.values[at].astype(np.float64)
        return float(np.quantile([a, b], place - low))

    def _merge_values(self, values: Ints, counts: Ints) -> ValueCounts:
        known, index = np.unique(values, return_inverse=True)
        return replace(self, values=known, counts=np.bincount(index, counts, len(known)).astype(np.int64))


@dataclass(frozen=True)
class PointTotals:
    """Counts of some chunks; the sum over all chunks describes the whole table."""

    first: int
    last: int
    trajectories: int
    box: Box
    of_users: ValueCounts
    long_gaps: int
    longest_gap: int
    of_trajectories: ValueCounts
    cells: NDArray[np.float64]
    same_times: int
    same: tuple[str, int] | None

    def __add__(self, other: PointTotals) -> PointTotals:
        boxes = np.array([[*self.box], [*other.box]])
        return PointTotals(
            min(self.first, other.first),
            max(self.last, other.last),
            self.trajectories + other.trajectories,
            Box(*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()),
            self.of_users + other.of_users,
            self.long_gaps + other.long_gaps,
            max(self.longest_gap, other.longest_gap),
            self.of_trajectories + other.of_trajectories,
            merge_zone_cells(self.cells, other.cells),
            self.same_times + other.same_times,
            self.same or other.same,
        )


def describe_points(
    table: UserChunkTable[GpsTraces], found: FirstPass, *, most_gaps: int = MOST_VALUES
) -> Summary:
    """Count what describes a table of points: what `summarise` counts of all of them at once.

    Parameters
    ----------
    most_gaps
        Where gaps have more different lengths, long ones are rounded for the quantiles (`ValueCounts`).
    """

    def work(block: int, first: int, stop: int) -> PointTotals:
        with use(threads=1):
            return _count_point_totals(table.traces(block), most_gaps)

    totals = fold_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)
    report = found.report
    if totals.same is not None:
        user, at = totals.same
        shown = str(np.datetime64(at, "ms").astype("datetime64[s]"))
        problem = f"user {user} has two points at the same time"
        report.notice_fault(Fault(None, "time", shown, problem, "same-time"), totals.same_times)
    if report.timezone is not None:
        local = build_chosen_local_time(report.timezone)
    elif report.all_unzoned:
        local = BARE_AS_UTC
    else:
        local = build_guessed_local_time(find_zone_of_cells(totals.cells))
    within = totals.of_trajectories
    return Summary(
        users=found.n_users,
        events=found.n_points,
        **describe_point_span(totals.first, totals.last),
        events_per_user=compute_quartiles(found.points_of_users),
        gap_h=_summarise_gaps(totals.of_users, totals.longest_gap, 3_600_000),
        trajectories=totals.trajectories,
        bounds=asdict(totals.box),
        interval_s=within.quantile(0.5) / 1000 if within.total else None,
        gaps_over_4h=totals.long_gaps,
        report=report,
        local=local,
    )


def _count_point_totals(traces: GpsTraces, most_gaps: int) -> PointTotals:
    same_user = np.ones(max(len(traces) - 1, 0), bool)
    same_user[traces.offsets[1:-1] - 1] = False
    steps = np.diff(traces.time_ms)
    gaps = steps[same_user]
    same = np.flatnonzero((steps == 0) & same_user)
    order = traces.trajectory_order
    number = traces.trajectory[order]
    within = np.diff(traces.time_ms[order])[np.diff(number) == 0]
    example = None
    if same.size:
        at = int(same[0])
        example = str(traces.user_ids[traces.user_index[at]]), int(traces.time_ms[at])
    return PointTotals(
        int(traces.time_ms.min()),
        int(traces.time_ms.max()),
        traces.n_trajectories,
        Box.of(traces),
        ValueCounts.of(gaps, most_gaps),
        int((gaps > LONG_GAP_MS).sum()),
        int(gaps.max(initial=0)),
        ValueCounts.of(within, most_gaps),
        count_zone_cells(traces.latitude, traces.longitude),
        int(same.size),
        example,
    )


def _summarise_gaps(gaps: ValueCounts, longest: int, hour: int) -> dict[str, float]:
    """Return the gaps between rows in hours; `hour` is how long one is in the unit of the gaps."""
    middle, most = (gaps.quantile(share) if gaps.total else 0.0 for share in (0.5, 0.9))
    found = {"median": middle, "ninety_percent": most, "longest": longest}
    return {name: round(gap / hour, 3) for name, gap in found.items()}


@dataclass(frozen=True)
class EventTotals:
    """Counts of some chunks; the sum over all chunks describes the whole table."""

    gaps: ValueCounts
    longest: int
    again: int
    visited: NDArray[np.bool_]
    odd: dict[str, int]

    def __add__(self, other: EventTotals) -> EventTotals:
        return EventTotals(
            self.gaps + other.gaps,
            max(self.longest, other.longest),
            self.again + other.again,
            self.visited | other.visited,
            {reason: count + other.odd[reason] for reason, count in self.odd.items()},
        )


def describe_events(table: UserChunkTable[Traces], found: EventFirstPass) -> Summary:
    """Count what describes a table of events: what `summarise` counts of all of them at once."""

    def work(block: int, first: int, stop: int) -> EventTotals:
        with use(threads=1):
            traces = table.traces(block)
            same_user = np.ones(max(traces.n_events - 1, 0), bool)
            same_user[traces.offsets[1:-1] - 1] = False
            gaps = np.abs(np.diff(exact_seconds(traces)))[same_user]
            visited = np.zeros(len(traces.places), bool)
            visited[traces.place_index] = True
            again = int((same_user & (np.diff(traces.instants) == 0)).sum())
            longest = int(gaps.max(initial=0))
            return EventTotals(ValueCounts.of(gaps), longest, again, visited, count_oddities(traces))

    totals = fold_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)
    for reason, count in totals.odd.items():
        found.report.notice(reason, count)
    clock = found.clock
    first, stop = found.extent.span(clock)
    cells = len(found.users) * (stop - first)
    return Summary(
        users=len(found.users),
        events=found.n_events,
        places=len(found.places),
        visited_places=int(totals.visited.sum()),
        first=format_instant(clock, first),
        last=format_instant(clock, stop - 1),
        days=int(clock.day_of(stop - 1) - clock.day_of(first)) + 1,
        events_per_user=compute_quartiles(found.counts),
        gap_h=_summarise_gaps(totals.gaps, totals.longest, 3600),
        missing=round(1 - (found.n_events - totals.again) / cells, 6),
        several_at_an_instant=totals.again,
        report=found.report,
        local=found.report.clock,
    )


@dataclass(frozen=True)
class TableCounter:
    """A table of events among others, counted chunk by chunk.

    Attributes
    ----------
    places, index
        The places of all tables, and which of them each of the table's own is.
    slots
        Other slots than the table's own.
    """

    table: UserChunkTable[Traces]
    n_users: int
    places: Places
    index: NDArray[np.int64]
    slots: SlotPlan | Clock | None = None

    def count_events(self, *, by_day: bool = False, users: NDArray[np.int64] | None = None) -> TraceCounts:
        """Count all users, or some by their ascending indices, here or in the workers of a cluster."""

        def work(block: int, first: int, stop: int) -> TraceCounts:
            with use(threads=1):
                traces = self.table.traces(block).onto(self.places, self.index)
                if self.slots is not None:
                    traces = traces.with_slots(self.slots)
                if users is not None:
                    portion = self.table.portions[block]
                    begin, end = np.searchsorted(users, [portion.first_user, portion.stop_user])
                    traces = traces.take_users(users[begin:end] - portion.first_user)
                return TraceCounts.of(traces, by_day=by_day)

        blocks = block_ranges(len(self.table.portions), 1)
        return fold_blocks(work, blocks, anywhere=not self.table.is_in_scratch, report=True)


def align_counted_tables(
    training: tuple[UserChunkTable[Traces], EventFirstPass],
    testing: tuple[UserChunkTable[Traces], EventFirstPass],
    synthetic: Sequence[tuple[UserChunkTable[Traces], EventFirstPass]],
    slots: str | None = None,
) -> tuple[TableCounter, TableCounter, list[TableCounter]]:
    """Bring tables together: all at the same places, synthetic ones in the slots of the training."""
    together = [training, testing, *synthetic]
    places = build_common_places([found.places for _, found in together])
    plan = None if slots is None else SlotPlan.parse(slots)
    # Days of synthetic traces are numbers: the first is of the kind of the first day of training.
    learned = None if plan is None else plan.on(training[1].clock)
    own, other, *made = (
        TableCounter(table, len(found.users), places, find_place_indices(places, found.places), kind)
        for (table, found), kind in zip(together, [plan, plan, *[learned] * len(synthetic)], strict=True)
    )
    return own, other, made
