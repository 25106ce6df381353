"""A fault of a Parquet file or of a data frame is told by its row: only text has lines."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.engine import use

ROWS = 700
BAD = 613


def table(*, places: bool) -> pl.DataFrame:
    """Rows of three people; one row, counted from 1, is elsewhere than its place, and before its time."""
    number = pl.int_range(ROWS, eager=True)
    frame = pl.DataFrame(
        {
            "user_id": number // 300,
            "time": pl.from_epoch((1_333_000_000 + 60 * number).scatter(BAD - 1, 1_332_000_000)),
            "lat": pl.repeat(40.0, ROWS, eager=True).scatter(BAD - 1, 41.0),
            "lng": pl.repeat(-74.0, ROWS, eager=True),
        }
    )
    return frame.with_columns(place=pl.lit("a")) if places else frame


@pytest.mark.parametrize(
    ("streamed", "places"),
    [(False, True), (False, False), (True, False)],
    ids=["events", "points", "many points"],
)
@pytest.mark.parametrize("form", ["csv", "parquet", "parts"])
def test_a_bad_row_is_told_by_its_number(tmp_path: Path, form, streamed, places) -> None:
    rows, path, told = table(places=places), tmp_path / f"rows.{form}", f"row {BAD}"
    if form == "csv":
        rows.write_csv(path)
        told += f" (line {BAD + 1})"
    elif form == "parquet":
        rows.write_parquet(path, row_group_size=100)
    else:
        path.mkdir()
        rows[:400].write_parquet(path / "part-1.parquet")
        rows[400:].write_parquet(path / "part-2.parquet")
        told = f"part-2.parquet: row {BAD - 400}" if streamed else told
    with use(chunk_rows=1 if streamed else 10**9):
        done = tracearena("describe", path)
    assert done.status == 0
    what = "places of one name" if places else "unsorted"
    (said,) = [line for line in done.out.splitlines() if line.startswith(f"noticed, {what}")]
    assert told in said
    assert ("(line" in said) == (form == "csv")


def test_a_bad_row_of_a_data_frame_is_told_by_its_number() -> None:
    said = "\n".join(ta.read(table(places=True)).report.lines())
    assert f"row {BAD}, column place" in said
    assert "line" not in said


@pytest.mark.parametrize("name", ["release.csv", "release.parquet"])
def test_a_bad_row_of_a_release_is_told_by_its_number(tmp_path: Path, name: str) -> None:
    time = pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%S")
    release = table(places=True).select("user_id", "time", "lat", "lng", places="place")
    broken = release.with_columns(lat=pl.col("lat") * 91 / 41)
    if name.endswith(".csv"):
        broken.with_columns(time).write_csv(tmp_path / name)
    else:
        lists = [pl.concat_list(column) for column in ("places", "lat", "lng")]
        broken.with_columns(lists).write_parquet(tmp_path / name)
    done = tracearena("describe", tmp_path / name)
    assert done.status == 2
    assert f"row {BAD}" in done.err
    assert ("(line" in done.err) == name.endswith(".csv")
