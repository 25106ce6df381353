"""[ppmtf] Figure 15: privacy budget of the parameters against utility."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracearena.engine import Progress
from tracearena.figures._check_ins import check_ins
from tracearena.figures._rows import write_rows
from tracearena.figures.style import OKABE_ITO, canvas, save
from tracearena.metrics import tm_emd, tp_tv
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import privacy_budget

ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
ITERATIONS = 100


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write ppmtf-15.svg and ppmtf-15.csv: α from 1e-6 to 1e3; ε for κ = 0 (as published) and as measured."""
    training, testing = check_ins(data, seed)
    rows: list[dict[str, Any]] = []
    for done, alpha in enumerate(ALPHAS, 1):
        model = PPMTF(alpha=alpha, iterations=ITERATIONS).fit(training, seed=seed)
        made = model.synthesize(1, seed=seed)
        least, measured = privacy_budget(model, kappa=0), privacy_budget(model)
        rows.append(
            {
                "alpha": alpha,
                "epsilon_trace_kappa_0": least.epsilon_trace,
                "epsilon_location_kappa_0": least.epsilon_location,
                "kappa": measured.kappa,
                "epsilon_trace": measured.epsilon_trace,
                "epsilon_location": measured.epsilon_location,
                "tp_tv": tp_tv(testing, made),
                "tm_emd_x": tm_emd(testing, made, "x"),
                "tm_emd_y": tm_emd(testing, made, "y"),
            }
        )
        if progress is not None:
            progress(done, len(ALPHAS))
    return [_draw(out / "ppmtf-15.svg", rows), write_rows(out / "ppmtf-15.csv", rows)]


def _draw(path: Path, rows: list[dict[str, Any]]) -> Path:
    with canvas(10, 3.8, ncols=2) as (figure, axes):
        for number, (column, label) in enumerate(
            (("epsilon_trace_kappa_0", "a whole trace"), ("epsilon_location_kappa_0", "one location"))
        ):
            for panel, metric in zip(axes, ("tp_tv", "tm_emd_x"), strict=True):
                line = sorted((row[column], row[metric]) for row in rows)
                panel.plot(*zip(*line, strict=True), "o-", color=OKABE_ITO[number], label=label)
        for panel, title in zip(axes, ("TP-TV", "TM-EMD-X"), strict=True):
            panel.set_xscale("log")
            panel.set(xlabel="ε of the parameters (κ = 0)", ylabel=f"{title} (0 is best)")
        axes[0].legend(frameon=False, title="neighbouring data differ in")
        figure.suptitle(
            "Parameters are useful only where ε is far too large: keep them secret", fontsize=11, y=1
        )
        return save(figure, path)
