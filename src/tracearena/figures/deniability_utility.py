"""[ppmtf] Figure 10: utility of the traces that pass the plausible-deniability test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tracearena.engine import Progress, child_seed, seed_sequence
from tracearena.figures._check_ins import check_ins
from tracearena.figures._deniable import kept_days
from tracearena.figures._rows import write_rows
from tracearena.figures._utility_bars import draw_bars, utility
from tracearena.synthesis import PPMTF, SGD
from tracearena.synthesis.ppmtf import deniability
from tracearena.traces import Traces

KS = (5, 10, 20, 100, 200)
FEWEST = 100
METRICS = ("tp_tv", "tp_tv_top50", "tm_emd_x", "tm_emd_y", "vf_tv")


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write ppmtf-10.svg and ppmtf-10.csv: PPMTF without the test and with (k, 1), SGD, and both ends.

    A k that fewer than 100 traces reach has no bar.
    """
    training, testing = check_ins(data, seed)
    root = seed_sequence(seed)
    model = PPMTF(zeros="all").fit(training, seed=child_seed(root, 0), progress=progress)
    made = model.synthesize(1, seed=child_seed(root, 1))
    k_prime = deniability(model, made, k=max(KS), seed=child_seed(root, 2)).k_prime
    candidates: dict[str, Traces | None] = {"PPMTF": made}
    for k in KS:
        kept = kept_days(made, k_prime >= k)
        some = np.diff(kept.offsets) > 0
        if some.sum() >= FEWEST:
            candidates[f"PPMTF, k = {k}"] = kept.take_users(some)
    candidates["SGD"] = SGD().fit(training).synthesize(1, seed=child_seed(root, 3))
    candidates |= {"training": training, "uniform": None}
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            "traces": "" if traces is None else traces.n_users,
            **utility(testing, traces, METRICS, by_day=name not in ("training", "uniform"), other=training),
        }
        for name, traces in candidates.items()
    ]
    title = "What leaving out the traces that cannot be denied costs"
    return [draw_bars(out / "ppmtf-10.svg", rows, METRICS, title), write_rows(out / "ppmtf-10.csv", rows)]
