"""Claim: an audit takes at most 30 s of processor time for 100,000 events, and 90 s for 10 million points.

    bench_audit.py [checkins] [points10] [points50] [--quick] [--cold]

Runs `tracearena audit` on files of simulated people in a process of its own: 1,540 people with 100,000
check-ins in a CSV file (limit 30 s), a fleet of 1,000 with 10 million points in a Parquet file (90 s and
2 GB) and one of 5,000 with 50 million (180 s and 3 GB); with --quick each within 45 s. Prints seconds of
processor time (user and system), the share of the limit, and the peak of memory, reading included.

Compiled functions are in Numba's cache, where a small audit of the same kind puts them first. With --cold the
cache is empty, as in the first run after an installation.
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
USERS, VEHICLES, DAYS = 1540, 1000, 21
SMALL = 0.1
"""Share of the people in the audit that fills the cache."""


class Case(NamedTuple):
    """A file to audit: its name, who writes it, and what its audit may take."""

    file: str
    write: Callable[[Path, float], None]
    seconds: float
    memory_mb: float


def main(words: list[str]) -> None:
    """Audit what is named, or everything."""
    quick, cold = "--quick" in words, "--cold" in words
    with tempfile.TemporaryDirectory() as place:
        for name in [word for word in words if word in CASES] or list(CASES):
            case = CASES[name]
            folder = Path(place, name)
            folder.mkdir()
            if not cold:
                small = folder / f"small-{case.file}"
                case.write(small, SMALL)
                start_audit(small, quick=quick).wait()
            path = folder / case.file
            case.write(path, 1.0)
            wall = time.monotonic()
            _, status, used = os.wait4(start_audit(path, quick=quick).pid, 0)
            wall, cpu = time.monotonic() - wall, used.ru_utime + used.ru_stime
            limit, peak = QUICK_S if quick else case.seconds, used.ru_maxrss / 1024
            print(
                f"{name}{' --quick' if quick else ''}{' --cold' if cold else ''}: "
                f"exit status {os.waitstatus_to_exitcode(status)}, "
                f"{wall:.0f} s, {used.ru_utime:.0f} + {used.ru_stime:.0f} s of CPU, {cpu / limit:.0%} of "
                f"{limit:.0f} s; {peak:,.0f} MB, {peak / case.memory_mb:.0%} of {case.memory_mb:,.0f}",
                flush=True,
            )


def start_audit(path: Path, *, quick: bool) -> subprocess.Popen[bytes]:
    """Audit a file in another process; the page and Numba's cache are in folders next to the file."""
    command = [sys.executable, "-m", "tracearena", "audit", str(path), "--seed", "1"]
    options = ["--out", str(path.with_suffix("")), *(["--quick"] if quick else [])]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(path.parent / "cache")}
    return subprocess.Popen([*command, *options], env=environment, stderr=subprocess.DEVNULL)


def write_check_ins(path: Path, share: float) -> None:
    """Write 100,000 check-ins of the embedded city, or those of a share of its people."""
    users = round(share * USERS)
    ta.write(ta.simulate(users=users, days=180, mode="checkins", checkins_per_user=65, seed=1), path)


def write_fleet(path: Path, share: float, fleets: int = 1) -> None:
    """Write the points of a fleet of 1,000, or of several; or a share of them."""
    parts = []
    for number in range(fleets):
        fleet = ta.cities.simulate_fleet(vehicles=round(share * VEHICLES), days=DAYS, seed=number + 1)
        columns = {
            "user_id": fleet.user_index + number * VEHICLES,
            "time": pl.Series(fleet.time_ms).cast(pl.Datetime("ms", "UTC")),
            "latitude": fleet.latitude,
            "longitude": fleet.longitude,
        }
        parts.append(pl.DataFrame(columns))
    pl.concat(parts).write_parquet(path)


def write_fleets(path: Path, share: float) -> None:
    """Write 50 million points, or a share of them."""
    write_fleet(path, share, 5)


CASES = {
    "checkins": Case("checkins.csv", write_check_ins, 30.0, 2048),
    "points10": Case("points.parquet", write_fleet, 90.0, 2048),
    "points50": Case("many-points.parquet", write_fleets, 180.0, 3072),
}


if __name__ == "__main__":
    main(sys.argv[1:])
