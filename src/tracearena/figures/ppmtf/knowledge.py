"""Synthetic traces against attackers with maximum and with partial knowledge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.arena.attacker_knowledge import ATTACKS, SyntheticRisk, attack_synthetic
from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.engine import child_seed, seed_sequence, tracked
from tracearena.figures.data import Size, Source, teams
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.pages.html import COLOURS
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.traces import Traces

SIZE = Size(1_000, 2)
"""Members and others together; days of training traces, and as many that are known."""
ITERATIONS = 100
TRACES_PER_USER = 5
MAXIMUM, PARTIAL = "maximum", "partial"
COLUMNS = ("reidentification_rate", *ATTACKS, "membership_advantage")
NOISE = 3
"""Standard errors by which partial knowledge may look better."""


def make(out: Path, source: Source, tell: Tell | None, *, iterations: int = ITERATIONS) -> list[Path]:
    """Write ppmtf-knowledge.svg and .csv: half of a team's users are members, the others are not.

    Maximum knowledge is the training traces, as in [ppmtf]; partial knowledge the reference traces, of
    other days of the same people, as in a contest.
    """
    sized = source if source.data is not None else replace(source, size=source.sized(SIZE))
    (team,) = teams(sized)
    half = team.original.n_users // 2
    members, others = (np.arange(half), np.arange(half, 2 * half))
    training = team.original.take_users(members)
    root = seed_sequence(source.seed)
    rows: list[dict[str, Any]] = []
    methods = _methods(iterations, training)
    for number, (name, model) in enumerate(tracked(methods.items(), len(methods))):
        made = model.fit(training, seed=child_seed(root, number, 0))
        synthetic = made.synthesize(TRACES_PER_USER, seed=child_seed(root, number, 1))
        for knowledge, known in ((MAXIMUM, team.original), (PARTIAL, team.reference)):
            risk = attack_synthetic(
                synthetic,
                known.take_users(members),
                known.take_users(others),
                seed=child_seed(root, number, 2),
            )
            rows.append({"method": name, "knowledge": knowledge, "users": half, **_flat(risk)})
    said = findings(rows)
    announce(said, tell)
    return [
        _draw(out / "ppmtf-knowledge.svg", rows, said),
        write_records(out / "ppmtf-knowledge.csv", rows),
    ]


def _methods(iterations: int, training: Traces) -> dict[str, PPMTF | SGD | SGLT]:
    classes = max(len(training.places) // 4, 1)
    return {
        "PPMTF": PPMTF(iterations=iterations),
        "SGD, ξ = 0": SGD(),
        "SGD, ξ = 5": SGD(copied=5),
        "SGLT": SGLT(classes=classes, privacy_tests=False),
    }


def _flat(risk: SyntheticRisk) -> dict[str, float | None]:
    return {
        "reidentification_rate": risk.reidentification_rate,
        **risk.linked,
        "membership_advantage": risk.membership_advantage,
        "guess": risk.guess,
    }


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Ask whether maximum knowledge is the worst case, and what PPMTF betrays to partial knowledge.

    [ppmtf] section 4.3 attacks with the training traces themselves, as a worst case. It takes that no
    method has more traces re-identified with partial knowledge, but for three standard errors; and of
    PPMTF's fewer than 0.02, the bound of Figure 7.
    """
    rate = {(row["method"], row["knowledge"]): row["reidentification_rate"] for row in rows}
    traces = rows[0]["users"] * TRACES_PER_USER
    methods = list(dict.fromkeys(row["method"] for row in rows))

    def most(name: str) -> float:
        share = rate[name, MAXIMUM]
        return float(share + NOISE * (max(share, 1 / traces) * (1 - share) / traces) ** 0.5)

    return [
        counted(
            "an attacker with the training traces is the worst case",
            [rate[name, PARTIAL] <= most(name) for name in methods],
            "methods have no more re-identified with partial knowledge; maximum / partial: "
            + ", ".join(f"{name} {rate[name, MAXIMUM]:.3f} / {rate[name, PARTIAL]:.3f}" for name in methods),
        ),
        Finding(
            "PPMTF's traces betray almost nobody to an attacker who knows other days",
            rate["PPMTF", PARTIAL] < 0.02,
            f"{rate['PPMTF', PARTIAL]:.4f} re-identified, it takes < 0.02",
            rate["PPMTF", PARTIAL],
        ),
    ]


def _draw(path: Path, rows: Sequence[Mapping[str, Any]], said: list[Finding]) -> Path:
    titles = (
        "Markov attack, each trace",
        *(f"{name}, all traces of a user" for name in ATTACKS),
        "membership advantage",
    )
    methods = list(dict.fromkeys(row["method"] for row in rows))
    with canvas(3.2 * len(COLUMNS), 3.8, ncols=len(COLUMNS), sharey=True) as (figure, axes):
        for panel, column, title in zip(axes, COLUMNS, titles, strict=True):
            for number, knowledge in enumerate((MAXIMUM, PARTIAL)):
                mine = [row[column] for row in rows if row["knowledge"] == knowledge]
                at = np.arange(len(methods)) + 0.4 * number - 0.2
                panel.bar(at, mine, 0.38, color=COLOURS[number], label=f"{knowledge} knowledge")
            panel.axhline(rows[0]["guess"], color="#555555", linestyle=":", linewidth=1)
            panel.set_xticks(range(len(methods)), methods, rotation=90, fontsize=8)
            panel.set_title(title, fontsize=9)
        axes[0].set(ylabel="share found (0 is best)", ylim=(0, 1))
        axes[0].legend(frameon=False, fontsize=8)
        head(
            figure,
            "Synthetic traces against maximum and partial knowledge; dotted: a guess",
            said,
            width=140,
            top=0.98,
        )
        return save(figure, path)
