"""Claim: all attacks at once on 2,000 users × 400 instants take less than 30 s on 2 cores.

Prints the time of the one pass against the sum of the attacks one by one in the same run, and how
the pass grows with the users. Numbers of users may be given as arguments.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from functools import partial

from tracearena.arena import Ensemble, Release, all_attacks, make_attacks, pseudonymise
from tracearena.cities import simulate
from tracearena.io import pwscup
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import Traces

DAYS = 20


def main(sizes: list[int]) -> None:
    """Time the ensemble for each number of users."""
    attacks = all_attacks()
    print(f"{platform.machine()}, {os.cpu_count()} cores; {len(attacks)} attacks: {', '.join(attacks)}")
    warm_up(attacks)
    before = None
    for users in sizes:
        team = made(users)
        together = seconds(partial(run, attacks, *team))
        growth = "" if before is None else f"; {together / before:.1f} times the time before"
        print(f"{users:,} users x {DAYS * 20} instants: {together:.1f} s{growth}", flush=True)
        before = together
        if users == sizes[0]:
            alone = sum(seconds(partial(run, [name], *team)) for name in attacks)
            print(f"  one by one: {alone:.1f} s, {alone / together:.1f} times the one pass", flush=True)


def run(attacks: list[str], reference: Traces, original: Traces, release: Release) -> None:
    """Fit, attack and score."""
    Ensemble(make_attacks(attacks)).fit(reference).score(original, release, seed=1)


def made(users: int) -> tuple[Traces, Traces, Release]:
    """Make a team of the simulated city behind planar Laplace noise."""
    reference, original = simulate(users, 2 * DAYS, clock=pwscup.PWS_CLOCK, seed=1).split_days(DAYS)
    return reference, original, pseudonymise(PlanarLaplace(l=4, r=1).transform(original, seed=2), seed=3)


def warm_up(attacks: list[str]) -> None:
    """Compile the kernels."""
    run(attacks, *made(50))


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [2_000, 5_000, 10_000, 20_000])
