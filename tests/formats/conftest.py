"""Check-ins made here, in every layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.traces import Clock, Places, Traces


@pytest.fixture
def make_check_ins() -> Callable[..., Traces]:
    """Sparse check-ins with exact times, several in one hour, categories, at venues with text ids."""

    def make(users: int = 20, events: int = 400, venues: int = 15, seed: int = 0) -> Traces:
        from datetime import date

        rng = np.random.default_rng(seed)
        places = Places(
            rng.uniform(40.6, 40.8, venues).round(6),
            rng.uniform(-74.1, -73.8, venues).round(6),
            ids=[f"v{i:03d}" for i in range(venues)],
            categories=[f"Food {i % 3}" for i in range(venues)],
        )
        clock = Clock(instants_per_day=24, first_day=date(2012, 4, 3))
        midnight_utc = 1_333_411_200 + 4 * 3600
        second = rng.integers(0, 20 * 86_400, events)
        second[0] = 5
        who, where = rng.integers(0, users, events), rng.integers(0, venues, events)
        who[:users], where[:venues] = np.arange(users), np.arange(venues)
        return Traces.from_events(
            who + 7, second // 3600, where, places, clock, timestamps=midnight_utc + second
        )

    return make
