"""[samples] Figure 4: the sample programs with and without the utility threshold.

The attacks are those of the programs: a tenth of the events, and ten places of a set at most.
"""

from __future__ import annotations

from pathlib import Path

from tracearena.arena import run_sweep, succeeded, write_table
from tracearena.arena.claims import Tell
from tracearena.arena.sweep import Scoring
from tracearena.contest import Rules
from tracearena.figures import privacy_scatter
from tracearena.figures.data import Source, teams
from tracearena.figures.style import canvas, save


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write samples-4.svg and samples-4.csv."""
    (team,) = teams(source)
    scoring = Scoring(utility_rule="2019")
    rows = succeeded(run_sweep(*team, scoring=scoring, legacy_2019=True, seed=source.seed))
    write_table(rows, out / "samples-4.csv")
    threshold = Rules().utility_threshold
    with canvas(15, 6, ncols=2) as (figure, (everything, valid)):
        privacy_scatter.scatter(everything, rows)
        everything.set_title("all releases (threshold 0)", fontsize=10, loc="left", pad=24)
        privacy_scatter.scatter(valid, [row for row in rows if row.valid])
        valid.set_title(f"only useful releases (threshold {threshold:g})", fontsize=10, loc="left", pad=24)
        picture = save(figure, out / "samples-4.svg")
    return [picture, out / "samples-4.csv"]
