"""Claim: an audit takes at most 30 s of processor time for 100,000 events, and 90 s for 10 million points.

    bench_audit.py [checkins] [points10] [points50] [--quick] [--cold]

Runs `tracearena audit` on files of simulated people in a process of its own: 1,540 people with 100,000
check-ins in a CSV file (limit 30 s), a fleet of 1,000 with 10 million points in a Parquet file (90 s and
2 GB) and one of 5,000 with 50 million (180 s and 3 GB); with --quick each within 45 s. Prints seconds of
processor time (user and system), the share of the limit, and the peak of memory, reading included.

Each audit is run twice and the second run is measured, which finds compiled functions in Numba's cache. With
--cold the first is measured, which compiles them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

import tracearena as ta

QUICK_S = 45.0
VEHICLES, DAYS = 1000, 21


class Case(NamedTuple):
    """A file to audit: its name, who writes it, and what its audit may take."""

    file: str
    write: Callable[[Path], None]
    seconds: float
    memory_mb: float


def main(words: list[str]) -> None:
    """Audit what is named, or everything."""
    quick = [word for word in words if word == "--quick"]
    cold = [word for word in words if word == "--cold"]
    with tempfile.TemporaryDirectory() as place:
        for name in [word for word in words if word in CASES] or list(CASES):
            case = CASES[name]
            path = Path(place, case.file)
            case.write(path)
            environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(place, f"cache-{name}"))}
            command = [sys.executable, "-m", "tracearena", "audit", str(path), "--seed", "1", *quick, "--out"]
            for run in ("first",) if cold else ("first", "second"):
                out, start = str(Path(place, f"{run}-{name}")), time.monotonic()
                child = subprocess.Popen([*command, out], env=environment, stderr=subprocess.DEVNULL)
                _, status, used = os.wait4(child.pid, 0)
            wall, cpu = time.monotonic() - start, used.ru_utime + used.ru_stime
            limit, peak = QUICK_S if quick else case.seconds, used.ru_maxrss / 1024
            print(
                f"{' '.join([name, *quick, *cold])}: exit status {os.waitstatus_to_exitcode(status)}, "
                f"{wall:.0f} s, {used.ru_utime:.0f} + {used.ru_stime:.0f} s of CPU, {cpu / limit:.0%} of "
                f"{limit:.0f} s; {peak:,.0f} MB, {peak / case.memory_mb:.0%} of {case.memory_mb:,.0f}",
                flush=True,
            )


def write_check_ins(path: Path) -> None:
    """Write 100,000 check-ins of the embedded city."""
    ta.write(ta.simulate(users=1540, days=180, mode="checkins", checkins_per_user=65, seed=1), path)


def write_fleet(path: Path, fleets: int = 1) -> None:
    """Write the points of a fleet of 1,000, or of so many of them."""
    parts = []
    for number in range(fleets):
        fleet = ta.cities.simulate_fleet(vehicles=VEHICLES, days=DAYS, seed=number + 1)
        columns = {
            "user_id": fleet.user_index + number * VEHICLES,
            "time": pl.Series(fleet.time_ms).cast(pl.Datetime("ms", "UTC")),
            "latitude": fleet.latitude,
            "longitude": fleet.longitude,
        }
        parts.append(pl.DataFrame(columns))
    pl.concat(parts).write_parquet(path)


def write_fleets(path: Path) -> None:
    """Write 50 million points."""
    write_fleet(path, 5)


CASES = {
    "checkins": Case("checkins.csv", write_check_ins, 30.0, 2048),
    "points10": Case("points.parquet", write_fleet, 90.0, 2048),
    "points50": Case("many-points.parquet", write_fleets, 180.0, 3072),
}


if __name__ == "__main__":
    main(sys.argv[1:])
