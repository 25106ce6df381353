"""Tables of events of any size: rate and peak memory of ``describe``, ``obfuscate``, ``convert``, ``score``.

A simulated city is written as parts; then each command runs in a process of its own, from files to files.
Polars alone (read, shift, write, with the same compression) in the same run is the limit.

Run: python benchmarks/bench_event_streams.py [--events 10m] [--folder DIR]
     --events takes several sizes, ``--events 10m,50m``; a city that is in the folder is used again.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from bench_streams import OURS, measured, size_of

USERS, DAYS = 4_000, 14
POLARS = (
    "import polars as pl, sys; pl.scan_parquet(sys.argv[1] + '/*.parquet')"
    ".with_columns(pl.col('lat') + 1e-3, pl.col('lng') + 1e-3)"
    ".sink_parquet(sys.argv[2], compression='lz4')"
)


def write_city(events: int, folder: Path) -> None:
    """Write a city as parts: some thousand simulated people again and again, under other names."""
    from tracearena.cities import simulate

    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    frame = simulate(users=USERS, days=DAYS, seed=1).to_frame()
    written = 0
    while written < events:
        number = written // frame.height
        named = frame.head(events - written).with_columns(pl.col("user_id") + number * USERS)
        named.write_parquet(folder / f"part-{number:05}.parquet", compression="lz4")
        written += named.height


def commands_of(city: Path, released: Path, out: Path) -> dict[str, list[str]]:
    """Return what is measured on a city: from files to files."""
    both = ["--original", str(city), "--obfuscated", str(released)]
    blur = [*OURS, "obfuscate", "PL(4,1)", str(city)]
    return {
        "polars alone": [sys.executable, "-c", POLARS, str(city), f"{out}.parquet"],
        "describe": [*OURS, "describe", str(city)],
        "convert, one file": [*OURS, "convert", str(city), f"{out}.parquet"],
        "obfuscate, one file": [*blur, f"{out}.parquet", "--seed", "1"],
        "obfuscate, parts": [*blur, str(released), "--to", "partitions", "--seed", "1"],
        "score utility": [*OURS, "score", "utility", *both],
    }


def one_size(events: int, folder: Path) -> None:
    """Measure all commands on a city of one size."""
    city, released, out = folder / f"events-{events}", folder / "released", folder / "out"
    # In a process of its own: a child's peak of memory is at least what its parent has when it starts it.
    write = f"import bench_event_streams as b, pathlib; b.write_city({events}, pathlib.Path({str(city)!r}))"
    subprocess.run([sys.executable, "-c", write], cwd=Path(__file__).parent, check=True)
    size = sum(file.stat().st_size for file in city.iterdir())
    users = -(-events * USERS // (USERS * DAYS * 48)) if events else 0
    print(f"\n{events:,} events of about {users:,} users, {size / events:.1f} bytes per event")
    limit = None
    for name, command in commands_of(city, released, out).items():
        seconds, processor, peak = measured(command)
        limit = limit or seconds
        Path(f"{out}.parquet").unlink(missing_ok=True)
        print(
            f"  {name:<20} {seconds:8.1f} s  {events / seconds / 1e6:6.2f} M events/s  "
            f"{processor / events * 1e9:5.0f} ns of processor time per event  {peak:7.0f} MiB  "
            f"{seconds / limit:5.2f} times Polars",
            flush=True,
        )
    shutil.rmtree(released, ignore_errors=True)


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", default="10m")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Polars {pl.__version__}")
    with tempfile.TemporaryDirectory() as scratch:
        for size in map(size_of, asked.events.split(",")):
            one_size(size, asked.folder or Path(scratch))


if __name__ == "__main__":
    main()
