"""Claim: semantic clustering of 1,000 users × 400 places takes seconds, 20,000 × 1,000 under 5 minutes.

Published for the authors' program: 47 hours for 1,000 users × 400 places, quadratic in users and
cubic in places. Clusters each size warm (kernels compiled), prints seconds and how they grow, the
ratio to the assignment problem that the paper solves for each pair of users (a few pairs, the rest
extrapolated), and how many fakes of 30 instants are made in a second.

    python benchmarks/bench_sglt.py [scale]

`scale` multiplies the numbers of users; 1 is the claim.
"""

from __future__ import annotations

import platform
import sys
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

from tracearena import cities
from tracearena.engine import thread_count
from tracearena.io.ppmtf import people_flow_clock
from tracearena.mobility import MobilityProfiles
from tracearena.synthesis import SGLT
from tracearena.synthesis.sglt import find_classes, semantic_graph
from tracearena.traces import Places, Traces

SIZES = ((500, 400, 100), (1_000, 400, 100), (2_000, 400, 100), (1_000, 1_000, 100), (20_000, 1_000, 100))
PUBLISHED_S = {(1_000, 400): 47 * 3600}
NAIVE_PAIRS = 20


def people(users: int, places: int) -> Traces:
    """People of the city, ten hours every 20 minutes, spread over so many places."""
    city = cities.simulate(min(users, 2_000), 1, clock=people_flow_clock(), seed=1)
    some = city.take_users(np.arange(users) % city.n_users).with_user_ids(np.arange(users))
    spread = (some.place_index.astype(np.int64) + 37 * some.user_index) % places
    ground = Places(
        np.random.default_rng(1).random(places) / 10, np.random.default_rng(2).random(places) / 10
    )
    return Traces.from_events(some.user_index, some.instants, spread, ground, some.clock)


def clustering_s(traces: Traces, classes: int) -> tuple[float, float, float]:
    """Seconds on the wall for the graph and for k-means, and seconds of processor time for both."""
    processor, begin = time.process_time(), time.perf_counter()
    graph = semantic_graph(MobilityProfiles.of(traces), seed=1)
    middle = time.perf_counter()
    find_classes(graph, classes, seed=1)
    return middle - begin, time.perf_counter() - middle, time.process_time() - processor


def hungarian_s(traces: Traces) -> float:
    """Seconds of processor time for one pair of users by the assignment problem."""
    visits = MobilityProfiles.of(traces).visit_table()[:, 0]
    begin = time.process_time()
    for pair in range(NAIVE_PAIRS):
        linear_sum_assignment(-np.minimum(visits[pair][:, None], visits[pair + 1][None, :]))
    return (time.process_time() - begin) / NAIVE_PAIRS


def main() -> None:
    """Print the table."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{platform.machine()}, {thread_count()} threads, Python {platform.python_version()}")
    clustering_s(people(50, 50), 10)
    print(f"{'users':>7} {'places':>7} {'graph s':>9} {'k-means s':>9} {'cpu s':>8}  growth of cpu, ratios")
    last: tuple[int, int, float] | None = None
    for users, places, classes in SIZES:
        users = max(int(users * scale), NAIVE_PAIRS + 1)
        traces = people(users, places)
        graph, means, processor = clustering_s(traces, classes)
        words = []
        if last is not None and last[1] == places and last[0] < users:
            words.append(f"× {processor / last[2]:.1f} for × {users / last[0]:.0f} users")
        if (users, places) in PUBLISHED_S:
            words.append(f"{PUBLISHED_S[users, places] / (graph + means):,.0f} times quicker than published")
        pairs = users * (users - 1) / 2
        words.append(f"{hungarian_s(traces) * pairs / processor:,.0f} times quicker than assignment by pairs")
        print(f"{users:7,} {places:7,} {graph:9.2f} {means:9.2f} {processor:8.2f}  {'; '.join(words)}")
        last = users, places, processor
    fakes(scale)


def fakes(scale: float) -> None:
    """Print fakes a second at 30 instants and 400 places."""
    traces = people(max(int(1_000 * scale), 50), 400)
    for classes in (20, 100):
        model = SGLT(classes=classes, privacy_tests=False).fit(traces, seed=1)
        model.synthesize(1, seed=1)
        processor, begin = time.process_time(), time.perf_counter()
        made = model.synthesize(5, seed=1)
        count = made.n_users * 5
        wall, used = time.perf_counter() - begin, time.process_time() - processor
        print(
            f"{count:,} fakes of 30 instants, {classes} classes of 400 places: {count / wall:,.0f} a second, "
            f"{count / used:,.0f} a second of processor time"
        )


if __name__ == "__main__":
    main()
