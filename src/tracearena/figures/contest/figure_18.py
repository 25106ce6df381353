"""[contest] Figure 18: privacy and utility of PPMTF+ beside PPMTF, SGD and SGLT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.arena.claims import Finding, Tell, announce
from tracearena.attacks import MarkovIdentification, MembershipInference
from tracearena.engine import child_seed, seed_sequence
from tracearena.figures.bars import draw_bars
from tracearena.figures.data import Source, people_flow
from tracearena.figures.tables import halved, utility, write_records
from tracearena.formats.ppmtf import read_synthetic
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.traces import Traces

DAYS = 10
ITERATIONS = 100
ALPHAS = (0.5, 10.0, 1000.0)
"""Precisions beside 200, the paper's."""
CLASSES = 100
SETTINGS = ((50, 1.0), (50, 0.0), (100, 0.0))
"""Classes and par_l of SGLT beside 100 and 1."""
UTILITIES = ("tp_tv_top50", "tm_emd_sliced")
METRICS = ("reidentification_rate", "membership_advantage", *UTILITIES)


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    days: int = DAYS,
    iterations: int = ITERATIONS,
    alphas: Sequence[float] = ALPHAS,
    settings: Sequence[tuple[int, float]] = SETTINGS,
) -> list[Path]:
    """Write contest-18.svg and contest-18.csv.

    Virtual user i is compared with training user i, so that 1 / users is a random guess. PPMTF+ and PPMTF
    have α = 200 and further ones, SGLT 100 classes and par_l = 1 and further ones (tests off, as the
    published fakes, which stand beside ours if `data` has them).
    """
    training, testing = people_flow(source)
    root = seed_sequence(source.seed)
    candidates = _factorised(training, days, PPMTF(iterations=iterations), "", root)
    candidates |= {
        "SGD": SGD().fit(training).synthesize(days, seed=child_seed(root, 3)),
        "SGLT": _fakes(training, days, CLASSES, 1.0, child_seed(root, 4)),
    }
    for number, alpha in enumerate(alphas):
        model, own = PPMTF(alpha=alpha, iterations=iterations), child_seed(root, 5, number)
        candidates |= _factorised(training, days, model, f", α={alpha:g}", own)
    for number, (classes, par_l) in enumerate(settings):
        name = f"SGLT, c={classes}, par_l={par_l:g}"
        candidates[name] = _fakes(training, days, classes, par_l, child_seed(root, 6, number))
    candidates |= _published_fakes(source.data, training)
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
        draw_bars(out / "contest-18.svg", rows, METRICS, title, found, {"": spread}),
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


def _factorised(
    training: Traces, days: int, model: PPMTF, suffix: str, root: np.random.SeedSequence
) -> dict[str, Traces]:
    """Return virtual users and the training users' own days, of one model."""
    fitted = model.fit(training, seed=child_seed(root, 0))
    virtual = fitted.sample_users(training.n_users, days, seed=child_seed(root, 1))
    return {
        f"PPMTF+{suffix}": virtual.with_user_ids(training.user_ids),
        f"PPMTF{suffix}": fitted.synthesize(days, seed=child_seed(root, 2)),
    }


def _fakes(training: Traces, days: int, classes: int, par_l: float, seed: np.random.SeedSequence) -> Traces:
    few = min(classes, len(training.places) // 2)
    maker = SGLT(classes=few, par_l=par_l, privacy_tests=False).fit(training, seed=child_seed(seed, 0))
    return maker.synthesize(days, seed=child_seed(seed, 1))


def _published_fakes(data: Path | None, training: Traces) -> dict[str, Traces]:
    found = [] if data is None else sorted(data.glob("syntraces_sglt_*.csv*"))
    if not found:
        return {}
    return {"SGLT (published)": read_synthetic(found[0], training.places, training.clock).traces}
