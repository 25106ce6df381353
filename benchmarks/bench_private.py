"""What do `PrivateRoles` and its releases keep and cost, and do the guarantees survive an audit?

    bench_private.py [--parts city,data,canaries,membership,cost] [--shared FOLDER] [--people N,N] [--fits N]
                     [--runs N] [--draws N]

Prints, for simulated cities of 24 instants a day, TP-TV and TM-EMD of 20,000 virtual people against people of
another seed, as mean and standard deviation over the seeds of the noise, next to SGD and Uniform, which
promise nothing; the same for people flow Tokyo, the contest's Osaka sample and Gowalla check-ins, next to
PPMTF too; then canary audits (also of `PrivateTrips`), the membership of training people by the linker, and
seconds. Everybody's days are pooled: figures with one comparison per day are larger. No parameter was chosen
on anything that is measured here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import tracearena as ta
from tracearena.audit import Settings
from tracearena.audit.canaries import audit_canaries
from tracearena.audit.synthetic import assess_synthetic
from tracearena.io import ppmtf
from tracearena.metrics import tm_emd, tp_tv
from tracearena.synthesis import PPMTF, SGD, PrivateRoles, PrivateTrips, Uniform
from tracearena.traces import Clock

CLOCK = Clock(instants_per_day=24)
TRAIN, TEST = 11, 12
DAYS = 20_000
NYC = "40.50,-74.05,40.95,-73.70"
"""A public box of New York: south, west, north, east."""


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="city,data,canaries,membership,cost")
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--people", default="2000,20000,200000")
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--draws", type=int, default=5)
    asked = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "city": lambda: cities([int(one) for one in asked.people.split(",")], asked.fits),
        "data": lambda: published(asked.shared, asked.fits),
        "canaries": lambda: canaries(asked.runs),
        "membership": lambda: membership(asked.draws),
        "cost": cost,
    }
    for part in asked.parts.split(","):
        print(f"\n== {part}", flush=True)
        parts[part]()


def score(truth: Any, made: Any) -> list[float]:
    return [tp_tv(truth, made), tm_emd(truth, made, "x"), tm_emd(truth, made, "y")]


def show(name: str, rows: list[list[float]]) -> None:
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
    texts = [
        f"{label} {value:.3f} ± {one:.3f}"
        for label, value, one in zip(("TP-TV", "TM-EMD-X", "TM-EMD-Y"), mean, spread, strict=True)
    ]
    print(f"  {name}: {', '.join(texts)} ({len(rows)} fits)", flush=True)


def private(train: Any, test: Any, epsilons: tuple[float, ...], fits: int, days: int = DAYS) -> None:
    for epsilon in epsilons:
        rows = []
        for seed in range(fits):
            model = PrivateRoles(epsilon=epsilon).fit(train, seed=seed)
            rows.append(score(test, model.sample_users(days, 1, seed=seed)))
        show(f"PrivateRoles({epsilon:g}), {days:,} virtual people", rows)


def others(train: Any, test: Any, algorithms: list[Any], fits: int) -> None:
    days = max(DAYS // train.n_users, 1)
    for algorithm in algorithms:
        rows = []
        for seed in range(fits):
            made = algorithm.fit(train, seed=seed).synthesize(days, seed=seed)
            # As many days as of virtual people, where there are more training people than that.
            rows.append(score(test, made.take_users(np.arange(min(train.n_users, DAYS)))))
        show(str(algorithm), rows)


def cities(people: list[int], fits: int) -> None:
    for number in people:
        train, test = (ta.simulate(number, 1, clock=CLOCK, seed=seed) for seed in (TRAIN, TEST))
        print(f"city, {number:,} people; training data: TP-TV {tp_tv(test, train):.3f}", flush=True)
        others(train, test, [SGD(), Uniform()], 2)
        private(train, test, (1.0,) if number > 10_000 else (1.0, 4.0), fits)
        if number > DAYS:
            private(train, test, (1.0,), 2, number)


def published(shared: Path, fits: int) -> None:
    tokyo = shared / "ppmtf-tokyo"
    places = ppmtf.read_places(tokyo / "POI_TK.csv")
    pair = [ppmtf.read_traces(tokyo / f"{half}traces_TK.csv", places) for half in ("train", "test")]
    cases = [("Tokyo", *pair)]
    folder = shared / "pwscup2019-osaka"
    osaka = ta.read(folder / "orgtraces_team001_data01_IDP.csv", places=folder / "info_region.csv").traces
    cases.append(("Osaka", *halve(osaka)))
    gowalla = ta.read(shared / "gowalla-nyc.txt.gz", grid="32x32", bounds=NYC).traces
    cases.append(("Gowalla, New York", *halve(gowalla)))
    for name, train, test in cases:
        print(
            f"{name}: {train.n_users:,} people, {train.n_events:,} events, {len(train.places):,} places; "
            f"training data: TP-TV {tp_tv(test, train):.3f}",
            flush=True,
        )
        others(train, test, [SGD(), Uniform()], 2)
        private(train, test, (4.0, 1.0, 2.0, 8.0), fits)
        others(train, test, [PPMTF()], 1)


def halve(traces: Any) -> tuple[Any, Any]:
    order = np.random.default_rng(7).permutation(traces.n_users)
    half = traces.n_users // 2
    return traces.take_users(np.sort(order[:half])), traces.take_users(np.sort(order[half:]))


def canaries(runs: int) -> None:
    for epsilon in (0.5, 1.0, 2.0):
        trips = (PrivateTrips(epsilon=epsilon, unit=unit) for unit in ("user", "trip"))
        for algorithm in (PrivateRoles(epsilon=epsilon), *trips):
            print(algorithm)
            for one in audit_canaries(algorithm, runs=runs):
                verdict = "holds" if one.holds else "BROKEN"
                print(
                    f"  {one.table}: at least {one.lower:.3f}, claimed {one.claim:.3f}, {one.runs:,} runs "
                    f"({one.needed:,} for 99 % power), {verdict}",
                    flush=True,
                )


def membership(draws: int) -> None:
    """Let the linker look for the training people of either half of each city.

    The two halves of a city differ by chance. If one trains and then the other, this favours the attacker as
    often as it hinders her. The interval is that of the mean over cities.
    """
    for algorithm in (*(PrivateRoles(epsilon=epsilon) for epsilon in (1.0, 8.0, 100.0)), SGD()):
        of_cities = []
        for draw in range(draws):
            # One simulation: people of another one have other weather, which is no membership.
            halves = halve(ta.simulate(2000, 5, clock=CLOCK, seed=TRAIN + draw))
            found = [
                measure_auc(algorithm, inside, outside, 2 * draw + at)
                for at, (inside, outside) in enumerate((halves, halves[::-1]))
            ]
            of_cities.append(float(np.mean(found)))
            print(f"  {algorithm}, city {TRAIN + draw}: AUC {found[0]:.3f} and {found[1]:.3f}", flush=True)
        mean, spread = np.mean(of_cities), np.std(of_cities, ddof=1)
        half = stats.t.ppf(0.975, draws - 1) * spread / draws**0.5
        print(
            f"  {algorithm}: mean AUC {mean:.3f} ± {spread:.3f} over {draws} cities, "
            f"95 % interval {mean - half:.3f} to {mean + half:.3f}",
            flush=True,
        )


def measure_auc(algorithm: Any, inside: Any, outside: Any, seed: int) -> float:
    made = algorithm.fit(inside, seed=seed).synthesize(5, seed=seed)
    found = assess_synthetic(inside, made, outside, Settings(), np.random.SeedSequence(seed))
    assert found.auc is not None
    return found.auc


def cost() -> None:
    people = ta.simulate(200_000, 1, clock=CLOCK, seed=TRAIN)
    PrivateRoles(epsilon=1).fit(people.take_users([0, 1]))  # compiles
    PrivateRoles(epsilon=1).fit(people.take_users([0, 1]), seed=1).sample_users(2, 1, seed=1)
    for _ in range(3):
        model = timed("fit of 200,000 people", lambda: PrivateRoles(epsilon=1).fit(people))
        timed("20,000 virtual people", lambda model=model: model.sample_users(DAYS, 1, seed=1))


def timed(what: str, work: Callable[[], Any]) -> Any:
    began, busy = time.perf_counter(), time.process_time()
    made = work()
    seconds, cpu = time.perf_counter() - began, time.process_time() - busy
    print(f"  {what}: {seconds:.2f} s, {cpu:.2f} s of CPU", flush=True)
    return made


if __name__ == "__main__":
    main()
