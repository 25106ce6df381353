"""A contest small enough to write by hand: two users, three instants, 32 × 32 regions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.pwscup.small_contest import PSEUDONYMS, VALID, Reader

from tracearena.io import pwscup
from tracearena.traces import Grid, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE


@pytest.fixture(scope="session")
def places() -> Places:
    grid = Grid(rows=32, columns=32, south=34.64, west=135.44, north=34.74, east=135.56)
    return Places.of_grid(grid, sensitive=np.arange(1024) % 9 == 1, km_per_degree=CONTEST_KM_PER_DEGREE)


@pytest.fixture(scope="session")
def original(places: Places) -> Traces:
    dense = np.array([[410, 316, 283], [1, 1024, 77]]) - 1
    return Traces.from_dense(dense, places, pwscup.PWS_CLOCK, first_instant=3)


@pytest.fixture(scope="session")
def readers(places: Places, original: Traces) -> dict[str, Reader]:
    return {
        "traces": lambda path: pwscup.read_traces(path, places, pwscup.PWS_CLOCK),
        "obfuscated": lambda path: pwscup.read_obfuscated(path, original),
        "anonymized": lambda path: pwscup.read_anonymized(path, places, pwscup.PWS_CLOCK),
        "id_table": pwscup.read_id_table,
        "inferred_table": lambda path: pwscup.read_inferred_table(path, PSEUDONYMS, users=[1, 2]),
        "inferred_traces": lambda path: pwscup.read_inferred_traces(path, original),
        "places": pwscup.read_places,
        "times": pwscup.read_times,
    }


@pytest.fixture(scope="session")
def writers() -> dict[str, Callable[[Any, Path], None]]:
    return {kind: getattr(pwscup, f"write_{kind}") for kind in VALID}
