"""PPMTF for a whole city: check-ins of 219,793 users at 1,000 places in 12 slots, as in Istanbul.

Simulated check-ins, 100 iterations with all zeros, one 24-instant trace a user, and the
plausible-deniability test with k = 10, η = 1, |U*| = 32,000 and early stop. Then, outside the time of the
task, k′ without early stop of 2,000 of the traces, for the curve of Figure 14, and of all traces the test of
256 verifiers by whole sums and by bounds (before and after). The goal is 300 s and 1 GiB on 2 cores. The
authors' program, extrapolated from 8,000 users: 10.2 h of training, 0.6 h of synthesis, 2.1 h of testing,
121 GiB.

Run: python benchmarks/bench_istanbul.py [USERS ...]     (default: 2000 4000 8000 16000; Istanbul: 219793)
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time

import numpy as np

from bench_deniability import before_and_after
from tracearena.cities import simulate
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability

SIZES = (2_000, 4_000, 8_000, 16_000)
CHECK_INS_PER_USER = 30.0
DAYS = 730
VERIFIERS = 32_000
CURVE_TRACES = 2_000
CURVE_K = (10, 20, 50, 100, 200)


def seconds(since: tuple[float, float]) -> tuple[float, float]:
    """Return wall and CPU seconds since a moment."""
    return time.perf_counter() - since[0], time.process_time() - since[1]


def now() -> tuple[float, float]:
    """Return the wall and the CPU clock."""
    return time.perf_counter(), time.process_time()


def city(users: int) -> None:
    """Train, synthesize and test one size, and print each part's cost."""
    start = now()
    data = simulate(users, DAYS, mode="checkins", top=1_000, checkins_per_user=CHECK_INS_PER_USER, seed=1)
    parts = {"simulated": seconds(start)}
    began = start = now()
    model = PPMTF(zeros="all").fit(data, seed=1)
    parts["training"] = seconds(start)
    del data
    start = now()
    synthetic = model.synthesize(1, seed=2)
    parts["synthesis"] = seconds(start)
    start = now()
    found = measure_deniability(
        model, synthetic, DeniabilityTest(k=10, eta=1, verifiers=VERIFIERS, early_stop=True), seed=3
    )
    parts["deniability"] = seconds(start)
    parts["all but the simulation"] = seconds(began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    start = now()
    some = synthetic.take_users(np.sort(np.random.default_rng(4).permutation(users)[:CURVE_TRACES]))
    exact = measure_deniability(model, some, DeniabilityTest(eta=1, verifiers=VERIFIERS), seed=3)
    parts[f"k′ of {len(exact.k_prime):,} traces"] = seconds(start)
    curve = ", ".join(f"{exact.pass_rate_at(k):.3f} at {k}" for k in CURVE_K)
    print(f"{users:,} users: pass rate {found.pass_rate:.3f}, peak memory {peak:.2f} GiB")
    print(f"  pass rate of {len(exact.k_prime):,} traces by k: {curve}")
    before_and_after(model, synthetic, 256)
    for name, (wall, cpu) in parts.items():
        print(
            f"  {name:<22} {wall:9.1f} s wall {cpu:9.1f} s CPU {cpu / users * 1e3:8.3f} ms CPU a user",
            flush=True,
        )


def main() -> None:
    """Print the machine and every size."""
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    warm = PPMTF(iterations=1, zeros="all").fit(simulate(50, 5, mode="checkins", seed=1), seed=1)
    measure_deniability(warm, warm.synthesize(1, seed=1), DeniabilityTest(early_stop=True), seed=1)
    for users in [int(size) for size in sys.argv[1:]] or SIZES:
        city(users)


if __name__ == "__main__":
    main()
