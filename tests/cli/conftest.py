"""The command line as a user meets it: arguments in; status, output and messages out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Done, tracearena

from tracearena.io import pwscup
from tracearena.traces import Traces


@pytest.fixture
def run() -> Callable[..., Done]:
    """Run ``tracearena`` with arguments."""
    return tracearena


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    """A folder with the files of a small team."""
    walks = make_walks(users=30, days=4)
    reference, original = walks.split_days(2)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    pwscup.write_times(pwscup.ContestTimes(walks.clock, 2, 2), tmp_path / "info_time.csv")
    return tmp_path
