"""Folders of Parquet files: read as one table, written whole or not at all."""

from __future__ import annotations

import polars as pl
import pytest

from tracearena import io
from tracearena.errors import FileError
from tracearena.io import Input
from tracearena.io.formats import checkins
from tracearena.io.tables import list_parquet_files


def test_what_is_written_is_read_again(make_check_ins, tmp_path):
    traces = make_check_ins(20, 400)
    checkins.write_partitions(traces, tmp_path / "parts", users_per_file=6)
    files = [file.name for file in list_parquet_files(tmp_path / "parts")]
    assert files == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet", "part-00003.parquet"]
    again, report = io.read(tmp_path / "parts", places=traces.places)
    assert again == traces
    assert (report.format, report.rows) == ("partitions", traces.n_events)
    first, _ = io.read(tmp_path / "parts" / "part-00000.parquet", places=traces.places)
    assert first.user_ids.tolist() == traces.user_ids[:6].tolist()


def test_a_folder_of_tables_is_recognised_and_what_is_hidden_is_left_out(make_check_ins, tmp_path):
    io.write(make_check_ins(5, 60), tmp_path / "a.parquet")
    (tmp_path / "_metadata.parquet").write_bytes(b"not for us")
    (tmp_path / ".part.parquet").write_bytes(b"not for us")
    (tmp_path / "README").write_text("nor this")
    assert Input(tmp_path).format == "partitions"
    assert io.read(tmp_path)[0].n_users == 5


def test_files_with_other_columns_are_named(make_check_ins, tmp_path):
    io.write(make_check_ins(5, 60), tmp_path / "a.parquet")
    frame = pl.read_parquet(tmp_path / "a.parquet").with_columns(pl.col("lat").cast(pl.String))
    frame.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(
        FileError, match=r"b\.parquet: has other columns or types than a\.parquet: .*lat String"
    ):
        io.read(tmp_path)


def test_bad_rows_are_counted_through_the_files(make_check_ins, tmp_path):
    io.write(make_check_ins(5, 60), tmp_path / "a.parquet")
    frame = pl.read_parquet(tmp_path / "a.parquet")
    frame.with_columns(lat=pl.when(pl.int_range(pl.len()) == 2).then(400.17).otherwise("lat")).write_parquet(
        tmp_path / "b.parquet"
    )
    _, report = io.read(tmp_path)
    assert report.dropped == {"bad latitude": 1}
    assert report.examples[0].fault.row == 60 + 3


def test_a_folder_with_something_in_it_is_never_replaced(make_check_ins, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match="not an empty folder"):
        checkins.write_partitions(make_check_ins(), tmp_path / "parts")
    assert [path.name for path in tmp_path.rglob("*")] == ["parts", "thesis.txt"]


def test_an_empty_folder_holds_no_traces(tmp_path):
    with pytest.raises(FileError, match=r"has no \.parquet files"):
        checkins.read_partitions(tmp_path)
