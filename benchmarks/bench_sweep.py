"""The default sweep: 37 sample defences × 6 sample attacks, and how it grows.

    python benchmarks/bench_sweep.py [FOLDER_OF_CONTEST_FILES]

With the organisers' Osaka files (``../shared/data/pwscup2019-osaka`` by default) it times the whole
command, from reading to the picture, against the 1,140 s of CPU that the organisers' own script
takes on a machine of this kind. Without them it runs on the simulated city alone.
"""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tracearena.arena import run_sweep
from tracearena.cities import simulate
from tracearena.engine import thread_count
from tracearena.io import pwscup

ORGANISERS_S = 1140.0
OSAKA = Path(__file__).resolve().parents[2] / "shared" / "data" / "pwscup2019-osaka"


def whole_command(folder: Path) -> float:
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            sys.executable, "-m", "tracearena", "sweep", f"{scratch}/table.csv", "--seed", "1",
            "--places", str(folder / "info_region.csv"),
            "--reference", str(next(folder.glob("reftraces_*"))),
            "--original", str(next(folder.glob("orgtraces_*"))),
            "--plot", f"{scratch}/figure.svg",
        ]  # fmt: skip
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started


def growth(users: int, days: int) -> None:
    reference, original = simulate(users, 2 * days, clock=pwscup.PWS_CLOCK, seed=1).split_days(days)
    started = time.perf_counter()
    run_sweep(reference, original, seed=1)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{users:>6,} users × {days * 20:>3} instants: {seconds:7.1f} s, peak so far {peak:.2f} GiB",
        flush=True,
    )


def main() -> None:
    print(f"{platform.machine()}, {thread_count()} threads, Python {platform.python_version()}")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else OSAKA
    if folder.is_dir():
        print(f"first run (compiles where nothing is cached): {whole_command(folder):.1f} s")
        warm = min(whole_command(folder) for _ in range(3))
        print(f"whole command, warm, best of 3: {warm:.1f} s; the organisers': {ORGANISERS_S / warm:.0f}×")
    else:
        print(f"{folder} is not here: only the simulated city is timed")
    for users, days in ((2_000, 2), (2_000, 20), (20_000, 2)):
        growth(users, days)


if __name__ == "__main__":
    main()
