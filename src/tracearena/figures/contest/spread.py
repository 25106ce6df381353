"""[contest] appendix E: more users, smaller spread of the scores over the teams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tracearena.arena import measure_fairness
from tracearena.arena.claims import Finding, Tell, announce
from tracearena.arena.experiments import Fairness
from tracearena.engine import child_seed, seed_sequence, tracked
from tracearena.figures.data import Source, Team
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.figures.virtual_teams import ITERATIONS, made_teams
from tracearena.pages.html import COLOURS, MARKERS

USERS = (50, 100, 200, 400)
TEAMS = 8
DAYS = 20
SCORES = (("reidentification_sd", "s_R,min"), ("trace_inference_sd", "s_T,min"))


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    users: Sequence[int] = USERS,
    count: int = TEAMS,
    days: int = DAYS,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write contest-spread.svg and contest-spread.csv: teams of ever more virtual users."""
    sizes = [size for size in users for _ in range(count)]
    teams = list(tracked(made_teams(source, sizes, days, iterations=iterations), len(sizes)))
    found = [
        (size, row)
        for number, size in enumerate(users)
        for row in _spread(teams[number * count : (number + 1) * count], source.seed, number)
    ]
    said = findings(found)
    announce(said, tell)
    rows = [{"users": size, **row.to_dict()} for size, row in found]
    return [_draw(out / "contest-spread.svg", found, said), write_records(out / "contest-spread.csv", rows)]


def _spread(teams: Sequence[Team], seed: int, number: int) -> list[Fairness]:
    return measure_fairness(teams, seed=child_seed(seed_sequence(seed), 2, number))


def findings(found: Sequence[tuple[int, Fairness]]) -> list[Finding]:
    """Ask whether the spread falls as the users grow.

    [contest] appendix E: "To improve the fairness (i.e., to further reduce the SD), we should increase the
    number m of virtual users." It takes a fall of the mean spread, over defences and both scores, with an
    exponent of the users of -0.25 or less; independent people would give -0.5.
    """
    mean = _mean_spreads(found)
    slope = float(np.polyfit(np.log(list(mean)), np.log(list(mean.values())), 1)[0])
    first, last = min(mean), max(mean)
    return [
        Finding(
            "the more users a team has, the smaller is the spread over the teams",
            slope <= -0.25,
            f"mean standard deviation {mean[first]:.4f} of {first:,} users, {mean[last]:.4f} of {last:,}: "
            f"users to the power of {slope:.2f}, it takes -0.25",
            slope,
        )
    ]


def _mean_spreads(found: Sequence[tuple[int, Fairness]]) -> dict[int, float]:
    sizes = dict.fromkeys(size for size, _ in found)
    return {
        size: float(np.mean([getattr(row, name) for own, row in found if own == size for name, _ in SCORES]))
        for size in sizes
    }


def _draw(path: Path, found: Sequence[tuple[int, Fairness]], said: Sequence[Finding]) -> Path:
    defences = dict.fromkeys(row.defence for _, row in found)
    with canvas(10, 4, ncols=2, sharey=True) as (figure, both):
        for axes, (name, score) in zip(both, SCORES, strict=True):
            for number, defence in enumerate(defences):
                points = [(size, getattr(row, name)) for size, row in found if row.defence == defence]
                style = {"color": COLOURS[number], "marker": MARKERS[number].matplotlib}
                axes.plot(*zip(*points, strict=True), label=defence, **style)
            sizes = list(dict.fromkeys(size for size, _ in found))
            axes.set(xscale="log", yscale="log", xlabel="virtual users of a team")
            axes.set_xticks(sizes, [str(size) for size in sizes])
            axes.minorticks_off()
            axes.set_title(score, fontsize=10, loc="left")
        both[0].set_ylabel("standard deviation over teams")
        both[1].legend(frameon=False, fontsize=8)
        head(figure, "Spread of the scores over the users of a team", said)
        return save(figure, path)
