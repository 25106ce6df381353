"""Synthetic traces: several one-day traces a user, numbered as days."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, FileError
from tracearena.formats.ppmtf._columns import read_table, write_table
from tracearena.formats.ppmtf.places import categories_of
from tracearena.formats.ppmtf.traces import check_span
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.clock import DAY_S

_PLAIN = ("user", "trace_no", "time_slot", "time_instant", "poi_index", "category")
_PPMTF = (*_PLAIN, "loglikeli")
_SGLT = ("user", "trace_no", "time_period", "time_instant", "poi_index", "category")


@dataclass(frozen=True, eq=False)
class SyntheticTraces:
    """Synthetic traces and what their synthesizer says of their likelihood.

    Attributes
    ----------
    traces
        User ``n``'s events are made from training user ``n``; day ``r`` is her trace number ``r``.
    loglikelihood
        Of each event, the natural logarithm of the probability of the trace up to it; None if the
        synthesizer has none.
    """

    traces: Traces
    loglikelihood: NDArray[np.float64] | None = None

    def trace_loglikelihood(self) -> NDArray[np.float64]:
        """Return the log-likelihood of each whole trace, users × days; NaN where there is no event."""
        if self.loglikelihood is None:
            raise DataError("these synthetic traces carry no log-likelihoods")
        traces = self.traces
        days = -(-traces.span[1] // traces.clock.instants_per_day)
        whole = np.full((traces.n_users, days), np.nan)
        # A later event of a trace overwrites an earlier one: the last holds the whole trace's value.
        whole[traces.user_index, traces.clock.day_of(traces.instants)] = self.loglikelihood
        return whole


def read_synthetic(path: str | PathLike[str], places: Places, clock: Clock | None = None) -> SyntheticTraces:
    """Read synthetic traces of PPMTF (with log-likelihoods), SGD or SGLT.

    Parameters
    ----------
    places
        Their order is what ``poi_index`` means.
    clock
        Instants and slots of a day, those of the training traces. Without it they are as many as
        the file names, an hour each if they fit into a day.
    """
    table = read_table(path, _PPMTF, _PLAIN, _SGLT)
    slot_name = "time_period" if "time_period" in table else "time_slot"
    users, days = table.whole("user"), table.whole("trace_no", 0, 1_000_000)
    slots_high = DAY_S - 1 if clock is None else clock.slots_per_day - 1
    within_high = DAY_S - 1 if clock is None or clock.slots is not None else clock.instants_per_slot - 1
    slots = table.whole(slot_name, 0, slots_high)
    within = table.whole("time_instant", 0, within_high)
    place_index = table.whole("poi_index", 0, max(len(places) - 1, 0))
    likelihood = table.number("loglikeli") if "loglikeli" in table else None
    clock = _clock_of(path, slots, within) if clock is None else clock
    times = _times(days, slots, within, clock)
    last = clock.instants_per_day - 1
    table.require("time_instant", times <= last, f"lies beyond the day's last instant, {last}", "bad-instant")
    table.close()
    check_span(path, days, clock)
    instants = days * clock.instants_per_day + times
    span = (0, (int(days.max(initial=0)) + 1) * clock.instants_per_day)
    traces = Traces.from_events(users, instants, place_index, places, clock, span=span)
    if likelihood is not None:
        likelihood = likelihood[np.lexsort([instants, users])]
        likelihood.flags.writeable = False
    return SyntheticTraces(traces, likelihood)


def _times(
    days: NDArray[np.int64], slots: NDArray[np.int64], within: NDArray[np.int64], clock: Clock
) -> NDArray[np.int64]:
    """Return the instant of the day; one that no slot of the day has lies beyond the day."""
    if clock.slots is None:
        return np.asarray(slots * clock.instants_per_slot + within)
    every = np.arange(len(clock.slots))
    longest = clock.instants_per_day

    def key(day: NDArray[np.int64], slot: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray((day * clock.slots_per_day + slot) * longest + rank)

    known = key(clock.day_of(every), clock.slot_of(every), clock.within_slot(every))
    order = np.argsort(known)
    asked = key(days % clock.days_per_cycle, slots, np.minimum(within, longest - 1))
    at = np.minimum(np.searchsorted(known, asked, sorter=order), len(known) - 1)
    good = (known[order][at] == asked) & (within < longest)
    return np.where(good, clock.time_of_day(every[order][at]), clock.instants_per_day)


def _clock_of(path: str | PathLike[str], slots: NDArray[np.int64], within: NDArray[np.int64]) -> Clock:
    per_slot = int(within.max(initial=0)) + 1
    per_day = (int(slots.max(initial=0)) + 1) * per_slot
    if per_day > DAY_S:
        raise FileError.whole(path, f"has {per_day:,} instants a day, more than seconds", "bad-instant")
    interval = 3600 if per_day <= 24 else DAY_S // per_day
    return Clock(instants_per_day=per_day, interval_s=interval, instants_per_slot=per_slot)


def write_synthetic(
    synthetic: SyntheticTraces | Traces, path: str | PathLike[str], *, slot_name: str = "time_slot"
) -> None:
    """Write synthetic traces, with log-likelihoods (6 decimals) where there are any.

    Parameters
    ----------
    slot_name
        ``time_slot``, or ``time_period`` as SGLT's files call it.
    """
    if isinstance(synthetic, Traces):
        synthetic = SyntheticTraces(synthetic)
    traces, clock = synthetic.traces, synthetic.traces.clock
    if traces.user_ids.dtype.kind != "i":
        raise DataError("synthetic users are numbers, those of their training users")
    columns: dict[str, Any] = {
        "user": traces.user_ids[traces.user_index],
        "trace_no": clock.day_of(traces.instants),
        slot_name: clock.slot_of(traces.instants),
        "time_instant": clock.within_slot(traces.instants),
        "poi_index": traces.place_index,
        "category": categories_of(traces.places)[traces.place_index],
    }
    if synthetic.loglikelihood is not None:
        columns["loglikeli"] = synthetic.loglikelihood
    write_table(path, columns, decimals=6)
