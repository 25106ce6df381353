"""Points over several countries are the same users and points, however they are read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.io.formats.travellers import ABROAD, CITIES, USERS, write_travellers

import tracearena as ta
from tracearena.io.fields.coordinates import find_local_time

POINTS = 200_000
POINTS_OF_GEOLIFE = 24_657_817
MOST_KB = 4 * 2**20


@pytest.fixture(scope="module")
def travellers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("travellers") / "points.parquet"
    write_travellers(path, POINTS)
    return path


def points_of_each(path: Path) -> list[int]:
    return pl.read_parquet(path)["user"].value_counts().sort("user")["count"].to_list()


@pytest.mark.parametrize("format", [None, "points"])
@pytest.mark.parametrize("timezone", [None, "UTC", "Asia/Shanghai", "America/Los_Angeles"])
def test_no_zone_and_no_format_loses_a_point(
    travellers: Path, format: str | None, timezone: str | None
) -> None:
    traces, report = ta.read(travellers, format, timezone=timezone).as_points()
    assert traces.user_ids.tolist() == list(range(USERS))
    assert np.diff(traces.offsets).tolist() == points_of_each(travellers)
    assert (report.rows, report.dropped) == (POINTS, {})
    zone = find_local_time(traces, report)
    assert zone.zone == (timezone or "Asia/Shanghai")
    assert timezone or "guessed from the coordinates" in str(zone)


@pytest.mark.slow
def test_a_table_as_text_and_a_frame_hold_the_same(travellers: Path, tmp_path: Path) -> None:
    expected = ta.read(travellers).traces
    ta.write(expected, tmp_path / "points.csv")
    assert ta.read(tmp_path / "points.csv").traces == expected
    assert ta.read(pl.read_parquet(travellers)).traces == expected


@pytest.mark.parametrize("timezone", [None, "UTC"])
def test_who_is_never_on_a_grid_stays_without_events(travellers: Path, timezone: str | None) -> None:
    latitude, longitude = CITIES["Beijing"]
    bounds = f"{latitude - 0.5},{longitude - 0.5},{latitude + 0.5},{longitude + 0.5}"
    traces, report = ta.read(travellers, grid="8x8", bounds=bounds, timezone=timezone).as_events()
    assert traces.user_ids.tolist() == list(range(USERS))
    assert np.diff(traces.offsets)[ABROAD] == 0
    assert np.flatnonzero(np.diff(traces.offsets) == 0).tolist() == [ABROAD]
    assert traces.n_events + report.dropped_rows == POINTS


_READ = """
import json, resource, sys
import numpy as np
import tracearena as ta
traces, report = ta.read(sys.argv[1], timezone=sys.argv[2] or None)
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([traces.n_users, np.diff(traces.offsets).tolist(), report.dropped, most]))
"""


@pytest.mark.long
def test_as_many_points_as_geolife_has_are_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "points.parquet"
    write_travellers(path, POINTS_OF_GEOLIFE)
    expected = points_of_each(path)
    assert sum(expected) == POINTS_OF_GEOLIFE
    for timezone in ("", "Asia/Shanghai"):
        done = subprocess.run(
            [sys.executable, "-c", _READ, str(path), timezone], capture_output=True, text=True, check=True
        )
        users, counts, dropped, most_kb = json.loads(done.stdout)
        assert (users, counts, dropped) == (USERS, expected, {})
        assert most_kb < MOST_KB
