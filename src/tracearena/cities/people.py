"""Who lives in the city: ways of life, check-in times, and the tables that the kernels read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.cities.city import (
    ARTS,
    FOOD,
    GRID,
    HOSPITAL,
    KINDS,
    NIGHT,
    OFFICE,
    PARK,
    SCHOOL,
    SHOP,
    TRAVEL,
    build_land_use,
    build_routes,
    build_venues,
)

WEEKDAYS, ROTA, NEVER = range(3)
"""On which days a person works: Monday to Friday, five days a week in turn, or not at all."""

_EVERYDAY = {FOOD: 30, SHOP: 34, NIGHT: 8, ARTS: 13, PARK: 11, TRAVEL: 2, HOSPITAL: 3}


class Archetype(NamedTuple):
    """One way of life. Times of day are minutes after midnight, rates are outings a day.

    Attributes
    ----------
    name
        In words.
    share
        Share of the population.
    jobs
        Kinds of venue where they work or learn, with weights.
    work_days
        `WEEKDAYS`, `ROTA` or `NEVER`.
    start, start_spread, start_jitter
        Begin of work: typical, standard deviation between people, and from day to day.
    hours
        Length of work in hours.
    absent
        Share of working days spent otherwise (leave, illness, work from home).
    lunch_out
        Typical share of working days with lunch away from work.
    after_work
        Outings straight after work.
    outings_working, outings_free
        Outings on a working day and on a free day within the window.
    window
        Between which times they go out on their own account.
    likes
        Kinds of venue they go to, with weights.
    """

    name: str
    share: float
    jobs: Mapping[int, float]
    work_days: int
    start: float
    start_spread: float
    start_jitter: float
    hours: float
    absent: float
    lunch_out: float
    after_work: float
    outings_working: float
    outings_free: float
    window: tuple[float, float]
    likes: Mapping[int, float]


ARCHETYPES: tuple[Archetype, ...] = (
    Archetype(
        "office commuter", 0.36, {OFFICE: 1}, WEEKDAYS, 545, 35, 12, 8.6, 0.12, 0.6, 0.9, 0.05, 3.0,
        (570, 1200), _EVERYDAY | {NIGHT: 12},
    ),
    Archetype(
        "service worker", 0.16, {SHOP: 5, FOOD: 5, ARTS: 1, TRAVEL: 1}, ROTA, 640, 110, 8, 8.2, 0.04,
        0.45, 0.6, 0.3, 2.8, (570, 1230), _EVERYDAY,
    ),
    Archetype(
        "student", 0.17, {SCHOOL: 1}, WEEKDAYS, 520, 20, 7, 7.0, 0.06, 0.35, 1.1, 0.2, 3.0, (600, 1200),
        _EVERYDAY | {ARTS: 24, NIGHT: 3, HOSPITAL: 1},
    ),
    Archetype(
        "night worker", 0.06, {HOSPITAL: 2, NIGHT: 4, TRAVEL: 3, OFFICE: 1}, ROTA, 1310, 35, 8, 8.0,
        0.04, 0.0, 0.2, 0.9, 2.4, (840, 1170), _EVERYDAY,
    ),
    Archetype(
        "home-based", 0.16, {}, NEVER, 0, 0, 0, 0, 0, 0, 0, 0, 2.8, (510, 1080),
        _EVERYDAY | {PARK: 22, NIGHT: 2, HOSPITAL: 9},
    ),
    Archetype(
        "freelancer", 0.09, {FOOD: 5, OFFICE: 4}, WEEKDAYS, 630, 75, 50, 5.5, 0.4, 0.5, 0.8, 0.9, 2.8,
        (570, 1230), _EVERYDAY | {FOOD: 38},
    ),
)  # fmt: skip


class ArchetypeTable(NamedTuple):
    """The archetypes as arrays, one row per archetype, for the kernels."""

    jobs: NDArray[np.float64]
    work_days: NDArray[np.int64]
    start: NDArray[np.float64]
    length: NDArray[np.float64]
    absent: NDArray[np.float64]
    lunch_out: NDArray[np.float64]
    after_work: NDArray[np.float64]
    outings: NDArray[np.float64]
    window: NDArray[np.float64]
    likes: NDArray[np.float64]
    stay: NDArray[np.float64]


def build_archetype_table() -> ArchetypeTable:
    """Return the archetypes as arrays; weights become cumulative probabilities."""
    ways = ARCHETYPES
    return ArchetypeTable(
        jobs=np.array([_cumulative(way.jobs) for way in ways]),
        work_days=np.array([way.work_days for way in ways]),
        start=np.array([(way.start, way.start_spread, way.start_jitter) for way in ways]),
        length=np.array([way.hours * 60 for way in ways]),
        absent=np.array([way.absent for way in ways]),
        lunch_out=np.array([way.lunch_out for way in ways]),
        after_work=np.array([way.after_work for way in ways]),
        outings=np.array([(way.outings_working, way.outings_free) for way in ways]),
        window=np.array([way.window for way in ways], float),
        likes=np.array([_cumulative(way.likes) for way in ways]),
        stay=np.array([kind.stay_min for kind in KINDS]),
    )


def _cumulative(weights: Mapping[int, float]) -> NDArray[np.float64]:
    """Return cumulative probabilities over all kinds; zeros where there is nothing to choose."""
    filled = np.zeros(len(KINDS))
    for kind, weight in weights.items():
        filled[kind] = weight
    total = filled.sum()
    return np.asarray(np.cumsum(filled) / total if total else filled)


# Check-ins: at which hours people go out and for what, and how people differ in it.

_PEAKS: dict[int, tuple[tuple[float, float, float, float], ...]] = {
    FOOD: ((8, 1.2, 0.5, 0.4), (12.5, 1.2, 2.2, 1.8), (19, 1.8, 2.2, 2.2)),
    SHOP: ((11, 2.5, 0.5, 1.2), (17.5, 2.5, 1.2, 1.8)),
    NIGHT: ((22, 2.0, 0.9, 1.5),),
    ARTS: ((14, 3.0, 0.2, 1.1), (19.5, 1.8, 0.8, 0.7)),
    PARK: ((9, 2.5, 0.3, 0.6), (15, 2.5, 0.3, 1.0)),
    TRAVEL: ((8, 1.0, 1.6, 0.4), (18, 1.6, 1.3, 0.7)),
    SCHOOL: ((9, 1.5, 0.6, 0.05), (14, 2.0, 0.3, 0.05)),
    OFFICE: ((9, 1.2, 0.9, 0.05), (14, 2.5, 0.5, 0.05)),
    HOSPITAL: ((10.5, 2.0, 0.12, 0.04),),
}
"""For each kind of venue: hour, width in hours, weight on weekdays, weight at weekends."""


class Variety(NamedTuple):
    """How people differ in when they check in.

    Everybody draws her own pattern once and keeps it. The spreads are standard deviations between people.
    They were set so that the times of check-ins alone find as many people again as they do in Gowalla
    (`benchmarks/bench_city_times.py`), and so that what the first and the second half of a person's
    check-ins have in common is as strong as there.

    Attributes
    ----------
    hour_tilt
        Spread of the day and half-day waves by which somebody's hours differ from the city's: morning and
        evening people, people of meal times.
    favourite_hours
        Share of the outings that begin at one of somebody's favourite hours.
    weekday_spread
        Spread of the logarithm of how much somebody likes each day of the week.
    burst, burst_spread
        Log-odds that another check-in follows on the same outing: typical, and spread.
    delay, delay_spread, delay_jitter
        Logarithm of the seconds until that check-in: typical, spread between people, and spread between
        the check-ins of one person. Some report each stop, others several at once.
    gap_tail, gap_spread
        Exponent of the heavy tail of the gaps between outings: typical, and spread of its logarithm.
        Those with a high one go out regularly, those with a low one after long pauses.
    activity_spread, activity_memory
        Spread of the logarithm of somebody's activity from one period of four weeks to another, and the
        correlation between one period and the next. People take a service up, tire of it and return.
    """

    hour_tilt: float = 0.48
    favourite_hours: float = 0.15
    weekday_spread: float = 0.5
    burst: float = -0.6
    burst_spread: float = 1.0
    delay: float = 6.8
    delay_spread: float = 1.2
    delay_jitter: float = 1.7
    gap_tail: float = 1.1
    gap_spread: float = 0.3
    activity_spread: float = 1.0
    activity_memory: float = 0.8


class CheckinCustoms(NamedTuple):
    """What the kernel of check-ins reads about the hours and venues of outings.

    Attributes
    ----------
    hours
        Probability of the hour of an outing, for weekdays (row 0) and weekends (row 1).
    kinds
        Cumulative probabilities of the kind of venue by weekend (0, 1) and hour.
    variety
        How people differ.
    """

    hours: NDArray[np.float64]
    kinds: NDArray[np.float64]
    variety: Variety


def build_checkin_customs(present: NDArray[np.bool_]) -> CheckinCustoms:
    """Return the hours and kinds of outings in the city.

    Parameters
    ----------
    present
        Which kinds of venue exist; the others are never drawn.
    """
    # Check-in rates: weekend × hour × kind.
    rates, hour = np.full((2, 24, len(KINDS)), 1e-4), np.arange(24) + 0.5
    for kind, peaks in _PEAKS.items():
        for centre, width, *weights in peaks:
            away = (hour - centre + 12) % 24 - 12
            for weekend, weight in enumerate(weights):
                rates[weekend, :, kind] += weight * np.exp(-0.5 * (away / width) ** 2)
    by_hour = rates.sum(axis=2)
    hours = by_hour / by_hour.sum(axis=1, keepdims=True)
    rates = rates * present
    kinds = np.cumsum(rates, axis=2) / rates.sum(axis=2, keepdims=True)
    return CheckinCustoms(hours, kinds, Variety())


# The city as the kernels see it: travel times, and how likely each venue is from each region.

JUMP_EXPONENT = 1.75
"""Exponent β of trip lengths, P(Δr) ~ (Δr + Δr0)^-β, González et al. 2008."""
JUMP_OFFSET_KM = 0.3
"""Δr0, scaled to a city of 11 km (the paper's 1.5 km belongs to a country)."""


class Atlas(NamedTuple):
    """Arrays about regions (m of them), kinds of venue and venues (n, sorted by kind and region).

    Attributes
    ----------
    minutes, previous
        Travel times and ways, as in `Routes`.
    homes
        Cumulative share of the population by region.
    reach
        ``reach[kind, here]``: cumulative probability of the region where somebody looking for a
        new venue of that kind finds one; zeros where the city has none.
    drawn
        Cumulative share of each kind's attractiveness by region.
    first
        Venues of kind ``k`` in region ``c`` are ``first[k * m + c]`` up to ``first[k * m + c + 1]``.
    cumulative
        Cumulative attractiveness of the venues within their kind and region.
    kind, cell
        Of each venue.
    x_km, y_km
        Centre of each region.
    """

    minutes: NDArray[np.float32]
    previous: NDArray[np.int16]
    homes: NDArray[np.float64]
    reach: NDArray[np.float32]
    drawn: NDArray[np.float64]
    first: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    kind: NDArray[np.int8]
    cell: NDArray[np.int32]
    x_km: NDArray[np.float64]
    y_km: NDArray[np.float64]


@lru_cache(maxsize=2)
def build_atlas(top: int | None = None) -> Atlas:
    """Return the tables for all venues, or for the `top` most attractive ones only."""
    ground, ways, known = build_land_use(), build_routes(), build_venues()
    chosen = known.most_attractive(top)
    kind, cell, weight = known.kind[chosen], known.cell[chosen], known.attractiveness[chosen]
    group = kind.astype(np.int64) * len(GRID) + cell
    by_cell = np.zeros((len(KINDS), len(GRID)))
    np.add.at(by_cell, (kind, cell), weight)
    first = np.searchsorted(group, np.arange(len(KINDS) * len(GRID) + 1))
    total = np.cumsum(weight)
    return Atlas(
        ways.minutes,
        ways.previous,
        np.cumsum(ground.residents),
        _compute_reach(by_cell, ground.x_km, ground.y_km),
        np.cumsum(by_cell, axis=1) / np.maximum(by_cell.sum(axis=1, keepdims=True), 1e-300),
        first,
        total - np.concatenate([[0.0], total])[first[group]],
        kind,
        cell,
        ground.x_km,
        ground.y_km,
    )


def _compute_reach(
    by_cell: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Weigh every region by its venues and its distance.

    In the plane the number of venues at distance r grows with r, so a density of r^-(β + 1) gives
    trip lengths of exponent β.
    """
    km = np.hypot(x[:, None] - x, y[:, None] - y)
    near = (km + JUMP_OFFSET_KM) ** -(JUMP_EXPONENT + 1)
    reach = np.empty((len(by_cell), *km.shape), np.float32)
    for kind, attractiveness in enumerate(by_cell):
        running = np.cumsum(near * attractiveness, axis=1)
        reach[kind] = running / np.maximum(running[:, -1:], 1e-300)
    return reach
