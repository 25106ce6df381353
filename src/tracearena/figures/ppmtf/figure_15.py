"""[ppmtf] Figure 15: privacy budget of the parameters against utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.arena.claims import Finding, Tell, announce
from tracearena.engine import tracked
from tracearena.figures.data import Source, check_ins
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.metrics import tm_emd, tp_tv
from tracearena.pages.html import COLOURS
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import privacy_budget

ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
ITERATIONS = 100
SMALLEST_USEFUL = 20_000


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    alphas: Sequence[float] = ALPHAS,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-15.svg and ppmtf-15.csv: α from 1e-6 to 1e3; ε for κ = 0 (as published) and as measured."""
    training, testing = check_ins(source)
    rows: list[dict[str, Any]] = []
    for alpha in tracked(alphas, len(alphas)):
        model = PPMTF(alpha=alpha, iterations=iterations).fit(training, seed=source.seed)
        made = model.synthesize(1, seed=source.seed)
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
    found = findings(rows)
    announce(found, tell)
    return [_draw(out / "ppmtf-15.svg", rows, found), write_records(out / "ppmtf-15.csv", rows)]


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Ask from which ε of a trace (κ = 0) on the parameters are useful.

    [ppmtf] appendix F: "ε needs to be larger than 2 × 10⁴ to provide high utility". Useful is a TP-TV
    in the better half of the range that the settings span.
    """
    values = [row["tp_tv"] for row in rows]
    best, worst = min(values), max(values)
    useful = [row["epsilon_trace_kappa_0"] for row in rows if row["tp_tv"] < (best + worst) / 2]
    least = min(useful, default=None)
    told = "no setting is" if least is None else f"useful from ε = {least:,.6g} on"
    return [
        Finding(
            f"parameters are useful only where ε is larger than {SMALLEST_USEFUL:,}",
            least is not None and least > SMALLEST_USEFUL,
            f"{told}; TP-TV from {best:.3f} to {worst:.3f}",
            least,
        )
    ]


def _draw(path: Path, rows: list[dict[str, Any]], found: list[Finding]) -> Path:
    with canvas(10, 3.8, ncols=2) as (figure, axes):
        for number, (column, label) in enumerate(
            (("epsilon_trace_kappa_0", "a whole trace"), ("epsilon_location_kappa_0", "one location"))
        ):
            for panel, metric in zip(axes, ("tp_tv", "tm_emd_x"), strict=True):
                line = sorted((row[column], row[metric]) for row in rows)
                panel.plot(*zip(*line, strict=True), "o-", color=COLOURS[number], label=label)
        for panel, title in zip(axes, ("TP-TV", "TM-EMD-X"), strict=True):
            panel.set_xscale("log")
            panel.set(xlabel="ε of the parameters (κ = 0)", ylabel=f"{title} (0 is best)")
        axes[0].legend(frameon=False, title="neighbouring data differ in")
        head(figure, "Privacy budget of the parameters against utility", found)
        return save(figure, path)
