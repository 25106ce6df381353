"""[contest] Figure 9: privacy of the teams' releases, ours with a defence for each team."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracearena.arena import ATTACKS_2019, SweepRow, run_sweep, succeeded, write_table
from tracearena.arena.findings import Finding, Tell, announce
from tracearena.arena.lessons import privacies_together
from tracearena.figures import privacy_scatter
from tracearena.figures.data import DEFENCES, Source, teams
from tracearena.figures.tables import correlation_of


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write contest-9.svg and contest-9.csv."""
    (team,) = teams(source)
    rows = run_sweep(*team, defences=("No", *DEFENCES), attacks=ATTACKS_2019, seed=source.seed)
    succeeded(rows)
    write_table(rows, out / "contest-9.csv")
    found = findings(rows)
    announce(found, tell)
    title = f"{len(rows)} releases by both kinds of privacy"
    return [privacy_scatter.draw_found(rows, out / "contest-9.svg", title, found), out / "contest-9.csv"]


def findings(rows: Sequence[SweepRow]) -> list[Finding]:
    """Say whether the two kinds of privacy go together over the valid releases ([contest] Figure 9)."""
    return [privacies_together(row.scores.minima for row in rows if row.valid)]


def correlation(rows: Sequence[SweepRow]) -> float:
    """Return the correlation of s_R,min and s_T,min over the valid releases."""
    return correlation_of([row.scores.minima for row in rows if row.valid])
