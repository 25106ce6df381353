"""[contest] Figure 17: utility of PPMTF+ beside PPMTF and SGD."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracearena.engine import Progress, child_seed, seed_sequence
from tracearena.figures._check_ins import check_ins
from tracearena.figures._rows import write_rows
from tracearena.figures._utility_bars import draw_bars, utility
from tracearena.synthesis import PPMTF, SGD
from tracearena.traces import Traces

DAYS = 20
METRICS = ("vf_tv", "tp_tv_top50", "tm_emd_sliced")


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write contest-17.svg and contest-17.csv: each of 20 days against the training traces, averaged."""
    training, testing = check_ins(data, seed)
    root = seed_sequence(seed)
    model = PPMTF(zeros="all").fit(training, seed=child_seed(root, 0), progress=progress)
    candidates: dict[str, Traces | None] = {
        "PPMTF+": model.sample_users(training.n_users, DAYS, seed=child_seed(root, 1)),
        "PPMTF": model.synthesize(DAYS, seed=child_seed(root, 2)),
        "SGD": SGD().fit(training).synthesize(DAYS, seed=child_seed(root, 3)),
        "real": testing,
        "uniform": None,
    }
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            **utility(training, traces, METRICS, by_day=name not in ("real", "uniform"), other=testing),
        }
        for name, traces in candidates.items()
    ]
    title = "Virtual users are as useful as PPMTF's; SGD's all behave alike (VF-TV)"
    return [draw_bars(out / "contest-17.svg", rows, METRICS, title), write_rows(out / "contest-17.csv", rows)]
