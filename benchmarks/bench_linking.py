"""How many people does the linker find, next to every other re-identification attack, and by what?

    bench_linking.py [--gowalla FILE] [--fewest N] [--points]

Prints, for each defence, the share of people found by the linker with all evidence, by times and by places
alone, and by the strongest attacks of the catalogue on the same release, with the 95 % interval of the
linker; then what each group of evidence finds alone, and of the matches with a posterior of at least 0.5 how
many are right. People have at least five events (`--fewest`) on both sides of the median date; places of
check-ins are cells of 500 m where there are more than 4,096. The attackers know the defence. With `--points`
the GPS receivers of the city and a fleet follow, as an audit links them: the linker sees points, all others
the half hours and cells of the audit.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import tracearena as ta
from tracearena.algorithms import catalogue
from tracearena.arena import Ensemble, make_attacks
from tracearena.attacks.linking import Linker, Observations
from tracearena.attacks.linking.evidence import PLACE_GROUPS, TIME_GROUPS
from tracearena.audit import Settings, linkability
from tracearena.audit.data import AuditData, GridCells, build_coarse_places
from tracearena.audit.protection import apply_defence
from tracearena.audit.settings import clopper_pearson

MOST_PLACES = 4096
CHECK_INS = (
    *("No", "PL(1,1)", "PL(0.5,1)", "RR(1)", "Decoy(0.3)", "ClusterAveraging(0.3,blur_km=0.5)"),
    *("RR(1)+SwapTimes(1km,month)", "Decoy(0.3)+SwapTimes(1km,month)"),
    "ClusterAveraging(0.3,blur_km=0.5)+SwapTimes(1km,month)",
)
POINTS = ("Snap(10km)", "GeoInd(500m,10min)", "Thin(2h)", "Snap(10km)+PerDay(12)+SwapTimes(10km,day)")
OTHERS = ("VisitProb-R", "HomeProb-R", "FuzzyCount-R", "Polya-R(adaptive)", "Markov-R", "Bayes-R(adaptive)")


def main() -> None:
    """Print the tables that are asked for; the city's always."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gowalla")
    parser.add_argument("--fewest", type=int, default=5)
    parser.add_argument("--points", action="store_true")
    asked = parser.parse_args()
    city = ta.simulate(users=1000, days=180, mode="checkins", checkins_per_user=65, seed=21)
    cases = [("city", city)]
    if asked.gowalla:
        cases.append(("Gowalla", ta.read(asked.gowalla).traces))
    for name, traces in cases:
        known, later, order = halves(traces, asked.fewest)
        print(f"{name}: {len(order)} people", flush=True)
        for defence in CHECK_INS:
            one_defence(defence, known, later, order)
    if asked.points:
        of_points("city, GPS", ta.cities.simulate_gps(users=300, days=14, interval_s=60.0, seed=21))
        of_points("fleet", ta.cities.simulate_fleet(vehicles=500, days=14, seed=21))


def halves(traces: Any, fewest: int) -> tuple[Any, Any, Any]:
    """Cut at the median date, and shuffle who is on both sides."""
    day = Observations.of(traces).day
    early = day < int(np.median(day))
    known, later = traces.keep(early), traces.keep(~early)
    both = np.flatnonzero((np.diff(known.offsets) >= fewest) & (np.diff(later.offsets) >= fewest))
    numbers = np.arange(len(both)) + 1
    order = np.random.default_rng(7).permutation(len(both))
    parts = [part.take_users(both).with_user_ids(numbers) for part in (known, later)]
    if len(traces.places) > MOST_PLACES:
        at = traces.places.latitude[traces.place_index], traces.places.longitude[traces.place_index]
        places, cell = build_coarse_places(traces.places, GridCells.of(*at, 500.0, MOST_PLACES))
        parts = [part.onto(places, cell) for part in parts]
    return parts[0], parts[1], order


def one_defence(name: str, known: Any, later: Any, order: Any) -> None:
    """Release the later days, and attack them."""
    defence = catalogue.create(name, ("obfuscator",))
    released = (
        defence.transform(later, seed=5).take_users(order).with_user_ids(np.arange(len(order)) + 100_001)
    )
    began = time.process_time()
    match: Any = (
        Linker(mechanism="adaptive").fit(known).with_mechanism(defence).matcher_.match(released, seed=3)
    )
    right = match.best == order
    low, high = clopper_pearson(float(right.sum()), len(order))
    parts = {by: (match.by_groups(groups) == order).mean() for by, groups in _PARTS.items()}
    seconds = time.process_time() - began
    sure = match.posterior >= 0.5
    others = {}
    team = Ensemble(make_attacks(list(OTHERS))).fit(known)
    for attack, ranked in team.rankings(released, defence=defence, seed=1):
        others[str(attack)] = (
            "-" if isinstance(ranked, Exception) else f"{(ranked[:, 0] == order).mean():.1%}"
        )
    print(f"  {name}: {right.mean():.1%} ({low:.1%} to {high:.1%}), {seconds:.0f} s of CPU", flush=True)
    print(f"    {', '.join(f'{by} alone {share:.1%}' for by, share in parts.items())}; others: {others}")
    alone = {group: f"{(match.by_groups([group]) == order).mean():.1%}" for group in match.groups}
    share = f"{right[sure].mean():.0%}" if sure.any() else "-"
    print(f"    groups: {alone}; posterior >= 0.5: {int(sure.sum())}, right {share}", flush=True)


def of_points(name: str, traces: Any) -> None:
    """Release GPS points through each defence, and attack them as an audit does."""
    settings = Settings()
    material = AuditData.of(traces, settings)
    print(f"{name}: {traces.n_users} people, {len(traces.time_ms):,} points", flush=True)
    for spelled in POINTS:
        defence = catalogue.create(spelled, ("gps-obfuscator",))
        mine, published = apply_defence(defence, material, np.random.SeedSequence(5), all_days=True)
        cut = linkability.build_linkage_task(mine, published, settings, np.random.SeedSequence(7))
        began = time.process_time()
        found, _ = linkability.link(cut, np.random.SeedSequence(3), defence=defence)
        seconds = time.process_time() - began
        print(f"  {spelled}: {found.people} people, strongest {found.strongest}, {seconds:.0f} s of CPU")
        shares = {one.attack: "-" if one.first is None else f"{one.first.value:.1%}" for one in found.attacks}
        groups = {group: f"{share.value:.1%}" for group, share in found.evidence.items()}
        sure = {least: f"{share.value:.0%} of {share.people}" for least, share in found.sure.items()}
        print(f"    {shares}; groups: {groups}; right by posterior: {sure}", flush=True)


_PARTS = {"times": TIME_GROUPS, "places": PLACE_GROUPS}

if __name__ == "__main__":
    main()
