"""[contest] Figure 17: utility of PPMTF+ beside PPMTF and SGD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.arena.findings import Finding, Tell, announce, counted
from tracearena.engine import child_seed, seed_sequence
from tracearena.figures.data import Source, check_ins
from tracearena.figures.tables import TITLES, draw_bars, halved, utility, write_records
from tracearena.synthesis import PPMTF, SGD
from tracearena.traces import Traces

DAYS = 20
ITERATIONS = 100
METRICS = ("vf_tv", "tp_tv_top50", "tm_emd_sliced")


def make(
    out: Path, source: Source, tell: Tell | None, *, days: int = DAYS, iterations: int = ITERATIONS
) -> list[Path]:
    """Write contest-17.svg and contest-17.csv: each of 20 days against the training traces, averaged."""
    training, testing = check_ins(source)
    root = seed_sequence(source.seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    candidates: dict[str, Traces | None] = {
        "PPMTF+": model.sample_users(training.n_users, days, seed=child_seed(root, 1)),
        "PPMTF": model.synthesize(days, seed=child_seed(root, 2)),
        "SGD": SGD().fit(training).synthesize(days, seed=child_seed(root, 3)),
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
    parted, spread = halved(training, testing, METRICS)
    rows += parted
    found = findings(rows)
    announce(found, tell)
    title = "Utility of PPMTF+, PPMTF and SGD, against the training traces"
    return [
        draw_bars(out / "contest-17.svg", rows, METRICS, title, found, spread),
        write_records(out / "contest-17.csv", rows),
    ]


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Compare virtual users with PPMTF's, and SGD's with uniform places.

    [contest] appendix B: PPMTF+ has about the utility of PPMTF (here: at most a tenth worse in every
    metric), and SGD is "almost the same as Uniform" in VF-TV (here: nearer to uniform than to PPMTF).
    """
    by = {row["method"]: row for row in rows}
    known = [name for name in METRICS if by["PPMTF"][name] is not None]
    found = [
        counted(
            "virtual users (PPMTF+) are as useful as PPMTF's",
            [by["PPMTF+"][name] <= 1.1 * by["PPMTF"][name] for name in known],
            "metrics are at most a tenth worse: "
            + ", ".join(
                f"{TITLES[name]} {by['PPMTF+'][name]:.3f} / {by['PPMTF'][name]:.3f}" for name in known
            ),
        )
    ]
    if "vf_tv" in known:
        chain, ours, uniform = (by[name]["vf_tv"] for name in ("SGD", "PPMTF", "uniform"))
        found.append(
            Finding(
                "SGD's people behave alike: their VF-TV is nearer to that of uniform places than to PPMTF's",
                abs(chain - uniform) < abs(chain - ours),
                f"SGD {chain:.3f}, PPMTF {ours:.3f}, uniform {uniform:.3f}",
                chain,
            )
        )
    return found
