"""The sweep behind the figures of the sample programs: published data, or the simulated city."""

from __future__ import annotations

from pathlib import Path

from tracearena.contest import SweepRow, run_sweep
from tracearena.engine import Progress
from tracearena.errors import DataError
from tracearena.formats import pwscup
from tracearena.traces import Traces


def sample_sweep(data: Path, seed: int, progress: Progress | None) -> list[SweepRow]:
    """Run every sample defence against every sample attack."""
    reference, original = published(data)
    return run_sweep(reference, original, seed=seed, progress=progress)


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
