"""Claim: 4,000 people for 40 days of half-hours take seconds; 220,000 who check in, less than a minute.

Simulates each size warm (kernels compiled, map built), prints seconds and events a second, how the
work grows with the number of people, and the ratio to the same code run by the Python interpreter
(a few people, in a process with NUMBA_DISABLE_JIT=1). Growth and ratio are of processor time, which
other work on the machine disturbs less than the time on the wall.

    python benchmarks/bench_city.py [scale]

`scale` multiplies the numbers of people; 1 is the claim.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from typing import Any

from tracearena import cities
from tracearena.engine import thread_count
from tracearena.io.pwscup import PWS_CLOCK

SIZES: dict[str, dict[str, Any]] = {
    "city: 40 days of 48 instants": {"users": 4_000, "days": 40},
    "eight teams: 40 days of 20 instants": {"users": 16_000, "days": 40, "clock": PWS_CLOCK},
    "check-ins: 730 days, 30 a person": {"users": 220_000, "days": 730, "mode": "checkins"},
}
NAIVE_USERS = 8


def seconds_of(options: dict[str, Any]) -> tuple[float, float, int]:
    """Seconds on the wall, seconds of processor time, and events of one simulation."""
    wall, processor = time.perf_counter(), time.process_time()
    traces = cities.simulate(seed=1, **options)
    return time.perf_counter() - wall, time.process_time() - processor, traces.n_events


def naive_rate(mode: str, days: int) -> float:
    """People a second of the interpreter, without the time for the map."""
    script = (
        "import time; from tracearena import cities\n"
        f"cities.simulate(users=1, days=1, mode={mode!r}, seed=1)\n"
        "start = time.process_time()\n"
        f"cities.simulate(users={NAIVE_USERS}, days={days}, mode={mode!r}, seed=1)\n"
        f"print({NAIVE_USERS} / (time.process_time() - start))"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main() -> None:
    """Print the table."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{platform.machine()}, {thread_count()} threads, Python {platform.python_version()}")
    start = time.perf_counter()
    for mode in ("regular", "checkins"):
        cities.simulate(users=1, days=1, mode=mode, seed=1)
    print(f"map, and kernels compiled or loaded: {time.perf_counter() - start:.1f} s")
    for name, options in SIZES.items():
        full = options | {"users": max(int(options["users"] * scale), 4)}
        _, part, _ = seconds_of(options | {"users": full["users"] // 4})
        wall, whole, events = seconds_of(full)
        naive = naive_rate(options.get("mode", "regular"), options["days"])
        print(f"{name}: {full['users']:,} people, {events:,} events")
        print(f"  {wall:.2f} s ({whole:.2f} s of processor time), {events / wall:,.0f} events a second")
        print(f"  four times the people take {whole / part:.1f} times the processor time")
        print(f"  {full['users'] / whole / naive:,.0f} times the interpreter's {naive:.1f} people a second")


if __name__ == "__main__":
    main()
