"""Claims: cluster averaging keeps the most privacy of all valid defences; fuzzy counting finds most.

Prints, as means over several teams, the order of the defences by s_T,min against the attacks of 2019,
the correlation of s_R,min and s_T,min, and the re-identification by each attack, with VisitProb-R and
HomeProb-R both as the organisers ran them in 2019 and with all events.

    bench_winners.py [TEAMS] [FOLDER]

The folder is the `judge` of `tracearena contest data`; without it the teams are people of the simulated city.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from tracearena.arena import ATTACKS_2019, SweepRow, run_sweep
from tracearena.papers.data import FigureSource, TeamData, load_teams

SWEEP = (
    *(
        "No",
        "ClusterAveraging(0.7,blur_km=0.5)",
        "ClusterAveraging(0.7,200,0.5)",
        "PL(3.5,1)",
        "PL(4,1)",
        "PL(5,1)",
    ),
    *("MRLH(0,0,0.2)", "MRLH(0,0,0.25)", "MRLH(1,1,0)", "MRLH(1,1,0.1)", "RR(8)", "RR(10)"),
    *("Cheat(0.2)", "Cheat(0.3)"),
)
IDENTIFIED = ("No", "PL(4,1)", "PL(5,1)", "MRLH(1,1,0.1)", "ClusterAveraging(0.7,blur_km=0.5)")


def main(count: int, folder: Path | None) -> None:
    """Sweep every team and print the means."""
    several = load_teams(FigureSource(folder), count)
    begin = time.perf_counter()
    sweeps = []
    for number, team in enumerate(several, 1):
        sweeps.append(run_sweep(*team, defences=SWEEP, attacks=ATTACKS_2019, seed=1))
        best = max((row for row in sweeps[-1] if row.valid), key=lambda row: row.scores.s_T_min)
        print(f"team {number}: best {best.defence}, s_T,min {best.scores.s_T_min:.4f}", flush=True)
    print(f"{len(several)} teams of {several[0].original.n_users:,} users, {folder or 'simulated city'};")
    print(f"{len(SWEEP)} defences x {len(ATTACKS_2019)} attacks, {time.perf_counter() - begin:.0f} s\n")
    order(sweeps)
    identification(several, sweeps)


def order(sweeps: list[list[SweepRow]]) -> None:
    """Print the valid defences by mean s_T,min, and the correlation of both minima."""
    print("defence                      s_U    s_R,min s_T,min (sd)    strongest")
    table = [rows for rows in zip(*sweeps, strict=True) if all(row.valid for row in rows)]
    for rows in sorted(table, key=lambda rows: -np.mean([row.scores.s_T_min for row in rows])):
        s_R, s_T = ([getattr(row.scores, name) for row in rows] for name in ("s_R_min", "s_T_min"))
        utility = np.mean([row.utility for row in rows])
        print(
            f"{rows[0].defence:26} {utility:.4f} {np.mean(s_R):8.4f} {np.mean(s_T):.4f} ({np.std(s_T):.4f})"
            f"  {' '.join(str(name) for name in rows[0].scores.strongest)}"
        )
    for words, left_out in (("all", ()), ("without Cheat", ("Cheat",))):
        points = [
            (np.mean([row.scores.s_R_min for row in rows]), np.mean([row.scores.s_T_min for row in rows]))
            for rows in table
            if not rows[0].defence.startswith(left_out or "-")
        ]
        print(f"correlation of s_R,min and s_T,min, {words}: {np.corrcoef(np.array(points).T)[0, 1]:.3f}")


def identification(several: list[TeamData], sweeps: list[list[SweepRow]]) -> None:
    """Print s_R of each attack, the two of 2019 both ways."""
    old = ("VisitProb-R", "HomeProb-R")
    legacy = [
        run_sweep(*team, defences=IDENTIFIED, attacks=old, legacy_2019=True, seed=1) for team in several
    ]
    print("\ns_R (0 = all identified)  FuzzyCount VisitProb HomeProb  2019: VisitProb HomeProb")
    for number, defence in enumerate(IDENTIFIED):
        rows = [row for sweep in sweeps for row in sweep if row.defence == defence]
        now = [
            np.mean([row.scores.reidentification[name] for row in rows]) for name in ("FuzzyCount-R", *old)
        ]
        then = [np.mean([sweep[number].scores.reidentification[name] for sweep in legacy]) for name in old]
        numbers = "  ".join(f"{value:8.4f}" for value in (*now, *then))
        print(f"{defence:26}{numbers}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 5,
        Path(sys.argv[2]) if len(sys.argv) > 2 else None,
    )
