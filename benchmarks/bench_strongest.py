"""Claim: attackers who weigh all they know leave less than those of 2019, told the defence or not.

Prints a table of Markdown: for each defence the strongest attack of 2019, the strongest without a word on the
defence, the strongest of all, and between which values s_T must lie; means over several teams, with the
standard deviation in parentheses.

    bench_strongest.py [TEAMS] [FOLDER]

The folder is one of `tracearena contest data`; without it the teams are 60 people each of the city, 5
reference and 5 original days.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev

from tracearena.arena import ATTACKS_2019, SweepRow, run_sweep, succeeded
from tracearena.figures.data import Size, Source, teams

SWEEP = (
    *("No", "ClusterAveraging(0.7)", "PL(1,1)", "PL(4,1)", "PL(5,1)", "MRLH(0,0,0.25)", "MRLH(1,1,0.1)"),
    *("RR(8)", "RR(10)", "Cheat(0.25)"),
)
CITY = Size(60, 5)


def main(count: int, folder: Path | None) -> None:
    """Sweep every team and print the means."""
    several = teams(Source(folder, size=CITY), count)
    sweeps = []
    for number, team in enumerate(several, 1):
        sweeps.append(succeeded(run_sweep(*team, defences=SWEEP, attacks=["all"], band=True, seed=1)))
        print(f"team {number} of {len(several)} is done", file=sys.stderr, flush=True)
    original = several[0].original
    days = original.n_instants // original.clock.instants_per_day
    print(f"{len(several)} teams of {original.n_users:,} users, {days} days, {folder or 'simulated city'}\n")
    columns: dict[str, Callable[[SweepRow], float]] = {
        "s_U": lambda row: row.utility or 0.0,
        "s_R, attacks of 2019": lambda row: _least(row.scores.reidentification, _is_old),
        "s_R,min": lambda row: row.scores.minima[0],
        "s_T, attacks of 2019": lambda row: _least(row.scores.trace_inference, _is_old),
        "s_T, defence unknown": lambda row: _least(row.scores.trace_inference, _is_untold),
        "s_T,min": lambda row: row.scores.minima[1],
        "told who is who (estimate)": lambda row: row.band.estimate if row.band else 0.0,
        "habits alone": lambda row: row.band.ceiling if row.band else 0.0,
    }
    print("| defence |", " | ".join(columns), "|")
    print("|" + "---|" * (len(columns) + 1))
    for rows in zip(*sweeps, strict=True):
        cells = [_cell([value(row) for row in rows]) for value in columns.values()]
        print(f"| {rows[0].defence} |", " | ".join(cells), "|")


def _is_old(name: str) -> bool:
    return name in ATTACKS_2019


def _is_untold(name: str) -> bool:
    return "adaptive" not in name


def _least(scores: dict[str, float], counts: Callable[[str], bool]) -> float:
    return min(score for name, score in scores.items() if counts(name))


def _cell(values: Sequence[float]) -> str:
    spread = f" ({stdev(values):.3f})" if len(values) > 1 else ""
    return f"{mean(values):.3f}{spread}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
