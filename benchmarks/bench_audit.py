"""Claim: an audit of 147,000 check-ins takes less than 2 minutes on two cores, and so on for larger files.

    bench_audit.py [checkins] [gps] [crowd] [--quick]

Audits simulated people: 1,000 with 147,000 check-ins (limit 2 min), GPS receivers with 2 million points
(5 min), and a crowd of 220,000 people with 7 million check-ins (20 min and 4 GB); with --quick each within
60 s. Prints wall and CPU seconds, the share of the limit, the peak of memory, and how long the same
uniqueness would take by sets of Python, as naive code has it.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from tracearena.audit import assess
from tracearena.audit.material import Material
from tracearena.audit.settings import Settings
from tracearena.audit.sightings import Sightings
from tracearena.traces import Clock, GpsTraces, Places, Traces

QUICK_S = 60.0
NAIVE_PEOPLE = 50


def main(words: list[str]) -> None:
    """Audit what is named, or everything."""
    quick = "--quick" in words
    names = [word for word in words if word in CASES] or list(CASES)
    for name in names:
        make, limit_s = CASES[name]
        traces = make()
        wall, cpu = time.monotonic(), time.process_time()
        audit = assess(traces, seed=1, quick=quick)
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        limit = QUICK_S if quick else limit_s
        print(
            f"{name}{' --quick' if quick else ''}: {audit.file.people:,} people, {audit.file.events:,} rows, "
            f"{wall:.0f} s wall, {cpu:.0f} s CPU, {cpu / 2 / limit:.0%} of {limit:.0f} s on two cores, "
            f"{peak:,.0f} MB"
        )
        if name == "checkins" and not quick:
            _naive(traces)


def _naive(traces: Traces | GpsTraces) -> None:
    """Count who is unique by four points with sets, for few people."""
    settings = Settings()
    seen = Sightings.of(Material.of(traces, settings).as_it_is())
    started = time.process_time()
    codes = seen.codes(seen.cells(250.0), 3600)
    own: list[set[int]] = [set() for _ in range(seen.n_users)]
    for user, code in zip(seen.user.tolist(), codes.tolist(), strict=True):
        own[user].add(code)
    rng = np.random.default_rng(1)
    unique = 0
    for user in range(NAIVE_PEOPLE):
        listed = sorted(own[user])
        for _ in range(settings.draws):
            known = set(rng.choice(listed, min(4, len(listed)), replace=False).tolist())
            unique += sum(known <= other for other in own) == 1
    spent = time.process_time() - started
    all_s = spent * min(settings.people, seen.n_users) / NAIVE_PEOPLE * 16
    print(f"  by sets of Python, 16 coarsenesses of 1,000 people would take about {all_s:.0f} s CPU")


def check_ins(people: int = 1000, rows: int = 147_000, venues: int = 20_000, days: int = 400) -> Traces:
    """Everybody has favourite venues, visited by rank; a third of the visits go anywhere."""
    rng = np.random.default_rng(1)
    places = Places(rng.uniform(40.5, 41.0, venues), rng.uniform(-74.2, -73.7, venues))
    favourites = rng.integers(0, venues, (people, 12))
    user = rng.integers(0, people, rows)
    rank = np.minimum(rng.zipf(1.7, rows) - 1, 11)
    where = np.where(rng.random(rows) < 0.33, rng.integers(0, venues, rows), favourites[user, rank])
    instant = rng.integers(0, days, rows) * 24 + rng.integers(7, 24, rows)
    return Traces.from_events(
        user, instant, where, places, Clock(instants_per_day=24), user_ids=np.arange(people)
    )


def receivers(people: int = 200, points: int = 10_000, days: int = 14) -> GpsTraces:
    """Everybody goes between home and work, a point every two minutes."""
    rng = np.random.default_rng(1)
    ends = rng.uniform([52.35, 13.1], [52.65, 13.7], (2, people, 2))
    second = np.linspace(0, days * 86_400, points, endpoint=False)
    hour = second / 3600 % 24
    share = np.clip(np.minimum(hour - 8, 18 - hour), 0, 1)[None, :, None]
    where = ends[0][:, None] * (1 - share) + ends[1][:, None] * share
    where = where + rng.normal(0, 2e-4, where.shape)
    user = np.repeat(np.arange(people), points)
    time_ms = np.tile(1_600_000_000_000 + (second * 1000).astype(np.int64), people)
    return GpsTraces.from_points(user, time_ms, where[..., 0].ravel(), where[..., 1].ravel())


def crowd() -> Traces:
    """As many as in a large check-in service."""
    return check_ins(people=220_000, rows=7_000_000, venues=400_000, days=500)


CASES: dict[str, tuple[Callable[[], Traces | GpsTraces], float]] = {
    "checkins": (check_ins, 120.0),
    "gps": (receivers, 300.0),
    "crowd": (crowd, 1200.0),
}


if __name__ == "__main__":
    main(sys.argv[1:])
