"""People whom a linker should find, or should not, and how many it finds."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple

import numpy as np

from tracearena.arena.pseudonyms import pseudonymise
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces

CLOCK = Clock(instants_per_day=24, first_day=date(2012, 4, 2))
MIDNIGHT = 1_333_324_800
"""2012-04-02 in UTC, a Monday."""
DAYS = 28
GROUND = Places(
    np.repeat(40.6 + 0.02 * np.arange(8), 8), np.tile(-74.1 + 0.02 * np.arange(8), 8), ids=list(range(1, 65))
)


class Case(NamedTuple):
    """What is known, what is released, and who is who."""

    known: Any
    seen: Any
    truth: IdTable


def released(known: Traces, later: Traces, defence: Any = None, *, seed: int = 1) -> Case:
    """Release the later days under pseudonyms."""
    made = ObfuscatedTraces.from_traces(later) if defence is None else defence.transform(later, seed=seed)
    release = pseudonymise(made, seed=seed + 1)
    return Case(known, release.anonymized, release.id_table)


def released_points(known: GpsTraces, later: GpsTraces, defence: Any = None, *, seed: int = 1) -> Case:
    """Release points of the later days under pseudonyms."""
    made = later if defence is None else defence.transform(later, seed=seed)
    release = pseudonymise(made, seed=seed + 1)
    return Case(known, release.anonymized, release.id_table)


def halved(traces: Traces) -> tuple[Traces, Traces]:
    """Cut events at the day in the middle; who is missing on one side is left out of both."""
    day = traces.clock.day_of(traces.instants)
    middle = (int(day.min()) + int(day.max()) + 1) // 2
    parts = traces.keep(day < middle), traces.keep(day >= middle)
    both = np.flatnonzero((np.diff(parts[0].offsets) > 0) & (np.diff(parts[1].offsets) > 0))
    return parts[0].take_users(both), parts[1].take_users(both)


def found(attack: Any, case: Case, *, seed: int = 3) -> float:
    """Return the share of pseudonyms whose user the attack names."""
    answer = attack.fit(case.known).identify(case.seen, seed=seed)
    return float((answer.user_ids == case.truth.user_ids).mean())


def people_with_hours(users: int = 48, *, own_place: bool = False, seed: int = 0) -> tuple[Traces, Traces]:
    """People who are seen once a day, each within an hour of their own and anywhere: two times four weeks.

    With places of their own, everybody is always at the same one.
    """
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), 2 * DAYS)
    day = np.tile(np.arange(2 * DAYS), users)
    second = (user * 86_400 // users + rng.integers(0, 3600, len(user))) % 86_400
    place = user % len(GROUND) if own_place else rng.integers(0, len(GROUND), len(user))
    whole = Traces.from_events(
        user + 1,
        24 * day + second // 3600,
        place,
        GROUND,
        CLOCK,
        timestamps=MIDNIGHT + 86_400 * day + second,
    )
    return halved(whole)


def vehicles(users: int = 40, *, own_interval: bool = True, seed: int = 0) -> tuple[GpsTraces, GpsTraces]:
    """Vehicles that report every so many seconds from anywhere, two times two days of 150 points each."""
    rng = np.random.default_rng(seed)
    days = []
    for first in (0, 2):
        rows = []
        for user in range(users):
            interval = 20 + 2 * user if own_interval else 60
            for day in (first, first + 1):
                start = 86_400 * day + rng.integers(0, 60_000)
                rows.append((np.full(150, user), start + interval * np.arange(150)))
        who, second = (np.concatenate(column) for column in zip(*rows, strict=True))
        days.append(
            GpsTraces.from_points(
                who + 1,
                1000 * (MIDNIGHT + second),
                rng.uniform(40.6, 40.9, len(who)).round(6),
                rng.uniform(-74.1, -73.8, len(who)).round(6),
            )
        )
    return days[0], days[1]
