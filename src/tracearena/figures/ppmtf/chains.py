"""Whether chains from different starts agree on what PPMTF says, and after how many iterations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.arena.claims import Finding, Tell, announce
from tracearena.figures.data import Source, people_flow
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import ChainReport, run_chains

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ITERATIONS = 200
PAPER = 100
"""Iterations of [ppmtf] section 4.2."""
CHAINS = 4
KINDS = {
    "error": "error",
    "transition": "moves of a user",
    "visit": "visits of a user",
    "population": "population",
}
APART = 0.1
MIXED = 1.1


def make(
    out: Path, source: Source, tell: Tell | None, *, iterations: int = ITERATIONS, chains: int = CHAINS
) -> list[Path]:
    """Write ppmtf-chains.svg and ppmtf-chains.csv: R̂ and effective draws by iterations."""
    training, _ = people_flow(source)
    report = run_chains(PPMTF(iterations=iterations), training, chains=chains, seed=source.seed)
    rows = _rows(report)
    found = findings(rows)
    announce(found, tell)
    return [
        _draw(out / "ppmtf-chains.svg", report, rows, found),
        write_records(out / "ppmtf-chains.csv", rows),
    ]


def findings(rows: Sequence[dict[str, Any]]) -> list[Finding]:
    """Ask whether chains that start apart agree, after the iterations of the paper or all there are.

    [ppmtf] takes the state after 100 iterations and says nothing of other chains. It takes R̂ < 1.1 for nine
    in ten of what is watched: of the populations, and of the counts of single users.
    """
    last = max(row["iterations"] for row in rows)
    at = PAPER if last >= PAPER else last
    here = {row["kind"]: row for row in rows if row["iterations"] == at}
    found = []
    for words, kinds in (("where everybody is", ("population",)), ("single people", ("transition", "visit"))):
        share = float(np.mean([here[kind]["mixed"] for kind in kinds]))
        worst = max(here[kind]["r_hat_median"] for kind in kinds)
        found.append(
            Finding(
                f"after {at} iterations chains from different starts agree on {words}",
                share >= 1 - APART,
                f"R̂ < {MIXED:g} for {share:.0%}, median R̂ {worst:.2f}; it takes {1 - APART:.0%}",
                share,
            )
        )
    return found


def _rows(report: ChainReport) -> list[dict[str, Any]]:
    total = report.draws.shape[2]
    steps = sorted({max(total * part // 8, 8) for part in range(1, 9)})
    kinds = np.array([name.split()[0] for name in report.names])
    rows = []
    for done in steps:
        r_hat, effective = report.r_hat(done), report.effective(done)
        for kind in KINDS:
            mine = kinds == kind
            rows.append(
                {
                    "kind": kind,
                    "iterations": done,
                    "watched": int(mine.sum()),
                    "r_hat_median": float(np.median(r_hat[mine])),
                    "r_hat_largest": float(r_hat[mine].max()),
                    "mixed": float((r_hat[mine] < MIXED).mean()),
                    "effective_median": float(np.median(effective[mine])),
                }
            )
    return rows


def _draw(path: Path, report: ChainReport, rows: list[dict[str, Any]], found: list[Finding]) -> Path:
    with canvas(14, 4.0, ncols=4) as (figure, axes):
        _paths(axes[0], report, "error", "root mean squared error")
        _paths(axes[1], report, "population 1", "population of the busiest place and slot")
        for panel, column, label in (
            (axes[2], "r_hat_median", "median R̂ (1 is best)"),
            (axes[3], "effective_median", "median effective draws"),
        ):
            for number, (kind, words) in enumerate(KINDS.items()):
                line = [(row["iterations"], row[column]) for row in rows if row["kind"] == kind]
                look = {"color": COLOURS[number], "marker": MARKERS[number].matplotlib}
                panel.plot(*zip(*line, strict=True), label=words, **look)
            panel.set(xlabel="iterations (the later half counts)", ylabel=label)
        axes[2].axhline(MIXED, color="#555555", linestyle="--", linewidth=1)
        axes[2].legend(frameon=False, fontsize=8)
        figure.subplots_adjust(wspace=0.35)
        head(figure, "Chains of PPMTF from different starts on the same cells", found, width=150)
        return save(figure, path)


def _paths(panel: Axes, report: ChainReport, name: str, label: str) -> None:
    draws = report.draws[report.names.index(name)]
    for number, one in enumerate(draws):
        panel.plot(np.arange(1, len(one) + 1), one, color=COLOURS[number % len(COLOURS)], linewidth=1)
    panel.set(xlabel="iterations", ylabel=label)
    if name == "error":
        panel.set_yscale("log")
