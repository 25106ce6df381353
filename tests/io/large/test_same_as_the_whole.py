"""What reading some rows after the others must not change: refusals, judgements on all rows, odd files."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tracearena.engine import use
from tracearena.errors import FileError
from tracearena.io import read
from tracearena.io.inputs import Input
from tracearena.io.large import find_points_obstacle, open_event_chunks, open_point_chunks
from tracearena.jobs.obfuscation import describe_algorithm

START = datetime(2024, 3, 1, tzinfo=UTC)
PARTS = ("--to", "partitions", "--seed", "1")
ON_A_GRID = ("--grid", "8x8", "--bounds", "35,139,36,140")


def points(n: int, latitude: float = 35.5, *, user: str = "ann") -> pl.DataFrame:
    """A user who stands still, a point a minute."""
    times = [START + timedelta(minutes=minute) for minute in range(n)]
    return pl.DataFrame({"user": [user] * n, "time": times, "lat": [latitude] * n, "lon": [139.5] * n})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "points"
    made.mkdir()
    points(300).write_parquet(made / "a.parquet")
    return made


@pytest.mark.parametrize("option", [("--resample", "nearest"), ()])
def test_points_of_a_folder_do_not_go_on_a_grid_as_if_they_were_events(
    option: tuple[str, ...], folder: Path, run: Callable[..., str]
) -> None:
    out = folder.parent / "out"
    told = run("obfuscate", "RR(2)", folder, out, *PARTS, *ON_A_GRID, *option, status=2)
    assert ("--resample" if option else "is read as points") in told
    assert not out.exists()


def test_coordinates_are_judged_by_all_rows_of_all_parts(folder: Path, tmp_path: Path) -> None:
    points(3, 95.0, user="bob").with_columns(lon=pl.lit(10.0)).write_parquet(folder / "b.parquet")
    _, found = open_point_chunks(folder, tmp_path / "scratch")
    whole = read(folder).report
    assert found.report.dropped == whole.dropped == {"swapped": 3}


def test_points_of_which_most_are_swapped_are_refused_with_the_first(folder: Path, tmp_path: Path) -> None:
    points(301, 95.0, user="bob").with_columns(lon=pl.lit(10.0)).write_parquet(folder / "b.parquet")
    with pytest.raises(FileError, match=r"b\.parquet.*95\.0, 10\.0.*seem to be swapped") as refused:
        open_point_chunks(folder, tmp_path / "scratch")
    assert refused.value.faults[0].row == 1


def test_whole_degrees_in_one_part_are_no_cells(folder: Path, tmp_path: Path) -> None:
    for name, latitude in (("a", 35.5), ("b", 35.0)):
        frame = points(300, latitude, user=name).with_columns(lon=pl.lit(139.0))
        frame.rename({"lat": "y", "lon": "x"}).write_parquet(folder / f"{name}.parquet")
    with use(chunk_rows=100):
        table, found = open_point_chunks(folder, tmp_path / "scratch")
    assert found.counts.tolist() == [300, 300]
    assert sum(table.traces(one.number).n_points for one in table.portions) == 600


def test_a_column_of_utc_names_its_zone_where_the_first_times_are_missing(
    tmp_path: Path,
) -> None:
    missing = pl.lit(None, pl.Datetime("ms", "UTC"))
    many = 1 << 16  # rows by whose times a zone is chosen
    frame = points(many + 20).with_columns(
        venue=pl.lit("park"), time=pl.col("time").cast(pl.Datetime("ms", "UTC"))
    )
    first = pl.int_range(pl.len()) <= many
    frame.with_columns(time=pl.when(first).then(missing).otherwise("time")).write_parquet(
        tmp_path / "e.parquet"
    )
    table, _ = open_event_chunks(tmp_path / "e.parquet", tmp_path / "scratch")
    whole = read(tmp_path / "e.parquet").as_events().traces
    assert table.traces(0).clock == whole.clock
    assert table.traces(0).instants.tolist() == whole.instants.tolist()


def test_a_folder_of_one_text_file_has_the_trajectories_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    frame = pl.concat([points(3), points(3, user="bob")])
    frame.write_csv(tmp_path / "texts" / "a.csv")
    table, _ = open_point_chunks(tmp_path / "texts", tmp_path / "scratch")
    whole = read(tmp_path / "texts").as_points().traces
    assert table.traces(0).trajectory_ids.tolist() == whole.trajectory_ids.tolist()


def test_a_folder_that_names_nobody_is_refused(tmp_path: Path) -> None:
    for name in ("uid=7", "uid="):
        (tmp_path / "hive" / name).mkdir(parents=True)
        points(3).drop("user").write_csv(tmp_path / "hive" / name / "a.csv")
    with pytest.raises(FileError, match="names no user: uid= must be followed by a user"):
        find_points_obstacle(Input(tmp_path / "hive"))


def test_an_edited_class_is_another_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "elsewhere_made.py"
    file.write_text(
        "from tracearena.obfuscation import RandomizedResponse\nclass Mine(RandomizedResponse):\n    pass\n"
    )
    mine = importlib.import_module("elsewhere_made").Mine
    before = describe_algorithm(mine(epsilon=1.0))
    file.write_text(file.read_text() + "# another day\n")
    assert describe_algorithm(mine(epsilon=1.0)) != before
    del sys.modules["elsewhere_made"]


def test_nothing_is_written_into_a_folder_that_is_read(folder: Path, run: Callable[..., str]) -> None:
    assert "folder that is an input" in run("convert", folder, folder / "b.parquet", status=2)
    secret = ("--id-table", folder / "ids.csv", "--seed", "1")
    told = run("pseudonymise", folder, folder.parent / "out.parquet", *secret, status=2)
    assert "folder that is an input" in told
    assert [file.name for file in folder.iterdir()] == ["a.parquet"]


def test_what_cannot_be_done_leaves_no_run_to_go_on_with(tmp_path: Path, run: Callable[..., str]) -> None:
    many = 1 << 16  # rows by whose times a zone is chosen
    frame = points(many + 20).with_columns(venue=pl.lit("park"))
    frame.write_parquet(tmp_path / "e.parquet")
    told = run("obfuscate", "MRLH(1,1,0.5)", tmp_path / "e.parquet", tmp_path / "out", *PARTS, status=2)
    assert "--resume" not in told
    assert "--grid" in told
    assert [file.name for file in tmp_path.iterdir()] == ["e.parquet"]


def test_parts_of_a_folder_with_another_file_are_refused_by_its_name(
    folder: Path, run: Callable[..., str]
) -> None:
    (folder / "README.txt").write_text("hello\n")
    told = run("convert", folder, folder.parent / "out", "--to", "partitions", status=2)
    assert "has README.txt next to Parquet files" in told
