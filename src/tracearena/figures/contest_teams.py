"""[contest] Figure 9: privacy of the teams' releases, ours with a defence for each team."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracearena.contest import ATTACKS_2019, SweepRow, run_sweep, succeeded, write_table
from tracearena.engine import Progress
from tracearena.figures import privacy_scatter
from tracearena.figures._teams import DEFENCES, correlation_of, teams
from tracearena.figures.style import canvas, save

CAPTION = "Who is safe from trace inference is safe from re-identification"


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write contest-9.svg and contest-9.csv."""
    (team,) = teams(data, 1, seed)
    rows = run_sweep(*team, defences=("No", *DEFENCES), attacks=ATTACKS_2019, seed=seed, progress=progress)
    succeeded(rows)
    write_table(rows, out / "contest-9.csv")
    with canvas(8, 6) as (figure, axes):
        privacy_scatter.scatter(axes, rows)
        axes.set_title(f"{CAPTION} (R = {correlation(rows):.3f})", fontsize=10, loc="left", pad=24)
        picture = save(figure, out / "contest-9.svg")
    return [picture, out / "contest-9.csv"]


def correlation(rows: Sequence[SweepRow]) -> float:
    """Return the correlation of s_R,min and s_T,min over the valid releases."""
    return correlation_of([row.scores.minima for row in rows if row.valid])
