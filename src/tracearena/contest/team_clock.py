"""The times of day of a contest: which are learned from, and which are handed out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracearena.formats.pwscup import PWS_CLOCK
from tracearena.traces import Clock, Traces

LEARNED_HOURS = (6, 18)
"""Hours of the day from which the contest's generator learned."""
_HOUR_S = 3600


def contest_training(traces: Traces) -> Traces:
    """Return the part of the training traces that the contest's generator learns from.

    Where a day has instants at least every half hour from 6:00 to 18:00, these are kept, in slots of
    an hour: at home from 6:00 to 8:00 and from 16:00 to 18:00, people are seen to leave and to come
    back in the hours that are handed out. Other traces stay as they are.

    References
    ----------
    [contest] appendix D.

    Examples
    --------
    >>> from tracearena.traces import Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> day = Traces.from_dense([[0, 1] * 24], places, Clock(instants_per_day=48, interval_s=1800))
    >>> clock = contest_training(day).clock
    >>> clock.start_s, clock.instants_per_day, clock.instants_per_slot
    (21600, 24, 2)
    """
    clock = traces.clock
    first, stop = (hour * _HOUR_S for hour in LEARNED_HOURS)
    length = (stop - first) // clock.interval_s
    wanted = replace(
        clock,
        start_s=first,
        instants_per_day=max(length, 1),
        instants_per_slot=max(_HOUR_S // clock.interval_s, 1),
    )
    divides = PWS_CLOCK.interval_s % clock.interval_s == 0
    return at_times(traces, wanted) if divides and holds(clock, wanted) else traces


def contest_days(traces: Traces) -> Traces:
    """Keep the 20 half-hours from 8:00 to 17:30 of every day, where the traces have them all.

    Almost everybody is at home before 8:00, which would tell an attacker too much.
    """
    return at_times(traces, PWS_CLOCK) if holds(traces.clock, PWS_CLOCK) else traces


def holds(clock: Clock, wanted: Clock) -> bool:
    """Tell whether every instant of the wanted clock is one of the clock's."""
    seconds = wanted.second_of_day(np.arange(wanted.instants_per_day)) - clock.start_s
    inside = (seconds >= 0) & (seconds < clock.instants_per_day * clock.interval_s)
    return bool((inside & (seconds % clock.interval_s == 0)).all())


def at_times(traces: Traces, wanted: Clock) -> Traces:
    """Keep the events at the instants of another clock, and count in its instants.

    Examples
    --------
    >>> from tracearena.traces import Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 0, 1, 1, 0, 0]], places, Clock(instants_per_day=3, start_s=7200))
    >>> at_times(traces, Clock(instants_per_day=1, start_s=10800)).dense().tolist()
    [[0, 0]]
    """
    clock = traces.clock
    late = clock.second_of_day(traces.instants) - wanted.start_s
    kept = (late >= 0) & (late % wanted.interval_s == 0)
    kept &= late < wanted.instants_per_day * wanted.interval_s
    users = traces.user_index[kept]
    days = clock.day_of(traces.instants[kept])
    first, last = (int(clock.day_of(instant)) for instant in (traces.span[0], max(traces.span[1] - 1, 0)))
    return Traces(
        traces.places,
        replace(wanted, first_day=clock.first_day),
        user_ids=traces.user_ids,
        offsets=np.concatenate([[0], np.cumsum(np.bincount(users, minlength=traces.n_users))]),
        instants=days * wanted.instants_per_day + late[kept] // wanted.interval_s,
        place_index=traces.place_index[kept],
        timestamps=None if traces.timestamps is None else traces.timestamps[kept],
        span=(first * wanted.instants_per_day, (last + 1) * wanted.instants_per_day),
    )
