"""The sweep behind the figures of the sample programs."""

from __future__ import annotations

from pathlib import Path

from tracearena.arena import SweepRow, run_sweep, succeeded
from tracearena.figures._teams import teams


def sample_sweep(data: Path | None, seed: int) -> list[SweepRow]:
    """Run every sample defence against every sample attack, on one team."""
    (team,) = teams(data, 1, seed)
    return [*succeeded(run_sweep(team.reference, team.original, seed=seed))]
