"""The published table of SGLT on people flow, row by row, under the paper's rules and the program's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.attacks.synthetic import MarkovIdentification
from tracearena.engine import seed_sequence, tracked
from tracearena.figures.data import Source, people_flow, published_results
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.metrics import tm_emd, tp_tv
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import SGLT
from tracearena.synthesis.baselines import traces_of_days
from tracearena.traces import Traces

CLASSES = (50, 100, 150, 200)
DROPPED = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1)
"""par_l of the published table."""
SEEDS = 3
TRACES_PER_USER = 10
NEAR = 0.03
"""A TP-TV that is off by no more is called the same; two draws of ours differ by about 0.02."""
METRICS = {
    "tp_tv": "TP-TV",
    "tp_tv_top50": "TP-TV-Top50",
    "tm_emd_y": "TM-EMD-Y",
    "tm_emd_x": "TM-EMD-X",
    "reidentification_rate": "re-identified",
}
RULES: dict[str, dict[str, bool]] = {
    "program": {"legacy_sglt": True},
    "program, decoder mended": {"legacy_sglt": True, "decoder_failure": False},
    "paper": {},
}
"""Series → parameters of SGLT."""
AXES: tuple[Literal["y", "x"], ...] = ("y", "x")
Row = dict[str, Any]


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    classes: Sequence[int] = CLASSES,
    dropped: Sequence[float] = DROPPED,
    seeds: int = SEEDS,
) -> list[Path]:
    """Write sglt-published.svg and .csv: every row of the table, published and ours."""
    training, testing = people_flow(source)
    rows = published(source.data)
    settings = [(rule, count) for rule in RULES for count in classes]
    for rule, count in tracked(settings, len(settings)):
        rows += measured(rule, count, training, testing, dropped, range(source.seed, source.seed + seeds))
    found = findings(rows)
    announce(found, tell)
    columns = ["rules", "classes", "par_l", *METRICS, "at_first_place", "spread_tp_tv"]
    return [
        _draw(out / "sglt-published.svg", rows, found),
        write_records(out / "sglt-published.csv", rows, columns),
    ]


def published(data: Path | None) -> list[Row]:
    """Return the rows of the authors' table, by classes and par_l."""
    rows = []
    for row in published_results(data, "SGLT"):
        setting = re.search(r"_c(\d+)_[\d.]+_[\d.]+_([\d.]+)_", row["tracefile"])
        if setting is not None:
            values = {
                name: row[f"{METRICS[name]}_syn"] for name in METRICS if name != "reidentification_rate"
            }
            values["reidentification_rate"] = row["reid_rate"]
            rows.append(
                {"rules": "published", "classes": int(setting[1]), "par_l": float(setting[2]), **values}
            )
    return sorted(rows, key=lambda row: (row["classes"], row["par_l"]))


def measured(
    rule: str, classes: int, training: Traces, testing: Traces, dropped: Sequence[float], seeds: Sequence[int]
) -> list[Row]:
    """Return a row a par_l, the mean over the seeds; the classes of a seed are the same for all."""
    values: dict[float, list[Row]] = {share: [] for share in dropped}
    attack = MarkovIdentification().fit(training)
    for seed in seeds:
        model = SGLT(classes=classes, privacy_tests=False, **RULES[rule]).fit(training, seed=seed)
        for share in dropped:
            made = _made(model, share, seed)
            there = float((made.place_index == 0).mean())
            rate = attack.rate(made)
            values[share].append(
                _judged(made, testing) | {"reidentification_rate": rate, "at_first_place": there}
            )
    return [
        {
            "rules": rule,
            "classes": classes,
            "par_l": share,
            **{name: float(np.mean([one[name] for one in some])) for name in some[0]},
            "spread_tp_tv": float(np.std([one["tp_tv"] for one in some])),
        }
        for share, some in values.items()
    ]


def _judged(made: Traces, testing: Traces) -> Row:
    """Return the utilities of the table; `evaluate` would infer membership too, which takes far longer."""
    return {
        "tp_tv": tp_tv(testing, made, by_day=True),
        "tp_tv_top50": tp_tv(testing, made, top=50, by_day=True),
        **{f"tm_emd_{axis}": tm_emd(testing, made, axis, by_day=True) for axis in AXES},
    }


def _made(model: SGLT, par_l: float, seed: int) -> Traces:
    """Return fakes of every seed day under another par_l, which a fitted model does not take."""
    rows = np.repeat(np.arange(len(model.seeds_.places)), TRACES_PER_USER)
    fakes = replace(model.maker_, par_l=par_l).make(model.seeds_.places, rows, seed_sequence(seed))
    shape = len(model.seeds_.places), TRACES_PER_USER, model.clock_.instants_per_day
    users = model.user_ids_[model.seeds_.users]
    return traces_of_days(fakes.places.reshape(shape), model.places_, model.clock_, users)


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Compare our TP-TV with the published one, row by row.

    The program's rules must come within 0.03 in every row. That 200 classes are bad for the population
    is an artefact if mending the decoder takes away half or more of what par_l = 1 loses against par_l = 0.
    """
    value = {(row["rules"], row["classes"], row["par_l"]): row["tp_tv"] for row in rows}
    told = [key[1:] for key in value if key[0] == "published"]
    near = {
        rule: [
            abs(value[rule, *key] - value["published", *key]) <= NEAR for key in told if (rule, *key) in value
        ]
        for rule in RULES
    }
    found = [
        counted(f"the {rule}'s rules give the published TP-TV", near[rule], f"rows are within {NEAR:g}")
        for rule in ("program", "paper")
        if near[rule]
    ]
    ends = [(rule, 200, share) for rule in ("program", "program, decoder mended") for share in (0, 1)]
    if all(key in value for key in ends):
        kept, lost, mended_kept, mended = (value[key] for key in ends)
        share = 1 - (mended - mended_kept) / (lost - kept) if lost > kept else 0.0
        found.append(
            Finding(
                "the loss of the population at 200 classes is a failing decoder's",
                share >= 0.5,
                f"TP-TV {lost:.3f} at par_l = 1, {mended:.3f} when the decoder is mended, {kept:.3f} at "
                f"par_l = 0: {share:.0%} of the loss, it takes half",
                share,
            )
        )
    return found


def _draw(path: Path, rows: Sequence[Row], found: list[Finding]) -> Path:
    counts = sorted({row["classes"] for row in rows})
    series = list(dict.fromkeys(row["rules"] for row in rows))
    with canvas(13, 3.9, ncols=len(counts), sharey=True, squeeze=False) as (figure, axes):
        for panel, count in zip(axes[0], counts, strict=True):
            for number, name in enumerate(series):
                mine = [row for row in rows if row["rules"] == name and row["classes"] == count]
                panel.plot(
                    [row["par_l"] for row in mine],
                    [row["tp_tv"] for row in mine],
                    MARKERS[number].matplotlib,
                    linestyle="-",
                    color=COLOURS[number],
                    label=name,
                )
            panel.set_title(f"{count} classes", fontsize=10, loc="left")
            panel.set_xlabel("par_l, how often the seed's place is dropped")
        axes[0, 0].set_ylabel("TP-TV (0 is best)")
        axes[0, 0].legend(frameon=False, fontsize=8)
        head(figure, "Population of SGLT's fakes under several sets of rules", found, width=150)
        return save(figure, path)
