"""Tables whose ids, folders or outputs are odd are read and written as the whole would be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tracearena.engine import seeding, use
from tracearena.errors import ParameterError
from tracearena.io import large, points
from tracearena.io.large.checkpoint import PartsCheckpoint
from tracearena.jobs import description
from tracearena.jobs.description import ValueCounts

GEOIND = ("obfuscate", "GeoInd(100m)")
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


def some(n: int, **columns: Any) -> pl.DataFrame:
    """Points a minute apart, one a row."""
    times = pl.datetime_range(BEGIN, BEGIN.replace(minute=n - 1), "1m", eager=True)
    given = {"user_id": [1] * n, "lat": [35.0] * n, "lon": [139.0] * n, **columns}
    return pl.DataFrame({**given, "time": times})


def test_folders_that_name_users_give_the_same_ids_at_any_size(
    tmp_path: Path, run: Callable[..., str]
) -> None:
    for folder in ("uid=7", "uid=a%20b"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        some(5).drop("user_id").write_parquet(tmp_path / "in" / folder / "x.parquet")
    run(*GEOIND, tmp_path / "in", tmp_path / "one.parquet", "--seed", 1)
    run(*GEOIND, tmp_path / "in", tmp_path / "parts", "--seed", 1, "--to", "partitions")
    one = pl.read_parquet(tmp_path / "one.parquet")
    assert one.equals(pl.read_parquet(tmp_path / "parts" / "*.parquet"))
    assert one["user_id"].unique(maintain_order=True).to_list() == ["7", "a b"]


def test_a_folder_of_missing_users_has_none(tmp_path: Path) -> None:
    for folder in ("uid=7", "uid=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        some(5).drop("user_id").write_parquet(tmp_path / "in" / folder / "x.parquet")
    _, found = large.open_point_chunks(tmp_path / "in", tmp_path)
    assert found.users.to_list() == [7]
    assert sum(found.report.dropped.values()) == 5


def test_a_missing_trajectory_among_numbers_is_a_number_too(tmp_path: Path) -> None:
    some(3, traj=["0", "1", None]).write_parquet(tmp_path / "p.parquet")
    table, _ = large.open_point_chunks(tmp_path / "p.parquet", tmp_path)
    assert table.traces(0) == points.read(tmp_path / "p.parquet").traces


def test_a_missing_trajectory_is_text_where_other_users_have_names(tmp_path: Path) -> None:
    some(4, user_id=[1, 1, 2, 2], traj=["a", "a", "1", None]).write_parquet(tmp_path / "p.parquet")
    with use(chunk_rows=2):
        table, _ = large.open_point_chunks(tmp_path / "p.parquet", tmp_path)
    expected = points.read(tmp_path / "p.parquet").traces
    assert [table.traces(one.number) for one in table.portions] == [
        expected.take_users([0]),
        expected.take_users([1]),
    ]


def test_an_id_whose_rows_are_all_bad_still_makes_ids_text(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    some(1, user_id=["x"], lat=[99.0]).write_parquet(tmp_path / "in" / "a.parquet")
    some(12, user_id=[str(n) for n in range(12)]).write_parquet(tmp_path / "in" / "b.parquet")
    _, found = large.open_point_chunks(tmp_path / "in", tmp_path)
    expected = points.read(tmp_path / "in").traces
    assert found.users.to_list() == expected.user_ids.tolist()


def test_a_release_does_not_go_into_the_folder_it_is_made_from(
    tmp_path: Path, run: Callable[..., str]
) -> None:
    (tmp_path / "in").mkdir()
    some(5).write_parquet(tmp_path / "in" / "a.parquet")
    said = run(*GEOIND, tmp_path / "in", tmp_path / "in" / "out", "--to", "partitions", status=2)
    assert "is inside a folder that is an input" in said
    assert [one.name for one in (tmp_path / "in").iterdir()] == ["a.parquet"]


def test_parts_wait_where_their_name_was_taken_meanwhile(tmp_path: Path) -> None:
    parts = PartsCheckpoint(tmp_path / "out", "x")
    parts.begin(resume=False)
    parts.part(0).write_bytes(b"part")
    parts.add(0, {"points": 1})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").touch()
    with pytest.raises(OSError, match="out"):
        parts.finish()
    (tmp_path / "out" / "other").unlink()
    again = PartsCheckpoint(tmp_path / "out", "x")
    again.begin(resume=True)
    again.finish()
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["part-00000.parquet"]


def test_a_run_whose_secret_root_is_gone_does_not_go_on_under_another(tmp_path: Path) -> None:
    parts = PartsCheckpoint(tmp_path / "out", "x")
    parts.begin(resume=False)
    root = seeding.SecretRoot.of(bytes(32))
    parts.root(root, 2)
    parts.part(0).write_bytes(b"part")
    parts.add(0, {"points": 1})
    (parts.folder / "secret-root").unlink()
    with pytest.raises(ParameterError, match="secret seed"):
        parts.root(root, 2)


def test_many_gaps_are_rounded_and_the_long_ones_counted_as_they_are(tmp_path: Path) -> None:
    four_hours = 4 * 3_600_000
    rounded = ValueCounts.of(np.array([5]), most_values=1) + ValueCounts.of(np.array([four_hours + 1]))
    assert four_hours * (1 - 1 / 8_192) <= rounded.values.max() <= four_hours
    times = [BEGIN, BEGIN.replace(hour=1), BEGIN.replace(hour=5, second=1), BEGIN.replace(hour=6)]
    frame = pl.DataFrame({"user_id": [1, 1, 2, 2], "lat": [35.0] * 4, "lon": [139.0] * 4, "time": times})
    far = frame.with_columns(time=pl.when(pl.int_range(4) == 1).then(pl.lit(times[2])).otherwise("time"))
    far.write_parquet(tmp_path / "p.parquet")
    with use(chunk_rows=2):
        table, found = large.open_point_chunks(tmp_path / "p.parquet", tmp_path)
    summary = description.describe_points(table, found, most_gaps=1)
    assert summary.gaps_over_4h == 1
    assert summary.gap_h["longest"] == pytest.approx(5 + 1 / 3600, abs=1e-3)


def test_a_csv_beside_parquet_files_is_not_left_out(tmp_path: Path, run: Callable[..., str]) -> None:
    (tmp_path / "in").mkdir()
    some(5).write_parquet(tmp_path / "in" / "a.parquet")
    some(5).write_csv(tmp_path / "in" / "b.csv")
    said = run(*GEOIND, tmp_path / "in", tmp_path / "out", "--to", "partitions", status=2)
    assert "has b.csv next to Parquet files" in said


@pytest.mark.parametrize("option", [("--delimiter", ";"), ("--decimal", ","), ("--time-format", "%Y")])
def test_what_is_said_of_text_is_refused_of_parquet(
    option: tuple[str, str], tmp_path: Path, run: Callable[..., str]
) -> None:
    some(5).write_parquet(tmp_path / "p.parquet")
    run(*GEOIND, tmp_path / "p.parquet", tmp_path / "out", "--to", "partitions", *option, status=2)
    assert [one.name for one in tmp_path.iterdir()] == ["p.parquet"]


def test_one_user_has_all_points(tmp_path: Path, run: Callable[..., str]) -> None:
    some(5, user_id=[1, 2, 3, 4, 5]).write_parquet(tmp_path / "p.parquet")
    command = (*GEOIND, tmp_path / "p.parquet", tmp_path / "out", "--to", "partitions")
    run(*command, "--one-user", "bob", "--seed", 1)
    assert pl.read_parquet(tmp_path / "out" / "*.parquet")["user_id"].to_list() == ["bob"] * 5


def test_a_file_that_has_the_column_of_its_folder_is_believed(tmp_path: Path) -> None:
    (tmp_path / "in" / "user_id=x").mkdir(parents=True)
    some(5).write_parquet(tmp_path / "in" / "user_id=x" / "a.parquet")
    _, found = large.open_point_chunks(tmp_path / "in", tmp_path)
    assert found.users.to_list() == [1]
