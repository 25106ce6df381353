"""Tables of points as people lay them out on disk, for the tests of streams."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from tracearena.cities import simulate_gps
from tracearena.traces import GpsTraces

LAYOUTS = (
    *("file", "parts", "hive", "shuffled", "text ids", "no trajectories", "unix times", "overlapping"),
    *("csv", "packed csv", "shuffled csv", "quoted csv"),
)


@cache
def city(users: int = 9, days: int = 3, seed: int = 1) -> GpsTraces:
    return simulate_gps(users, days, recorded=0.5, seed=seed)


def laid_out(traces: GpsTraces, folder: Path, layout: str) -> Path:
    """Write the points in one of the ways, and return what to read."""
    frame = traces.to_frame()
    if layout.endswith("csv"):
        return _text(frame, folder, layout)
    if layout in ("file", "no trajectories", "unix times", "text ids", "overlapping"):
        frame = _other_columns(frame, layout)
        frame.write_parquet(folder / "points.parquet", row_group_size=2_000)
        return folder / "points.parquet"
    target = folder / "points"
    target.mkdir()
    if layout == "hive":
        for user in traces.user_ids:
            own = target / f"uid={user}"
            own.mkdir()
            frame.filter(pl.col("user_id") == user).drop("user_id").write_parquet(own / "data.parquet")
        return target
    if layout == "shuffled":
        frame = frame[np.random.default_rng(1).permutation(frame.height)]
    for number, first in enumerate(range(0, frame.height, 9_000)):
        frame.slice(first, 9_000).write_parquet(target / f"part-{number:03}.parquet")
    return target


def _text(frame: pl.DataFrame, folder: Path, layout: str) -> Path:
    """Write CSV: plain, packed, in any order, or with line ends and quotes within the names of users."""
    path = folder / ("points.csv.gz" if layout == "packed csv" else "points.csv")
    if layout == "shuffled csv":
        frame = frame[np.random.default_rng(1).permutation(frame.height)]
    if layout == "quoted csv":
        name = pl.concat_str(pl.lit('the "one",\nof '), pl.col("user_id"))
        frame = frame.with_columns(user_id=name, time=pl.col("time").dt.to_string("%d.%m.%Y %H:%M:%S"))
    data = frame.write_csv().encode()
    path.write_bytes(gzip.compress(data, 1) if layout == "packed csv" else data)
    return path


def _other_columns(frame: pl.DataFrame, layout: str) -> pl.DataFrame:
    if layout == "no trajectories":
        return frame.drop("traj")
    if layout == "unix times":
        return frame.with_columns(time=pl.col("time").dt.epoch("s"))
    if layout == "text ids":
        names = pl.concat_str(pl.lit("name"), pl.col("user_id"))
        return frame.with_columns(user_id=names, traj=pl.concat_str(pl.lit("t"), pl.col("traj")))
    if layout == "overlapping":
        return frame.with_columns(traj=pl.int_range(pl.len()) % 3)
    return frame
