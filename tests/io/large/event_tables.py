"""Tables of events as people lay them out on disk, for the tests of streams."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from tracearena.cities import simulate
from tracearena.traces import Traces

LAYOUTS = (
    *("file", "parts", "hive", "shuffled", "text ids", "numbered", "UTC", "offsets", "text times"),
    *("wandering", "on a grid", "twenty minutes"),
    *("csv", "packed csv", "shuffled csv", "mixed zones csv"),
)


@cache
def city(users: int = 40, days: int = 3, seed: int = 1) -> Traces:
    return simulate(users=users, days=days, seed=seed)


@cache
def crowd() -> pl.DataFrame:
    """Return the events of 4,320 users, two of each: parts of events have at least 1,024 users."""
    return city(60).to_frame().with_columns(user_id=pl.int_range(pl.len()) // 2)


def frame_of(layout: str) -> pl.DataFrame:
    """Return the events of a city with the columns of a layout."""
    frame = city().to_frame()
    time = pl.col("time")
    if layout == "text ids":
        return frame.with_columns(
            user_id=pl.concat_str(pl.lit("u"), pl.col("user_id")),
            place=pl.concat_str(pl.lit("at "), pl.col("place")),
        )
    if layout == "numbered":
        return frame.select(
            "user_id", time_id=pl.Series(city().instants + 1), place="place", lat="lat", lng="lng"
        )
    if layout == "UTC":
        second = pl.duration(seconds=pl.int_range(pl.len()) % 7)
        return frame.with_columns(time=(time + second).dt.replace_time_zone("UTC"))
    if layout == "offsets":  # clocks that go back an hour in the middle of the table
        half = time.mean()
        return frame.with_columns(
            time=time.dt.replace_time_zone("UTC"),
            utc_offset_min=pl.when(time < half).then(-240).otherwise(-300),
        )
    if layout == "text times":
        return frame.with_columns(time=time.dt.to_string("%Y-%m-%dT%H:%M:%S+02:00"))
    if layout == "mixed zones csv":  # near New York, every third time without its zone
        bare = pl.int_range(pl.len()) % 3 == 0
        style = "%Y-%m-%dT%H:%M:%S"
        text = pl.when(bare).then(time.dt.to_string(style)).otherwise(time.dt.to_string(f"{style}Z"))
        return frame.with_columns(time=text, lat=pl.col("lat") + 5.8, lng=pl.col("lng") - 224)
    if layout == "wandering":  # the second half of the table says that places lie elsewhere
        late = pl.int_range(pl.len()) > pl.len() // 2
        return frame.with_columns(lat=pl.col("lat") + late * 0.02, category=pl.lit("shop"))
    if layout == "twenty minutes":
        return frame.with_columns(time=time + pl.duration(minutes=20 * (pl.int_range(pl.len()) % 3)))
    return frame


def options_of(layout: str) -> dict[str, str]:
    """Return with which options a layout is read."""
    if layout != "on a grid":
        return {}
    frame = frame_of(layout)
    south, north, west, east = (
        float(one) for name in ("lat", "lng") for one in np.quantile(frame[name].to_numpy(), [0.05, 0.95])
    )
    return {"grid": "8x8", "bounds": f"{south},{west},{north},{east}"}


def laid_out(folder: Path, layout: str, frame: pl.DataFrame | None = None) -> Path:
    """Write the events in one of the ways, and return what to read."""
    frame = frame_of(layout) if frame is None else frame
    if layout.endswith("csv"):
        return _text(folder, layout, frame)
    if layout not in ("parts", "hive", "shuffled", "wandering"):
        frame.write_parquet(folder / "events.parquet", row_group_size=500)
        return folder / "events.parquet"
    target = folder / "events"
    target.mkdir()
    if layout == "hive":
        for (user,), own in frame.group_by("user_id", maintain_order=True):
            (target / f"uid={user}").mkdir()
            own.drop("user_id").write_parquet(target / f"uid={user}" / "data.parquet")
        return target
    if layout == "shuffled":
        frame = frame[np.random.default_rng(1).permutation(frame.height)]
    step = -(-frame.height // 4)
    for number, first in enumerate(range(0, frame.height, step)):
        frame.slice(first, step).write_parquet(target / f"part-{number:03}.parquet")
    return target


def _text(folder: Path, layout: str, frame: pl.DataFrame) -> Path:
    """Write CSV: plain, packed, or in any order."""
    path = folder / ("events.csv.gz" if layout == "packed csv" else "events.csv")
    if layout == "shuffled csv":
        frame = frame[np.random.default_rng(1).permutation(frame.height)]
    data = frame.write_csv().encode()
    path.write_bytes(gzip.compress(data, 1) if layout == "packed csv" else data)
    return path
