"""Claim: attackers who weigh all they know leave less than those of 2019, told the defence or not.

    bench_strongest.py [FOLDER …] [--city 60x5] [--users 500] [--defences No 'PL(4,1)' …]
        [--attacks strongest] [--band] [--seeds 1] [--lines FILE]

A folder holds the official files of a team, as `tracearena contest data` and the organisers write them;
without one the team are people of the simulated city, so many with so many reference and as many original
days. --users takes the first so many of each team. Prints, as each defence meets all attacks, what each
leaves, and what it took: the defence, learning and all attacks by the clock and in CPU time, how much of
that ran on one thread alone, and the largest memory of the process so far. In the end comes a table of
Markdown: means over teams and seeds, and the standard deviation in parentheses. --lines keeps what was
measured, so that a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from tracearena.arena import ATTACKS_2019, STRONGEST_ATTACKS, require_success, run_sweep
from tracearena.io import pwscup
from tracearena.papers.data import FigureSource, Size, TeamData, load_teams

DEFENCES = (
    *("No", "PL(4,1)", "MRLH(1,1,0.1)", "RR(8)", "MRLH(0,0,0.25)", "Cheat(0.25)"),
    *("ClusterAveraging(0.7,blur_km=0.5)", "Impostor(0.7)", "Decoy(0.7)"),
)
Line = dict[str, Any]


def main(options: argparse.Namespace) -> None:
    """Let every defence meet every attack on every team, and print lines and a table."""
    kept = _kept(options.lines)
    lines = []
    for defence in options.defences:
        for name, team in _teams(options):
            for seed in range(1, options.seeds + 1):
                key = [defence, name, options.users, seed, *options.attacks]
                line = kept.get(json.dumps(key)) or {"key": key, **measured(team, defence, seed, options)}
                lines.append(line)
                if options.lines is not None and json.dumps(key) not in kept:
                    with options.lines.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                shown = (f"{attack} {left:.4f}" for attack, left in line["left"].items())
                print(*key[:2], f"seed {seed}:", f"s_U {line['s_U']:.4f}", *shown, flush=True)
                print(
                    f"  {line['users']:,} users x {line['instants']} instants: {line['wall_s']:.0f} s, "
                    f"{line['cpu_s']:.0f} s of CPU time, {line['alone_s']:.0f} s of it on one thread alone, "
                    f"{line['peak_gb']:.2f} GB"
                )
    print("\n" + table(lines))


def measured(team: TeamData, defence: str, seed: int, options: argparse.Namespace) -> Line:
    """Release a team under a defence, attack it, and say what was left and what it took."""
    started, busy, alone = time.perf_counter(), time.process_time(), time.thread_time()
    (row,) = require_success(
        run_sweep(*team, defences=[defence], attacks=options.attacks, band=options.band, seed=seed)
    )
    return {
        "s_U": row.utility,
        "left": {**row.scores.reidentification, **row.scores.trace_inference},
        "band": row.band,
        "users": team.original.n_users,
        "instants": team.original.n_instants,
        "wall_s": time.perf_counter() - started,
        "cpu_s": time.process_time() - busy,
        "alone_s": time.thread_time() - alone,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def table(lines: Sequence[Line]) -> str:
    """Return one row for each defence, without the columns that nothing was measured for."""
    columns: dict[str, Callable[[Line], float | None]] = {
        "s_U": lambda line: line["s_U"],
        "s_R, attacks of 2019": lambda line: _least(line, "-R", _is_old),
        "s_R, defence unknown": lambda line: _least(line, "-R", _is_untold),
        "s_R,min": lambda line: _least(line, "-R"),
        "s_T, attacks of 2019": lambda line: _least(line, "-T", _is_old),
        "s_T, defence unknown": lambda line: _least(line, "-T", _is_untold),
        "s_T,min": lambda line: _least(line, "-T"),
        "told who is who (estimate)": lambda line: line["band"] and line["band"][0],
        "habits alone": lambda line: line["left"].get("Habits-T"),
        "CPU s": lambda line: line["cpu_s"],
    }
    rows = {
        defence: [[column(one) for one in lines if one["key"][0] == defence] for column in columns.values()]
        for defence in dict.fromkeys(line["key"][0] for line in lines)
    }
    cells = {defence: [_cell(values) for values in row] for defence, row in rows.items()}
    used = [any(row[number] for row in cells.values()) for number in range(len(columns))]
    titles = [title for title, is_used in zip(columns, used, strict=True) if is_used]
    body = [
        "| "
        + " | ".join([defence, *(cell for cell, is_used in zip(row, used, strict=True) if is_used)])
        + " |"
        for defence, row in cells.items()
    ]
    return "\n".join(["| defence | " + " | ".join(titles) + " |", "|" + "---|" * (len(titles) + 1), *body])


def _teams(options: argparse.Namespace) -> Iterable[tuple[str, TeamData]]:
    if not options.folders:
        users, days = (int(number) for number in options.city.split("x"))
        (team,) = load_teams(FigureSource(size=Size(users, days)))
        yield f"city {options.city}", team
    for folder in options.folders:
        places = pwscup.read_places(next(folder.rglob("info_region.csv")))
        paths = (sorted(folder.rglob(f"{kind}traces_*_IDP.csv"))[0] for kind in ("ref", "org"))
        reference, original = (pwscup.read_traces(path, places) for path in paths)
        first = np.arange(reference.n_users)[: options.users]
        yield str(folder), TeamData(reference.take_users(first), original.take_users(first))


def _kept(path: Path | None) -> dict[str, Line]:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {json.dumps(line["key"]): line for line in lines}


def _is_old(name: str) -> bool:
    return name in ATTACKS_2019


def _is_untold(name: str) -> bool:
    return name in STRONGEST_ATTACKS and "adaptive" not in name


def _least(line: Line, kind: str, counts: Callable[[str], bool] = bool) -> float | None:
    left = [score for name, score in line["left"].items() if counts(name) and kind in name]
    return min(left, default=None)


def _cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    spread = f" ({stdev(known):.3f})" if len(known) > 1 else ""
    return f"{mean(known):.3f}{spread}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--city", default="60x5")
    parser.add_argument("--users", type=int)
    parser.add_argument("--defences", nargs="+", default=DEFENCES)
    parser.add_argument("--attacks", nargs="+", default=["strongest"])
    parser.add_argument("--band", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--lines", type=Path)
    main(parser.parse_args())
