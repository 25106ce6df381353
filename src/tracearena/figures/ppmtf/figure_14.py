"""[ppmtf] Figure 14: how many synthetic traces pass the plausible-deniability test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from tracearena.arena.claims import Finding, Tell, announce, counted, titled
from tracearena.engine import child_seed, seed_sequence, tracked
from tracearena.figures.data import Source, check_ins
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import write_records
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import measure_deniability
from tracearena.synthesis.ppmtf.tensors import Zeros

KS = (1, 10, 20, 50, 100, 150, 200)
ITERATIONS = 100
SHARES = (0.25, 0.5, 1.0)
ZEROS: dict[Zeros, str] = {"sampled": "-", "all": "--"}
"""How zeros are taken → how the line looks."""


def make(
    out: Path, source: Source, tell: Tell | None, *, ks: Sequence[int] = KS, iterations: int = ITERATIONS
) -> list[Path]:
    """Write ppmtf-14.svg and ppmtf-14.csv: pass rate over k for growing numbers of users, η = 1.

    With the paper's sampled zeros, and with all of them.
    """
    training, _ = check_ins(source)
    root = seed_sequence(source.seed)
    rows: list[dict[str, Any]] = []
    plan = [(zeros, share) for zeros in ZEROS for share in SHARES]
    for zeros, share in tracked(plan, len(plan)):
        users = max(round(share * training.n_users), 1)
        part = training.take_users(range(users))
        model = PPMTF(zeros=zeros, iterations=iterations).fit(part, seed=child_seed(root, 0))
        synthetic = model.synthesize(1, seed=child_seed(root, 1))
        found = measure_deniability(model, synthetic, k=max(ks), seed=child_seed(root, 2))
        rows += [
            {"zeros": zeros, "users": users, "k": k, "eta": 1, "pass_rate": found.pass_rate_at(k)} for k in ks
        ]
    said = findings(rows)
    announce(said, tell)
    return [_draw(out / "ppmtf-14.svg", rows, said), write_records(out / "ppmtf-14.csv", rows)]


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Compare the pass rates with the most users and with the fewest, and with small and large k.

    [ppmtf] appendix E: the rate falls with k. That it grows with the users is our own claim: there
    Istanbul, with the most users, is below New York at k = 200. Sampled zeros and all of them count alike.
    """
    few, many = (pick(row["users"] for row in rows) for pick in (min, max))
    rate = {(row["zeros"], row["users"], row["k"]): row["pass_rate"] for row in rows}
    ks = sorted({row["k"] for row in rows})
    kinds = sorted({(row["zeros"], row["users"]) for row in rows})
    ways = sorted({row["zeros"] for row in rows})
    return [
        counted(
            "the more others a trace must be plausible for, the fewer pass",
            [rate[*kind, b] <= rate[*kind, a] for kind in kinds for a, b in pairwise(ks)],
            "steps of k have a rate that does not rise",
        ),
        counted(
            "the more people, the more traces could have been made by others",
            [few < many and rate[way, many, k] >= rate[way, few, k] for way in ways for k in ks],
            f"values of k have a rate with {many:,} users that is not below that with {few:,}",
        ),
    ]


def _draw(path: Path, rows: list[dict[str, Any]], found: list[Finding]) -> Path:
    with canvas(6.5, 4.2) as (figure, axes):
        people = sorted({row["users"] for row in rows})
        for users, zeros in product(people, ZEROS):
            mine = [row for row in rows if (row["users"], row["zeros"]) == (users, zeros)]
            line = [(row["k"], row["pass_rate"]) for row in mine]
            number = people.index(users)
            style = {"color": COLOURS[number], "marker": MARKERS[number].matplotlib, "ls": ZEROS[zeros]}
            axes.plot(*zip(*line, strict=True), label=f"{users:,} users, {zeros} zeros", **style)
        axes.set(
            xlabel="k: people a trace must be plausible for", ylabel="share of traces that pass", ylim=(0, 1)
        )
        axes.set_title(
            titled("Pass rate of the deniability test over k", found, width=70), fontsize=10, loc="left"
        )
        axes.legend(frameon=False)
        return save(figure, path)
