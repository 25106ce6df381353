"""[contest] Figure 18: privacy and utility of PPMTF+ beside PPMTF, SGD and SGLT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.arena.findings import Finding, Tell, announce
from tracearena.attacks import MarkovIdentification, MembershipInference
from tracearena.engine import child_seed, seed_sequence
from tracearena.figures.data import Source, people_flow
from tracearena.figures.tables import draw_bars, halved, utility, write_records
from tracearena.formats.ppmtf import read_synthetic
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.traces import Traces

DAYS = 10
ITERATIONS = 100
UTILITIES = ("tp_tv_top50", "tm_emd_sliced")
METRICS = ("reidentification_rate", "membership_advantage", *UTILITIES)


def make(
    out: Path, source: Source, tell: Tell | None, *, days: int = DAYS, iterations: int = ITERATIONS
) -> list[Path]:
    """Write contest-18.svg and contest-18.csv.

    Virtual user i is compared with training user i, so that 1 / users is a random guess. SGLT's
    fakes (100 classes, tests off, as the published ones) stand beside the published traces, if
    `data` has them.
    """
    training, testing = people_flow(source)
    root = seed_sequence(source.seed)
    model = PPMTF(iterations=iterations).fit(training, seed=child_seed(root, 0))
    virtual = model.sample_users(training.n_users, days, seed=child_seed(root, 1))
    candidates = {
        "PPMTF+": virtual.with_user_ids(training.user_ids),
        "PPMTF": model.synthesize(days, seed=child_seed(root, 2)),
        "SGD": SGD().fit(training).synthesize(days, seed=child_seed(root, 3)),
        "SGLT": _fakes(training, days, child_seed(root, 4)),
    } | _published_fakes(source.data, training)
    who = MarkovIdentification().fit(training)
    members = MembershipInference().fit(training, testing)
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            "reidentification_rate": who.rate(traces),
            "membership_advantage": members.evaluate(traces).advantage,
            **utility(training, traces, UTILITIES, by_day=True),
        }
        for name, traces in candidates.items()
    ]
    none = dict.fromkeys(METRICS)
    for name, real in (("real", testing), ("uniform", None)):
        rows.append({"method": name, **none, **utility(training, real, UTILITIES, by_day=False)})
    rows.append({"method": "random guess", **none, "reidentification_rate": 1 / training.n_users})
    parted, spread = halved(training, testing, UTILITIES)
    rows += [{**row, **none, **{name: row[name] for name in UTILITIES}} for row in parted]
    found = findings(rows, training.n_users, days * training.n_users)
    announce(found, tell)
    title = "Privacy and utility of PPMTF+, PPMTF, SGD and SGLT"
    return [
        draw_bars(out / "contest-18.svg", rows, METRICS, title, found, spread),
        write_records(out / "contest-18.csv", rows),
    ]


def findings(rows: Sequence[Mapping[str, Any]], users: int, traces: int) -> list[Finding]:
    """Ask whether a virtual user is told from others by more than chance.

    [contest] appendix B: PPMTF+ has almost the re-identification rate of a random guess. It may be three
    standard errors of a guess about so many traces above 1 / users.
    """
    rate = next(row["reidentification_rate"] for row in rows if row["method"] == "PPMTF+")
    guess = 1 / users
    most = guess + 3 * (guess * (1 - guess) / traces) ** 0.5
    return [
        Finding(
            "re-identification of a virtual user is a guess",
            rate <= most,
            f"rate {rate:.4f}, a guess has {guess:.4f}, at most {most:.4f}",
            rate,
        )
    ]


def _fakes(training: Traces, days: int, seed: np.random.SeedSequence) -> Traces:
    classes = min(100, len(training.places) // 2)
    maker = SGLT(classes=classes, privacy_tests=False).fit(training, seed=child_seed(seed, 0))
    return maker.synthesize(days, seed=child_seed(seed, 1))


def _published_fakes(data: Path | None, training: Traces) -> dict[str, Traces]:
    found = [] if data is None else sorted(data.glob("syntraces_sglt_*.csv*"))
    if not found:
        return {}
    return {"SGLT (published)": read_synthetic(found[0], training.places, training.clock).traces}
