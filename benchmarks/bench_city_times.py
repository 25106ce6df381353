"""Claim: the city's people are as distinguishable by the times of their check-ins as Gowalla's, ± 3 points.

Cuts check-ins at the median day, takes people with at least 5 of them on both sides, and links the later
halves, unchanged under new pseudonyms, to the earlier ones by times alone (`Linker(evidence="times")`).
Prints the share of people found by all evidence of times and by each group of it, for Gowalla and for
five seeds of the city with about as many check-ins per person; then how much the two halves of a person
have in common (rank correlation between people), which the rhythms of `cities.rhythm.Variety` were set by.

    python benchmarks/bench_city_times.py GOWALLA [seed ...]

GOWALLA is a file of check-ins that `tracearena.read` understands, such as gowalla-nyc.txt.gz. The
parameters were chosen on seeds 100 to 107; seeds 11 to 15 are those to report.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import tracearena as ta
from tracearena.attacks.linking import Linker, Observations
from tracearena.obfuscation import NoObfuscation
from tracearena.traces import ObfuscatedTraces, Traces

PEOPLE = 505
"""Gowalla's people of New York with enough check-ins on both sides."""
FEWEST_EVENTS = 5
CITY: dict[str, Any] = {"users": 1_000, "days": 180, "mode": "checkins", "checkins_per_user": 65}
"""The city with about as many check-ins per person as Gowalla has: a median of 24 known and 24 released."""
SEEDS = (11, 12, 13, 14, 15)


def halves(traces: Traces) -> tuple[Traces, Traces]:
    """Cut traces at the median day and keep the first people with enough events on both sides."""
    day = Observations.of(traces).day
    early = day < int(np.median(day))
    known, later = traces.keep(early), traces.keep(~early)
    enough = [np.diff(part.offsets) >= FEWEST_EVENTS for part in (known, later)]
    both = np.flatnonzero(enough[0] & enough[1])[:PEOPLE]
    numbers = np.arange(1, len(both) + 1)
    return known.take_users(both).with_user_ids(numbers), later.take_users(both).with_user_ids(numbers)


def found_shares(known: Traces, later: Traces) -> dict[str, float]:
    """Return the share of people found in percent by all times, and by each group of evidence."""
    truth = np.random.default_rng(7).permutation(known.n_users)
    released = ObfuscatedTraces.from_traces(later).take_users(truth)
    released = released.with_user_ids(100_001 + np.arange(len(truth)))
    linker = Linker(mechanism="adaptive", evidence="times").fit(known).with_mechanism(NoObfuscation())
    matcher: Any = linker.matcher_
    match = matcher.match(released, seed=3)
    shares = {"times": match.best} | {group: match.by_groups([group]) for group in match.groups}
    return {name: 100 * float((best == truth).mean()) for name, best in shares.items()}


def traits(traces: Traces) -> dict[str, Any]:
    """Return what somebody's check-ins say about her rhythm, one number per person."""
    rows = Observations.of(traces)
    angle = 2 * np.pi * rows.second_of_day / 86_400
    known, soon = rows.interval_s >= 0, rows.interval_s < 4 * 3600
    logarithm = np.log(np.maximum(rows.interval_s, 30))
    return {
        "check-ins": rows.counts,
        "sine of hour": rows.per_user(np.sin(angle)),
        "cosine of hour": rows.per_user(np.cos(angle)),
        "weekend share": rows.per_user(rows.is_weekend),
        "share that follow within 2 h": rows.per_user(np.where(known, rows.interval_s < 7200, np.nan)),
        "delay within an outing": rows.per_user(np.where(known & soon, logarithm, np.nan)),
        "gap between outings": rows.per_user(np.where(known & ~soon, logarithm, np.nan)),
    }


def in_common(known: Traces, later: Traces) -> dict[str, float]:
    """Return the rank correlation of each trait between the two halves."""
    before, after = traits(known), traits(later)
    return {name: float(spearmanr(before[name], after[name], nan_policy="omit").statistic) for name in before}


def size(known: Traces, later: Traces) -> str:
    """Return numbers of people and of events in words."""
    counts = [np.diff(part.offsets) for part in (known, later)]
    return f"{known.n_users} people, " + ", ".join(
        f"{name} {each.mean():.0f} (median {np.median(each):.0f})"
        for name, each in zip(("known", "released"), counts, strict=True)
    )


def print_row(name: str, values: dict[str, float], digits: int) -> None:
    """Print one line of a table."""
    print(f"{name:<16}" + "".join(f"{value:>{len(key) + 3}.{digits}f}" for key, value in values.items()))


def main() -> None:
    """Print both tables."""
    if len(sys.argv) < 2:
        sys.exit("usage: bench_city_times.py GOWALLA [seed ...]")
    real = halves(ta.read(sys.argv[1]).as_events().traces)
    seeds = [int(seed) for seed in sys.argv[2:]] or list(SEEDS)
    cities = {seed: halves(ta.cities.simulate(seed=seed, **CITY)) for seed in seeds}
    print(f"Gowalla: {size(*real)}")
    for seed, parts in cities.items():
        print(f"city, seed {seed}: {size(*parts)}")
    measures: tuple[tuple[str, Any, int], ...] = (
        ("found, in percent", found_shares, 1),
        ("rank correlation between the halves", in_common, 2),
    )
    for title, measure, digits in measures:
        expected = measure(*real)
        print(f"\n{title}\n{'':<16}" + "".join(f"   {name}" for name in expected))
        print_row("Gowalla", expected, digits)
        rows = []
        for seed, parts in cities.items():
            rows.append(measure(*parts))
            print_row(f"city, seed {seed}", rows[-1], digits)
        print_row(
            "city, mean", {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}, digits
        )


if __name__ == "__main__":
    main()
