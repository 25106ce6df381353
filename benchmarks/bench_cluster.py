"""PPMTF on a Dask cluster of two worker processes against the two threads of one process.

Check-ins of 20,000 users at 1,000 places: 100 iterations with all zeros, one trace a user, the
plausible-deniability test of 2,000 traces; the same again while a worker is killed in the middle of
an iteration. The goal is the same bytes in at most 1.5 times the time.

Run: python benchmarks/bench_cluster.py [USERS]
"""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracearena.cities import simulate
from tracearena.engine import Cluster, use
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import measure_deniability

TESTED = 2_000
REPEATS = 3


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return wall seconds and the result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def digest(model: PPMTF) -> str:
    """Return a hash of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.npz")
        return hashlib.sha256((Path(folder) / "model.npz").read_bytes()).hexdigest()


def main() -> None:
    """Print both times, their ratio, and whether the results are the same."""
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    data = simulate(users, 730, mode="checkins", top=1_000, checkins_per_user=30.0, seed=1)
    model = PPMTF(zeros="all", iterations=1).fit(data, seed=1)
    measure_deniability(model, model.synthesize(1, seed=2).take_users(slice(0, 8)), verifiers=8, seed=3)

    started, cluster = timed(lambda: Cluster("local:2"))
    with cluster:
        print(f"cluster of {len(cluster.workers)} workers started in {started:.1f} s")
        with use(cluster=cluster):
            PPMTF(zeros="all", iterations=1).fit(data, seed=1)  # workers load the kernels
        for name, work in tasks(data).items():
            pairs = [(timed(lambda: work(None)), timed(lambda: work(cluster))) for _ in range(REPEATS)]  # noqa: B023
            here, there = (min(pair[side][0] for pair in pairs) for side in (0, 1))
            same = len({result for pair in pairs for _, result in pair}) == 1
            print(
                f"  {name:<12} here {here:7.2f} s, cluster {there:7.2f} s, {there / here:.2f} times, "
                f"{'same bytes' if same else 'DIFFERENT'}",
                flush=True,
            )
        seconds, killed = timed(lambda: with_a_death(data, cluster))
        same = "same bytes" if killed == tasks(data)["training"](None) else "DIFFERENT"
        print(f"  training with a worker killed in iteration 50: {seconds:.2f} s, {same}")


def tasks(data: Any) -> dict[str, Callable[[Cluster | None], str]]:
    """Return what is timed; each gives a hash of its result."""
    model = PPMTF(zeros="all", iterations=10).fit(data, seed=1)
    synthetic = model.synthesize(1, seed=2)
    some = synthetic.take_users(slice(0, TESTED))

    def training(cluster: Cluster | None) -> str:
        with use(cluster=cluster):
            return digest(PPMTF(zeros="all").fit(data, seed=1))

    def synthesis(cluster: Cluster | None) -> str:
        with use(cluster=cluster):
            made = model.synthesize(1, seed=2)
        return hashlib.sha256(made.place_index.tobytes()).hexdigest()

    def testing(cluster: Cluster | None) -> str:
        with use(cluster=cluster):
            found = measure_deniability(model, some, verifiers=TESTED, early_stop=True, seed=3)
        return hashlib.sha256(found.k_prime.tobytes()).hexdigest()

    return {"training": training, "synthesis": synthesis, "deniability": testing}


def with_a_death(data: Any, cluster: Cluster) -> str:
    """Train while one of the workers dies of SIGKILL."""
    [victim] = cluster.gather([cluster.submit(os.getpid, worker=cluster.workers[0])])

    def progress(done: int, _: int) -> None:
        if done == 50:
            threading.Timer(0.03, os.kill, (victim, signal.SIGKILL)).start()

    with use(cluster=cluster, progress=progress):
        return digest(PPMTF(zeros="all").fit(data, seed=1))


if __name__ == "__main__":
    main()
