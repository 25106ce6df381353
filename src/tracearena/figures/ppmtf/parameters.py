"""What published parameters of PPMTF betray: the open problem of [ppmtf] section 6, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.attacks import MarkovIdentification, MembershipInference, attack_parameters
from tracearena.engine import tracked
from tracearena.figures.data import Source, people_flow
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import privacy_budget

ALPHAS = (1.0, 20.0, 200.0, 1000.0)
ITERATIONS = 100
TRACES_PER_USER = 10
TRACES, PROFILES, EVERYTHING = "synthetic traces", "(B, C, D)", "(A, B, C, D)"


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    alphas: Sequence[float] = ALPHAS,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-parameters.svg and .csv: attacks on traces, on (B, C, D) and on all parameters, over α."""
    training, testing = people_flow(source)
    who, members = MarkovIdentification().fit(training), MembershipInference().fit(training, testing)
    rows: list[dict[str, Any]] = []
    for alpha in tracked(alphas, len(alphas)):
        model = PPMTF(alpha=alpha, iterations=iterations).fit(training, seed=source.seed)
        made = model.synthesize(TRACES_PER_USER, seed=source.seed)
        seen = {"advantage": members.evaluate(made).advantage, "reidentification_rate": who.rate(made)}
        profiles = attack_parameters(model, training, testing, "BCD").to_dict()
        everything = attack_parameters(model, training, testing, "ABCD").to_dict()
        found = {TRACES: seen, PROFILES: profiles, EVERYTHING: everything}
        columns = ("advantage", "chance", "epsilon_at_least", "reidentification_rate")
        bound = privacy_budget(model, kappa=0).epsilon_trace
        rows += [
            {
                "alpha": alpha,
                "released": name,
                **{key: one.get(key) for key in columns},
                "epsilon_bound": bound,
            }
            for name, one in found.items()
        ]
    said = findings(rows)
    announce(said, tell)
    return [
        _draw(out / "ppmtf-parameters.svg", rows, said),
        write_records(out / "ppmtf-parameters.csv", rows),
    ]


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Ask what (B, C, D) tell of who was in the training data, and what A adds.

    [ppmtf] section 3.5: "it is hard to infer private information from (B, C, D)". Hard is an advantage
    that chance alone explains, at every α. And A must be kept secret: with it most users are found.
    """
    profiles = [row for row in rows if row["released"] == PROFILES]
    whole = [row for row in rows if row["released"] == EVERYTHING]
    most = max(row["reidentification_rate"] for row in whole)
    return [
        counted(
            "profiles of places and of time, (B, C, D), do not tell who was in the training data",
            [row["advantage"] <= row["chance"] for row in profiles],
            "settings have an advantage that chance explains: "
            + ", ".join(f"{row['advantage']:.2f}" for row in profiles)
            + f", chance up to {profiles[0]['chance']:.2f}",
        ),
        Finding(
            "with the profiles of users, A, most people are found",
            most > 0.5,
            f"up to {most:.0%} of the rows of A, it takes half",
            most,
        ),
    ]


def _draw(path: Path, rows: Sequence[Mapping[str, Any]], said: list[Finding]) -> Path:
    with canvas(10, 4.0, ncols=2) as (figure, axes):
        for number, name in enumerate((TRACES, PROFILES, EVERYTHING)):
            look = {"color": COLOURS[number], "marker": MARKERS[number].matplotlib}
            for panel, column in zip(axes, ("advantage", "reidentification_rate"), strict=True):
                line = [(row["alpha"], row[column]) for row in rows if row["released"] == name]
                if line[0][1] is not None:
                    panel.plot(*zip(*line, strict=True), label=name, **look)
        axes[0].axhline(rows[1]["chance"], color="#555555", linestyle="--", linewidth=1, label="chance, 95 %")
        for panel, label in zip(axes, ("membership advantage", "share of people found"), strict=True):
            panel.set_xscale("log")
            panel.set(xlabel="α", ylabel=f"{label} (0 is best)", ylim=(-0.02, 1))
            panel.legend(frameon=False, fontsize=8)
        figure.subplots_adjust(wspace=0.3)
        head(figure, "Attacks on the parameters of PPMTF", said, width=115)
        return save(figure, path)
