"""Does `protect` keep what it says? Its choice is attacked on people whom it never saw.

For every seed a third of the people is put aside. `protect` chooses and proves a defence on the others; the
defence is then applied to everybody, and the linker looks for those who were put aside. Printed are the share
found by seed, its 95 % interval, what is kept, and the seconds of processor time of each run.

Run `python benchmarks/bench_protect.py [--seeds 20] [--gowalla FILE] [case ...]`; the cases are `city-5`,
`city-10`, `gps-10` and, with a file of check-ins, `gowalla-5` and `gowalla-10`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import tracearena as ta
from tracearena.algorithms import catalogue
from tracearena.audit import AuditInput, Settings, protect_in_stages
from tracearena.audit.data import AuditData
from tracearena.audit.linkability import build_linkage_task, find_by_linker, find_strongest
from tracearena.audit.protection import apply_defence, needs_cells
from tracearena.audit.settings import Proportion

KINDS = ("obfuscator", "gps-obfuscator", "synthesizer")


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["city-5", "city-10", "gps-10"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--gowalla")
    asked = parser.parse_args()
    for case in asked.cases:
        data, _, percent = case.partition("-")
        target = int(percent) / 100
        print(f"{case}: target {target:.0%}", flush=True)
        found = []
        for seed in range(1, asked.seeds + 1):
            found += one_seed(data, target, seed, asked.gowalla)
        shares = np.array([share.value for share in found])
        above = sum(share.low > target for share in found)
        if len(shares):
            print(
                f"  {len(found)} of {asked.seeds} seeds gave a release; found on fresh people: mean "
                f"{shares.mean():.2%}, most {shares.max():.2%}; lower end above the target: {above}",
                flush=True,
            )


def one_seed(data: str, target: float, seed: int, gowalla: str | None) -> Iterator[Proportion]:
    """Give the share of fresh people found, if anything was published."""
    traces = traces_of(data, seed, gowalla)
    began = time.process_time()
    aside = np.zeros(traces.n_users, bool)
    aside[np.random.default_rng(seed).permutation(traces.n_users)[: traces.n_users // 3]] = True
    others = traces.take_users(np.flatnonzero(~aside))
    *_, chosen = protect_in_stages(AuditInput(others), Settings(found_again=target), seed=seed, compare=False)
    seconds = time.process_time() - began
    if chosen.chosen is None or chosen.proof is None or chosen.proof.usefulness is None:
        least = chosen.least
        reached = (
            "nothing" if least is None or least.risk is None else f"{least.risk.value:.1%} {least.defence}"
        )
        print(f"  seed {seed}: nothing published; least risk {reached}; {seconds:.0f} s", flush=True)
        return
    share = fresh_share(traces, np.flatnonzero(aside), chosen.chosen, seed)
    kept = chosen.proof.usefulness
    print(
        f"  seed {seed}: {chosen.chosen}: {share.value:.1%} ({share.low:.1%} to {share.high:.1%}) of "
        f"{share.people} fresh people; kept {kept.kept:.0%}, of the file {kept.kept_of_file:.0%}; "
        f"{seconds:.0f} s",
        flush=True,
    )
    yield share


def traces_of(data: str, seed: int, gowalla: str | None) -> Any:
    """Return the traces of a case; the simulated ones are other people for every seed."""
    if data == "gowalla":
        return ta.read(gowalla).traces
    if data == "gps":
        return ta.cities.simulate_fleet(vehicles=400, days=14, seed=1000 + seed)
    return ta.simulate(users=1000, days=180, mode="checkins", checkins_per_user=65, seed=1000 + seed)


def fresh_share(traces: Any, aside: Any, name: str, seed: int) -> Proportion:
    """Apply the defence to everybody, and look for people whom the choice never saw."""
    material = AuditData.of(traces, Settings())
    defence = catalogue.create(name, KINDS)
    ground = material.with_coarse_places() if material.cell is not None and needs_cells(name) else material
    mine, published = apply_defence(defence, ground, np.random.SeedSequence(seed), all_days=True)
    cut = build_linkage_task(
        mine.take_people(aside),
        replace(published, at=published.at[aside]),
        Settings(),
        np.random.SeedSequence([seed, 1]),
    )
    best = find_strongest(find_by_linker(cut, np.random.SeedSequence([seed, 2]), defence, alone=True).tries)
    assert best is not None
    assert best.linked.first is not None
    return best.linked.first


if __name__ == "__main__":
    main()
