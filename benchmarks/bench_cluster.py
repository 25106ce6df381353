"""Every heavy piece of work in a Dask cluster on this machine, against two threads of one process.

Check-ins of 20,000 users at 1,000 places: training with all zeros, ten traces a user, the
plausible-deniability test of 8,000 traces, matching of 100,000 users and a small sweep of 20,000, the
search of similarities, and GPS points obfuscated from file to file. Each is long enough for what a task
costs not to count most; training is timed with 50,000 users too. Printed are two workers against two threads
(the goal: at most 1.5 times for training with fewer users than that, 1.2 times with 50,000, 1.15 times for
the rest), one worker against two (at least 1.7 times for obfuscation, deniability and matching), and
whether the bytes are the same, also where a worker is killed in the middle.

Run: python benchmarks/bench_cluster.py [USERS] [WORK ...]
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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from tracearena import io
from tracearena.arena import pseudonymise, run_sweep
from tracearena.attacks import VisitMatcher
from tracearena.cities import simulate
from tracearena.cli import build
from tracearena.engine import Cluster, use
from tracearena.metrics.similarity import semantic_similarity
from tracearena.mobility import MobilityProfiles
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

TESTED = 8_000
COMPARED = 400
POINTS = 1_500
REPEATS = 2
CROWD = 5
MANY = 50_000
Work = Callable[[Cluster | None], str]


def main() -> None:
    """Print times and ratios, piece by piece."""
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory() as folder, Cluster("local:1") as one, Cluster("local:2") as two:
        for name, work in tasks(users, Path(folder)).items():
            if len(sys.argv) < 3 or name in sys.argv[2:]:
                compare(name, work, one, two)


def compare(name: str, work: Work, one: Cluster, two: Cluster) -> None:
    """Time a piece of work in all three places, best of some runs, and once with a death."""
    places: dict[str, Cluster | None] = {"threads": None, "one": one, "two": two}
    results = {work(cluster) for cluster in places.values()}  # and everybody has loaded the kernels
    best = dict.fromkeys(places, np.inf)
    for _ in range(REPEATS):
        for place, cluster in places.items():
            start = time.perf_counter()
            results.add(work(cluster))
            best[place] = min(best[place], time.perf_counter() - start)
    died = with_a_death(work, two, best["two"] / 2)
    verdict = "same bytes" if len(results) == 1 else "DIFFERENT BYTES"
    after = "the same" if died in results else "DIFFERENT"
    print(
        f"  {name:<13} 2 threads {best['threads']:7.2f} s, 2 workers {best['two']:7.2f} s "
        f"({best['two'] / best['threads']:.2f} times), 1 worker {best['one']:7.2f} s "
        f"({best['one'] / best['two']:.2f} times two's); {verdict}, {after} after a death",
        flush=True,
    )


def with_a_death(work: Work, cluster: Cluster, after_s: float) -> str:
    """Do the work while one of the workers dies of SIGKILL."""
    [victim] = cluster.gather([cluster.submit(os.getpid, worker=cluster.workers[0])])
    killing = threading.Timer(after_s, os.kill, (victim, signal.SIGKILL))
    killing.start()
    result = work(cluster)
    killing.join()
    return result


def tasks(users: int, folder: Path) -> dict[str, Work]:
    """Return what is timed; each gives a hash of its result."""
    data = checkins(users)
    model = PPMTF(zeros="all", iterations=10).fit(data, seed=1)
    some = model.synthesize(1, seed=2).take_users(slice(0, TESTED))
    few = model.synthesize(3, seed=2).take_users(slice(0, COMPARED))
    profiles = MobilityProfiles.of(few), MobilityProfiles.of(data.take_users(slice(0, COMPARED)))
    walks = simulate(users, 4, seed=1)
    reference, original = walks.split_days(2)
    known, others = simulate(CROWD * users, 4, seed=1).split_days(2)
    release = pseudonymise(ObfuscatedTraces.from_traces(others), seed=1).anonymized
    matcher = VisitMatcher().fit(known)

    def training(traces: Traces = data, iterations: int = 100) -> Any:
        PPMTF(zeros="all", iterations=iterations).fit(traces, seed=1).save(folder / "model.npz")
        return (folder / "model.npz").read_bytes()

    def training_many() -> Any:
        return training(checkins(MANY), 30)

    def synthesis() -> Any:
        return model.synthesize(10, seed=2).place_index.tobytes()

    def deniability() -> Any:
        return measure_deniability(
            model, some, DeniabilityTest(verifiers=TESTED, early_stop=True), seed=3
        ).k_prime.tobytes()

    def matching() -> Any:
        return matcher.match(release).exclusive.tobytes()

    def sweep() -> Any:
        defences = ["No", "PL(1,1)", "PL(4,1)", "RR(2)", "RR(8)", "MRLH(1,1,0.5)"]
        rows = run_sweep(reference, original, defences=defences, seed=3)
        return repr([row.to_dict() for row in rows]).encode()

    def similarity() -> Any:
        return semantic_similarity(*profiles, order=1, seed=4).tobytes()

    def hashed(work: Callable[[], bytes]) -> Work:
        def done(cluster: Cluster | None) -> str:
            with use(cluster=cluster, threads=2):
                return hashlib.sha256(work()).hexdigest()

        return done

    pieces = (training, training_many, synthesis, deniability, matching, sweep, similarity)
    return {work.__name__: hashed(work) for work in pieces} | {"obfuscation": obfuscation(walks, folder)}


@cache
def checkins(users: int) -> Traces:
    """Return about 30 check-ins of each user."""
    return simulate(users, 730, mode="checkins", top=1_000, checkins_per_user=30.0, seed=1)


def obfuscation(walks: Traces, folder: Path) -> Work:
    """Return what obfuscates a folder of GPS points by the command; workers read and write the parts."""
    rng = np.random.default_rng(1)
    n = POINTS * walks.n_users
    points = GpsTraces(
        user_ids=walks.user_ids,
        offsets=np.arange(walks.n_users + 1) * POINTS,
        time_ms=np.tile(np.arange(POINTS) * 60_000, walks.n_users) + 1_600_000_000_000,
        latitude=rng.uniform(35, 36, n),
        longitude=rng.uniform(139, 140, n),
    )
    io.write(points, folder / "points.parquet")

    def done(cluster: Cluster | None) -> str:
        out = Path(tempfile.mkdtemp(dir=folder)) / "out"
        asked = ["obfuscate", "GeoInd(expected_noise=100m)", str(folder / "points.parquet"), str(out)]
        asked += ["--to", "partitions", "--seed", "1"]
        asked += [] if cluster is None else ["--cluster", cluster.scheduler]
        with use(threads=2):
            result = CliRunner().invoke(build(asked), asked)
        if result.exit_code:
            raise SystemExit(result.output)
        parts = sorted(out.rglob("*.parquet")) if out.is_dir() else [out]
        return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()

    return done


if __name__ == "__main__":
    main()
