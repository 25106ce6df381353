"""The sweep behind the figures of the sample programs: published data, or the simulated city."""

from __future__ import annotations

from pathlib import Path

from tracearena.cities import simulate
from tracearena.contest import SweepRow, run_sweep
from tracearena.engine import Progress
from tracearena.errors import DataError
from tracearena.formats import pwscup
from tracearena.traces import Traces


def sample_sweep(data: Path | None, seed: int, progress: Progress | None) -> list[SweepRow]:
    """Run every sample defence against every sample attack."""
    reference, original = simulated(seed) if data is None else published(data)
    return run_sweep(reference, original, seed=seed, progress=progress)


def simulated(seed: int) -> tuple[Traces, Traces]:
    """Simulate a team of the contest's size: 2,000 users, 20 days to know them and 20 to protect."""
    reference, original = simulate(2_000, 40, clock=pwscup.PWS_CLOCK, seed=seed).split_days(20)
    return reference, original


def published(folder: Path) -> tuple[Traces, Traces]:
    """Read the reference and original traces of the first team in a folder of contest files."""
    places = pwscup.read_places(folder / "info_region.csv")
    found = []
    for kind in ("reftraces", "orgtraces"):
        files = sorted(folder.glob(f"{kind}_*.csv*"))
        if not files:
            raise DataError(f"{folder} holds no {kind}_*.csv")
        found.append(pwscup.read_traces(files[0], places))
    return found[0], found[1]
