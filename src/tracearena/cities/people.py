"""Who lives in the city: the ways of life, and the numbers that the kernels read about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.cities import venues as v

WEEKDAYS, ROTA, NEVER = range(3)
"""On which days a person works: Monday to Friday, five days a week in turn, or not at all."""

_EVERYDAY = {v.FOOD: 30, v.SHOP: 34, v.NIGHT: 8, v.ARTS: 13, v.PARK: 11, v.TRAVEL: 2, v.HOSPITAL: 3}


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
        "office commuter", 0.36, {v.OFFICE: 1}, WEEKDAYS, 545, 35, 12, 8.6, 0.12, 0.6, 0.9, 0.05, 3.0,
        (570, 1200), _EVERYDAY | {v.NIGHT: 12},
    ),
    Archetype(
        "service worker", 0.16, {v.SHOP: 5, v.FOOD: 5, v.ARTS: 1, v.TRAVEL: 1}, ROTA, 640, 110, 8, 8.2, 0.04,
        0.45, 0.6, 0.3, 2.8, (570, 1230), _EVERYDAY,
    ),
    Archetype(
        "student", 0.17, {v.SCHOOL: 1}, WEEKDAYS, 520, 20, 7, 7.0, 0.06, 0.35, 1.1, 0.2, 3.0, (600, 1200),
        _EVERYDAY | {v.ARTS: 24, v.NIGHT: 3, v.HOSPITAL: 1},
    ),
    Archetype(
        "night worker", 0.06, {v.HOSPITAL: 2, v.NIGHT: 4, v.TRAVEL: 3, v.OFFICE: 1}, ROTA, 1310, 35, 8, 8.0,
        0.04, 0.0, 0.2, 0.9, 2.4, (840, 1170), _EVERYDAY,
    ),
    Archetype(
        "home-based", 0.16, {}, NEVER, 0, 0, 0, 0, 0, 0, 0, 0, 2.8, (510, 1080),
        _EVERYDAY | {v.PARK: 22, v.NIGHT: 2, v.HOSPITAL: 9},
    ),
    Archetype(
        "freelancer", 0.09, {v.FOOD: 5, v.OFFICE: 4}, WEEKDAYS, 630, 75, 50, 5.5, 0.4, 0.5, 0.8, 0.9, 2.8,
        (570, 1230), _EVERYDAY | {v.FOOD: 38},
    ),
)  # fmt: skip


class Habits(NamedTuple):
    """The archetypes as arrays, one row an archetype, for the kernels."""

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


def habits() -> Habits:
    """Return the archetypes as arrays; weights become cumulative probabilities."""
    ways = ARCHETYPES
    return Habits(
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
        stay=np.array([kind.stay_min for kind in v.KINDS]),
    )


def _cumulative(weights: Mapping[int, float]) -> NDArray[np.float64]:
    """Return cumulative probabilities over all kinds; zeros where there is nothing to choose."""
    filled = np.zeros(len(v.KINDS))
    for kind, weight in weights.items():
        filled[kind] = weight
    total = filled.sum()
    return np.asarray(np.cumsum(filled) / total if total else filled)
