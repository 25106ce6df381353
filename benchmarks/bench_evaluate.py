"""Claim: evaluating one synthetic file takes 150 times less than the PPMTF authors' program.

Their Python takes 291 s for the synthetic traces of 500 users x 10 traces x 30 instants over 400 places
(one thread, a quiet machine of two cores). Here the files are written, read and evaluated: all metrics,
both attacks and both baselines. Then the number of users grows at the same number of places.

    python benchmarks/bench_evaluate.py [largest number of users]
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tracearena.arena import Evaluation, baselines, evaluate
from tracearena.io import ppmtf
from tracearena.traces import Grid, Places, Traces

AUTHORS_S = 291.0
TRACES_A_USER = 10
CLOCK = ppmtf.people_flow_clock()
PLACES = Places.of_grid(
    Grid(rows=20, columns=20, south=35.65, west=139.68, north=35.75, east=139.8), first_id=0
)


def main(largest: int) -> None:
    """Time the authors' size, then growth."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, numpy {np.__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, users=500)
        first = timed(folder)
        warm = min(timed(folder) for _ in range(5))
        print(f"500 users: {warm:.3f} s warm; compilation or its cache {first - warm:.2f} s more, once")
        print(f"authors' program {AUTHORS_S:.0f} s: {AUTHORS_S / warm:.0f} times")
        users = 1000
        while users <= largest:
            write_files(folder, users)
            seconds = timed(folder)
            print(f"{users:>6,} users: {seconds:7.3f} s, {1e3 * seconds / users:.3f} ms a user", flush=True)
            users *= 2


def timed(folder: Path) -> float:
    """Return the seconds to read the files and evaluate them."""
    begin = time.perf_counter()
    read_and_evaluate(folder)
    return time.perf_counter() - begin


def read_and_evaluate(folder: Path) -> Evaluation:
    """Do what the command does."""
    places = ppmtf.read_places(folder / "POI_TK.csv")
    training, testing = (ppmtf.read_traces(folder / f"{name}.csv", places) for name in ("train", "test"))
    synthetic = ppmtf.read_synthetic(folder / "synthetic.csv", places, training.clock).traces
    baselines(training, testing)
    return evaluate(synthetic, training, testing)


def write_files(folder: Path, users: int) -> None:
    """Write random walks around homes that lie where many live."""
    ppmtf.write_places(PLACES, folder / "POI_TK.csv")
    rng = np.random.default_rng(users)
    homes = rng.integers(0, 20, size=(2, 2 * users)) // rng.integers(1, 4, size=(2, 2 * users))
    training, testing = homes[:, :users], homes[:, users:]
    ppmtf.write_traces(walks(rng, training, 1, 0), folder / "train.csv")
    ppmtf.write_traces(walks(rng, testing, 1, users), folder / "test.csv")
    ppmtf.write_synthetic(walks(rng, training, TRACES_A_USER, 0), folder / "synthetic.csv")


def walks(rng: np.random.Generator, homes: np.ndarray, days: int, first_id: int) -> Traces:
    """Return days of wandering about: half of the time at home, else up to five cells away."""
    shape = (2, homes.shape[1], days * CLOCK.instants_per_day)
    away = rng.integers(-5, 6, size=shape) * (rng.random(shape[1:]) < 0.5)
    row, column = np.clip(homes[:, :, None] + away, 0, 19)
    return Traces.from_dense(row * 20 + column, PLACES, CLOCK, user_ids=first_id + np.arange(shape[1]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
