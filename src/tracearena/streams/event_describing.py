"""What is in a table of events, counted portion by portion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, use
from tracearena.intake.discretise import oddities
from tracearena.pages.describe import Summary, exact_seconds, moment, quartiles
from tracearena.streams.event_survey import EventSurvey
from tracearena.streams.gaps import Tally
from tracearena.streams.portions import Table
from tracearena.traces import Traces


@dataclass(frozen=True)
class Totals:
    """What some portions hold; sums of them say what all hold."""

    gaps: Tally
    longest: int
    again: int
    visited: NDArray[np.bool_]
    odd: dict[str, int]

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.gaps + other.gaps,
            max(self.longest, other.longest),
            self.again + other.again,
            self.visited | other.visited,
            {reason: count + other.odd[reason] for reason, count in self.odd.items()},
        )


def describe_events(table: Table[Traces], found: EventSurvey) -> Summary:
    """Count what describes a table of events: what `summarise` counts of all of them at once."""

    def work(block: int, first: int, stop: int) -> Totals:
        with use(threads=1):
            return _totals(table.traces(block))

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
        first=moment(clock, first),
        last=moment(clock, stop - 1),
        days=int(clock.day_of(stop - 1) - clock.day_of(first)) + 1,
        events_per_user=quartiles(found.counts),
        gap_h=_gaps(totals),
        missing=round(1 - (found.n_events - totals.again) / cells, 6),
        several_at_an_instant=totals.again,
        report=found.report,
        local=found.report.clock,
    )


def _totals(traces: Traces) -> Totals:
    same_user = np.ones(max(traces.n_events - 1, 0), bool)
    same_user[traces.offsets[1:-1] - 1] = False
    gaps = np.abs(np.diff(exact_seconds(traces)))[same_user]
    visited = np.zeros(len(traces.places), bool)
    visited[traces.place_index] = True
    return Totals(
        Tally.of(gaps),
        int(gaps.max(initial=0)),
        int((same_user & (np.diff(traces.instants) == 0)).sum()),
        visited,
        oddities(traces),
    )


def _gaps(totals: Totals) -> dict[str, float]:
    gaps = totals.gaps
    middle, most = (gaps.quantile(share) if gaps.total else 0.0 for share in (0.5, 0.9))
    found = {"median": middle, "ninety_percent": most, "longest": totals.longest}
    return {name: round(gap / 3600, 3) for name, gap in found.items()}
