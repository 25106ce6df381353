"""Training traces of the authors, and check-ins made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracearena.traces import Clock, Grid, Places, Traces


@pytest.fixture(scope="session")
def tokyo_training(shared_data: Path) -> Traces:
    """The 500 training users of people flow Tokyo."""
    events = pl.read_csv(shared_data / "ppmtf-tokyo" / "traintraces_TK.csv")
    grid = Grid(rows=20, columns=20, south=35.65, west=139.68, north=35.75, east=139.80)
    clock = Clock(instants_per_day=30, start_s=9 * 3600, interval_s=1200)
    instants = 3 * (events["hour"].to_numpy() - 9) + events["min"].to_numpy() // 20
    return Traces.from_events(
        events["user_index"].to_numpy(), instants, events["poi_index"].to_numpy(), Places.of_grid(grid), clock
    )


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
