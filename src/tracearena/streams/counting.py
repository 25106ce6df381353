"""Tables of events of any size at common places, counted a few users at a time for the metrics of utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, use
from tracearena.intake.alignment import common_places, index_among
from tracearena.metrics.counts import Counted
from tracearena.streams.event_survey import EventSurvey
from tracearena.streams.portions import Table
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.clock import SlotPlan


@dataclass(frozen=True)
class CountedTable:
    """A table of events among others, counted portion by portion.

    Attributes
    ----------
    places, index
        The places of all tables, and which of them each of the table's own is.
    slots
        Other slots than the table's own.
    """

    table: Table[Traces]
    n_users: int
    places: Places
    index: NDArray[np.int64]
    slots: SlotPlan | Clock | None = None

    def counted(self, *, by_day: bool = False, users: NDArray[np.int64] | None = None) -> Counted:
        """Count all users, or some by their ascending indices, here or in the workers of a cluster."""

        def work(block: int, first: int, stop: int) -> Counted:
            with use(threads=1):
                return Counted.of(self._traces(block, users), by_day=by_day)

        blocks = block_ranges(len(self.table.portions), 1)
        return fold_blocks(work, blocks, anywhere=not self.table.is_in_scratch, report=True)

    def _traces(self, number: int, users: NDArray[np.int64] | None) -> Traces:
        traces = self.table.traces(number).onto(self.places, self.index)
        if self.slots is not None:
            traces = traces.with_slots(self.slots)
        if users is None:
            return traces
        portion = self.table.portions[number]
        begin, end = np.searchsorted(users, [portion.first_user, portion.stop_user])
        return traces.take_users(users[begin:end] - portion.first_user)


def counted_together(
    training: tuple[Table[Traces], EventSurvey],
    testing: tuple[Table[Traces], EventSurvey],
    synthetic: Sequence[tuple[Table[Traces], EventSurvey]],
    slots: str | None = None,
) -> tuple[CountedTable, CountedTable, list[CountedTable]]:
    """Put tables on common ground: all at the same places, synthetic ones in the slots of the training."""
    together = [training, testing, *synthetic]
    places = common_places([found.places for _, found in together])
    plan = None if slots is None else SlotPlan.parse(slots)
    # Days of synthetic traces are numbers: the first is of the kind of the first day of training.
    learned = None if plan is None else plan.on(training[1].clock)
    own, other, *made = (
        CountedTable(table, len(found.users), places, index_among(places, found.places), kind)
        for (table, found), kind in zip(together, [plan, plan, *[learned] * len(synthetic)], strict=True)
    )
    return own, other, made
