"""What the files cannot hold is refused before a byte is written; names and distances."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.pwscup.small_contest import VALID, Reader

from tracearena.errors import DataError, ParameterError
from tracearena.io import pwscup
from tracearena.io.pwscup import PwsName
from tracearena.traces import Clock, Grid, IdTable, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE


@pytest.mark.parametrize("kind", VALID)
def test_the_small_files_come_back_to_the_byte(
    kind: str, readers: dict[str, Reader], writers: dict[str, Callable[[Any, Path], None]], tmp_path: Path
) -> None:
    (tmp_path / "given").write_bytes(VALID[kind])
    writers[kind](readers[kind](tmp_path / "given"), tmp_path / "written")
    assert (tmp_path / "written").read_bytes() == VALID[kind]


def test_half_missing_traces_read_the_same(make_walks: Callable[..., Traces], tmp_path: Path) -> None:
    walks = make_walks(users=30, missing=0.5)
    pwscup.write_traces(walks, tmp_path / "half.csv")
    assert pwscup.read_traces(tmp_path / "half.csv", walks.places) == walks


def test_users_out_of_order_cannot_be_written(original: Traces, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ascending"):
        pwscup.write_traces(original.take_users([1, 0]), tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("ids", [["ann", "bob"], [0, 1], [-1, 1], [1, 10**9]])
def test_ids_that_the_files_do_not_know_cannot_be_written(
    original: Traces, tmp_path: Path, ids: list[Any]
) -> None:
    with pytest.raises(DataError, match="whole numbers from 1"):
        pwscup.write_traces(original.with_user_ids(ids), tmp_path / "x")
    with pytest.raises(DataError, match="whole numbers from 1"):
        pwscup.write_id_table(IdTable([3, 4], ids), tmp_path / "x")


def test_two_events_at_one_instant_cannot_be_written(places: Places, tmp_path: Path) -> None:
    twice = Traces(
        places, pwscup.PWS_CLOCK, user_ids=[1], offsets=[0, 2], instants=[5, 5], place_index=[0, 1]
    )
    with pytest.raises(DataError, match="several events at one instant"):
        pwscup.write_traces(twice, tmp_path / "x")


def test_places_counted_from_zero_cannot_be_written(tmp_path: Path) -> None:
    free = Places([35.0, 35.1], [139.0, 139.1])
    traces = Traces.from_dense([[0, 1]], free, pwscup.PWS_CLOCK)
    with pytest.raises(DataError, match="ids of the places"):
        pwscup.write_traces(traces, tmp_path / "x")
    with pytest.raises(DataError, match="grid"):
        pwscup.write_places(free, tmp_path / "x")


def test_places_may_have_gaps_in_their_ids(tmp_path: Path) -> None:
    sparse = Places([35.0, 35.1], [139.0, 139.1], ids=[7, 3])
    traces = Traces.from_dense([[0, 1]], sparse, pwscup.PWS_CLOCK)
    pwscup.write_traces(traces, tmp_path / "x")
    assert (tmp_path / "x").read_text() == "user_id,time_id,reg_id\n1,1,7\n1,2,3\n"
    assert pwscup.read_traces(tmp_path / "x", sparse) == traces
    (tmp_path / "y").write_text("user_id,time_id,reg_id\n1,1,5\n")
    with pytest.raises(DataError, match="one of the 2 known ids"):
        pwscup.read_traces(tmp_path / "y", sparse)


def test_a_clock_with_seconds_has_no_table_of_times(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="seconds"):
        pwscup.write_times(
            pwscup.ContestTimes(Clock(instants_per_day=2, interval_s=90), 1, 1), tmp_path / "x"
        )


def test_distances_of_all_ordered_pairs(tmp_path: Path) -> None:
    grid = Grid(rows=2, columns=2, south=0, west=0, north=2, east=2)
    places = Places.of_grid(grid, sensitive=[0, 1, 0, 0], km_per_degree=CONTEST_KM_PER_DEGREE)
    pwscup.write_distances(places, tmp_path / "d.csv")
    header, *lines = (tmp_path / "d.csv").read_text().splitlines()
    assert header == "reg_id1,reg_id2,dist,reg_id1_is_hospital"
    assert lines[:3] == ["1,1,0.0,0", "1,2,91.0,0", "1,3,111.0,0"]
    assert len(lines) == 16
    assert float(lines[7].split(",")[2]) == 111.0
    assert [line[-1] for line in lines] == list("0000111100000000")
    assert float(lines[3].split(",")[2]) == pytest.approx(np.hypot(91, 111), rel=1e-15)


@pytest.mark.parametrize(
    "name",
    [
        "reftraces_team000_data01_IDP.csv",
        "orgtraces_team001_data02_TRP.csv",
        "anotraces_team022_data01_IDP.csv",
        "pubtraces_team001_data01_IDP.csv",
        "ptable_team999_data01_IDP.csv",
        "etable_team020-001_data01_IDP.csv",
        "etraces_team001-020_data02_TRP.csv",
    ],
)
def test_names_come_back(name: str) -> None:
    assert str(PwsName.parse(name)) == name
    assert PwsName.parse(Path("folder") / f"{name}.gz") == PwsName.parse(name)


@pytest.mark.parametrize(
    "name",
    [
        "orgtraces_team1_data01_IDP.csv",
        "orgtraces_team001_data02_IDP.csv",
        "orgtraces_team020-001_data01_IDP.csv",
        "etable_team001_data01_IDP.csv",
        "etable_team020-001_data01_XYZ.csv",
        "traces_team001_data01_IDP.csv",
        "orgtraces_team００１_data01_IDP.csv",
        "orgtraces_team001_data01_IDP.csv\n",
        "",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ParameterError):
        PwsName.parse(name)
