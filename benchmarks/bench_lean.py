"""Memory and time of PPMTF's training with cells kept, and arranged anew (``lean=True``).

Check-ins at 1,000 places, both ways to treat zeros, each in a process of its own.

Run: python benchmarks/bench_lean.py [USERS] [ITERATIONS]      (default: 20000 20)
"""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import subprocess
import sys
import time


def one(users: int, iterations: int, zeros: str, lean: bool) -> None:
    """Train once; print seconds an iteration, peak memory in MiB beyond the data, and a hash of A."""
    from tracearena.cities import simulate
    from tracearena.synthesis import PPMTF

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    data = simulate(users, 730, mode="checkins", top=1_000, checkins_per_user=30.0, seed=1)
    PPMTF(zeros=zeros, iterations=1).fit(data.take_users(slice(0, 50)), seed=1, lean=lean)
    before = peak()
    start = time.perf_counter()
    model = PPMTF(zeros=zeros, iterations=iterations).fit(data, seed=1, lean=lean)
    seconds = (time.perf_counter() - start) / iterations
    digest = hashlib.sha256(model.transition_factors_.users.tobytes()).hexdigest()
    print(seconds, peak() - before, digest)


def main() -> None:
    """Print a line for each of the four ways."""
    users, iterations = ([int(value) for value in sys.argv[1:]] + [20_000, 20][len(sys.argv) - 1 :])[:2]
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    for zeros in ("sampled", "all"):
        digests = set()
        for lean in (False, True):
            call = f"import bench_lean; bench_lean.one({users}, {iterations}, {zeros!r}, {lean})"
            done = subprocess.run(
                [sys.executable, "-c", call],
                cwd=os.path.dirname(os.path.abspath(__file__)),
                capture_output=True,
                text=True,
                check=True,
            )
            seconds, memory, digest = done.stdout.split()
            digests.add(digest)
            print(
                f"  zeros={zeros:<8} {'lean' if lean else 'kept'}: {float(seconds):7.3f} s an iteration, "
                f"{float(memory):7.0f} MiB beyond the data",
                flush=True,
            )
        print(f"  zeros={zeros:<8} {'same bytes' if len(digests) == 1 else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
