"""Check-ins made here."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.traces import Clock, Places, Traces


@pytest.fixture(scope="session")
def checkins() -> Traces:
    """Sparse check-ins: gaps, several events an hour, a user without events."""
    rng = np.random.default_rng(4)
    clock = Clock(instants_per_day=24, instants_per_slot=2)
    users = rng.integers(0, 30, 900)
    favourite = rng.integers(0, 12, 30)
    place = np.where(rng.random(900) < 0.7, favourite[users], rng.integers(0, 12, 900))
    places = Places(rng.uniform(40, 41, 12), rng.uniform(-74, -73, 12))
    instants = rng.integers(0, 24 * 20, 900)
    return Traces.from_events(users, instants, place, places, clock, user_ids=np.arange(31))
