"""How fast PPMTF trains with all zeros, and how fast the plausible-deniability test is.

The authors' C++ (single thread, as published) was timed on a quiet machine of this kind: training
341 s for 2,000 users × 1,000 places × 100 iterations, the test of 2,000 traces against 2,000
verifiers without early stop 138.8 s. Goals: training at least 150 times, the test at least 80 times
as fast on 2 cores. Then, in the same run, the test by whole sums alone, as it was before bounds, by CPU:
the goal is 3.5 times, and the same k′ of every trace.

Run: python benchmarks/bench_deniability.py [--small]
"""

from __future__ import annotations

import os
import platform
import sys

import numpy as np

from bench_ppmtf import CHECK_INS, timed, walks
from tracearena.engine import thread_count, use
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability
from tracearena.synthesis.ppmtf.deniability import ExactVerifierCounter, VerifierScan, bucket_of
from tracearena.traces import Traces

TRAINING_S, TEST_S = 341.0, 138.8
USERS, PLACES = 2_000, 1_000


def told(what: str, wall: float, cpu: float, authors_s: float, goal: int) -> None:
    """Print one claim."""
    idle = thread_count() * authors_s / cpu
    print(
        f"{what}: {wall:.2f} s wall, {cpu:.2f} s CPU; authors {authors_s:.1f} s: {authors_s / wall:.0f}× "
        f"(goal {goal}×; {idle:.0f}× by CPU on {thread_count()} idle cores)"
    )


def before_and_after(model: PPMTF, synthetic: Traces, verifiers: int) -> None:
    """Print the CPU time of bounds and of whole sums, on one thread, and whether they agree."""
    whole = model.trace_model_
    table, owner = model.days_of(synthetic)
    chosen = np.random.default_rng(1).permutation(len(whole.users))[:verifiers]
    running = whole.log_likelihoods(table, owner)
    bucket = bucket_of(running[:, -1], 1.0)
    sums = ExactVerifierCounter(whole, table, owner, bucket, 1.0)

    def slowly() -> np.ndarray:
        counts = np.zeros(len(table), np.int32)
        a, a2 = whole.users[chosen], whole.visit_users[chosen]
        sums.count(np.arange(len(table)), chosen, a, a2, counts)
        return 1 + counts

    with use(threads=1):
        scan = VerifierScan(whole, table, owner, running, bucket, 1.0)
        after, _, after_s = timed(lambda: scan.count(chosen))
        before, _, before_s = timed(slowly)
    same = "the same" if np.array_equal(before, after) else "DIFFERENT"
    print(
        f"{len(table):,} traces, {verifiers:,} verifiers, CPU a verifier: "
        f"{before_s / verifiers * 1e3:.2f} ms by whole sums, {after_s / verifiers * 1e3:.2f} ms by bounds: "
        f"{before_s / after_s:.1f}× (goal 3.5×); k′ {same}",
        flush=True,
    )


def main() -> None:
    """Print the machine and all claims."""
    small = "--small" in sys.argv[1:]
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    first = PPMTF(iterations=1, zeros="all").fit(walks(300, 50, CHECK_INS), seed=1)
    measure_deniability(first, first.synthesize(1, seed=1), DeniabilityTest(verifiers=8), seed=1)

    data = walks(USERS, PLACES, CHECK_INS)
    iterations = 10 if small else 100
    model, wall, cpu = timed(lambda: PPMTF(iterations=iterations, zeros="all").fit(data, seed=1))
    scale = 100 / iterations
    told(
        f"training, {USERS:,} × {PLACES:,}, all zeros, 100 iterations",
        wall * scale,
        cpu * scale,
        TRAINING_S,
        150,
    )

    synthetic = model.synthesize(1, seed=1)
    verifiers = 100 if small else USERS
    found, wall, cpu = timed(
        lambda: measure_deniability(model, synthetic, DeniabilityTest(verifiers=verifiers), seed=1)
    )
    part = verifiers / USERS
    told(f"test of {USERS:,} traces against {USERS:,} verifiers", wall / part, cpu / part, TEST_S, 80)
    print(f"pass rate at k = 10, η = 1 with {verifiers:,} verifiers: {found.pass_rate:.3f}")
    before_and_after(model, synthetic, 64 if small else 512)


if __name__ == "__main__":
    main()
