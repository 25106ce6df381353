"""GPS traces: reading PLT files, noise, gossip, uniqueness and the Bayesian update.

Every line compares with a named peer or a named naive method in the same run, or with the limit
that the project has set itself. ``python benchmarks/bench_gps.py [points]`` (2,000,000 by default).
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.arena import uniqueness
from tracearena.arena.unicity import _number_codes
from tracearena.cities import simulate_gps
from tracearena.engine import use
from tracearena.io.formats import geolife
from tracearena.metrics.applications import bayesian_update, gossip
from tracearena.obfuscation import GeoInd
from tracearena.traces import GpsTraces

USERS = 39


def timed(work: Callable[[], Any], repeat: int = 3) -> tuple[float, Any]:
    """Return the best of some runs, in seconds, and the result."""
    best, result = np.inf, None
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def some_traces(points: int) -> GpsTraces:
    days = max(2, round(points / 55_000))
    traces = simulate_gps(USERS, days, recorded=0.45, seed=1)
    return traces.keep(np.arange(len(traces)) % max(1, len(traces) // points) == 0)


def with_pandas(root: Path) -> int:
    """Read the folder the way notebooks do: one read_csv a file, then one concat."""
    import pandas as pd

    frames = []
    for path in sorted(root.rglob("*.plt")):
        frame = pd.read_csv(path, skiprows=6, header=None, usecols=[0, 1, 5, 6], names=list("abcdefg"))
        frame["time"] = pd.to_datetime(frame["f"] + " " + frame["g"])
        frame["user"] = path.parent.parent.name
        frames.append(frame)
    return len(pd.concat(frames))


def bench_reading(traces: GpsTraces) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        seconds, _ = timed(lambda: geolife.write(traces, root), 1)
        files = sum(1 for _ in root.rglob("*.plt"))
        print(
            f"write {len(traces):,} points, {files:,} PLT files: {len(traces) / seconds / 1e6:.2f} M points/s"
        )
        ours, reading = timed(lambda: geolife.read(root))
        with use(threads=1):
            one, _ = timed(lambda: geolife.read(root), 1)
        theirs, count = timed(lambda: with_pandas(root), 1)
        assert count == len(reading.traces)
        print(f"read: ours {ours:.2f} s (one thread {one:.2f} s), pandas file by file {theirs:.2f} s")
        print(f"  ratio {theirs / ours:.1f} (one thread {theirs / one:.1f}); wanted 8")


def bench_noise(traces: GpsTraces) -> None:
    for mechanism in (GeoInd(expected_noise=100), GeoInd(expected_noise=100, window=300)):
        start = time.process_time()
        seconds, _ = timed(lambda mechanism=mechanism: mechanism.transform(traces, seed=1))
        cpu = (time.process_time() - start) / 3
        rate, per_core = len(traces) / seconds / 1e6, len(traces) / cpu / 1e6
        print(f"{mechanism}: {rate:.2f} M points/s ({per_core:.2f} M a second of processor time); wanted 1.5")


def bench_gossip(traces: GpsTraces) -> None:
    for name, version in (
        ("original", traces),
        ("noise 1,000 m", GeoInd(expected_noise=1000).transform(traces, seed=1)),
    ):
        seconds, found = timed(lambda version=version: gossip(version))
        print(
            f"gossip, {name}, {len(traces):,} points, {traces.n_users} users, all sources: {seconds:.2f} s "
            f"(rate {found.infection_rate:.2f}); wanted 10"
        )


def bench_uniqueness(traces: GpsTraces) -> None:
    import pandas as pd

    draws = 100
    seconds, _ = timed(lambda: uniqueness(traces, traces, draws=draws, seed=1), 1)
    start = time.perf_counter()
    code = _number_codes(traces, traces, 250.0, 3600.0).of_original
    building = time.perf_counter() - start
    combinations = 3 * 5 * draws * traces.n_users
    frame = pd.DataFrame({"user": traces.user_index, "code": code})
    rng = np.random.default_rng(1)

    def scan() -> int:
        known = rng.choice(code, 4)
        users = [set(frame.loc[frame["code"] == one, "user"]) for one in known]
        return len(set.intersection(*users))

    naive, _ = timed(scan)
    each = seconds / combinations
    print(
        f"uniqueness: {combinations:,} combinations in {seconds:.2f} s, index included (codes alone "
        f"{building:.2f} s); scanning the frame {naive * 1e3:.1f} ms a combination"
    )
    print(f"  ratio {naive / each:,.0f}")


def bench_update() -> None:
    counts = np.random.default_rng(1).poisson(2.0, (251, 241))
    seconds, update = timed(lambda: bayesian_update(counts, side_m=88.6, expected_noise_m=250, rounds=10))
    each = seconds / update.rounds
    print(f"Bayesian update, {counts.size:,} cells: {each:.3f} s a round, one thread; wanted 0.2")


def main() -> None:
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {versions}")
    small = some_traces(50_000)
    with tempfile.TemporaryDirectory() as folder:
        geolife.write(small, Path(folder) / "x")
        geolife.read(Path(folder) / "x")
    GeoInd(expected_noise=1, window=60).transform(small, seed=1)
    gossip(small)
    uniqueness(small, small, draws=10, seed=1)
    traces = some_traces(points)
    print(repr(traces))
    bench_reading(traces)
    bench_noise(traces)
    bench_gossip(traces)
    bench_uniqueness(traces)
    bench_update()


if __name__ == "__main__":
    main()
