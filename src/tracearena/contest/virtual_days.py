"""The times of day of a contest: those used for training, and those that are published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from tracearena.checks import require_whole
from tracearena.engine import SeedLike, use
from tracearena.errors import ParameterError
from tracearena.io.pwscup import PWS_CLOCK
from tracearena.mobility.transitions import departures
from tracearena.traces import Clock, Traces

if TYPE_CHECKING:
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf.generation import DayWalk


SLOT_S = 3_600
"""Seconds of a slot of the contest's generator: an hour."""
LEARNED_HOURS = (6, 18)
"""Hours of the day from which the contest's generator learned."""


def contest_training(traces: Traces) -> Traces:
    """Return the part of the training traces that the contest's generator learns from.

    If a day has instants at least every half hour from 6:00 to 18:00, these are kept, in slots of an hour.
    People are then at home from 6:00 to 8:00 and from 16:00 to 18:00, and the published hours show them
    leaving and returning. Other traces are returned unchanged.

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
    first, stop = (hour * SLOT_S for hour in LEARNED_HOURS)
    length = (stop - first) // clock.interval_s
    wanted = replace(
        clock,
        start_s=first,
        instants_per_day=max(length, 1),
        instants_per_slot=max(SLOT_S // clock.interval_s, 1),
    )
    divides = PWS_CLOCK.interval_s % clock.interval_s == 0
    return resample_to_clock(traces, wanted) if divides and contains_clock(clock, wanted) else traces


def contest_days(traces: Traces) -> Traces:
    """Keep the 20 half-hours from 8:00 to 17:30 of every day, where the traces have them all.

    Almost everybody is at home before 8:00, which would tell an attacker too much.
    """
    return resample_to_clock(traces, PWS_CLOCK) if contains_clock(traces.clock, PWS_CLOCK) else traces


def contains_clock(clock: Clock, wanted: Clock) -> bool:
    """Tell whether every instant of the wanted clock is one of the clock's."""
    seconds = wanted.second_of_day(np.arange(wanted.instants_per_day)) - clock.start_s
    inside = (seconds >= 0) & (seconds < clock.instants_per_day * clock.interval_s)
    return bool((inside & (seconds % clock.interval_s == 0)).all())


def resample_to_clock(traces: Traces, wanted: Clock) -> Traces:
    """Keep the events at the instants of another clock, and count in its instants.

    Examples
    --------
    >>> from tracearena.traces import Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 0, 1, 1, 0, 0]], places, Clock(instants_per_day=3, start_s=7200))
    >>> resample_to_clock(traces, Clock(instants_per_day=1, start_s=10800)).dense().tolist()
    [[0, 0]]
    """
    clock = traces.clock
    late = clock.second_of_day(traces.instants) - wanted.start_s
    kept = (late >= 0) & (late % wanted.interval_s == 0)
    kept &= late < wanted.instants_per_day * wanted.interval_s
    users = traces.user_index[kept]
    days = clock.day_of(traces.instants[kept])
    first, last = (int(clock.day_of(instant)) for instant in (traces.span[0], max(traces.span[1] - 1, 0)))
    return traces.replace(
        clock=replace(wanted, first_day=clock.first_day),
        offsets=np.concatenate([[0], np.cumsum(np.bincount(users, minlength=traces.n_users))]),
        instants=days * wanted.instants_per_day + late[kept] // wanted.interval_s,
        place_index=traces.place_index[kept],
        timestamps=None if traces.timestamps is None else traces.timestamps[kept],
        span=(first * wanted.instants_per_day, (last + 1) * wanted.instants_per_day),
    )


# Virtual users who walk in short steps and are seen at the contest's times.

STEP_S = 300
"""Seconds of a step of the contest's generator."""
HOME_S = 7_200
"""Seconds of home time at each end of the day."""
FIXED_SEED = 0
"""Of what is only learned: paths between observed places, and the pace. What people do has its own seed."""
PACED_BY = (2_048, 2)
"""Users and days of the walks that the pace is read from."""
CORRECTIONS = 5
CLOSE = 0.001
"""The pace is right when the share of stays is that of the training traces but for this."""


@dataclass(frozen=True, eq=False)
class ShortWalk:
    """A walk in steps that are shorter than the interval of the training traces.

    Attributes
    ----------
    learned
        The training traces, or the part that is used for training.
    steps
        Number of steps per instant.
    handed
        The times that are handed out.
    before
        Number of steps before the first instant of a day. They are invented: people follow the first slot and
        are at home. They are not handed out.

    References
    ----------
    [contest] appendix D: a walk in steps of five minutes from 6:00 to 18:00, of which half-hours from
    8:00 on are handed out, because almost everybody is at home before.
    """

    learned: Traces
    steps: int
    handed: Clock
    before: int

    @classmethod
    def of(cls, training: Traces, step_s: int = STEP_S) -> ShortWalk:
        """Build a walk in steps of `step_s` seconds for the days of the training traces."""
        require_whole("walk", step_s, at_least=1)
        learned = contest_training(training)
        clock = learned.clock
        if clock.interval_s % step_s:
            raise ParameterError(
                f"a walk in steps of {step_s} s does not fit the interval of the traces, "
                f"{clock.interval_s} s: use a divisor of it, or {clock.interval_s}s itself"
            )
        handed = PWS_CLOCK if contains_clock(clock, PWS_CLOCK) else replace(clock, instants_per_slot=1)
        missing = min(HOME_S - (handed.start_s - clock.start_s), clock.start_s)
        return cls(learned, clock.interval_s // step_s, handed, max(missing, 0) // step_s)

    @property
    def step_s(self) -> int:
        """Length of a step in seconds."""
        return self.learned.clock.interval_s // self.steps

    @property
    def extra_hours(self) -> str | None:
        """The hours of every day that are invented, such as ``06:00 to 08:00``."""
        if not self.before:
            return None
        clock = self.learned.clock
        first = replace(clock, start_s=clock.start_s - self.before * self.step_s)
        return f"{first.label(0)} to {clock.label(0)}"

    @property
    def lead_steps(self) -> int:
        """Steps from the beginning of a day to the first time that is handed out."""
        return self.before + (self.handed.start_s - self.learned.clock.start_s) // self.step_s

    def training(self) -> Traces:
        """Return the training traces, filled in at every step, in slots of at least an hour."""
        from tracearena.synthesis.short_steps import ShortSteps

        clock = self.learned.clock
        slot = max(clock.instants_per_slot, SLOT_S // clock.interval_s)
        filled = self.learned
        if self.steps > 1:
            filled = ShortSteps.of(filled, self.steps).fill(filled, seed=FIXED_SEED)
        slots = replace(filled.clock, instants_per_slot=slot * self.steps)
        return filled.replace(clock=slots, timestamps=None)

    def build_model(self, model: PPMTF, *, homes: bool, only_seen: bool) -> ShortStepModel:
        """Return a generator of virtual users, from a model that was trained on `training()`.

        The pace is the probability that a step proposes a move. It is chosen so that virtual users stay in
        place from one instant of the training traces to the next as often as the training people do. A first
        value comes from a walk that proposes a move at every step (`solve_pace`); walks at that pace then
        correct it.
        """
        from tracearena.synthesis.ppmtf.generation import DayWalk

        walk, wanted = DayWalk(before=self.before, home=HOME_S // self.step_s), self.compute_stay_share()

        def same_after(pace: float) -> list[float]:
            users, days = PACED_BY
            drawn = model.virtual_users(
                users, homes=homes, only_seen=only_seen, walk=replace(walk, pace=pace), seed=FIXED_SEED
            )
            with use(progress=None):
                table = drawn.draw(days)
                starts = np.arange(self.lead_steps, table.shape[2] - self.steps, self.steps)
                return [
                    float((table[:, :, starts] == table[:, :, starts + lag]).mean())
                    for lag in range(self.steps + 1)
                ]

        shares = same_after(1.0)
        pace, aim, reached = solve_pace(shares, wanted), wanted, shares[-1]
        for _ in range(CORRECTIONS if pace < 1 else 0):
            reached = same_after(pace)[-1]
            if abs(reached - wanted) < CLOSE:
                break
            aim = min(max(aim + wanted - reached, 0.0), 1.0)
            pace = solve_pace(shares, aim)
        return ShortStepModel(model, self, replace(walk, pace=pace), reached)

    def compute_stay_share(self) -> float:
        """Return the share of transitions in the published hours that stay in place; 0 if there are none."""
        learned = self.learned
        start = departures(learned)
        start = start[learned.clock.second_of_day(learned.instants[start]) >= self.handed.start_s]
        places = learned.place_index
        return float((places[start] == places[start + 1]).mean()) if len(start) else 0.0


@dataclass(frozen=True, eq=False)
class ShortStepModel:
    """A trained model whose virtual users walk in short steps and are seen at the contest's times.

    Attributes
    ----------
    model, course
        What was trained, and on what.
    walk
        The steps of a day.
    stays
        Share of stays from one instant to the next that was found at the pace of the walk.
    """

    model: PPMTF
    course: ShortWalk
    walk: DayWalk
    stays: float

    def sample_users(self, n: int, days: int, *, homes: bool, only_seen: bool, seed: SeedLike) -> Traces:
        """Return `days` whole days of n virtual users, at the times that are handed out."""
        from tracearena.synthesis.baselines import build_day_traces

        users = self.model.virtual_users(n, homes=homes, only_seen=only_seen, walk=self.walk, seed=seed)
        course, handed = self.course, self.course.handed
        table = users.draw(days)[:, :, course.lead_steps :: handed.interval_s // course.step_s]
        table = np.ascontiguousarray(table[:, :, : handed.instants_per_day])
        return build_day_traces(table, self.model.places_, handed, np.arange(1, n + 1))


def solve_pace(same_after: list[float], stays: float) -> float:
    """Return the probability of a move being proposed at a step at which people stay as often as they should.

    Parameters
    ----------
    same_after
        Share of people who, after 0, 1, …, S steps each of which proposes a move, are where they were.
    stays
        Share who should be where they were after S steps.

    Notes
    -----
    At pace p the number of proposals in S steps is binomial, and the share of stays is
    Σ_k C(S, k) p^k (1 − p)^(S − k) same_after[k]. Metropolis-Hastings rejects moves that the training
    traces, made by such a walk or by people, have already done without; a pace below 1 slows people down
    further, and one above 1 there is none.

    Examples
    --------
    >>> round(solve_pace([1.0, 0.5, 0.2], 0.36), 3)
    0.754
    >>> solve_pace([1.0, 0.5, 0.2], 0.1)
    1.0
    """
    steps = len(same_after) - 1

    def expected(pace: float) -> float:
        shares = (comb(steps, k) * pace**k * (1 - pace) ** (steps - k) for k in range(steps + 1))
        return sum(share * same for share, same in zip(shares, same_after, strict=True))

    low, high = 0.0, 1.0
    if expected(high) >= stays:
        return high
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) > stays else (low, middle)
    return high
