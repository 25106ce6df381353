"""How fast data frames become traces and traces data frames, against sorting and grouping by pandas.

pandas does less: it sorts by user and time and numbers the users; it neither checks coordinates and dates
nor numbers places and instants. CPU time is printed too, for busy machines.
Usage: ``bench_frames.py [million rows to read] [million events to hand out]``.
"""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import tracearena as ta
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces

REPEATS = 5
USERS, VENUES = 2_000, 5_000


def frames(rows: int) -> dict[str, pd.DataFrame]:
    """Random rows in no order: GPS points and check-ins, under names and under numbers."""
    rng = np.random.default_rng(0)
    user, venue = rng.integers(0, USERS, rows), rng.integers(0, VENUES, rows)
    time_ = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 30 * 86_400, rows), unit="s")
    points = pd.DataFrame(
        {
            "user_id": user,
            "time": time_,
            "lat": 35.6 + rng.random(rows) / 10,
            "lng": 139.7 + rng.random(rows) / 10,
        }
    )
    names = pd.Series([f"user{one}" for one in user])
    events = points.assign(place=venue, lat=35.6 + venue * 1e-5, lng=139.7 + venue * 1e-5)
    return {
        "points": points,
        "points, text users": points.assign(user_id=names),
        "points, objects": points.assign(user_id=names.astype(object)),
        "points, zoned": points.assign(time=points["time"].dt.tz_localize("Asia/Tokyo")),
        "points, text times": points.assign(time=points["time"].dt.strftime("%Y-%m-%d %H:%M:%S")),
        "events": events,
        "events, text ids": events.assign(user_id=names, place=[f"venue{one}" for one in venue]),
    }


def by_pandas(frame: pd.DataFrame) -> Any:
    """The usual two lines, and a third for times that are text."""
    if frame["time"].dtype.kind != "M":
        frame = frame.assign(time=pd.to_datetime(frame["time"]))
    ordered = frame.sort_values(["user_id", "time"], kind="stable")
    return ordered, ordered.groupby("user_id").ngroup()


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Return the shortest of a few runs, in seconds by the clock and of CPU time."""
    walls, cpus = [], []
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def released(events: int) -> tuple[Traces, ObfuscatedTraces]:
    """Traces of people under names, and a release of them of which a third are sets."""
    per_user = 1_000
    users = max(1, events // per_user)
    places = Places(np.linspace(35, 36, VENUES), np.linspace(139, 140, VENUES))
    table = np.arange(users * per_user).reshape(users, per_user) % VENUES
    names = [f"user{number}" for number in range(users)]
    traces = Traces.from_dense(table, places, Clock(instants_per_day=24), user_ids=names)
    codes = np.where(np.arange(len(traces)) % 3 == 0, -2 - np.arange(len(traces)) % 500, traces.place_index)
    return traces, ObfuscatedTraces.like(traces, codes, PlaceSets.of([[k, k + 1, k + 2] for k in range(500)]))


def main() -> None:
    """Print a line for each kind of frame."""
    rows = round(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 1_000_000
    events = round(float(sys.argv[2]) * 1e6) if len(sys.argv) > 2 else 10_000_000
    print(f"{platform.processor() or platform.machine()}, {rows:,} rows of pandas to traces")
    print(f"{'':24}{'read s':>9}{'CPU s':>9}{'pandas s':>10}{'ratio':>8}")
    for name, frame in frames(rows).items():
        ours, cpu = best(lambda frame=frame: ta.read(frame))
        theirs, _ = best(lambda frame=frame: by_pandas(frame))
        print(f"{name:24}{ours:9.2f}{cpu:9.2f}{theirs:10.2f}{theirs / ours:8.2f}")
    for name, traces in zip(("events", "a release"), released(events), strict=True):
        wall, cpu = best(traces.to_frame)
        print(f"to_frame of {len(traces):,} events ({name}): {wall:.2f} s, CPU {cpu:.2f} s")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
