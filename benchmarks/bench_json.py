"""How fast Google's Records.json becomes GPS traces, against ``json.load`` that only parses it.

Ours decodes the same text, one position at a time, checks each and sorts all; the most memory that each
held is printed too. CPU time is printed for busy machines. Usage: ``bench_json.py [million positions]``.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

OURS = "import tracearena as ta; work = lambda: ta.read(path).traces.n_points"
THEIRS = "import json; work = lambda: len(json.load(open(path))['locations'])"
MEASURED = """
import resource, sys, time
path = sys.argv[1]
wall, cpu = time.perf_counter(), time.process_time()
positions = work()
print(positions, time.perf_counter() - wall, time.process_time() - cpu,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def records(path: Path, positions: int) -> None:
    """Write positions as Takeout does, half of them with guessed activities."""
    rng = np.random.default_rng(0)
    moved = np.cumsum(rng.integers(-500, 501, (positions, 2)), axis=0) + np.array([481_371_079, 115_753_822])
    times = np.datetime64("2015-01-01T00:00:00.190") + np.arange(positions) * np.timedelta64(60_000, "ms")
    guesses = [{"type": kind, "confidence": 30} for kind in ("STILL", "ON_FOOT", "IN_VEHICLE")]
    with open(path, "w") as out:
        out.write('{"locations": [')
        for i, ((lat, lon), time) in enumerate(zip(moved.tolist(), times.astype(str).tolist(), strict=True)):
            row = {"latitudeE7": lat, "longitudeE7": lon, "accuracy": 13, "source": "WIFI", "deviceTag": 5}
            if i % 2:
                row["activity"] = [{"activity": guesses, "timestamp": f"{time}Z"}]
            out.write((",\n" if i else "\n") + json.dumps(row | {"timestamp": f"{time}Z"}, indent=2))
        out.write("]}\n")


def measured(setup: str, path: Path) -> tuple[int, float, float, float]:
    """Return positions, seconds by the clock and of CPU time, and gigabytes, of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", setup + MEASURED, str(path)], capture_output=True, text=True, check=True
    )
    positions, *rest = done.stdout.split()
    wall, cpu, gigabytes = map(float, rest)
    return int(positions), wall, cpu, gigabytes


def main() -> None:
    """Print both, and the ratio."""
    positions = int(float(sys.argv[1] if len(sys.argv) > 1 else 1) * 1e6)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Records.json"
        records(path, positions)
        print(f"{positions:,} positions, {path.stat().st_size / 2**20:.0f} MB")
        cpus = []
        for name, setup in (("tracearena", OURS), ("json.load", THEIRS)):
            found, wall, cpu, gigabytes = measured(setup, path)
            assert found == positions
            print(f"{name:10}  {wall:6.1f} s, {cpu:6.1f} s of CPU, {gigabytes:.2f} GB")
            cpus.append(cpu)
        print(f"ratio of CPU time: {cpus[0] / cpus[1]:.2f}")


if __name__ == "__main__":
    main()
