"""Figures of [sglt] about fakes: Figure 3 (semantic classes), Figure 8 (quantiles), the published table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracearena.arena import location_classes
from tracearena.arena.claims import ClaimResult, Tell, check_share, format_title, report_findings
from tracearena.attacks.synthetic import SyntheticIdentification
from tracearena.engine import seed_sequence, track_progress
from tracearena.files import write_csv
from tracearena.metrics import tm_emd, tp_tv
from tracearena.metrics.similarity import all_pairs, semantic_similarity
from tracearena.pages.html import BLUE, COLOURS, MARKERS
from tracearena.papers.data import (
    SGLT_CLASSES,
    SGLT_DROPPED,
    TRACES_PER_USER,
    FigureSource,
    Size,
    choose_class_count,
    load_people_flow,
    load_same_people,
    read_published_results,
    run_fakes_experiment,
    write_records,
)
from tracearena.papers.style import open_canvas, save_figure, write_head
from tracearena.synthesis import SGLT
from tracearena.synthesis.baselines import build_day_traces
from tracearena.synthesis.sglt import LocationClasses
from tracearena.traces import Places, Traces
from tracearena.traces.geodesy import KM_PER_DEGREE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHOWN = 7
CLASSES_SIZE = Size(2_000)
WIDE = 0.7


def draw_sglt_classes(out: Path, source: FigureSource, tell: Tell | None) -> list[Path]:
    """Write sglt-classes.png and .csv: every place by its visits, and in the colour of its class."""
    training, _ = load_same_people(source, CLASSES_SIZE)
    classes = location_classes(training, choose_class_count(training), seed=source.seed)
    visits = np.bincount(training.place_index, minlength=len(training.places))
    found = check_sglt_class_claims(training.places, classes.class_of)
    report_findings(found, tell)
    with open_canvas(12.5, 6, ncols=2) as (figure, axes):
        draw_visit_map(axes[0], training)
        draw_class_map(axes[1], training, classes)
        axes[0].set_title("Visits", fontsize=10, loc="left")
        title = format_title("Semantic classes of places", found, width=80)
        axes[1].set_title(title, fontsize=10, loc="left")
        picture = save_figure(figure, out / "sglt-classes.png")
    places = training.places
    rows = zip(places.ids, places.latitude, places.longitude, classes.class_of, visits, strict=True)
    header = ["place", "latitude", "longitude", "class", "visits"]
    return [picture, write_csv(out / "sglt-classes.csv", header, rows)]


def check_sglt_class_claims(places: Places, class_of: NDArray[np.int32]) -> list[ClaimResult]:
    """Ask whether the places of a class are spread as widely as all places.

    [sglt] has places of one class in different parts of the city. The spread about the middle
    of the class (root mean square, classes of one place left out) must be at least 0.7 of that of all
    places; 1 is what classes drawn at random have.
    """
    x, y = _project_km(places)
    of = np.asarray(class_of, np.int64)
    counts = np.maximum(np.bincount(of), 1)
    several = counts[of] > 1
    inside = sum(
        float(((axis - (np.bincount(of, weights=axis) / counts)[of]) ** 2)[several].sum()) for axis in (x, y)
    )
    # A class of n places has n - 1 free places about its own middle.
    free = int(several.sum()) - len(np.unique(of[several]))
    everywhere = float(np.var(x, ddof=1) + np.var(y, ddof=1)) if len(places) > 1 else 0.0
    statement = "places that mean the same lie all over the city"
    if not free or not everywhere:
        return [ClaimResult(statement, False, "no class has two places apart", None)]
    ratio = float((inside / free / everywhere) ** 0.5)
    told = f"spread of a class {ratio:.2f} of that of all places, it takes {WIDE:g}"
    return [ClaimResult(statement, ratio >= WIDE, told, ratio)]


def draw_visit_map(axes: Axes, traces: Traces) -> None:
    """Draw every place in the colour of its share of all visits, on a logarithmic scale."""
    from matplotlib.colors import LogNorm

    visits = np.bincount(traces.place_index, minlength=len(traces.places))
    share = visits / max(int(visits.sum()), 1)
    seen = visits > 0
    x, y = _project_km(traces.places)
    axes.scatter(x[~seen], y[~seen], s=6, color="#cccccc")
    least = share[seen].min() if seen.any() else 1e-3
    scale = LogNorm(least, max(float(share.max()), 2 * least))
    points = axes.scatter(x[seen], y[seen], s=14, c=share[seen], cmap="viridis", norm=scale)
    axes.figure.colorbar(points, ax=axes, shrink=0.7, label="share of all visits (grey: none)")
    axes.set(aspect="equal", xlabel="km east", ylabel="km north")


def draw_class_map(axes: Axes, traces: Traces, classes: LocationClasses) -> None:
    """Draw the seven most visited classes in colour, the others grey; larger is more visited."""
    visits = np.bincount(traces.place_index, minlength=len(traces.places))
    per_class = np.bincount(classes.class_of, weights=visits, minlength=len(classes))
    shown = np.argsort(-per_class, kind="stable")[:SHOWN]
    x, y = _project_km(traces.places)
    size = 4 + 60 * np.sqrt(visits / max(int(visits.max()), 1))
    rest = ~np.isin(classes.class_of, shown)
    axes.scatter(
        x[rest], y[rest], s=size[rest], color="#cccccc", label=f"{len(classes) - len(shown)} more classes"
    )
    for number, kind in enumerate(shown):
        own = classes.class_of == kind
        label = (
            f"class {kind}: {int(own.sum())} places, {per_class[kind] / max(visits.sum(), 1):.0%} of visits"
        )
        axes.scatter(x[own], y[own], s=size[own], color=COLOURS[number], label=label)
    marked = traces.places.sensitive
    if marked.any():
        axes.scatter(x[marked], y[marked], s=16, marker="+", color="black", linewidths=0.8, label="sensitive")
    axes.set(aspect="equal", xlabel="km east", ylabel="km north")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def _project_km(places: Places) -> tuple[np.ndarray, np.ndarray]:
    """Return kilometres east and north of the south-west corner."""
    north, east = places.km_per_degree or (
        KM_PER_DEGREE,
        KM_PER_DEGREE * float(np.cos(np.radians(places.latitude.mean()))),
    )
    return (places.longitude - places.longitude.min()) * east, (
        places.latitude - places.latitude.min()
    ) * north


# The published table of SGLT on people flow, row by row, under the paper's rules and the program's.


SEEDS = 3
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
ResultRow = dict[str, Any]


def draw_sglt_published(
    out: Path,
    source: FigureSource,
    tell: Tell | None,
    *,
    classes: Sequence[int] = SGLT_CLASSES,
    dropped: Sequence[float] = SGLT_DROPPED,
    seeds: int = SEEDS,
) -> list[Path]:
    """Write sglt-published.svg and .csv: every row of the table, published and ours."""
    training, testing = load_people_flow(source)
    rows = read_published_rows(source.data)
    settings = [(rule, count) for rule in RULES for count in classes]
    for rule, count in track_progress(settings, len(settings)):
        rows += measure_rows(rule, count, training, testing, dropped, range(source.seed, source.seed + seeds))
    found = check_sglt_published_claims(rows)
    report_findings(found, tell)
    columns = ["rules", "classes", "par_l", *METRICS, "at_first_place", "spread_tp_tv"]
    counts = sorted({row["classes"] for row in rows})
    series = list(dict.fromkeys(row["rules"] for row in rows))
    with open_canvas(13, 3.9, ncols=len(counts), sharey=True, squeeze=False) as (figure, axes):
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
        write_head(figure, "Population of SGLT's fakes under several sets of rules", found, width=150)
        picture = save_figure(figure, out / "sglt-published.svg")
    return [
        picture,
        write_records(out / "sglt-published.csv", rows, columns),
    ]


def read_published_rows(data: Path | None) -> list[ResultRow]:
    """Return the rows of the authors' table, by classes and par_l."""
    rows = []
    for row in read_published_results(data, "SGLT"):
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


def measure_rows(
    rule: str, classes: int, training: Traces, testing: Traces, dropped: Sequence[float], seeds: Sequence[int]
) -> list[ResultRow]:
    """Return a row a par_l, the mean over the seeds; the classes of a seed are the same for all."""
    values: dict[float, list[ResultRow]] = {share: [] for share in dropped}
    attack = SyntheticIdentification().fit(training)
    for seed in seeds:
        model = SGLT(classes=classes, privacy_tests=False, **RULES[rule]).fit(training, seed=seed)
        for share in dropped:
            rows = np.repeat(np.arange(len(model.seeds_.places)), TRACES_PER_USER)
            fakes = replace(model.maker_, par_l=share).make(model.seeds_.places, rows, seed_sequence(seed))
            shape = len(model.seeds_.places), TRACES_PER_USER, model.clock_.instants_per_day
            users = model.user_ids_[model.seeds_.users]
            made = build_day_traces(fakes.places.reshape(shape), model.places_, model.clock_, users)
            there = float((made.place_index == 0).mean())
            rate = attack.rate(made)
            values[share].append(
                {
                    "tp_tv": tp_tv(testing, made, by_day=True),
                    "tp_tv_top50": tp_tv(testing, made, top=50, by_day=True),
                    **{f"tm_emd_{axis}": tm_emd(testing, made, axis, by_day=True) for axis in AXES},
                }
                | {"reidentification_rate": rate, "at_first_place": there}
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


def check_sglt_published_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
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
        check_share(f"the {rule}'s rules give the published TP-TV", near[rule], f"rows are within {NEAR:g}")
        for rule in ("program", "paper")
        if near[rule]
    ]
    ends = [(rule, 200, share) for rule in ("program", "program, decoder mended") for share in (0, 1)]
    if all(key in value for key in ends):
        kept, lost, mended_kept, mended = (value[key] for key in ends)
        share = 1 - (mended - mended_kept) / (lost - kept) if lost > kept else 0.0
        found.append(
            ClaimResult(
                "the loss of the population at 200 classes is a failing decoder's",
                share >= 0.5,
                f"TP-TV {lost:.3f} at par_l = 1, {mended:.3f} when the decoder is mended, {kept:.3f} at "
                f"par_l = 0: {share:.0%} of the loss, it takes half",
                share,
            )
        )
    return found


# [sglt] Figure 8: fakes are as alike among themselves as real people are.


LARGEST_GAP = 0.1
_AT = np.linspace(0, 1, 101)


def draw_sglt_quantiles(out: Path, source: FigureSource, tell: Tell | None) -> list[Path]:
    """Write sglt-qq.png and .csv: quantiles of semantic similarity, real–real against fake–fake."""
    found = run_fakes_experiment(source)
    quantiles = []
    for traces in (found.training, found.data_sets()[0]):
        profiles = found.profiles(traces)
        quantiles.append(
            np.quantile(semantic_similarity(profiles, profiles, all_pairs(profiles.n_users)), _AT)
        )
    real, fake = quantiles
    said = check_sglt_quantile_claims(real, fake)
    report_findings(said, tell)
    with open_canvas(5.2, 5.2) as (figure, axes):
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="the same distribution")
        axes.plot(real, fake, "o", markersize=4, color=BLUE, label="percentiles")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_xlabel("semantic similarity of two real people")
        axes.set_ylabel("semantic similarity of two fakes")
        axes.legend(frameon=False, fontsize=8)
        title = "Percentiles of likeness, among people and among fakes"
        axes.set_title(format_title(title, said, width=62), fontsize=10, loc="left")
        picture = save_figure(figure, out / "sglt-qq.png")
    rows = zip(_AT.round(2), real, fake, strict=True)
    return [picture, write_csv(out / "sglt-qq.csv", ["quantile", "real", "fake"], rows)]


def check_sglt_quantile_claims(real: NDArray[np.float64], fake: NDArray[np.float64]) -> list[ClaimResult]:
    """Ask whether fakes are as alike as people: no percentile may differ by more than 0.1.

    [sglt] calls the line straight. That of two sorted lists always rises, so its correlation
    is given beside and decides nothing.
    """
    gap = float(np.abs(real - fake).max())
    straight = float(np.corrcoef(real, fake)[0, 1]) if np.ptp(real) and np.ptp(fake) else 0.0
    return [
        ClaimResult(
            "two fakes are as alike as two people",
            gap <= LARGEST_GAP,
            f"percentiles differ by up to {gap:.2f}, it takes {LARGEST_GAP:g}; "
            f"their correlation is {straight:.3f}",
            gap,
        )
    ]
