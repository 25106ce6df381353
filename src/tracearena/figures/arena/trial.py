"""One team's people under many defences, small enough for the attacks that take long."""

from __future__ import annotations

from collections.abc import Sequence

from tracearena.arena import Sweep, run_sweep, succeeded
from tracearena.figures.data import Size, Source, teams

PEOPLE = Size(200, 10)
"""People of the city, and days of reference and as many of original traces."""


def tried(source: Source, defences: Sequence[str], attacks: Sequence[str]) -> Sweep:
    """Try defences against attacks on one team, with the band of each."""
    (team,) = teams(Source(source.data, source.seed, source.sized(PEOPLE)))
    rows = run_sweep(*team, defences=defences, attacks=attacks, band=True, seed=source.seed)
    succeeded(rows)
    return rows
