"""[ppmtf] Figure 14: how many synthetic traces pass the plausible-deniability test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tracearena.arena.findings import Finding, Tell, announce, counted, titled
from tracearena.engine import child_seed, seed_sequence, tracked
from tracearena.figures.data import Source, check_ins
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import write_records
from tracearena.pages.style import COLOURS, MARKERS
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import measure_deniability

KS = (1, 10, 20, 50, 100, 150, 200)
ITERATIONS = 100
SHARES = (0.25, 0.5, 1.0)


def make(
    out: Path, source: Source, tell: Tell | None, *, ks: Sequence[int] = KS, iterations: int = ITERATIONS
) -> list[Path]:
    """Write ppmtf-14.svg and ppmtf-14.csv: pass rate over k for growing numbers of users, η = 1."""
    training, _ = check_ins(source)
    root = seed_sequence(source.seed)
    rows = []
    for share in tracked(SHARES, len(SHARES)):
        users = max(round(share * training.n_users), 1)
        part = training.take_users(range(users))
        model = PPMTF(zeros="all", iterations=iterations).fit(part, seed=child_seed(root, 0))
        synthetic = model.synthesize(1, seed=child_seed(root, 1))
        found = measure_deniability(model, synthetic, k=max(ks), seed=child_seed(root, 2))
        rows += [{"users": users, "k": k, "eta": 1, "pass_rate": found.pass_rate_at(k)} for k in ks]
    said = findings(rows)
    announce(said, tell)
    return [_draw(out / "ppmtf-14.svg", rows, said), write_records(out / "ppmtf-14.csv", rows)]


def findings(rows: Sequence[Mapping[str, float]]) -> list[Finding]:
    """Compare the pass rates with the most users and with the fewest, at every k.

    Our own claim: [ppmtf] Figure 14 has Istanbul, with the most users, below New York at k = 200.
    """
    few, many = (pick(row["users"] for row in rows) for pick in (min, max))
    rate = {(row["users"], row["k"]): row["pass_rate"] for row in rows}
    ks = sorted({row["k"] for row in rows})
    return [
        counted(
            "the more people, the more traces could have been made by others",
            [few < many and rate[many, k] >= rate[few, k] for k in ks],
            f"values of k have a rate with {many:,} users that is not below that with {few:,}",
        )
    ]


def _draw(path: Path, rows: list[dict[str, float]], found: list[Finding]) -> Path:
    with canvas(6.5, 4.2) as (figure, axes):
        for number, users in enumerate(sorted({row["users"] for row in rows})):
            line = [(row["k"], row["pass_rate"]) for row in rows if row["users"] == users]
            style = {"color": COLOURS[number], "marker": MARKERS[number].matplotlib}
            axes.plot(*zip(*line, strict=True), label=f"{users:,} users", **style)
        axes.set(
            xlabel="k: people a trace must be plausible for", ylabel="share of traces that pass", ylim=(0, 1)
        )
        axes.set_title(
            titled("Pass rate of the deniability test over k", found, width=70), fontsize=10, loc="left"
        )
        axes.legend(frameon=False)
        return save(figure, path)
