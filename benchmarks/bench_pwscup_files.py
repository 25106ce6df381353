"""Claim: contest files are read strictly at no less than 5 million rows a second, one thread.

Reads and writes the same files with tracearena, with ``polars.read_csv``/``write_csv`` and with
Python's ``csv``, in one run, and prints rows a second and ratios. polars and csv check neither order
nor range nor the grammar of a cell; polars uses all cores unless POLARS_MAX_THREADS says otherwise.

    python benchmarks/bench_pwscup_files.py [users] [instants]
"""

from __future__ import annotations

import csv
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from tracearena.io import pwscup
from tracearena.traces import Grid, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

SIDE = 32
REPEATS = 3


def make_original(users: int, instants: int) -> Traces:
    """Random places; the readers do not care where people go."""
    grid = Grid(rows=SIDE, columns=SIDE, south=34.64, west=135.44, north=34.74, east=135.56)
    places = Places.of_grid(grid, km_per_degree=CONTEST_KM_PER_DEGREE)
    dense = np.random.default_rng(1).integers(0, len(places), (users, instants))
    return Traces.from_dense(dense, places, pwscup.PWS_CLOCK, first_instant=instants)


def generalised(original: Traces) -> ObfuscatedTraces:
    """Half the events deleted, half in blocks of 4 × 4 regions, as MRLH(2,2,0.5) does."""
    row, column = np.divmod(original.place_index, SIDE)
    block = row // 4 * (SIDE // 4) + column // 4
    deleted = np.random.default_rng(2).random(len(original)) < 0.5
    corners = [(b // (SIDE // 4) * 4, b % (SIDE // 4) * 4) for b in range((SIDE // 4) ** 2)]
    sets = PlaceSets.of(
        [[(y + dy) * SIDE + x + dx for dy in range(4) for dx in range(4)] for y, x in corners]
    )
    return ObfuscatedTraces.like(original, np.where(deleted, -1, -2 - block), sets)


def best(act: Callable[[], object]) -> float:
    """Seconds of the quickest of a few runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def csv_read(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:
        return list(csv.reader(file))


def csv_write(path: Path, rows: list[list[str]]) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def report(what: str, rows: int, size: int, seconds: dict[str, float]) -> None:
    """Print rows a second, and how much slower the others are."""
    ours = seconds["tracearena"]
    for peer, took in seconds.items():
        print(
            f"{what:<42}{peer:<12}{took:>9.3f} s {rows / took / 1e6:>8.2f} M rows/s "
            f"{size / took / 1e6:>8.0f} MB/s   {took / ours:>6.2f} × our time"
        )


def compare(what: str, path: Path, read: Callable[[Path], object], write: Callable[[Path], None]) -> None:
    """Time reading and writing of one file by all three."""
    write(path)
    read(path)
    frame, rows = pl.read_csv(path), csv_read(path)
    size, other = path.stat().st_size, path.with_name("other.csv")
    seconds = {
        "tracearena": best(lambda: read(path)),
        "polars": best(lambda: pl.read_csv(path)),
        "csv": best(lambda: csv_read(path)),
    }
    report(f"read {what}", len(rows) - 1, size, seconds)
    seconds = {
        "tracearena": best(lambda: write(path)),
        "polars": best(lambda: frame.write_csv(other)),
        "csv": best(lambda: csv_write(other, rows)),
    }
    report(f"write {what} (ours with fsync)", len(rows) - 1, size, seconds)


def main() -> None:
    users, instants = (int(value) for value in (*sys.argv[1:], *("2000", "400")[len(sys.argv) - 1 :]))
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(
        f"{users:,} users × {instants} instants, {SIDE * SIDE} regions, POLARS_MAX_THREADS="
        f"{os.environ['POLARS_MAX_THREADS']}, best of {REPEATS}"
    )
    original = make_original(users, instants)
    released = generalised(original)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        compare(
            "original traces",
            path,
            lambda p: pwscup.read_traces(p, original.places),
            lambda p: pwscup.write_traces(original, p),
        )
        compare(
            "public traces",
            path,
            lambda p: pwscup.read_anonymized(p, original.places),
            lambda p: pwscup.write_anonymized(released, p),
        )
        compare(
            "obfuscated traces",
            path,
            lambda p: pwscup.read_obfuscated(p, original),
            lambda p: pwscup.write_obfuscated(released, p),
        )


main()
