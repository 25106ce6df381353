"""Parquet columns of any type: read as what they mean, or refused by column and type."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.command_line import tracearena

GOOD: dict[str, list[Any]] = {
    "user": [1, 2, 1],
    "time": [datetime.datetime(2012, 4, 3, hour, tzinfo=datetime.UTC) for hour in (10, 11, 12)],
    "lat": [40.7, 40.8, 40.7],
    "lng": [-74.0, -74.1, -74.0],
    "place": [7, 8, 7],
}
ODD = {
    "List": pl.Series([[1], [2], [1]]),
    "Struct": pl.Series([{"a": 1}, {"a": 2}, {"a": 1}]),
    "Binary": pl.Series([b"1", b"2", b"1"]),
    "Duration": pl.Series([datetime.timedelta(hours=h) for h in (1, 2, 1)]),
    "Time": pl.Series([datetime.time(h) for h in (1, 2, 1)]),
    "Array": pl.Series([[1, 1], [2, 2], [1, 1]], dtype=pl.Array(pl.Int8, 2)),
    "Boolean": pl.Series([True, False, True]),
}
DATES = {
    "Date": pl.Series([datetime.date(2012, 4, day) for day in (1, 2, 1)]),
    "Datetime": pl.Series([datetime.datetime(2012, 4, day) for day in (1, 2, 1)]),
}
BEYOND = {
    "UInt64": pl.Series([1, 2, 2**64 - 1], dtype=pl.UInt64),
    "Int128": pl.Series([1, 2, 2**100], dtype=pl.Int128),
}


def written(folder: Path, kind: str, column: str, values: pl.Series | None) -> Path:
    """A file of events or points, or a file of events beside places of which one column is odd."""
    columns: dict[str, Any] = dict(GOOD)
    if kind == "points":
        columns.pop("place")
    if kind == "places":
        pl.DataFrame(columns).write_parquet(folder / "in.parquet")
        columns = {"place": [7, 8, 9], "lat": [40.7, 40.8, 40.9], "lng": [-74.0, -74.1, -74.0]}
    if values is not None:
        columns[column] = values
    name = "places.parquet" if kind == "places" else "in.parquet"
    pl.DataFrame(columns).write_parquet(folder / name)
    return folder / "in.parquet"


def describe(path: Path, kind: str) -> Any:
    places = ["--places", path.with_name("places.parquet")] if kind == "places" else []
    return tracearena("describe", path, "--json", *places)


COLUMNS = {
    "table": ("user", "time", "lat", "lng", "place", "category"),
    "points": ("user", "time", "lat", "lng", "traj"),
    "places": ("place", "lat", "lng", "category", "sensitive", "row"),
}
CASES = [
    (kind, column, name)
    for kind, columns in COLUMNS.items()
    for column in columns
    for name in (*ODD, *DATES)
    if not (column == "time" and name in DATES)
    and not (column in ("category", "sensitive") and name == "Boolean")
    and not (kind == "places" and column == "row")
]


QUICK = CASES[::7]


@pytest.mark.parametrize(
    ("kind", "column", "name"),
    [case if case in QUICK else pytest.param(*case, marks=pytest.mark.slow) for case in CASES],
)
def test_a_column_of_a_type_that_means_nothing_is_refused_by_name(
    tmp_path: Path, kind: str, column: str, name: str
) -> None:
    path = written(tmp_path, kind, column, (ODD | DATES)[name])
    done = describe(path, kind)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    problem = "got '01:00:00': no time could be read; a time of day needs its date"
    if (column, name) != ("time", "Time"):
        problem = f"the column has the type {name};"
    assert f"column {column}: {problem}" in done.err


@pytest.mark.parametrize("kind", ["table", "points", "places"])
@pytest.mark.parametrize("name", BEYOND)
def test_whole_numbers_that_fit_are_taken_and_others_refused(tmp_path: Path, kind: str, name: str) -> None:
    column = "place" if kind == "places" else "user"
    done = describe(written(tmp_path, kind, column, BEYOND[name]), kind)
    assert done.status == 2
    assert f"column {column}: got '{BEYOND[name][2]}': the column has the type {name};" in done.err
    fitting = pl.Series([7, 8, 7 if kind != "places" else 9], dtype=BEYOND[name].dtype)
    done = describe(written(tmp_path, kind, column, fitting), kind)
    assert (done.status, done.json["users"], done.json["events"]) == (0, 2, 3)


@pytest.mark.parametrize("kind", ["table", "points"])
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("user", pl.Series(["a", "b", "a"], dtype=pl.Categorical)),
        ("user", pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b"]))),
        ("user", pl.Series([1.0, 2.0, 1.0])),
        ("user", pl.Series([1, 2, 1]).cast(pl.Decimal(20, 0))),
        ("time", pl.Series(["2012-04-03T10:00:00Z"] * 3, dtype=pl.Categorical)),
        ("time", pl.Series([1333476006] * 3, dtype=pl.UInt64)),
        ("time", DATES["Date"]),
        ("lat", pl.Series(["40.7"] * 3, dtype=pl.Categorical)),
        ("lat", pl.Series(["40.7"] * 3).cast(pl.Decimal(20, 6))),
        ("lat", pl.Series([40, 41, 40], dtype=pl.UInt8)),
    ],
)
def test_what_can_only_mean_one_thing_is_taken(
    tmp_path: Path, kind: str, column: str, values: pl.Series
) -> None:
    done = describe(written(tmp_path, kind, column, values), kind)
    assert done.status == 0, done.err
    assert (done.json["users"], done.json["events"]) == (2, 3)


def test_categories_of_places_may_be_categorical(tmp_path: Path) -> None:
    category = pl.Series(["x", "y", "x"], dtype=pl.Categorical)
    assert describe(written(tmp_path, "places", "category", category), "places").status == 0


@pytest.mark.parametrize("kind", ["table", "points", "places"])
def test_a_column_without_any_value_is_refused_by_its_rows(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, "lat", pl.Series([None, None, None], dtype=pl.Null))
    assert describe(path, kind).status == 2


@pytest.mark.parametrize("kind", ["table", "points", "places", "partitions"])
@pytest.mark.parametrize("damage", ["cut", "middle", "magic"])
def test_a_broken_parquet_file_gets_a_sentence(tmp_path: Path, kind: str, damage: str) -> None:
    path = written(tmp_path, "points" if kind == "points" else kind, "", None)
    if kind == "partitions":
        (tmp_path / "parts").mkdir()
        path.rename(tmp_path / "parts" / "a.parquet")
    broken = {"places": tmp_path / "places.parquet", "partitions": tmp_path / "parts" / "a.parquet"}
    file = broken.get(kind, path)
    data = file.read_bytes()
    if damage == "middle":
        data = data[:4] + bytes(len(data) - 12) + data[-8:]
    file.write_bytes(
        {"cut": data[: len(data) // 2], "middle": data, "magic": b"PAR1 and nothing PAR1"}[damage]
    )
    done = describe(tmp_path / "parts" if kind == "partitions" else path, kind)
    assert (done.status, done.out) == (2, "")
    assert "Parquet file" in done.err
    assert file.name in done.err or "parts" in done.err
