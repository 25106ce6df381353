"""Claim: a match looks at few users a trace, and gives the answers of the full table in a part of the time.

    python benchmarks/bench_matching.py [--small] [--only NAME] [--plot FILE.png]

People of the simulated city, 40 instants each. Every number is from a process of its own, which compiles
and learns first: seconds, processor seconds and the largest size. The slow way is the one that this
package had before: scores of all users for all traces, 512 traces at a time. Where it would take minutes
it is run for the first 2,000 traces, which is said, and its times are multiplied. The answers of both are
compared. ``--small`` leaves out 200,000 users, ``--only VisitProb`` everything else.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numba import njit

from tracearena.algorithms import catalogue
from tracearena.arena import pseudonymise, run_sweep
from tracearena.attacks import FuzzyMatcher, Matcher, VisitMatcher
from tracearena.attacks.base import choose_greedily
from tracearena.attacks.fuzzy_counting import count_place_visits
from tracearena.attacks.visit_probability import UNSEEN, count_distinct_codes
from tracearena.cities import simulate
from tracearena.engine import thread_count
from tracearena.io import pwscup
from tracearena.traces import ObfuscatedTraces

DAYS = 2
DEFENCES = ("No", "PL(4,1)", "RR(8)", "MRLH(1,1,0.1)")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
SIZES = (2_000, 20_000, 200_000)
SLOW_TRACES = 2_000


@njit(cache=True, nogil=True)
def add_all(first, stop, offsets, codes, counts, place_offsets, visitors, chances, gains, sets, members, unseen, scores):  # fmt: skip # noqa: E501
    """Add the likelihood of every trace under every user to a full table."""
    total, seen = np.zeros(scores.shape[1]), np.zeros(scores.shape[1])
    for p in range(first, stop):
        for item in range(offsets[p], offsets[p + 1]):
            code = codes[item]
            if code >= 0:
                for v in range(place_offsets[code], place_offsets[code + 1]):
                    scores[p - first, visitors[v]] += counts[item] * gains[v]
                continue
            inside = members[sets[-2 - code] : sets[-1 - code]]
            for place in inside:
                for v in range(place_offsets[place], place_offsets[place + 1]):
                    total[visitors[v]] += chances[v]
                    seen[visitors[v]] += 1
            for u in np.flatnonzero(seen):
                mean = (total[u] + (len(inside) - seen[u]) * unseen) / len(inside)
                scores[p - first, u] += counts[item] * np.log(mean / unseen)
                total[u], seen[u] = 0.0, 0.0


def slow_visits(matcher: VisitMatcher, released: ObfuscatedTraces) -> Any:
    """Match by visits from the full table."""
    visitors, codes = matcher.visitors_, count_distinct_codes(released)
    sets = released.sets.offsets, released.sets.members

    def score(first: int, scores: Any) -> None:
        add_all(first, first + len(scores), *codes, *visitors, *sets, UNSEEN, scores)

    return choose_greedily(released.n_users, len(matcher.user_ids_), score)


def slow_counts(matcher: FuzzyMatcher, released: ObfuscatedTraces) -> Any:
    """Match by fuzzy counts from the product of full tables."""
    vectors, traces = matcher.vectors_.toarray(), matcher._weigh_counts(count_place_visits(released))
    lengths = (vectors**2).sum(axis=1)

    def score(first: int, scores: Any) -> None:
        scores += 2 * (traces[first : first + len(scores)].toarray() @ vectors.T) - lengths

    return choose_greedily(released.n_users, len(matcher.user_ids_), score)


WAYS: dict[str, tuple[type[Matcher], Any]] = {
    "VisitProb": (VisitMatcher, slow_visits),
    "FuzzyCount": (FuzzyMatcher, slow_counts),
}


def child(what: str, defence: str, users: int, slow: bool) -> dict[str, Any]:
    """Do one thing in this process and say what it took."""
    city = simulate(users, 2 * DAYS, clock=pwscup.PWS_CLOCK, seed=1).split_days(DAYS)
    answer: Any = None
    for reference, original in ([half.keep(half.user_index < 50) for half in city], city):
        if what in WAYS:
            obfuscator = catalogue.create(defence, "obfuscator")
            released = pseudonymise(obfuscator.transform(original, seed=1), seed=1).anonymized
            if slow and users > SIZES[1]:
                released = released.take_users(np.arange(min(SLOW_TRACES, released.n_users)))
            matcher = WAYS[what][0]().fit(reference)
        begin, cpu = time.perf_counter(), time.process_time()
        if what in WAYS:
            answer = WAYS[what][1](matcher, released) if slow else matcher.match(released)
        elif what == "sweep":
            run_sweep(reference, original, seed=1)
        else:
            catalogue.create(what, "obfuscator").transform(original, seed=1)
        wall, used = time.perf_counter() - begin, time.process_time() - cpu
    part = released.n_users / users if what in WAYS else 1.0
    found = (
        None
        if answer is None
        else [answer.best[:SLOW_TRACES].tolist(), answer.exclusive[:SLOW_TRACES].tolist()]
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"wall": wall / part, "cpu": used / part, "part": part, "peak": peak, "found": found}


def asked(what: str, defence: str, users: int, slow: bool) -> dict[str, Any]:
    """Run a child."""
    command = [sys.executable, __file__, "--child", what, defence, str(users), str(int(slow))]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return answer


def compare(what: str, defence: str, users: int) -> tuple[float, float]:
    """Print both ways beside each other and return their processor seconds."""
    new, old = (asked(what, defence, users, slow) for slow in (False, True))
    if new["found"] != old["found"]:
        raise SystemExit(f"{what} of {users:,} users under {defence}: the answers differ")
    scaled = "" if old["part"] == 1 else f" (from {old['part']:.0%} of the traces)"
    print(
        f"{what:10} {defence:14} {users:>7,} users: {new['wall']:7.2f} s, {new['cpu']:7.2f} s of CPU, "
        f"{new['peak']:.2f} GiB; all scores {old['wall']:8.2f} s, {old['cpu']:8.2f} s of CPU, "
        f"{old['peak']:.2f} GiB{scaled}; {old['cpu'] / new['cpu']:.1f} times the CPU, same answers",
        flush=True,
    )
    return new["cpu"], old["cpu"]


def alone(what: str, users: int) -> None:
    """Print what one thing takes that has no slow way here."""
    new = asked(what, "No", users, False)
    print(
        f"{what:24} {users:>7,} users: {new['wall']:7.2f} s, {new['cpu']:7.2f} s of CPU, "
        f"{new['peak']:.2f} GiB",
        flush=True,
    )


def draw(curves: dict[str, list[tuple[int, float, float]]], file: str) -> None:
    """Draw processor seconds against users, both ways, and the growth from the second size to the last."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = figure.subplots()
    for colour, (name, points) in zip(COLOURS, curves.items(), strict=False):
        users, new, old = zip(*points, strict=True)
        axes.loglog(users, new, "o-", color=colour, label=f"{name}: last step users^{growth(points):.1f}")
        axes.loglog(users, old, "s:", color=colour, mfc="none", alpha=0.6)
    axes.plot([], [], "s:", color="grey", mfc="none", label="all scores, as before (hollow)")
    axes.set(xlabel="users", ylabel="processor seconds of one match")
    axes.set_title("One match by VisitProb behind four releases")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(file, dpi=120)


def growth(points: list[tuple[int, float, float]]) -> float:
    """Return the exponent by which processor seconds grew between the last two sizes."""
    (users, new, _), (more, newer, _) = points[-2:]
    return float(np.log(newer / new) / np.log(more / users))


def main() -> None:
    """Print every comparison, and draw the curves if asked for."""
    sizes = SIZES[:2] if "--small" in sys.argv else SIZES
    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {thread_count()} threads, Python {platform.python_version()}, load {load:.1f}"
    )
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    curves: dict[str, list[tuple[int, float, float]]] = {}
    for defence in DEFENCES if only in "VisitProb" else ():
        points = [(users, *compare("VisitProb", defence, users)) for users in sizes]
        print(f"VisitProb  {defence:14} grows as users^{growth(points):.2f} in the last step")
        curves[defence] = points
    for users in SIZES[:2] if only in "FuzzyCount" else ():
        compare("FuzzyCount", "PL(4,1)", users)
    for what, several in (("ClusterAveraging(0.7)", sizes), ("sweep", SIZES[:2])):
        for users in several if only in what else ():
            alone(what, users)
    if "--plot" in sys.argv and curves:
        draw(curves, sys.argv[sys.argv.index("--plot") + 1])


if __name__ == "__main__":
    if "--child" in sys.argv:
        print(json.dumps(child(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "1")))
    else:
        main()
