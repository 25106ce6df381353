"""How fast PPMTF trains and synthesizes, against the authors' program.

The authors' C++ and Python (single thread, as published) were timed on a quiet machine of this kind:
training 78.4 s for 500 users × 400 places × 100 iterations and 341 s for 2,000 users × 1,000 places,
synthesis 10 ms a user and day at 1,000 places. Goals: training at least 20 times, synthesis at least
60 times as fast, and a cost that grows linearly with the users.

Run: python benchmarks/bench_ppmtf.py [--small]
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tracearena.engine import thread_count
from tracearena.synthesis import PPMTF
from tracearena.traces import Clock, Places, Traces

T = TypeVar("T")
PEOPLE_FLOW = Clock(instants_per_day=30, start_s=9 * 3600, interval_s=1200)
CHECK_INS = Clock(instants_per_day=24, instants_per_slot=2)


def walks(users: int, places: int, clock: Clock) -> Traces:
    """People who stay around a home: one day each, an event every instant."""
    rng = np.random.default_rng(1)
    home = rng.integers(0, places, (users, 1))
    away = rng.geometric(0.4, (users, clock.instants_per_day)) - 1
    dense = (home + away * rng.choice([-1, 1], away.shape)) % places
    return Traces.from_dense(dense, Places(rng.uniform(35, 36, places), rng.uniform(139, 140, places)), clock)


def timed(what: Callable[[], T]) -> tuple[T, float, float]:
    """Return the result, wall seconds and CPU seconds of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = what()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def training(users: int, places: int, clock: Clock, iterations: int, authors_s: float) -> PPMTF:
    """Time 100 iterations (or fewer, scaled) with everything that training does."""
    data = walks(users, places, clock)
    model, wall, cpu = timed(lambda: PPMTF(iterations=iterations).fit(data, seed=1))
    scale = 100 / iterations
    print(
        f"training {users:,} users × {places:,} places, 100 iterations: {wall * scale:6.2f} s wall, "
        f"{cpu * scale:6.2f} s CPU; authors {authors_s:.1f} s: {authors_s / (wall * scale):.1f}× "
        f"(goal 20×; {thread_count() * authors_s / (cpu * scale):.1f}× by CPU on an idle machine)"
    )
    return model


def synthesis(model: PPMTF, days: int) -> None:
    """Time traces of all users without log-likelihoods."""
    made, wall, cpu = timed(lambda: model.synthesize(days, seed=1))
    user_days = made.n_users * days
    print(
        f"synthesis {made.n_users:,} users × {days} days, {len(made.places):,} places: "
        f"{wall / user_days * 1e3:.4f} ms a user and day wall, {cpu / user_days * 1e3:.4f} ms CPU; "
        f"authors 10 ms: {10 / (wall / user_days * 1e3):.0f}× (goal 60×)"
    )


def growth(sizes: list[int]) -> None:
    """Show that a user costs the same among 1,000 and among 32,000."""
    print("growth with the users (1,000 places, 3 iterations, without the drawing of zeros):")
    for users in sizes:
        data = walks(users, 1000, CHECK_INS)
        _, _, once = timed(lambda data=data: PPMTF(iterations=1).fit(data, seed=1))
        _, _, more = timed(lambda data=data: PPMTF(iterations=4).fit(data, seed=1))
        per_user = (more - once) / 3 / users
        print(f"  {users:>6,} users: {per_user * 1e6:7.1f} µs CPU a user and iteration, setup {once:6.2f} s")


def main() -> None:
    """Print the machine, the compile time, and every claim."""
    small = "--small" in sys.argv[1:]
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    tiny = walks(300, 50, CHECK_INS)
    model, compile_s, _ = timed(lambda: PPMTF(iterations=2).fit(tiny, seed=1))
    _, compile_more_s, _ = timed(lambda: model.synthesize(seed=1))
    print(
        f"first use (compiling, or reading the cache): {compile_s + compile_more_s:.1f} s, not counted below"
    )
    iterations = 10 if small else 100
    training(500, 400, PEOPLE_FLOW, iterations, 78.4)
    large = training(2000, 1000, CHECK_INS, iterations, 341.0)
    synthesis(large, 1)
    synthesis(large, 10)
    growth([1000, 2000, 4000] if small else [1000, 2000, 4000, 8000, 16_000, 32_000])


if __name__ == "__main__":
    main()
