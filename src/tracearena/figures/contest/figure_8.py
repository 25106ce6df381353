"""[contest] Figure 8: privacy scores of the sample algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracearena.arena import SweepRow, run_sweep, succeeded, write_table
from tracearena.arena.claims import Finding, Tell, announce, shuffling_hides_names_only
from tracearena.figures import privacy_scatter
from tracearena.figures.data import Source
from tracearena.figures.virtual_teams import ITERATIONS, virtual_teams


def make(out: Path, source: Source, tell: Tell | None, *, iterations: int = ITERATIONS) -> list[Path]:
    """Write contest-8.svg and contest-8.csv, of a team of virtual users."""
    (team,) = virtual_teams(source, iterations=iterations)
    rows = succeeded(run_sweep(*team, seed=source.seed))
    write_table(rows, out / "contest-8.csv")
    found = findings(rows)
    announce(found, tell)
    title = "The sample defences, by both kinds of privacy"
    return [privacy_scatter.draw_found(rows, out / "contest-8.svg", title, found), out / "contest-8.csv"]


def findings(rows: Sequence[SweepRow]) -> list[Finding]:
    """Say what the picture is for: re-identification alone is not enough as a measure."""
    return [shuffling_hides_names_only(rows)]
