"""A release of check-ins has the categories of its venues and the offsets of its times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena

from tracearena.io import read

CATEGORIES = ["Coffee Shop", "Bar | Pub", "", "100% Ramen"]
LATITUDE, LONGITUDE = [40.71, 40.72, 40.73, 40.74], [-74.0, -73.99, -73.98, -73.97]
ZONES = {"New York": "America/New_York", "Delhi": "Asia/Kolkata"}
POSITIONS = {
    "New York": (LATITUDE, LONGITUDE),
    "Delhi": ([28.61, 28.62, 28.63, 28.64], [77.2, 77.21, 77.22, 77.23]),
}


def check_ins(city: str = "New York", *, events: int = 400) -> pl.DataFrame:
    """Check-ins of ten people in all months of a year, in UTC and with their offset."""
    rng = np.random.default_rng(3)
    venue = rng.integers(0, 4, events)
    utc = pl.Series(1_325_376_000 + rng.integers(0, 365 * 86_400, events)) * 1_000_000
    moments = utc.cast(pl.Datetime("us", "UTC"))
    local = moments.dt.convert_time_zone(ZONES[city])
    offset = (local.dt.base_utc_offset() + local.dt.dst_offset()).dt.total_minutes()
    latitude, longitude = (np.array(degrees)[venue] for degrees in POSITIONS[city])
    return pl.DataFrame(
        {
            "user_id": rng.integers(1, 11, events),
            "time": moments.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "utc_offset_min": offset,
            "place": pl.Series(["cafe", "bar", "home", "ramen"]).gather(venue),
            "lat": latitude,
            "lng": longitude,
            "category": pl.Series(CATEGORIES).gather(venue),
        }
    )


def named_offsets(table: pl.DataFrame) -> pl.DataFrame:
    """Write local times that end in their offset."""
    local = table["time"].str.to_datetime("%Y-%m-%dT%H:%M:%SZ") + pl.duration(minutes=table["utc_offset_min"])
    minutes = table["utc_offset_min"]
    signs = pl.select(pl.when(minutes < 0).then(pl.lit("-")).otherwise(pl.lit("+"))).to_series()
    zones = pl.select(
        pl.format(
            "{}{}:{}", signs, (minutes.abs() // 60).cast(pl.String).str.zfill(2),
            (minutes.abs() % 60).cast(pl.String).str.zfill(2),
        )
    ).to_series()  # fmt: skip
    times = table.select(local.dt.strftime("%Y-%m-%dT%H:%M:%S")).to_series() + zones
    return table.drop("utc_offset_min").with_columns(times.alias("time"))


def sorted_rows(path: Path) -> pl.DataFrame:
    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    if path.suffix == ".parquet":
        frame = frame.explode("places", "lat", "lng", "category").with_columns(
            pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        )
    return frame.sort("user_id", "time", "places")


@pytest.mark.parametrize("city", ZONES)
@pytest.mark.parametrize("shape", ["column", "named", "utc"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_what_no_defence_changes_stays(city: str, shape: str, out: str, tmp_path: Path) -> None:
    table = check_ins(city)
    shapes = {"column": table, "named": named_offsets(table), "utc": table.drop("utc_offset_min")}
    shapes[shape].write_csv(tmp_path / "in.csv")
    done = tracearena("obfuscate", "No", tmp_path / "in.csv", tmp_path / out, "--seed", 1)
    assert done.status == 0, done.err
    made, given = sorted_rows(tmp_path / out), table.sort("user_id", "time", "place")
    assert made["time"].to_list() == given["time"].to_list()
    assert made["utc_offset_min"].to_list() == given["utc_offset_min"].to_list()
    categories = made["category"].fill_null("").to_list()
    escaped = (
        given["category"].str.replace_all("%", "%25", literal=True).str.replace_all("|", "%7C", literal=True)
    )
    assert categories == (escaped if out == "out.csv" else given["category"]).to_list()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "parts"])
def test_a_moved_event_has_the_category_of_its_new_venue(out: str, tmp_path: Path) -> None:
    table = check_ins()
    table.write_csv(tmp_path / "in.csv")
    form = ("--to", "partitions") if out == "parts" else ()
    done = tracearena("obfuscate", "RR(0.1)", tmp_path / "in.csv", tmp_path / out, "--seed", 1, *form)
    assert done.status == 0, done.err
    traces = read(tmp_path / out).traces
    assert traces.places.categories is not None
    known = dict(table.select("place", "category").unique().iter_rows())
    assert dict(zip(traces.places.ids.tolist(), traces.places.categories.tolist(), strict=True)) == known
    moved = traces.to_frame()
    given = read(tmp_path / "in.csv").traces.to_frame()
    assert (moved["place"] != given["place"]).mean() > 0.5  # type: ignore[operator]
    assert moved.drop("place", "lat", "lng", "category").equals(given.drop("place", "lat", "lng", "category"))


def test_pseudonyms_keep_both(tmp_path: Path) -> None:
    check_ins().write_csv(tmp_path / "in.csv")
    tracearena("obfuscate", "RR(0.1)", tmp_path / "in.csv", tmp_path / "out.csv", "--seed", 1)
    done = tracearena(
        "pseudonymise", tmp_path / "out.csv", tmp_path / "pub.csv", "--id-table", tmp_path / "who.csv"
    )
    assert done.status == 0, done.err
    columns = ["time", "utc_offset_min", "places", "lat", "lng", "category"]
    before, after = (
        pl.read_csv(tmp_path / name).select(columns).sort(columns) for name in ("out.csv", "pub.csv")
    )
    assert before.equals(after)


def test_the_offset_is_that_of_the_released_day(tmp_path: Path) -> None:
    """Days of March are shuffled across the change of clocks, and none says on which side it was."""
    table = check_ins(events=4000)
    table.write_csv(tmp_path / "in.csv")
    done = tracearena(
        "obfuscate", "ShuffleDays(month)", tmp_path / "in.csv", tmp_path / "out.csv", "--seed", 1
    )
    assert done.status == 0, done.err
    made = pl.read_csv(tmp_path / "out.csv", try_parse_dates=True)
    zoned = made["time"].dt.convert_time_zone("America/New_York")
    right = (zoned.dt.base_utc_offset() + zoned.dt.dst_offset()).dt.total_minutes()
    assert (made["utc_offset_min"] == right).all()


def test_several_zones_have_local_times(tmp_path: Path) -> None:
    """Beside a venue drawn at random the offset would tell the country."""
    both = pl.concat([check_ins(), check_ins("Delhi").with_columns(pl.col("place") + " of Delhi")])
    both.write_csv(tmp_path / "in.csv")
    done = tracearena("obfuscate", "RR(0.1)", tmp_path / "in.csv", tmp_path / "out.csv", "--seed", 1)
    assert done.status == 0, done.err
    assert pl.read_csv(tmp_path / "out.csv").columns == [
        "user_id",
        "time",
        "places",
        "lat",
        "lng",
        "category",
    ]


def test_times_without_a_zone_get_none(tmp_path: Path) -> None:
    table = check_ins().drop("utc_offset_min").with_columns(pl.col("time").str.strip_suffix("Z"))
    table.write_csv(tmp_path / "in.csv")
    tracearena("obfuscate", "No", tmp_path / "in.csv", tmp_path / "out.csv", "--seed", 1)
    made = pl.read_csv(tmp_path / "out.csv").sort("user_id", "time", "places")
    assert "utc_offset_min" not in made.columns
    assert made["time"].to_list() == table.sort("user_id", "time", "place")["time"].to_list()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            "ann,2012-04-03T18:00:00,-240,a,40.7,-74.0,bar",
            "column time: got '2012-04-03T18:00:00': must be a time in",
        ),
        (
            "ann,2012-04-03T18:00:00Z,soon,a,40.7,-74.0,bar",
            "column utc_offset_min: got 'soon': must be the minutes",
        ),
        (
            "ann,2012-04-03T18:00:00Z,9999,a,40.7,-74.0,bar",
            "column utc_offset_min: got '9999': must be the minutes",
        ),
        (
            "ann,2012-04-03T18:00:00Z,-240,a,40.7,-74.0,bar|pub",
            "column category: got 'bar pub': must have a category",
        ),
    ],
)
def test_a_wrong_row_is_refused(row: str, told: str, tmp_path: Path) -> None:
    header = "user_id,time,utc_offset_min,places,lat,lng,category\n"
    (tmp_path / "x.csv").write_text(f"{header}ann,2012-04-03T18:00:00Z,-240,a,40.7,-74.0,bar\n{row}\n")
    done = tracearena("describe", tmp_path / "x.csv")
    assert done.status == 2
    assert told in done.err
