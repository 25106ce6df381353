"""What every test may use: the shared data where it is at hand, and small random walks made here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import tests.examples  # noqa: F401 - which loads the profile of Hypothesis

from tracearena.engine import Cluster
from tracearena.io.ppmtf import read_places, read_traces
from tracearena.traces import Clock, Grid, Places, Traces

SHARED_DATA = Path(
    os.environ.get("TRACEARENA_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
).resolve()
"""Real and published data: where ``TRACEARENA_DATA`` says, or beside the project."""
NO_DATA = "published data is not at hand"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that write the table of digests and the record of commands again."""
    parser.addoption("--update-digests", action="store_true", help="write tests/digests/digests.json")
    parser.addoption("--record", action="store_true", help="write tests/recorded/record")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what a run without the data did not check: a skipped test reads like a passed one."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and NO_DATA in report.longrepr[2]
    ]
    if skipped:
        terminalreporter.section("PUBLISHED NUMBERS NOT CHECKED", sep="!", red=True, bold=True)
        terminalreporter.write_line(
            f"{len(skipped)} tests of published numbers were not run: there is no folder {SHARED_DATA}. "
            "TRACEARENA_DATA names another.",
            red=True,
        )


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real and published data; tests that need it are skipped elsewhere."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"{NO_DATA}: {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="session")
def osaka(shared_data: Path) -> Path:
    """The organisers' files of PWS Cup 2019."""
    return shared_data / "pwscup2019-osaka"


@pytest.fixture(scope="session")
def tokyo(shared_data: Path) -> Path:
    """The authors' files of people flow Tokyo."""
    return shared_data / "ppmtf-tokyo"


@pytest.fixture(scope="session")
def tokyo_training(tokyo: Path) -> Traces:
    """The 500 training users of people flow Tokyo."""
    return read_traces(tokyo / "traintraces_TK.csv", read_places(tokyo / "POI_TK.csv"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two worker processes on this machine."""
    pytest.importorskip("distributed")
    with Cluster("local:2") as workers:
        yield workers


@pytest.fixture(scope="session")
def make_walks() -> Callable[..., Traces]:
    """Random walks on a grid: every user wanders around a home of her own."""

    def make(users: int = 12, days: int = 2, side: int = 8, *, missing: float = 0.0, seed: int = 0) -> Traces:
        rng = np.random.default_rng(seed)
        grid = Grid(rows=side, columns=side, south=34.64, west=135.44, north=34.74, east=135.56)
        sensitive = np.arange(len(grid)) % 9 == 4
        places = Places.of_grid(grid, sensitive=sensitive, km_per_degree=(111, 91))
        clock = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)
        home = rng.integers(0, side, size=(2, users, 1))
        steps = rng.integers(-1, 2, size=(2, users, days * 20))
        row, column = np.clip(home + steps, 0, side - 1)
        dense = row * side + column
        dense[rng.random(dense.shape) < missing] = -1
        return Traces.from_dense(dense, places, clock)

    return make


@pytest.fixture
def make_check_ins() -> Callable[..., Traces]:
    """Sparse check-ins with exact times, several in one hour, categories, at venues with text ids."""

    def make(users: int = 20, events: int = 400, venues: int = 15, seed: int = 0) -> Traces:
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
