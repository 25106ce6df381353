"""Factors that both tensors share, and factors of their own, against [ppmtf] section 3.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.arena.evaluation import baselines, evaluate
from tracearena.engine import tracked
from tracearena.figures.data import Source, people_flow
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import TITLES, write_records
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF

ALPHAS = (1.0, 20.0, 200.0, 1000.0)
SEEDS = 3
ITERATIONS = 100
TRACES_PER_USER = 10
SHARED, APART = "shared", "apart"
METRICS = ("tp_tv", "tm_emd_x", "tm_emd_y", "reidentification_rate", "membership_advantage")
MOST_REIDENTIFIED, LARGEST_ADVANTAGE = 0.03, 0.055
"""The advantage is what [ppmtf] claims of Figure 7; re-identified may be half as much again as there."""


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    alphas: Sequence[float] = ALPHAS,
    seeds: int = SEEDS,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-factors.svg and ppmtf-factors.csv: utility and privacy of both ways over α and seeds."""
    training, testing = people_flow(source)
    plan = [(way, alpha, run) for alpha in alphas for run in range(seeds) for way in (SHARED, APART)]
    rows: list[dict[str, Any]] = []
    for way, alpha, run in tracked(plan, len(plan)):
        seed = source.seed + run
        model = PPMTF(alpha=alpha, iterations=iterations, shared_factors=way == SHARED)
        made = model.fit(training, seed=seed).synthesize(TRACES_PER_USER, seed=seed)
        found = evaluate(made, training, testing).to_dict()
        rows.append({"factors": way, "alpha": alpha, "seed": seed, **{name: found[name] for name in METRICS}})
    limits = {name: use.to_dict() for name, use in baselines(training, testing).items()}
    said = findings(rows)
    announce(said, tell)
    ends = [{"factors": name, **{key: one.get(key) for key in METRICS}} for name, one in limits.items()]
    return [
        _draw(out / "ppmtf-factors.svg", rows, limits, said),
        write_records(out / "ppmtf-factors.csv", rows + ends, list(rows[0])),
    ]


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Ask whether sharing the factors helps, and what factors apart betray.

    [ppmtf] section 3.2: "the utility is improved by sharing A and B". It takes a mean over the seeds that
    is lower with shared factors, at every α, in each metric of utility.
    """
    alphas = sorted({row["alpha"] for row in rows})

    def mean(way: str, alpha: float, name: str) -> float:
        return float(np.mean([row[name] for row in rows if (row["factors"], row["alpha"]) == (way, alpha)]))

    found = []
    for name in ("tp_tv", "tm_emd_x", "tm_emd_y"):
        pairs = [(mean(SHARED, alpha, name), mean(APART, alpha, name)) for alpha in alphas]
        found.append(
            counted(
                f"sharing factors between the tensors makes traces more useful ({TITLES[name]})",
                [shared < apart for shared, apart in pairs],
                "settings are better shared; shared / apart: "
                + ", ".join(f"{shared:.3g} / {apart:.3g}" for shared, apart in pairs),
            )
        )
    worst = {
        name: max(mean(APART, alpha, name) for alpha in alphas)
        for name in ("reidentification_rate", "membership_advantage")
    }
    rate, advantage = worst.values()
    found.append(
        Finding(
            "factors apart betray almost nobody either",
            rate < MOST_REIDENTIFIED and advantage < LARGEST_ADVANTAGE,
            f"at most {rate:.3f} re-identified and an advantage of {advantage:.3f}, it takes "
            f"< {MOST_REIDENTIFIED:g} and < {LARGEST_ADVANTAGE:g}",
            rate,
        )
    )
    return found


def _draw(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    limits: Mapping[str, Mapping[str, Any]],
    said: list[Finding],
) -> Path:
    with canvas(3.0 * len(METRICS), 3.8, ncols=len(METRICS)) as (figure, axes):
        for panel, name in zip(axes, METRICS, strict=True):
            for number, way in enumerate((SHARED, APART)):
                mine = [row for row in rows if row["factors"] == way]
                x, y = ([row[column] for row in mine] for column in ("alpha", name))
                look = {"color": COLOURS[number], "marker": MARKERS[number].matplotlib}
                panel.scatter(x, y, s=22, label=f"factors {way}", **look)
            for end, style in (("training", "--"), ("uniform", ":")):
                value = limits[end].get(name)
                if value is not None:
                    panel.axhline(value, color="#555555", linestyle=style, linewidth=1, label=end)
            panel.set_xscale("log")
            panel.set_ylim(bottom=0)
            panel.set_xlabel("α")
            panel.set_title(TITLES[name], fontsize=10)
        axes[0].set_ylabel("0 is best")
        axes[0].legend(frameon=False, fontsize=8, loc="lower left")
        figure.subplots_adjust(wspace=0.35)
        head(
            figure,
            "PPMTF with factors of users and places shared by both tensors, and apart",
            said,
            width=170,
        )
        return save(figure, path)
