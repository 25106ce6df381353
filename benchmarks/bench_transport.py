"""Claim: on contest traces cluster averaging's own transport solver beats POT's `ot.emd` several times.

The problems are those that `ClusterAveraging` solves, one a user: her surplus visits against the places
that lack them, for people of the made city over 20 and 60 days and for people who wander about without
a home. Prints the processor time of both and their ratio in the same run (best of five, taken in turn,
the kernel compiled before), how far apart their costs are, and how many flows are the very same. The
number of users may be given as first argument, and contest traces as second.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import ot
from numpy.typing import NDArray

from tracearena.cities import simulate
from tracearena.engine import use
from tracearena.io import read
from tracearena.obfuscation import ClusterAveraging, _kernels
from tracearena.traces import Clock, Grid, Places, Traces

ROUNDS = 5
Problem = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
Solver = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]], NDArray[Any]]


def walks(users: int, days: int = 20, side: int = 32) -> Traces:
    """People who step about a grid near home, 20 instants a day, as in the contest of 2019."""
    rng = np.random.default_rng(1)
    grid = Grid(rows=side, columns=side, south=34.65, west=135.45, north=34.75, east=135.55)
    instants = days * 20
    row, column = (
        np.clip(
            rng.integers(0, side, (users, 1)) + rng.integers(-1, 2, (users, instants)).cumsum(1), 0, side - 1
        )
        for _ in range(2)
    )
    return Traces.from_dense(row * side + column, Places.of_grid(grid), Clock(instants_per_day=20))


def problems_of(traces: Traces) -> list[Problem]:
    """Collect what the defence gives the solver."""
    found: list[Problem] = []
    ours = _kernels.carry_surplus

    def noted(*given: Any) -> Any:
        source_offsets, _, surplus, sink_offsets, _, lacking, cost = given
        pair = 0
        for k in range(len(source_offsets) - 1):
            supply = surplus[source_offsets[k] : source_offsets[k + 1]]
            demand = lacking[sink_offsets[k] : sink_offsets[k + 1]]
            size = len(supply) * len(demand)
            if size:
                found.append((supply, demand, cost[pair : pair + size].reshape(len(supply), len(demand))))
            pair += size
        return ours(*given)

    _kernels.carry_surplus = noted
    try:
        with use(threads=1):
            ClusterAveraging(threshold=0.7).transform(traces, seed=1)
    finally:
        _kernels.carry_surplus = ours
    return found


def by_pot(supply: NDArray[np.int64], demand: NDArray[np.int64], cost: NDArray[np.float64]) -> NDArray[Any]:
    """Solve a problem by POT, and make its flow whole again."""
    flow = ot.emd(supply.astype(float), demand.astype(float), cost, numItermax=10_000_000)
    return np.rint(flow).astype(np.int64)


def seconds(solve: Solver, problems: list[Problem]) -> float:
    """Solve all problems once."""
    start = time.process_time()
    for problem in problems:
        solve(*problem)
    return time.process_time() - start


def compare(name: str, traces: Traces) -> None:
    """Print both times, and whether both answers are flows of the same cost."""
    problems = problems_of(traces)
    apart, same = 0.0, 0
    for supply, demand, cost in problems:
        flows = [solve(supply, demand, cost) for solve in (_kernels.solve_transport, by_pot)]
        for flow in flows:
            if not (np.array_equal(flow.sum(axis=1), supply) and np.array_equal(flow.sum(axis=0), demand)):
                raise SystemExit(f"{name}: a flow does not carry everything")
        mine, theirs = (float((flow * cost).sum()) for flow in flows)
        apart = max(apart, abs(mine - theirs) / max(mine, 1e-12))
        same += np.array_equal(*flows)
    ours, pot = np.inf, np.inf
    for _ in range(ROUNDS):
        ours = min(ours, seconds(_kernels.solve_transport, problems))
        pot = min(pot, seconds(by_pot, problems))
    rows, columns = np.median([cost.shape for _, _, cost in problems], axis=0).astype(int)
    print(
        f"{name}: {len(problems):,} problems, median {rows} × {columns}: ours {1e3 * ours:.1f} ms, "
        f"ot.emd {1e3 * pot:.1f} ms, ratio {pot / ours:.2f}; costs apart by {apart:.1e} at most, "
        f"{same / len(problems):.0%} of the flows the same"
    )


def main(users: int, file: str | None) -> None:
    """Compare on people who live in a city, on people who wander, and on a file."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, POT {ot.__version__}")
    for days in (20, 60):
        compare(f"city, {days} days", simulate(users=users, days=days, seed=1))
    compare("wanderers", walks(users))
    if file is not None:
        compare(file, read(file)[0])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300, sys.argv[2] if len(sys.argv) > 2 else None)
