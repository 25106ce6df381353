"""Privacy zones against the attack that finds homes behind them, at an equal share of points hidden.

City commuters are people of the simulated city who work at least 3 km from home. `Zones(R)` hides a share
of their points; circles around homes and workplaces themselves (``shift=0``) get the radius that hides the
same share. The attacker knows the mechanism. Also the same for `TrimEnds`.
``python benchmarks/bench_zones.py [radius in m] [people] [seeds]`` (1,000, 80 and 2 by default).
"""

from __future__ import annotations

import sys
import time

import numpy as np

from tracearena.arena.experiments import ZoneFindings, find_homes
from tracearena.cities import simulate_gps
from tracearena.metrics.applications import homes_and_workplaces
from tracearena.obfuscation import TrimEnds, Zones
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m

FARTHER_THAN_M = 3000.0
WITHIN_M = 100.0


def commuters(people: int, seed: int) -> GpsTraces:
    """Simulate people for 30 days, and keep those who work far from home."""
    traces = simulate_gps(people, 30, interval_s=10, recorded=0.8, seed=seed)
    places = homes_and_workplaces(traces)
    known = np.flatnonzero(~np.isnan(places.home_latitude) & ~np.isnan(places.work_latitude))
    home = places.home_latitude[known], places.home_longitude[known]
    far = distance_m(*home, places.work_latitude[known], places.work_longitude[known]) >= FARTHER_THAN_M
    return traces.take_users(known[far])


def hidden(traces: GpsTraces, defence: Zones) -> float:
    return 1 - len(defence.transform(traces, seed=1)) / len(traces)


def naive_like(traces: GpsTraces, share: float, radius: float) -> Zones:
    """Circles around the places that hide the same share of points, to a thousandth."""
    low, high = radius / 4, radius * 1.5
    for _ in range(8):
        middle = Zones(radius=round((low + high) / 2), shift=0)
        found = hidden(traces, middle)
        if abs(found - share) < 1e-3:
            break
        low, high = (middle.radius, high) if found < share else (low, middle.radius)
    return middle


def attacked(traces: GpsTraces, defence: Zones | TrimEnds, seed: int) -> ZoneFindings:
    start = time.perf_counter()
    found = find_homes(traces, defence.transform(traces, seed=seed), mechanism=defence, within_m=WITHIN_M)
    print(
        f"  {found.mechanism}: within {WITHIN_M:g} m {found.home_found:.1%} of {found.users_with_home}, "
        f"median error {found.home_error_m:,.0f} m, points hidden {found.points_hidden:.1%} "
        f"({time.perf_counter() - start:.0f} s)",
        flush=True,
    )
    return found


def summed(findings: list[ZoneFindings]) -> tuple[int, int]:
    users = [found.users_with_home for found in findings]
    return round(sum(n * (f.home_found or 0) for n, f in zip(users, findings, strict=True))), sum(users)


def main() -> None:
    given = [int(text) for text in sys.argv[1:]]
    radius, people, seeds = (*given, *(1000, 80, 2)[len(given) :])
    ours, theirs, trimmed = [], [], []
    for seed in range(1, seeds + 1):
        traces = commuters(people, seed)
        print(f"seed {seed}: {traces!r}", flush=True)
        shifted = Zones(radius=radius)
        ours.append(attacked(traces, shifted, seed))
        naive = naive_like(traces, ours[-1].points_hidden or 0.0, radius)
        theirs.append(attacked(traces, naive, seed))
        trimmed.append(attacked(traces, TrimEnds(distance=300), seed))
    for name, findings in (
        ("Zones", ours),
        ("circles around places", theirs),
        ("TrimEnds(300m)", trimmed),
    ):
        found, users = summed(findings)
        print(f"{name}: {found} of {users} homes found, {found / users:.1%}")


if __name__ == "__main__":
    main()
