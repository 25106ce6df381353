"""How fast files and frames become traces, against pandas that parses the same into a sorted frame.

pandas does less: it reads the columns, parses the times and sorts by user and time; it neither checks
coordinates and dates nor numbers places and instants. CPU time is printed too, for busy machines. The PLT
tree is a simulated city's, a few hundred points a file, in the form of GeoLife.
Usage: ``bench_readers.py [million events]``.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from bench_gps import some_traces, with_pandas
from tracearena.io import read, write
from tracearena.traces import Clock, Places, Traces

REPEATS = 3
USERS, VENUES, DAYS = 20_000, 50_000, 500


def check_ins(events: int) -> Traces:
    """Uniform random check-ins: the worst case for caches and sorting."""
    import datetime

    rng = np.random.default_rng(0)
    places = Places(rng.uniform(40.5, 41, VENUES), rng.uniform(-74.3, -73.7, VENUES), ids=np.arange(VENUES))
    clock = Clock(instants_per_day=24, first_day=datetime.date(2010, 1, 1))
    second = rng.integers(0, DAYS * 86_400, events)
    who, where = rng.integers(0, USERS, events), rng.integers(0, VENUES, events)
    stamps = second + 1_262_304_000
    return Traces.from_events(who, second // 3600, where, places, clock, timestamps=stamps)


def pandas_gowalla(path: Path) -> pd.DataFrame:
    """The usual three lines."""
    frame = pd.read_csv(path, sep="\t", header=None, names=["user", "time", "lat", "lon", "venue"])
    frame["time"] = pd.to_datetime(frame["time"], format="%Y-%m-%dT%H:%M:%SZ")
    return frame.sort_values(["user", "time"], kind="stable")


def pandas_tsmc(path: Path) -> pd.DataFrame:
    """The same with Foursquare's times and offsets."""
    names = ["user", "venue", "category_id", "category", "lat", "lon", "offset", "time"]
    frame = pd.read_csv(path, sep="\t", header=None, names=names)
    frame["time"] = pd.to_datetime(frame["time"], format="%a %b %d %H:%M:%S +0000 %Y")
    frame["time"] += pd.to_timedelta(frame["offset"], unit="m")
    return frame.sort_values(["user", "time"], kind="stable")


def pandas_table(path: Path) -> pd.DataFrame:
    """A CSV file with a header."""
    frame = pd.read_csv(path)
    frame["time"] = pd.to_datetime(frame["time"], format="%Y-%m-%dT%H:%M:%SZ")
    return frame.sort_values(["user_id", "time"], kind="stable")


def pandas_parquet(path: Path) -> pd.DataFrame:
    """A Parquet file."""
    return pd.read_parquet(path).sort_values(["user_id", "time"], kind="stable")


def pandas_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame in memory, whose times are text."""
    moments = pd.to_datetime(frame["time"], format="%Y-%m-%dT%H:%M:%SZ")
    return frame.assign(time=moments).sort_values(["user_id", "time"], kind="stable")


def points_frame(events: int) -> pd.DataFrame:
    """GPS points of a thousand people in no order, with times as text."""
    rng = np.random.default_rng(0)
    second = 1_262_304_000 + rng.integers(0, DAYS * 86_400, events)
    return pd.DataFrame(
        {
            "user_id": "u" + pd.Series(rng.integers(0, 1000, events)).astype(str),
            "time": pd.to_datetime(second, unit="s").strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lat": rng.uniform(40.5, 41, events),
            "lng": rng.uniform(-74.3, -73.7, events),
        }
    )


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Return the shortest of a few runs, in seconds by the clock and of CPU time."""
    walls, cpus = [], []
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def compare(name: str, events: int, work: Callable[[], object], peer: Callable[[], object]) -> None:
    """Print how fast both are."""
    (ours, our_cpu), (theirs, their_cpu) = best(work), best(peer)
    print(
        f"{name:14s} tracearena {events / ours / 1e6:5.2f} M rows/s "
        f"({our_cpu / events * 1e9:.0f} ns CPU a row), "
        f"pandas {events / theirs / 1e6:5.2f} ({their_cpu / events * 1e9:.0f} ns): "
        f"{theirs / ours:.1f} times as fast, {their_cpu / our_cpu:.1f} by CPU time"
    )


def main() -> None:
    """Print rows a second of both, and the ratio."""
    events = int(float(sys.argv[1] if len(sys.argv) > 1 else 2) * 1e6)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", end=", ")
    print(f"polars {pl.__version__}, pandas {pd.__version__}; {events:,} events, best of {REPEATS}")
    traces = check_ins(events)
    cases = [
        ("gowalla", "gowalla.txt", pandas_gowalla),
        ("tsmc", "tsmc.txt", pandas_tsmc),
        ("table", "table.csv", pandas_table),
        ("table", "table.parquet", pandas_parquet),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for to, name, peer in cases:
            path = Path(folder, name)
            write(traces, path, to=to)
            assert read(path, to)[0].n_events == len(peer(path)) == events
            compare(name, events, lambda p=path, f=to: read(p, f), lambda p=path, g=peer: g(p))
        points, root = some_traces(events), Path(folder, "tree")
        write(points, root, to="geolife")
        assert len(read(root).traces) == with_pandas(root) == len(points)
        compare("PLT tree", len(points), lambda: read(root), lambda: with_pandas(root))
    frame = points_frame(events)
    assert len(read(frame).traces) == events
    compare("pandas frame", events, lambda: read(frame), lambda: pandas_frame(frame))


if __name__ == "__main__":
    main()
