"""Private synthesis of trips next to a baseline, on a simulated city and on GeoLife.

    python benchmarks/bench_private_trips.py [--seeds N] [--only city|geolife|cost] [--units trip user]

The baseline is a simple pure-ε synthesizer: start × end on 6 × 6 cells, starts and ends on 48 × 48, moves of
each minute on 12 × 12 with stays, minutes by distance, density on 48 × 48; a route is a Markov chain of
minutes, conditioned on its end. Both get the same trips and the same weights: if the unit is a person, each
of her n trips counts 1 / n. Noise comes from seeds, so that runs can be repeated.
"""

from __future__ import annotations

import argparse
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import tracearena as ta
from tracearena.cities import simulate_gps
from tracearena.cities.city import GRID
from tracearena.metrics.trips import TripSummary, compare_trips, summarise_trips
from tracearena.mobility.trips import Trips, cut_trips
from tracearena.synthesis import PrivateTrips
from tracearena.synthesis.private.denoising import denoise, order_places, project_simplex
from tracearena.synthesis.private.tables import SeededNoise, release
from tracearena.synthesis.private.trips import count_tables, draw_from_model, estimate_model
from tracearena.traces import Box

BEIJING = Box(39.76, 116.20, 40.03, 116.55)
MEASURES = (
    "query_error",
    "density",
    "density_coarse",
    "trip",
    "diameter",
    "length",
    "transition",
    "kendall_tau",
    "pattern_f1",
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", choices=("city", "geolife", "cost"))
    parser.add_argument("--units", nargs="+", choices=("trip", "user"), default=["trip", "user"])
    given = parser.parse_args()
    if given.only in (None, "city"):
        # Parameters were chosen on seed 301.
        measure("city", simulate_gps(1200, 14, interval_s=60, seed=401), GRID.box, given.seeds, given.units)
    if given.only in (None, "geolife"):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(given.shared / "geolife-sample.tar.gz") as packed:
                packed.extractall(folder, filter="data")
            traces = ta.read(Path(folder) / "geolife-sample", format="geolife").traces
        measure("GeoLife sample", traces, BEIJING, given.seeds, given.units)
    if given.only in (None, "cost"):
        cost()


def measure(name: str, traces: Any, box: Box, seeds: int, units: list[str]) -> None:
    trips = cut_trips(traces, box)
    people = np.unique(trips.user)
    print(f"{name}: {len(trips):,} trips of {len(people):,} people; {', '.join(MEASURES)}", flush=True)
    half = np.isin(trips.user, np.random.default_rng(7).permutation(people)[: len(people) // 2])
    others = summarise_trips(take(trips, ~half), box)
    show("half of the people against the others", [compare(others, take(trips, half), box)])
    reference = summarise_trips(trips, box)
    for unit in units:
        weight = 1 / np.bincount(trips.user)[trips.user] if unit == "user" else np.ones(len(trips))
        counted = count(trips, weight)
        for epsilon in (1.0, 0.5):
            rows = []
            made = PrivateTrips(epsilon=epsilon, unit=unit, bounds=str(box))
            budget = made.plan()
            exact = count_tables(trips, budget.costs[0].table.unit)  # once for all draws of the noise
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                model = estimate_model(release(budget, exact, SeededNoise(rng)), budget)
                rows.append(compare(reference, draw_from_model(model, len(trips), rng), box))
            show(f"{made.name}({epsilon:g},{unit})", rows)
            drawn = (
                synthesize(counted, epsilon, len(trips), np.random.default_rng(seed)) for seed in range(seeds)
            )
            show(f"baseline, {unit}, {epsilon:g}", [compare(reference, one, box) for one in drawn])


def take(trips: Trips, kept: Any) -> Trips:
    rows = kept[trips.of_point]
    sizes = np.diff(trips.offsets)[kept]
    return Trips(np.concatenate([[0], np.cumsum(sizes)]), trips.x[rows], trips.y[rows], trips.user[kept])


def compare(reference: TripSummary, trips: Trips, box: Box) -> list[float]:
    found = compare_trips(reference, summarise_trips(trips, box)).to_dict()
    return [found[name] for name in MEASURES]


def show(name: str, rows: list[list[float]]) -> None:
    means, spreads = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=min(len(rows) - 1, 1))
    print(
        f"  {name:36}",
        "  ".join(f"{m:.3f} ± {s:.3f}" for m, s in zip(means, spreads, strict=True)),
        flush=True,
    )


def cost() -> None:
    traces = simulate_gps(1200, 14, interval_s=60, seed=401)
    model = PrivateTrips(epsilon=1, bounds=str(GRID.box))
    model.fit(traces.take_users([0])).sample_users(2, seed=1)  # compiles
    for what, work in (
        ("fit", lambda: model.fit(traces)),
        ("25,000 trips", lambda: model.sample_users(25_000)),
    ):
        began, busy = time.perf_counter(), time.process_time()
        work()
        print(
            f"  {what}: {time.perf_counter() - began:.2f} s, {time.process_time() - busy:.2f} s of CPU",
            flush=True,
        )


# The baseline.

SHARES = {"ends": 0.30, "terminals": 0.22, "moves": 0.22, "steps": 0.10, "density": 0.16}
ENDS, MOVES, FINE, BINS, LENGTHS = 6, 12, 48, 8, 24


def count(trips: Trips, weight: Any) -> dict[str, Any]:
    first, last = trips.offsets[:-1], trips.offsets[1:] - 1
    ends, fine = trips.cells(ENDS), trips.cells(FINE)
    n, of = np.diff(trips.offsets), trips.of_point
    t = {"ends": np.zeros((36, 36)), "terminals": np.zeros((2, FINE**2))}
    np.add.at(t["ends"], (ends[first], ends[last]), weight)
    for side, at in enumerate((first, last)):
        np.add.at(t["terminals"][side], fine[at], weight / 2)
    cells = trips.cells(MOVES)
    inside = np.flatnonzero(np.diff(of) == 0)
    rows, columns = cells // MOVES, cells % MOVES
    north, east = (np.sign(np.diff(one))[inside] for one in (rows, columns))
    t["moves"] = np.zeros((MOVES**2, 9))
    np.add.at(t["moves"], (cells[inside], (north + 1) * 3 + east + 1), (weight / (n - 1))[of[inside]])
    t["steps"] = np.zeros((BINS, LENGTHS))
    np.add.at(
        t["steps"], (bin_distance(cells[first], cells[last]), np.minimum((n - 1) // 5, LENGTHS - 1)), weight
    )
    t["density"] = np.bincount(fine, (weight / n)[of], FINE**2)
    return t


def bin_distance(a: Any, b: Any) -> Any:
    far = np.maximum(abs(a // MOVES - b // MOVES), abs(a % MOVES - b % MOVES))
    return np.minimum(far, BINS - 1)


def synthesize(t: dict[str, Any], epsilon: float, n: int, rng: np.random.Generator) -> Trips:
    noisy = {k: v + rng.laplace(0, 1 / (SHARES[k] * epsilon), v.shape) for k, v in t.items()}
    sigma = {k: 2**0.5 / (SHARES[k] * epsilon) for k in t}
    r, c = np.divmod(np.arange(FINE**2), FINE)
    orders = order_places(np.column_stack([c, r]).astype(float))
    starts, stops, density = (
        project_simplex(denoise(v[None], s, orders)[0], max(v.sum(), 1.0)) + 1e-9
        for v, s in (
            (noisy["terminals"][0], sigma["terminals"]),
            (noisy["terminals"][1], sigma["terminals"]),
            (noisy["density"], sigma["density"]),
        )
    )
    pairs = project_simplex(noisy["ends"].ravel(), max(noisy["ends"].sum(), 1.0))
    pair = rng.choice(36 * 36, n, p=pairs / pairs.sum())
    coarse = r // 8 * ENDS + c // 8
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    for out, cell, weights in ((first, pair // 36, starts), (last, pair % 36, stops)):
        for one in range(36):
            at = np.flatnonzero(coarse == one)
            who = np.flatnonzero(cell == one)
            out[who] = rng.choice(at, len(who), p=weights[at] / weights[at].sum())
    r12, c12 = np.divmod(np.arange(MOVES**2), MOVES)
    om = order_places(np.column_stack([c12, r12]).astype(float))
    moves = np.maximum(denoise(noisy["moves"].T.copy(), sigma["moves"], om).T, 0) + 1e-3
    for d in range(9):
        a, b = r12 + d // 3 - 1, c12 + d % 3 - 1
        moves[(a < 0) | (a >= MOVES) | (b < 0) | (b >= MOVES), d] = 0
    moves /= moves.sum(1, keepdims=True)
    to12 = (r // 4) * MOVES + c // 4
    steps = (
        project_simplex(noisy["steps"].ravel(), max(noisy["steps"].sum(), 1.0)).reshape(BINS, LENGTHS) + 1e-3
    )
    cum = np.cumsum(steps, 1)
    row = bin_distance(to12[first], to12[last])
    k = (cum[row] <= (rng.random(n) * cum[row, -1])[:, None]).sum(1)
    points = np.clip(k * 5 + 1 + (rng.random(n) * 5).astype(int), 10, 120)
    offsets = np.concatenate([[0], np.cumsum(points)]).astype(np.int64)
    order = np.argsort(to12[last], kind="stable")
    cells = np.empty(offsets[-1], np.int64)
    walk(rng, order, to12[first], to12[last], offsets, moves, cells)
    x, y = place(rng, offsets, cells, first, last, density)
    return Trips(offsets, x, y, np.arange(n))


@njit
def walk(rng: Any, order: Any, first: Any, last: Any, offsets: Any, moves: Any, out: Any) -> None:
    reached = np.zeros((121, 144))
    end = -1
    w = np.empty(9)
    for j in order:
        if last[j] != end:
            end = last[j]
            reached[:] = 0
            reached[0, end] = 1
            for k in range(1, 121):
                for c in range(144):
                    for d in range(9):
                        if moves[c, d] > 0:
                            reached[k, c] += moves[c, d] * reached[k - 1, c + (d // 3 - 1) * 12 + d % 3 - 1]
        at = first[j]
        n = offsets[j + 1] - offsets[j]
        while reached[n - 1, at] <= 0:
            n += 1
        out[offsets[j]] = at
        for i in range(1, offsets[j + 1] - offsets[j]):
            total = 0.0
            for d in range(9):
                w[d] = 0.0
                if moves[at, d] > 0:
                    w[d] = moves[at, d] * reached[n - 1 - i, at + (d // 3 - 1) * 12 + d % 3 - 1]
                total += w[d]
            u = rng.random() * total
            for d in range(9):
                u -= w[d]
                if u < 0:
                    break
            at += (d // 3 - 1) * 12 + d % 3 - 1
            out[offsets[j] + i] = at


@njit
def place(rng: Any, offsets: Any, cells: Any, first: Any, last: Any, density: Any) -> Any:
    """A position is kept while the cell stays the same."""
    x, y = np.empty(len(cells)), np.empty(len(cells))
    for j in range(len(first)):
        a, b = offsets[j], offsets[j + 1]
        f = first[j]
        for i in range(a, b):
            if i > a and cells[i] == cells[i - 1] and i < b - 1:
                x[i], y[i] = x[i - 1], y[i - 1]
                continue
            if i == b - 1:
                f = last[j]
            elif i > a:
                corner = (cells[i] // 12) * 4 * 48 + (cells[i] % 12) * 4
                total = 0.0
                for q in range(16):
                    total += density[corner + (q // 4) * 48 + q % 4]
                u = rng.random() * total
                for q in range(16):
                    u -= density[corner + (q // 4) * 48 + q % 4]
                    if u < 0:
                        break
                f = corner + (q // 4) * 48 + q % 4
            x[i], y[i] = (f % 48 + rng.random()) / 48, (f // 48 + rng.random()) / 48
    return x, y


if __name__ == "__main__":
    main()
