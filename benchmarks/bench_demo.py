"""Claim: ``tracearena demo`` takes under 3 minutes the first time, compilation included, then under 90 s.

Runs the command in a process of its own, first with an empty cache of compiled kernels, then twice
with the full one. CPU time is printed too: on a machine that does other things it is the steadier
number, and with two free cores the command takes about half of it.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_S = {"cold": 180.0, "warm": 90.0}


def whole_command(out: Path, cache: Path) -> tuple[float, float]:
    """Return elapsed and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "tracearena", "demo", "--out", str(out), "--seed", "1"],
        check=True,
        capture_output=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
    )
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print seconds and how much of the limit they are."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        out, cache = Path(folder) / "demo", Path(folder) / "cache"
        for name in ("cold", "warm", "warm"):
            elapsed, cpu = whole_command(out, cache)
            limit = LIMIT_S[name]
            print(f"{name}: {elapsed:.1f} s ({elapsed / limit:.2f} of {limit:.0f} s), CPU {cpu:.1f} s")
        print(f"page: {(out / 'report.html').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
