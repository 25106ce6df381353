"""A folder of CSV files is one table, read piece by piece as it is as a whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.io.large.tables import city

from tracearena.engine import use
from tracearena.io import large, read
from tracearena.io.inputs import Input


def folder_of(frame: pl.DataFrame, folder: Path, files: int = 4) -> Path:
    """Write rows as CSV files, every other one packed, in folders that say nothing."""
    size = -(-frame.height // files)
    for number in range(files):
        text = frame.slice(number * size, size).write_csv().encode()
        file = folder / "points" / f"at-{number % 2}" / f"part-{number}.csv{'.gz' * (number % 2)}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(text, 1) if number % 2 else text)
    return folder / "points"


def require_same(path: Path, scratch: Path) -> dict[str, object]:
    expected, report = read(path)
    for chunk in (4_001, 1 << 20):
        with use(chunk_rows=9_000):
            table, found = large.open_point_chunks(path, scratch, chunk=chunk)
        assert len(table.portions) > 3
        for one in table.portions:
            own = expected.take_users(slice(one.first_user, one.stop_user))
            assert table.traces(one.number) == own
        assert found.report.dropped == report.dropped
        assert found.report.rows == report.rows
    return found.report.to_dict()


@pytest.mark.slow
def test_files_are_one_table(tmp_path: Path) -> None:
    require_same(folder_of(city().to_frame(), tmp_path), tmp_path)


@pytest.mark.slow
def test_a_user_without_names_of_trajectories_has_one_through_all_files(tmp_path: Path) -> None:
    require_same(folder_of(city().to_frame().drop("traj"), tmp_path), tmp_path)


@pytest.mark.slow
def test_each_file_has_its_own_columns_and_bad_rows_are_named_with_theirs(tmp_path: Path) -> None:
    path = folder_of(city().to_frame(), tmp_path)
    file = path / "at-0" / "part-2.csv"
    rows = pl.read_csv(file, schema_overrides={"user_id": pl.String})
    rows.select("longitude", "latitude", "traj", "time", "user_id").write_csv(file, separator=";")
    file.write_text(file.read_text() + "139;95;1;2024-05-01T00:00:00Z;000\n")
    (path / "at-1" / "part-9.csv").write_text("user_id,time,latitude,longitude,traj\n")
    told = require_same(path, tmp_path)
    assert told["dropped"] == {"bad latitude": 1}
    assert "part-2.csv" in json.dumps(told["examples"])
    assert told["noticed"] == {"empty file": 1}


@pytest.mark.slow
def test_folders_may_say_whose_points_they_hold(tmp_path: Path) -> None:
    for (user,), rows in city().to_frame().group_by("user_id"):
        folder = tmp_path / "points" / f"uid={user}"
        folder.mkdir(parents=True)
        rows.drop("user_id").write_csv(folder / "data.csv")
    assert large.has_partition_columns(Input(tmp_path / "points"))
    with use(chunk_rows=9_000):
        table, found = large.open_point_chunks(tmp_path / "points", tmp_path)
    assert found.user_ids.tolist() == city().user_ids.tolist()
    for one in table.portions:
        own = city().take_users(slice(one.first_user, one.stop_user))
        assert table.traces(one.number) == own


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
def test_commands_take_a_folder_as_they_take_a_file(tmp_path: Path, run: Callable[..., str]) -> None:
    path = folder_of(city().to_frame(), tmp_path)
    blur = ("obfuscate", "GeoInd(100m)", path)
    run(*blur, tmp_path / "out", "--to", "partitions", "--seed", 3)
    described = json.loads(run("describe", path, "--json"))
    with use(chunk_rows=10**9):
        run(*blur, tmp_path / "whole.parquet", "--seed", 3)
        assert described == json.loads(run("describe", path, "--json"))
    parts = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert parts.equals(pl.read_parquet(tmp_path / "whole.parquet"))


def test_what_lies_beside_is_named_where_parts_are_asked_for(tmp_path: Path, run: Callable[..., str]) -> None:
    path = folder_of(city(3, 3).to_frame(), tmp_path)
    out = (tmp_path / "out", "--to", "partitions")
    (path / "at-0" / "notes.txt").write_text("x")
    assert "has notes.txt next to CSV files" in run("obfuscate", "GeoInd(100m)", path, *out, status=2)
    (path / "at-0" / "notes.txt").rename(path / "at-0" / "notes.csv")
    assert large.find_points_obstacle(Input(path)) == "has notes.csv, which is not a table of points"
