"""How strong the attacks are: means and spread over teams, each defence met by all attacks.

    python benchmarks/strength.py FOLDER[:TEAM] … --defences No 'PL(4,1)' [--unknown] [--seeds 1] [--users 9]

A folder holds the official files of a team (reference and original traces, ``info_region.csv``). Every
attack is told the defence; with --unknown it has to find out. --users takes the first so many of a team.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.arena import Ensemble, pseudonymise
from tracearena.formats import pwscup
from tracearena.metrics import utility_score
from tracearena.traces import Traces

ATTACKS = ("Polya-R", "Markov-R", "Bayes-R", "Bayes-T", "Tracking-T")


def team(where: str, users: int | None = None) -> tuple[Traces, Traces]:
    """Read the reference and the original traces of a team, or of its first users."""
    folder, _, number = where.partition(":")
    places = pwscup.read_places(next(Path(folder).rglob("info_region.csv")))
    names = [f"{kind}traces_team{number or '001'}_data01_IDP.csv" for kind in ("ref", "org")]
    reference, original = (pwscup.read_traces(next(Path(folder).rglob(name)), places) for name in names)
    first = np.arange(reference.n_users)[:users]
    return reference.take_users(first), original.take_users(first)


def main() -> None:
    """Measure, and print one line for each team and seed, then means and standard deviations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("teams", nargs="+")
    parser.add_argument("--defences", nargs="+", default=["No"])
    parser.add_argument("--attacks", nargs="+", default=list(ATTACKS))
    parser.add_argument("--plain", nargs="*", default=["Habits-T"], help="attacks that are told nothing")
    parser.add_argument("--unknown", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--users", type=int)
    options = parser.parse_args()
    people = {where: team(where, options.users) for where in options.teams}
    for defence in options.defences:
        found: dict[str, list[float]] = {}
        for where, (reference, original) in people.items():
            for seed in range(1, options.seeds + 1):
                told = "" if options.unknown else f"({defence})"
                names = [*(f"{name}{told}" for name in options.attacks), *options.plain]
                ensemble = Ensemble([catalogue.create(name) for name in names])
                obfuscated = catalogue.create(defence, "obfuscator").transform(original, seed=seed)
                release = pseudonymise(obfuscated, seed=100 + seed)
                started, busy = time.perf_counter(), time.process_time()
                scores = ensemble.fit(reference).score(original, release, seed=200 + seed)
                row = {"s_U": utility_score(original, obfuscated).utility, **scores.reidentification}
                row |= scores.trace_inference
                row["s"], row["cpu s"] = time.perf_counter() - started, time.process_time() - busy
                shown = {name.removesuffix(told): value for name, value in row.items()}
                print(
                    defence, where, seed, *(f"{key} {value:.4f}" for key, value in shown.items()), flush=True
                )
                for name, reason in scores.failed.items():
                    print("  failed:", name, reason)
                for key, value in shown.items():
                    found.setdefault(key, []).append(value)
        means = (f"{key} {np.mean(values):.4f} ± {np.std(values):.4f}" for key, values in found.items())
        print(
            f"== {defence}{' unknown' if options.unknown else ''}, n = {len(people) * options.seeds}:", *means
        )


if __name__ == "__main__":
    main()
