"""Simulate the inhabitants: regular traces or check-ins."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice, require_number, require_whole
from tracearena.cities.city import KINDS, pois, regions
from tracearena.cities.people import ARCHETYPES, build_archetype_table, build_atlas, build_checkin_customs
from tracearena.engine import SeedLike, block_ranges, run_blocks, seed_sequence, stream
from tracearena.errors import ParameterError
from tracearena.traces import Clock, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EPOCH

Mode = Literal["regular", "checkins"]
FIRST_DAY = date(2019, 4, 1)
"""Day 0 of a simulation, a Monday."""
UTC_OFFSET_S = 10 * 3600
"""Local time of the city is UTC+10 (``Etc/GMT-10``) all year."""
USERS_PER_BLOCK = 256

_DAY_CLOCK = Clock(instants_per_day=48, interval_s=1800, first_day=FIRST_DAY)
_CHECKIN_CLOCK = Clock(instants_per_day=24, interval_s=3600, instants_per_slot=2, first_day=FIRST_DAY)
_RAINY = 0.22
_COUNT_SPREAD = 1.0
"""Standard deviation of the logarithm of the number of check-ins a person makes."""
_WAYS, _LIVES, _COUNTS, _WEATHER = range(4)
_MOST_DAYS = 36_525
_MOST_ROWS = 10**8
"""Days of people, or people who check in: more would need some 20 GB for the places alone."""


def simulate(
    users: int = 4_000,
    days: int = 40,
    *,
    mode: Mode = "regular",
    clock: Clock | None = None,
    top: int | None = 1_000,
    checkins_per_user: float = 30.0,
    seed: SeedLike = None,
) -> Traces:
    """Simulate people in the embedded city.

    Everybody has a home, most have work or school, a pace of life and weekly habits; free time is
    spent by exploration and preferential return [1]_: after S places the next one is new with
    probability 0.6 S^-0.21. People travel by the quickest way and are seen on it.

    Parameters
    ----------
    users
        Number of people, at least 1. They are numbered from 1; the first n of a larger simulation
        with the same seed are the same people.
    days
        Number of consecutive days, at least 1.
    mode
        ``"regular"``: one event at every instant, in 1,024 regions. ``"checkins"``: sparse and
        bursty events at POIs, several an hour, with timestamps.
    clock
        The instants of a day: by default 48 half-hours in regular mode; 24 hours in slots of two
        in check-in mode, where every clock must cover whole days. The weekday of day 0 is that of
        the clock's `first_day`, Monday without one.
    top
        Check-ins happen at this number of the most attractive POIs; None means all.
    checkins_per_user
        Mean number of check-ins of a person; the numbers vary widely between people.
    seed
        Seed of everything random; the map is always the same.

    References
    ----------
    .. [1] Song, Koren, Wang, Barabási, Modelling the scaling properties of human mobility,
       Nature Physics 6 (2010).

    Examples
    --------
    >>> simulate(users=3, days=2, seed=1)
    <Traces: 3 users, 288 events, 1,024 places, instants 0 to 95>
    """
    _check_parameters(users, days, mode, checkins_per_user)
    root = seed_sequence(seed)
    if mode == "checkins":
        ticks = clock or _CHECKIN_CLOCK
        return _simulate_checkins(root, users, days, ticks, top, checkins_per_user)
    return _simulate_regular(root, users, days, clock or _DAY_CLOCK)


def archetypes(users: int, *, seed: int | np.random.SeedSequence) -> NDArray[np.str_]:
    """Return the way of life of each person that `simulate` makes with the same seed.

    >>> [str(name) for name in archetypes(3, seed=1)]
    ['home-based', 'home-based', 'office commuter']
    """
    _check_parameters(users, 1, "regular", 1.0)
    root = seed_sequence(seed)
    ways = [
        _draw_archetypes(root, block, stop - first)
        for block, (first, stop) in enumerate(block_ranges(users, USERS_PER_BLOCK))
    ]
    return np.array([way.name for way in ARCHETYPES])[np.concatenate(ways)]


def _check_parameters(users: int, days: int, mode: str, checkins_per_user: float) -> None:
    require_whole("users", users, at_least=1, at_most=_MOST_ROWS)
    require_whole("days", days, at_least=1, at_most=_MOST_DAYS)
    require_choice("mode", mode, get_args(Mode))
    if mode == "regular" and users * days > _MOST_ROWS:
        raise ParameterError.of("users × days", users * days, f"at most {_MOST_ROWS:,} in regular mode")
    require_number("checkins_per_user", checkins_per_user, at_least=1, at_most=10_000)


def _draw_archetypes(root: np.random.SeedSequence, block: int, users: int) -> NDArray[np.int64]:
    shares = np.cumsum([way.share for way in ARCHETYPES])
    drawn = np.searchsorted(shares, stream(root, _WAYS, block).random(users), side="right")
    return np.minimum(drawn, len(shares) - 1)


def _weekdays(clock: Clock, days: int) -> NDArray[np.int64]:
    first = 0 if clock.first_day is None else clock.first_day.weekday()
    return (first + np.arange(days)) % 7


def _simulate_regular(root: np.random.SeedSequence, users: int, days: int, clock: Clock) -> Traces:
    from tracearena.cities._kernels import simulate_all_days

    town, customs, weekdays = build_atlas(), build_archetype_table(), _weekdays(clock, days)
    wet = stream(root, _WEATHER).random(days) < _RAINY
    instants = np.arange(days * clock.instants_per_day)
    minutes = clock.day_of(instants) * 1440 + clock.second_of_day(instants) / 60
    table = np.empty((users, len(instants)), np.int32)

    def work(block: int, first: int, stop: int) -> None:
        rng, ways = stream(root, _LIVES, block), _draw_archetypes(root, block, stop - first)
        simulate_all_days(rng, town, customs, ways, weekdays, wet, minutes, table[first:stop])

    run_blocks(work, block_ranges(users, USERS_PER_BLOCK), report=True)
    return Traces(
        regions(),
        clock,
        user_ids=np.arange(1, users + 1),
        offsets=np.arange(users + 1) * len(instants),
        instants=np.tile(instants.astype(np.int32), users),
        place_index=table.ravel(),
        span=(0, len(instants)),
    )


def _simulate_checkins(
    root: np.random.SeedSequence,
    users: int,
    days: int,
    clock: Clock,
    top: int | None,
    checkins_per_user: float,
) -> Traces:
    from tracearena.cities._kernels import check_in_all

    if clock.start_s or clock.instants_per_day * clock.interval_s != DAY_S:
        raise ParameterError(
            "the clock of check-ins must cover whole days, because they can happen at any hour"
        )
    places, town, weekdays = pois(top), build_atlas(top), _weekdays(clock, days)
    lives = build_archetype_table()
    customs = build_checkin_customs(np.bincount(town.kind, minlength=len(KINDS)) > 0)

    def work(block: int, first: int, stop: int) -> tuple[Any, ...]:
        # A heavy tail around the mean, and at least one check-in.
        normal = stream(root, _COUNTS, block).standard_normal(stop - first)
        factor = np.exp(_COUNT_SPREAD * normal - _COUNT_SPREAD**2 / 2)
        counts = np.maximum(np.rint(checkins_per_user * factor), 1).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        at, visited = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int32)
        rng, ways = stream(root, _LIVES, block), _draw_archetypes(root, block, stop - first)
        check_in_all(rng, town, lives, customs, ways, weekdays, offsets, at, visited)
        return counts, at, visited

    done = run_blocks(work, block_ranges(users, USERS_PER_BLOCK), report=True)
    counts, at, visited = (np.concatenate(column) for column in zip(*done, strict=True))
    midnight = (clock.first_day or FIRST_DAY) - EPOCH
    return Traces(
        places,
        clock if clock.first_day else replace(clock, first_day=FIRST_DAY),
        user_ids=np.arange(1, users + 1),
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        instants=at // clock.interval_s,
        place_index=visited,
        timestamps=at + midnight // timedelta(seconds=1) - UTC_OFFSET_S,
        span=(0, days * clock.instants_per_day),
    )
