"""Claim: what `protect` chooses holds on other people, and is near the best choice by hand on them.

    bench_protect.py [city | FILE] [people tried] [target]

Lets `protect` choose for a file (or for 2,000 people of the city with 40 days each), and then tries every
defence of the ladder that keeps at least as much on the people of the proof, as somebody could who chose
by hand, with hindsight. Prints both.
"""

from __future__ import annotations

import sys
import time

from tracearena.audit.ladder import ladder
from tracearena.audit.material import Material
from tracearena.audit.protection import PROVE, divided, part_of, searching
from tracearena.audit.settings import Settings
from tracearena.audit.trials import Trial, try_defence
from tracearena.cities import simulate
from tracearena.engine import child_seed, seed_sequence
from tracearena.formats import read
from tracearena.traces import Clock, GpsTraces, Traces

SEED = 1


def main(words: list[str]) -> None:
    """Choose, and compare."""
    name, people, target = (*words, *("city", "300", "0.05")[len(words) :])
    traces = city() if name == "city" else read(name).traces
    settings, risk = Settings(people=int(people)), float(target)
    spent, said = time.process_time(), 0
    for found in searching(traces, target=risk, settings=settings, seed=SEED):
        tried = [*((one, "choosing") for one in found.trials), *((one, "proof") for one in found.proofs)]
        for one, what in tried[said:]:
            say(one, what, risk)
        said = len(tried)
    print(f"chosen: {found.chosen} ({time.process_time() - spent:.0f} s CPU)", flush=True)
    if found.virtual is not None:
        virtual = found.virtual
        print(f"people who never lived: {virtual.kept:.1%} kept, {virtual.betrayed.to_dict()}", flush=True)
    least = 0.0 if found.proof is None else found.proof.kept or 0.0
    likely = [one.defence for one in found.trials if (one.kept or 0.0) >= least - 0.02]
    best = by_hand(traces, likely, settings, risk)
    print(f"by hand, with hindsight: {'nothing' if best is None else best.defence}")


def by_hand(traces: Traces | GpsTraces, names: list[str], settings: Settings, target: float) -> Trial | None:
    """Return the defence that keeps the most of those that hold on the people of the proof."""
    root = seed_sequence(SEED)
    material = Material.of(traces, settings)
    _, proving = divided(material, root)
    part = part_of(material, proving)
    held = []
    for name in ladder(material.kind, len(material.coarse.places)):
        if name in names:
            one = try_defence(name, part, settings, child_seed(root, PROVE), target=target)
            say(one, "by hand", target)
            held += [one] if one.holds(target) else []
    return max(held, key=lambda one: one.kept or 0.0, default=None)


def say(one: Trial, what: str, target: float) -> None:
    """Print one defence."""
    if one.risk is None:
        print(f"  {what}: {one.defence}: {one.error}", flush=True)
        return
    share = one.risk
    print(
        f"  {what}: {one.defence}: {share.value:.1%} ({share.low:.1%} to {share.high:.1%}) found by "
        f"{one.attack}, {one.kept or 0:.1%} kept{', holds' if one.holds(target) else ''}",
        flush=True,
    )


def city() -> Traces:
    """People of the city, from 8 to 18 o'clock every half hour."""
    clock = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)
    return simulate(users=2000, days=40, clock=clock, seed=1)


if __name__ == "__main__":
    main(sys.argv[1:])
