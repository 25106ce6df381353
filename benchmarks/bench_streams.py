"""Tables of GPS points of any size: rate and peak memory of ``describe``, ``obfuscate`` and ``applications``.

A simulated city is written as parts of Parquet and as one CSV file; then each command runs in a process of
its own, from files to files.
Polars alone (read, shift, write, with the same compression) in the same run is the limit. What travels on a
cluster is what the loopback device carries while two workers of this machine do the same work. Applications
read the city and a release of it, of as many points; their rates are of the city's points.

Run: python benchmarks/bench_streams.py [--points 25m] [--folder DIR] [--curve growth.png] [--match-s S]
     [--applications]
     --points takes several sizes, ``--points 25m,247m,1b``; a city that is in the folder is used again.
     --applications measures these instead of the other commands.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

USERS, DAYS = 100, 60
MACHINES, POINTS, PEOPLE = 20, 10e9, 10e6
OURS = [sys.executable, "-m", "tracearena"]
LOOPBACK = Path("/sys/class/net/lo/statistics/tx_bytes")
POLARS = (
    "import polars as pl, sys; pl.scan_parquet(sys.argv[1] + '/*.parquet')"
    ".with_columns(pl.col('latitude') + 1e-3, pl.col('longitude') + 1e-3)"
    ".sink_parquet(sys.argv[2], compression='lz4')"
)


Found = dict[str, tuple[float, float, float]]
"""Command → seconds, seconds of processor time, peak memory in MiB."""


def size_of(text: str) -> int:
    """Read 25m or 1b."""
    unit = {"k": 10**3, "m": 10**6, "b": 10**9}.get(text[-1:].lower(), 1)
    return round(float(text.rstrip("kmbKMB")) * unit)


def write_city(points: int, folder: Path) -> None:
    """Write a city as parts: a hundred simulated people again and again, under other names and days."""
    from tracearena.cities import simulate_gps

    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    frame = simulate_gps(USERS, DAYS, recorded=0.45, seed=1).to_frame()
    written = 0
    while written < points:
        number = written // frame.height
        part = frame.head(points - written).with_columns(
            user_id=pl.concat_str(pl.lit(f"{number:06}-"), pl.col("user_id")),
            time=pl.col("time") + pl.duration(days=number % 300),
        )
        part.write_parquet(folder / f"part-{number:05}.parquet", compression="lz4")
        written += part.height
    with open(csv_of(folder), "wb") as text:
        for part_number, file in enumerate(sorted(folder.glob("*.parquet"))):
            rows = pl.read_parquet(file)
            rows.write_csv(text, include_header=not part_number, datetime_format="%Y-%m-%dT%H:%M:%SZ")


def csv_of(city: Path) -> Path:
    """Return where the points of a city are as text."""
    return city.with_suffix(".csv")


def measured(command: list[str]) -> tuple[float, float, float]:
    """Run a command; return seconds, seconds of processor time and the peak of memory in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(process.stderr.read().decode() if process.stderr else "it failed")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def commands_of(city: Path, out: Path) -> dict[str, list[str]]:
    """Return what is measured on a city: from files to files."""
    blur, to_parts = [*OURS, "obfuscate", "GeoInd(100m)"], [str(out), "--to", "partitions", "--seed", "1"]
    return {
        "polars alone": [sys.executable, "-c", POLARS, str(city), f"{out}.parquet"],
        "describe": [*OURS, "describe", str(city)],
        "obfuscate, one file": [*blur, str(city), f"{out}.parquet", "--seed", "1"],
        "obfuscate, parts": [*blur, str(city), *to_parts],
        "describe, CSV": [*OURS, "describe", str(csv_of(city))],
        "obfuscate, CSV": [*blur, str(csv_of(city)), *to_parts],
    }


def applications_of(city: Path, released: Path) -> dict[str, list[str]]:
    """Return the applications that are measured on a city and a release of it, which is made first."""
    if not released.is_dir():
        make = ["obfuscate", "GeoInd(100m)", str(city), str(released), "--to", "partitions", "--seed", "1"]
        subprocess.run([*OURS, *make], check=True, capture_output=True)
    both = ["--original", str(city), "--released", str(released)]
    polars = [sys.executable, "-c", POLARS, str(city), f"{released}.parquet"]
    return {"polars alone": polars} | {
        name: [*OURS, "applications", name, *both] for name in ("error", "homes", "hotspots")
    }


def one_size(points: int, folder: Path, *, applications: bool) -> Found:
    """Measure all commands on a city of one size."""
    city, out = folder / f"city-{points}", folder / "out"
    # In a process of its own: a child's peak of memory is at least what its parent has when it starts it.
    write = f"import bench_streams as b, pathlib; b.write_city({points}, pathlib.Path({str(city)!r}))"
    subprocess.run([sys.executable, "-c", write], cwd=Path(__file__).parent, check=True)
    count = int(pl.scan_parquet(city / "*.parquet").select(pl.len()).collect().item())
    released = folder / f"released-{points}"
    commands = applications_of(city, released) if applications else commands_of(city, out)
    print(f"\n{count:,} points, {_bytes_of(city) / count:.1f} bytes per point")
    found = {}
    for name, command in commands.items():
        found[name] = seconds, processor, peak = measured(command)
        shutil.rmtree(out, ignore_errors=True)
        for made in (out, released):
            Path(f"{made}.parquet").unlink(missing_ok=True)
        ratio = seconds / found["polars alone"][0]
        print(
            f"  {name:<20} {seconds:8.1f} s  {count / seconds / 1e6:6.2f} M points/s  "
            f"{processor / count * 1e9:5.0f} ns of processor time per point  {peak:7.0f} MiB  "
            f"{ratio:5.2f} times Polars",
            flush=True,
        )
    return found


def measure_travel(points: int, folder: Path) -> dict[str, float]:
    """Return the bytes per point that travel when two workers work on a city that was written before."""
    city, out = folder / f"city-{points}", folder / "out"
    blur = ["obfuscate", "GeoInd(100m)", str(city), str(out), "--to", "partitions", "--seed", "1"]
    found = {}
    print(f"\n{points:,} points, two workers of this machine")
    for name, command in {"describe": ["describe", str(city)], "obfuscate, parts": blur}.items():
        before = _sent()
        seconds, _, peak = measured([sys.executable, "-m", "tracearena", *command, "--cluster", "local:2"])
        found[name] = (_sent() - before) / points
        shutil.rmtree(out, ignore_errors=True)
        print(
            f"  {name:<20} {seconds:8.1f} s, {peak:.0f} MiB in the calling process; "
            f"{found[name]:.3f} bytes per point travel",
            flush=True,
        )
    return found


def _sent() -> int:
    return int(LOOPBACK.read_text())


def cluster_arithmetic(points: int, found: Found, travel: dict[str, float], match_s: float | None) -> None:
    """Say what a cluster of such machines would take, from what was measured here."""
    print(f"\n{MACHINES} such machines, {POINTS / 1e9:.0f} billion points, {PEOPLE / 1e6:.0f} million users")
    for name, each in travel.items():
        ns = found[name][0] / points * 1e9
        minutes, megabytes = ns * POINTS / MACHINES / 60e9, each * POINTS / 1e6
        print(
            f"  {name}: {ns:.0f} ns per point / {MACHINES} = {minutes:.1f} min; "
            f"{each:.3f} bytes per point = {megabytes:,.0f} MB travel"
        )
    print("  points are read and written where the workers are")
    if match_s is not None:
        print(
            f"  matching: {match_s:g} s for 200,000 users (given), for each of {PEOPLE / 2e5:.0f} such groups"
        )


def draw(curve: Path, sizes: dict[int, Found]) -> None:
    """Draw time and memory against the number of points."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name in next(iter(sizes.values())):
        at = [points / 1e6 for points in sizes]
        left.plot(at, [one[name][0] for one in sizes.values()], marker="o", label=name)
        right.plot(at, [one[name][2] / 1024 for one in sizes.values()], marker="o", label=name)
    left.set(xlabel="million points", ylabel="seconds", title="Time", ylim=(0, None))
    right.set(xlabel="million points", ylabel="peak memory, GiB", title="Peak memory", ylim=(0, None))
    left.legend()
    figure.savefig(curve, dpi=150)
    print(f"\nwrote {curve}")


def _bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def main() -> None:
    """Measure every size, and say what a cluster would take."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", default="25m")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--curve", type=Path)
    parser.add_argument("--match-s", type=float, help="seconds of one match of 200,000 users")
    parser.add_argument("--applications", action="store_true")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Polars {pl.__version__}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch)
        sizes = {
            size: one_size(size, folder, applications=asked.applications)
            for size in map(size_of, asked.points.split(","))
        }
        travel = None if asked.applications else measure_travel(min(sizes), folder)
    largest = max(sizes)
    if travel is not None:
        cluster_arithmetic(largest, sizes[largest], travel, asked.match_s)
    if asked.curve is not None:
        draw(asked.curve, sizes)


if __name__ == "__main__":
    main()
