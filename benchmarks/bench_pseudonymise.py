"""Claim: a cryptographic release of a million users is a matter of seconds, not of the shuffle.

Prints the time of the shuffle alone against the standard library's cryptographic shuffle in the same
run, and the time of the whole release. The number of users may be given as first argument.
"""

from __future__ import annotations

import os
import platform
import random
import sys
import time
from collections.abc import Callable

import numpy as np

from tracearena.arena import pseudonymise
from tracearena.arena.pseudonyms import random_order
from tracearena.contest import commit
from tracearena.traces import Clock, Grid, ObfuscatedTraces, Places, PlaceSets, Traces

INSTANTS = 48


def main(users: int) -> None:
    """Time one release of `users` users."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, {users:,} users x {INSTANTS} instants")
    ours = seconds(lambda: random_order(users, None))
    theirs = seconds(lambda: random.SystemRandom().shuffle(list(range(users))))
    print(f"shuffle: {ours:.2f} s; random.SystemRandom().shuffle: {theirs:.2f} s; {theirs / ours:.1f} times")
    obfuscated = random_traces(users)
    print(f"whole release: {seconds(lambda: pseudonymise(obfuscated)):.2f} s")
    table = pseudonymise(obfuscated).id_table
    print(f"commitment to its ID table: {seconds(lambda: commit(table)):.2f} s")


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def random_traces(users: int) -> ObfuscatedTraces:
    """Return random cells: most of them one place, a tenth deleted, a tenth one of 256 sets."""
    rng = np.random.default_rng(1)
    grid = Grid(rows=32, columns=32, south=35.65, west=139.68, north=35.75, east=139.80)
    places = Places.of_grid(grid, km_per_degree=(111, 91))
    clock = Clock(instants_per_day=INSTANTS, interval_s=1800)
    codes = rng.integers(0, 1024, users * INSTANTS, dtype=np.int32)
    kind = rng.random(len(codes), dtype=np.float32)
    codes[kind < 0.2] = -1
    codes[kind < 0.1] = -2 - codes[kind < 0.1] % 256
    original = Traces(
        places,
        clock,
        user_ids=np.arange(1, users + 1),
        offsets=np.arange(users + 1) * INSTANTS,
        instants=np.tile(np.arange(INSTANTS, dtype=np.int32), users),
        place_index=np.zeros(len(codes), np.int32),
    )
    return ObfuscatedTraces.like(original, codes, PlaceSets.of([[s, s + 1, s + 32] for s in range(256)]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
