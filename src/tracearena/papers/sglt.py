"""Figures of [sglt]: similarity (Figures 4 to 8), Tables 2 to 4, a service (Figure 9) and classes (Figure 3).

The published table of SGLT on people flow is compared with ours, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena import ServiceResult, hide_from_service, location_classes
from tracearena.arena.claims import ClaimResult, check_share, format_title
from tracearena.arena.experiments import KNOWLEDGE
from tracearena.attacks.synthetic import SyntheticIdentification
from tracearena.attacks.viterbi import ViterbiTracking
from tracearena.engine import child_seed, generator, seed_sequence, track_progress
from tracearena.metrics.services import time_divergence, visit_divergence
from tracearena.metrics.similarity import all_pairs, geographic_similarity, semantic_similarity
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.obfuscation.fakes import METHODS, FakeTraces
from tracearena.pages.html import BLUE, COLOURS, MARKERS
from tracearena.papers.base import Drawing, paper_figure
from tracearena.papers.data import (
    SGLT_CLASSES,
    SGLT_DROPPED,
    TRACES_PER_USER,
    FakesExperiment,
    FigureSource,
    Size,
    choose_class_count,
    load_people_flow,
    load_same_people,
    measure_utility,
    read_published_results,
    run_fakes_experiment,
)
from tracearena.papers.style import choose_look
from tracearena.synthesis import SGLT
from tracearena.synthesis.baselines import build_day_traces
from tracearena.synthesis.sglt import LocationClasses
from tracearena.traces import Places, Traces
from tracearena.traces._arrays import correlate
from tracearena.traces.geodesy import KM_PER_DEGREE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# [sglt] Figures 4, 5 and 7: people are alike in kind, not in place, and so are fakes and seeds.
_BINS = np.linspace(0, 1, 26)
_OTHERS = 50
DENIABLE = 0.1
"""Difference of similarities up to which another person could be the seed, as in the privacy test."""
_TITLES = {
    "real_geographic": "two real people, in place",
    "real_semantic": "two real people, in kind",
    "fake_seed_semantic": "a fake and its seed, in kind",
    "differential": "difference: seed or another person",
}


@paper_figure(
    "sglt-similarity", "similarity of people in places and in kinds of places, and of fakes and their seeds"
)
def compute_sglt_similarity(source: FigureSource) -> Drawing:
    """Compute four histograms."""
    values = measure_similarities(run_fakes_experiment(source), source.seed)
    shares = {name: np.histogram(found, _BINS)[0] / max(len(found), 1) for name, found in values.items()}
    rows = zip(_BINS[:-1].round(2), _BINS[1:].round(2), *shares.values(), strict=True)

    def draw(figure: Any, axes: Any) -> None:
        figure.set_layout_engine("constrained")
        for number, (axis, name) in enumerate(zip(axes.flat, _TITLES, strict=True)):
            axis.bar(_BINS[:-1], shares[name], width=0.036, align="edge", color=COLOURS[number])
            axis.axvline(float(values[name].mean()), color="#333333", linewidth=1, linestyle="--")
            axis.set_title(f"{_TITLES[name]} (mean {values[name].mean():.2f})", fontsize=10, loc="left")
            words = "difference of similarities" if name == "differential" else "similarity (1 = alike)"
            axis.set(xlabel=words, ylabel="share of pairs")
            axis.tick_params(labelbottom=True)

    return Drawing(
        (("from", "to", *shares), rows), draw, (9, 6.2), {"nrows": 2, "ncols": 2, "sharex": True},
        title="Likeness of people, and of fakes and people", claims=check_sglt_similarity_claims(values),
        head={"width": 100, "top": 1.01}, suffix="png",
    )  # fmt: skip


def measure_similarities(found: FakesExperiment, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return the similarities of pairs behind each histogram."""
    real, fake = MobilityProfiles.of(found.training), MobilityProfiles.of(found.fakes)
    pairs = all_pairs(real.n_users)
    model = found.model
    seeds = MobilityProfiles.of(Traces.from_dense(model.seeds_.places, model.places_, model.clock_))
    own = semantic_similarity(fake, seeds, np.column_stack([np.arange(fake.n_users), found.seeds]))
    others = generator(seed).integers(0, seeds.n_users, (fake.n_users, _OTHERS))
    mixed = np.column_stack([np.repeat(np.arange(fake.n_users), _OTHERS), others.ravel()])
    different = others.ravel() != np.repeat(found.seeds, _OTHERS)
    to_others = semantic_similarity(fake, seeds, mixed[different])
    return {
        "real_geographic": geographic_similarity(real, real, pairs),
        "real_semantic": semantic_similarity(real, real, pairs),
        "fake_seed_semantic": own,
        "differential": np.abs(to_others - np.repeat(own, _OTHERS)[different]),
    }


def check_sglt_similarity_claims(values: Mapping[str, NDArray[np.float64]]) -> list[ClaimResult]:
    """Check whether people are alike in kind more than in place, and could be the seed of others' fakes.

    As in the histograms of [sglt]. A pair of a fake and another person counts if the difference of the
    similarities is at most 0.1, the bound of the privacy test; half of the pairs are required.
    """
    kind, place = (float(values[name].mean()) for name in ("real_semantic", "real_geographic"))
    share = float((values["differential"] <= DENIABLE).mean()) if len(values["differential"]) else 0.0
    told = f"mean similarity {kind:.2f} in kind, {place:.2f} in place"
    seeds = f"{share:.0%} of the pairs differ by at most {DENIABLE:g}, required: half"
    return [
        ClaimResult("people visit different places in the same way", kind > place, told, kind - place),
        ClaimResult("every second person could be the seed of a fake", share >= 0.5, seeds, share),
    ]


# [sglt] Tables 2 to 4: what fake data sets keep of visits and of people's time.
TOP = 50
_COLUMNS = ("fakes", "testing", "uniform", "one place", "random")
Measure = Callable[[Traces | NDArray[np.float64]], float]
DivergenceRow = tuple[str, str, float, float]


@paper_figure("sglt-tables", "distance of fake traces from real ones: visits, and time spent at places")
def compute_sglt_tables(source: FigureSource) -> Drawing:
    """Compute divergences of ten fake data sets next to the baselines."""
    found = run_fakes_experiment(source)
    rows = measure_divergences(found, source.seed) + build_aggregate_rows(found)
    passed = [("privacy tests", name, share, 0.0) for name, share in found.rates.to_dict().items()]

    def draw(figure: Any, axes: Any) -> None:
        tables = list(dict.fromkeys(row[0] for row in rows if row[1] in _COLUMNS))
        for number, column in enumerate(_COLUMNS):
            mine = [row for row in rows if row[1] == column]
            at = [max(row[2], 1e-4) for row in mine], [tables.index(row[0]) for row in mine]
            look = {"fmt": MARKERS[number].matplotlib, "color": COLOURS[number], "markersize": 7}
            axes.errorbar(*at, xerr=[row[3] for row in mine], label=column, **look)
        axes.set_xscale("log")
        axes.set_yticks(range(len(tables)), tables)
        axes.invert_yaxis()
        axes.set_xlabel("KL divergence from the real training data (0 is best)")
        axes.legend(frameon=False, fontsize=8, ncols=5, loc="lower left", bbox_to_anchor=(0, 1))

    return Drawing(
        (("table", "row", "mean", "std"), rows + passed), draw, (8.5, 4.2),
        title="Divergence of ten fake data sets from the real one, next to the baselines",
        claims=check_sglt_table_claims(rows), head={"pad": 26}, suffix="png",
    )  # fmt: skip


def check_sglt_table_claims(rows: Sequence[DivergenceRow]) -> list[ClaimResult]:
    """Compare the fakes with the baselines without people, table by table.

    [sglt]: fakes keep the statistics of visits and of time far better than the baselines. They
    must be nearer to the real data than uniform, one place and random shares, in every table.
    """
    baselines = ("uniform", "one place", "random")
    tables = {row[0] for row in rows if row[1] == "fakes"}
    value = {(row[0], row[1]): row[2] for row in rows}
    kept = [
        all(value[table, "fakes"] < value[table, name] for name in baselines if (table, name) in value)
        for table in sorted(tables)
    ]
    statement = "fakes keep visits and people's time better than the baselines"
    return [check_share(statement, kept, "tables have the fakes nearer to the real data")]


def measure_divergences(found: FakesExperiment, seed: int) -> list[DivergenceRow]:
    """Return (table, data set, mean, standard deviation) of the KL divergences."""
    real, m = found.training, len(found.training.places)
    one_place = np.eye(1, m)[0] * real.n_events
    rng = generator(seed)
    rows: list[DivergenceRow] = []
    for name, top in (("visits", None), (f"visits, top {TOP}", TOP)):
        extra = {"uniform": np.full(m, real.n_events / m), "one place": one_place}
        rows += _build_divergence_rows(name, found, extra, partial(visit_divergence, real, top=top))
    for rank in (1, 2, 3):
        equal = {"uniform": np.full(real.n_users, 1 / rank), "random": rng.random(real.n_users)}
        rows += _build_divergence_rows(
            f"time at place {rank}", found, equal, partial(time_divergence, real, rank=rank)
        )
    return rows


def _build_divergence_rows(
    table: str, found: FakesExperiment, baselines: dict[str, NDArray[np.float64]], measure: Measure
) -> list[DivergenceRow]:
    values = [measure(fakes) for fakes in found.data_sets()]
    rows = [(table, "fakes", float(np.mean(values)), float(np.std(values)))]
    rows.append((table, "testing", measure(found.testing), 0.0))
    return rows + [(table, name, measure(shares), 0.0) for name, shares in baselines.items()]


def build_aggregate_rows(found: FakesExperiment) -> list[DivergenceRow]:
    """Return mean, median and spread of the similarity of fake and real aggregate mobility."""
    real, *others = (
        AggregateMobility.of(MobilityProfiles.of(traces), found.training.places)
        for traces in (found.training, *found.data_sets())
    )
    rows: list[DivergenceRow] = []
    for name, values in (
        ("aggregate transitions", [other.move_similarity(real) for other in others]),
        ("aggregate visits", [other.visit_similarity(real) for other in others]),
    ):
        rows.append((name, "similarity", float(np.mean(values)), float(np.std(values))))
        rows.append((name, "median similarity", float(np.median(values)), 0.0))
    return rows


# [sglt] Figure 8: fakes are as alike among themselves as real people are.
LARGEST_GAP = 0.1
_AT = np.linspace(0, 1, 101)


@paper_figure("sglt-qq", "similarity among fakes, compared with similarity among real people")
def compute_sglt_quantiles(source: FigureSource) -> Drawing:
    """Compute quantiles of semantic similarity, real–real against fake–fake."""
    found = run_fakes_experiment(source)
    quantiles = []
    for traces in (found.training, found.data_sets()[0]):
        profiles = MobilityProfiles.of(traces)
        alike = semantic_similarity(profiles, profiles, all_pairs(profiles.n_users))
        quantiles.append(np.quantile(alike, _AT))
    real, fake = quantiles

    def draw(figure: Any, axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="the same distribution")
        axes.plot(real, fake, "o", markersize=4, color=BLUE, label="percentiles")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_xlabel("semantic similarity of two real people")
        axes.set_ylabel("semantic similarity of two fakes")
        axes.legend(frameon=False, fontsize=8)

    return Drawing(
        (("quantile", "real", "fake"), zip(_AT.round(2), real, fake, strict=True)), draw, (5.2, 5.2),
        title="Percentiles of likeness, among people and among fakes",
        claims=check_sglt_quantile_claims(real, fake), head={"width": 62}, suffix="png",
    )  # fmt: skip


def check_sglt_quantile_claims(real: NDArray[np.float64], fake: NDArray[np.float64]) -> list[ClaimResult]:
    """Check whether fakes are as alike as people: no percentile may differ by more than 0.1.

    [sglt] calls the line straight. That of two sorted lists always rises, so its correlation
    is given as well and decides nothing.
    """
    gap = float(np.abs(real - fake).max())
    straight = correlate(real, fake) or 0.0
    told = f"percentiles differ by up to {gap:.2f}, required: {LARGEST_GAP:g}; "
    told += f"their correlation is {straight:.3f}"
    return [ClaimResult("two fakes are as alike as two people", gap <= LARGEST_GAP, told, gap)]


# [sglt] Figure 9: privacy and overhead of hiding among fakes from a service.
SERVICE_SIZE = Size(150)
EXPOSURE = 0.3
_NAMES = {
    "sglt": "SGLT",
    "uniform": "uniform, each instant by itself",
    "aggregate": "as everybody visits, each instant by itself",
    "walk": "walk as everybody moves",
    "own-walk": "walk as the user herself moves (betrays her profile)",
}
_STYLES = {"population": "-", "generator": ":"}
"""What the attacker knows, and how his line is drawn."""
NEARLY = 0.9
"""Share of SGLT's privacy from which another generator is nearly as good."""
_OVERHEADS = {
    "distinct_places": "different places sent at once",
    "distinct_classes": "different classes sent at once",
}


@paper_figure("sglt-lbs", "privacy and overhead of hiding among fakes from a service")
def compute_sglt_service(source: FigureSource, *, counts: Sequence[int] = (5, 10, 20)) -> Drawing:
    """Hide people in five ways among 5, 10 and 20 fakes."""
    results = run_service_experiment(source, counts)

    def draw(figure: Any, axes: Any) -> None:
        figure.set_layout_engine("constrained")
        for axis, (overhead, label) in zip(axes, _OVERHEADS.items(), strict=True):
            for (number, method), (knows, style) in product(enumerate(METHODS), _STYLES.items()):
                mine = [one for one in results if (one.method, one.attacker) == (method, knows)]
                line = [getattr(one, overhead) for one in mine], [one.privacy for one in mine]
                name = _NAMES[method] if knows == "population" else None
                axis.plot(*line, style, label=name, **choose_look(number))
            axis.set_xlabel(f"{label} (1 is free)")
        axes[0].set(ylim=(0, 1.03), ylabel="share of places missed by the attacker\n(1 is best)")
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8)

    return Drawing(
        [one.to_dict() for one in results], draw, (10.5, 4.8), {"ncols": 2, "sharey": True},
        title=f"Privacy against overhead, with {', '.join(map(str, counts))} fakes; "
        "dotted: the attacker knows the generator",
        claims=check_sglt_service_claims(results), head={"width": 125, "top": 1.01}, suffix="png",
    )  # fmt: skip


def check_sglt_service_claims(results: Sequence[ServiceResult]) -> list[ClaimResult]:
    """Compare SGLT with every other generator at the same number of fakes.

    [sglt]: semantic fakes hide a person best, at a lower overhead: more privacy, and fewer different places
    and classes sent at once, than every other generator at every number of fakes. A walk by one's own
    profile gets near SGLT's privacy; here near is nine tenths of it. That it outlives an attacker who knows
    the generator is asked here and not tried there.
    """
    ours = {one.fakes: one for one in results if one.method == "sglt" and one.attacker == "population"}
    others = [one for one in results if one.method != "sglt" and one.attacker == "population"]
    found = [
        check_share(
            "fakes that mean something hide a person better",
            [ours[one.fakes].privacy > one.privacy for one in others],
            "comparisons with other fakes have more privacy",
        ),
        *(
            check_share(
                f"fakes that mean something need fewer {label}",
                [getattr(ours[one.fakes], name) < getattr(one, name) for one in others],
                "comparisons with other fakes need fewer",
            )
            for name, label in _OVERHEADS.items()
        ),
    ]

    def compare(one: ServiceResult) -> float:
        return one.privacy / max(ours[one.fakes].privacy, 1e-9)

    walks = [one for one in others if one.method == "own-walk"]
    if walks:
        best = max(walks, key=compare)
        said = f"at best {best.privacy:.2f} against {ours[best.fakes].privacy:.2f}, required: {NEARLY:.0%}"
        share = compare(best)
        statement = "a walk by one's own profile is nearly as good"
        found.append(ClaimResult(statement, share >= NEARLY, said, share))
    known = [one for one in results if one.method == "sglt" and one.attacker == "generator"]
    if known:
        kept = min(map(compare, known))
        said = ", ".join(f"{one.privacy:.2f} against {ours[one.fakes].privacy:.2f}" for one in known)
        statement = "fakes hide a person from who knows their generator"
        found.append(ClaimResult(statement, kept >= NEARLY, said, kept))
    return found


def run_service_experiment(source: FigureSource, counts: Sequence[int]) -> list[ServiceResult]:
    """Let the same people hide in five ways with several numbers of fakes."""
    training, original = load_same_people(source, SERVICE_SIZE)
    if source.data is not None:
        # Published testing traces are of other people, who have no fakes of their own.
        original = training
    root = seed_sequence(source.seed)
    classes = location_classes(training, choose_class_count(training), seed=child_seed(root, 0))
    attacker = ViterbiTracking().fit(training)
    results: list[ServiceResult] = []
    settings = list(product(METHODS, counts, KNOWLEDGE))
    for method, count, knows in track_progress(settings, len(settings)):
        defence = FakeTraces(method=method, fakes=count, exposure=EXPOSURE, classes=len(classes))
        given = attacker if knows == "population" else None
        results.append(
            hide_from_service(
                training, original, defence, classes, attacker=given, knows=knows, seed=child_seed(root, 1)
            )
        )
    return results


# The published table of SGLT on people flow, row by row, under the paper's rules and the program's.
NEAR = 0.03
"""A TP-TV that is off by no more is called the same; two draws of ours differ by about 0.02."""
METRICS = {
    "tp_tv": "TP-TV",
    "tp_tv_top50": "TP-TV-Top50",
    "tm_emd_y": "TM-EMD-Y",
    "tm_emd_x": "TM-EMD-X",
}
RULES: dict[str, dict[str, bool]] = {
    "program": {"legacy_sglt": True},
    "program, decoder mended": {"legacy_sglt": True, "decoder_failure": False},
    "paper": {},
}
"""Series → parameters of SGLT."""
ResultRow = dict[str, Any]


@paper_figure(
    "sglt-published", "every row of the published SGLT table, under the paper's rules and the program's"
)
def compute_sglt_published(
    source: FigureSource,
    *,
    classes: Sequence[int] = SGLT_CLASSES,
    dropped: Sequence[float] = SGLT_DROPPED,
    seeds: int = 3,
) -> Drawing:
    """Compute every row of the table, published and ours."""
    training, testing = load_people_flow(source)
    rows = _read_published_rows(source.data)
    settings = list(product(RULES, classes))
    for rule, count in track_progress(settings, len(settings)):
        rows += measure_rows(rule, count, training, testing, dropped, range(source.seed, source.seed + seeds))
    columns = (
        "rules",
        "classes",
        "par_l",
        *METRICS,
        "reidentification_rate",
        "at_first_place",
        "spread_tp_tv",
    )
    counts = sorted({row["classes"] for row in rows})

    def draw(figure: Any, axes: Any) -> None:
        series = list(dict.fromkeys(row["rules"] for row in rows))
        for panel, count in zip(axes[0], counts, strict=True):
            for number, name in enumerate(series):
                mine = [row for row in rows if (row["rules"], row["classes"]) == (name, count)]
                line = [row["par_l"] for row in mine], [row["tp_tv"] for row in mine]
                panel.plot(*line, linestyle="-", label=name, **choose_look(number))
            panel.set_title(f"{count} classes", fontsize=10, loc="left")
            panel.set_xlabel("par_l, how often the seed's place is dropped")
        axes[0, 0].set_ylabel("TP-TV (0 is best)")
        axes[0, 0].legend(frameon=False, fontsize=8)

    return Drawing(
        (columns, ([row.get(name) for name in columns] for row in rows)), draw, (13, 3.9),
        {"ncols": len(counts), "sharey": True, "squeeze": False},
        title="Population of SGLT's fakes under several sets of rules",
        claims=check_sglt_published_claims(rows), head={"width": 150},
    )  # fmt: skip


def _read_published_rows(data: Path | None) -> list[ResultRow]:
    """Return the rows of the authors' table, by classes and par_l."""
    rows = []
    for row in read_published_results(data, "SGLT"):
        if setting := re.search(r"_c(\d+)_[\d.]+_[\d.]+_([\d.]+)_", row["tracefile"]):
            values = {name: row[f"{column}_syn"] for name, column in METRICS.items()}
            values |= {"classes": int(setting[1]), "par_l": float(setting[2])}
            rows.append({"rules": "published", "reidentification_rate": row["reid_rate"]} | values)
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
            values[share].append(
                {
                    **measure_utility(testing, made, tuple(METRICS), by_day=True),
                    "reidentification_rate": attack.rate(made),
                    "at_first_place": float((made.place_index == 0).mean()),
                }
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
                f"par_l = 0: {share:.0%} of the loss, required: half",
                share,
            )
        )
    return found


# [sglt] Figure 3: the semantic classes of places.
SHOWN = 7
CLASSES_SIZE = Size(2_000)
WIDE = 0.7


@paper_figure("sglt-classes", "where people are, and the semantic classes of places, on two maps")
def compute_sglt_classes(source: FigureSource) -> Drawing:
    """Compute the visits and the class of every place."""
    training, _ = load_same_people(source, CLASSES_SIZE)
    classes = location_classes(training, choose_class_count(training), seed=source.seed)
    places = training.places
    visits = np.bincount(training.place_index, minlength=len(places))
    found = check_sglt_class_claims(places, classes.class_of)
    rows = zip(places.ids, places.latitude, places.longitude, classes.class_of, visits, strict=True)

    def draw(figure: Any, axes: Any) -> None:
        _draw_visit_map(axes[0], places, visits)
        _draw_class_map(axes[1], places, visits, classes)
        axes[0].set_title("Visits", fontsize=10, loc="left")
        words = format_title("Semantic classes of places", found, width=80)
        axes[1].set_title(words, fontsize=10, loc="left")

    columns = ("place", "latitude", "longitude", "class", "visits")
    return Drawing((columns, rows), draw, (12.5, 6), {"ncols": 2}, claims=found, suffix="png")


def check_sglt_class_claims(places: Places, class_of: NDArray[np.int32]) -> list[ClaimResult]:
    """Check whether the places of a class are spread as widely as all places.

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
    told = f"spread of a class {ratio:.2f} of that of all places, required: {WIDE:g}"
    return [ClaimResult(statement, ratio >= WIDE, told, ratio)]


def _draw_visit_map(axes: Axes, places: Places, visits: NDArray[np.int64]) -> None:
    """Draw every place in the colour of its share of all visits, on a logarithmic scale."""
    from matplotlib.colors import LogNorm

    share = visits / max(int(visits.sum()), 1)
    seen = visits > 0
    x, y = _project_km(places)
    axes.scatter(x[~seen], y[~seen], s=6, color="#cccccc")
    least = share[seen].min() if seen.any() else 1e-3
    scale = LogNorm(least, max(float(share.max()), 2 * least))
    points = axes.scatter(x[seen], y[seen], s=14, c=share[seen], cmap="viridis", norm=scale)
    axes.figure.colorbar(points, ax=axes, shrink=0.7, label="share of all visits (grey: none)")
    axes.set(aspect="equal", xlabel="km east", ylabel="km north")


def _draw_class_map(axes: Axes, places: Places, visits: NDArray[np.int64], classes: LocationClasses) -> None:
    """Draw the seven most visited classes in colour, the others grey; larger is more visited."""
    per_class = np.bincount(classes.class_of, weights=visits, minlength=len(classes))
    shown = np.argsort(-per_class, kind="stable")[:SHOWN]
    x, y = _project_km(places)
    size = 4 + 60 * np.sqrt(visits / max(int(visits.max()), 1))
    rest = ~np.isin(classes.class_of, shown)
    label = f"{len(classes) - len(shown)} more classes"
    axes.scatter(x[rest], y[rest], s=size[rest], color="#cccccc", label=label)
    for number, kind in enumerate(shown):
        own = classes.class_of == kind
        share = per_class[kind] / max(visits.sum(), 1)
        label = f"class {kind}: {int(own.sum())} places, {share:.0%} of visits"
        axes.scatter(x[own], y[own], s=size[own], color=COLOURS[number], label=label)
    marked = places.sensitive
    if marked.any():
        axes.scatter(x[marked], y[marked], s=16, marker="+", color="black", linewidths=0.8, label="sensitive")
    axes.set(aspect="equal", xlabel="km east", ylabel="km north")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def _project_km(places: Places) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return kilometres east and north of the south-west corner."""
    shrunk = float(np.cos(np.radians(places.latitude.mean())))
    north, east = places.km_per_degree or (KM_PER_DEGREE, KM_PER_DEGREE * shrunk)
    x, y = places.longitude, places.latitude
    return (x - x.min()) * east, (y - y.min()) * north
