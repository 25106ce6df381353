"""What is in a table of points, counted portion by portion."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, use
from tracearena.errors import Fault
from tracearena.intake.local_time import BARE_AS_UTC, LocalTime, asked_for, by_guess
from tracearena.intake.report import Report
from tracearena.pages.describe import LONG_GAP_MS, Summary, quartiles
from tracearena.streams.gaps import MOST_VALUES, Tally
from tracearena.streams.portions import Table
from tracearena.streams.survey import Survey
from tracearena.traces import Box, GpsTraces
from tracearena.traces.time import joined_cells, zone_cells, zone_of_cells

_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Totals:
    """What some portions hold; sums of them say what all hold."""

    first: int
    last: int
    trajectories: int
    box: Box
    of_users: Tally
    long_gaps: int
    longest_gap: int
    of_trajectories: Tally
    cells: NDArray[np.float64]
    same_times: int
    same: tuple[str, int] | None

    def __add__(self, other: Totals) -> Totals:
        boxes = np.array([[*self.box], [*other.box]])
        return Totals(
            min(self.first, other.first),
            max(self.last, other.last),
            self.trajectories + other.trajectories,
            Box(*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()),
            self.of_users + other.of_users,
            self.long_gaps + other.long_gaps,
            max(self.longest_gap, other.longest_gap),
            self.of_trajectories + other.of_trajectories,
            joined_cells(self.cells, other.cells),
            self.same_times + other.same_times,
            self.same or other.same,
        )


def describe(table: Table[GpsTraces], found: Survey, *, most_gaps: int = MOST_VALUES) -> Summary:
    """Count what describes a table of points: what `summarise` counts of all of them at once.

    Parameters
    ----------
    most_gaps
        Where gaps have more different lengths, long ones are rounded for the quantiles (`Tally`).
    """

    def work(block: int, first: int, stop: int) -> Totals:
        with use(threads=1):
            return _totals(table.traces(block), most_gaps)

    totals = fold_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)
    report = found.report
    _report_same_times(totals, report)
    first, last = (np.datetime64(at, "ms").astype("datetime64[s]") for at in (totals.first, totals.last))
    within = totals.of_trajectories
    return Summary(
        users=found.n_users,
        events=found.n_points,
        first=f"{first}Z",
        last=f"{last}Z",
        days=int((last.astype("datetime64[D]") - first.astype("datetime64[D]")).astype(int)) + 1,
        events_per_user=quartiles(found.points_of_users),
        gap_h=_gaps(totals),
        trajectories=totals.trajectories,
        bounds=asdict(totals.box),
        interval_s=within.quantile(0.5) / 1000 if within.total else None,
        gaps_over_4h=totals.long_gaps,
        report=report,
        local=_local_time(totals, report),
    )


def _totals(traces: GpsTraces, most_gaps: int) -> Totals:
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
    return Totals(
        int(traces.time_ms.min()),
        int(traces.time_ms.max()),
        traces.n_trajectories,
        Box.of(traces),
        Tally.of(gaps, most_gaps),
        int((gaps > LONG_GAP_MS).sum()),
        int(gaps.max(initial=0)),
        Tally.of(within, most_gaps),
        zone_cells(traces.latitude, traces.longitude),
        int(same.size),
        example,
    )


def _gaps(totals: Totals) -> dict[str, float]:
    gaps = totals.of_users
    middle, most = (gaps.quantile(share) if gaps.total else 0.0 for share in (0.5, 0.9))
    found = {"median": middle, "ninety_percent": most, "longest": totals.longest_gap}
    return {name: round(gap / _HOUR_MS, 3) for name, gap in found.items()}


def _report_same_times(totals: Totals, report: Report) -> None:
    if totals.same is None:
        return
    user, at = totals.same
    shown = str(np.datetime64(at, "ms").astype("datetime64[s]"))
    problem = f"user {user} has two points at the same time"
    report.notice_fault(Fault(None, "time", shown, problem, "same-time"), totals.same_times)


def _local_time(totals: Totals, report: Report) -> LocalTime:
    if report.timezone is not None:
        return asked_for(report.timezone)
    return BARE_AS_UTC if report.all_unzoned else by_guess(zone_of_cells(totals.cells))
