"""People keep a rhythm of their own, and it gives them away as much as real people's does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tracearena import cities
from tracearena.attacks.linking import Linker, Observations
from tracearena.obfuscation import NoObfuscation
from tracearena.traces import ObfuscatedTraces, Traces

FOUND_IN_GOWALLA = 0.105
"""Share of Gowalla's people of New York whom the times of their check-ins alone find again: 505 people with
at least 5 check-ins on both sides of the median day; measured by `benchmarks/bench_city_times.py`."""
TOLERANCE = 0.03
PEOPLE = 505


@pytest.fixture(scope="module")
def halves() -> tuple[Traces, Traces]:
    """People with at least 5 check-ins before and after the median day, about as many as in Gowalla."""
    crowd = cities.simulate(users=1_000, days=180, mode="checkins", checkins_per_user=65, seed=12)
    day = Observations.of(crowd).day
    early = day < int(np.median(day))
    parts = crowd.keep(early), crowd.keep(~early)
    both = np.flatnonzero(np.minimum(*(np.diff(part.offsets) for part in parts)) >= 5)[:PEOPLE]
    ids = np.arange(1, PEOPLE + 1)
    return parts[0].take_users(both).with_user_ids(ids), parts[1].take_users(both).with_user_ids(ids)


def in_common(halves: tuple[Traces, Traces], trait: Any) -> float:
    """Return the rank correlation of a trait between the halves of people."""
    before, after = (trait(Observations.of(half)) for half in halves)
    return float(spearmanr(before, after, nan_policy="omit").statistic)


def test_people_have_hours_of_their_own(halves: tuple[Traces, Traces]) -> None:
    def cosine(rows: Observations) -> Any:
        return rows.per_user(np.cos(2 * np.pi * rows.second_of_day / 86_400))

    assert 0.4 < in_common(halves, cosine) < 0.7


def test_people_have_weekdays_of_their_own(halves: tuple[Traces, Traces]) -> None:
    assert 0.1 < in_common(halves, lambda rows: rows.per_user(rows.is_weekend)) < 0.45


def test_people_differ_in_how_often_another_check_in_follows(halves: tuple[Traces, Traces]) -> None:
    def soon(rows: Observations) -> Any:
        return rows.per_user(np.where(rows.interval_s >= 0, rows.interval_s < 7200, np.nan))

    assert 0.5 < in_common(halves, soon) < 0.8


def test_people_differ_in_how_soon_it_follows(halves: tuple[Traces, Traces]) -> None:
    def delay(rows: Observations) -> Any:
        short = (rows.interval_s >= 0) & (rows.interval_s < 4 * 3600)
        return rows.per_user(np.where(short, np.log(np.maximum(rows.interval_s, 30)), np.nan))

    assert 0.4 < in_common(halves, delay) < 0.75


def test_activity_comes_and_goes(halves: tuple[Traces, Traces]) -> None:
    assert 0.3 < in_common(halves, lambda rows: rows.counts) < 0.65


@pytest.mark.slow
def test_times_alone_find_as_many_people_as_in_gowalla(halves: tuple[Traces, Traces]) -> None:
    known, later = halves
    truth = np.random.default_rng(7).permutation(PEOPLE)
    released = ObfuscatedTraces.from_traces(later).take_users(truth).with_user_ids(10_001 + np.arange(PEOPLE))
    matcher: Any = (
        Linker(mechanism="adaptive", evidence="times").fit(known).with_mechanism(NoObfuscation()).matcher_
    )
    found = (matcher.match(released, seed=3).best == truth).mean()
    assert found == pytest.approx(FOUND_IN_GOWALLA, abs=TOLERANCE)
