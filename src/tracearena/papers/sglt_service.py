"""Figures of [sglt] about a location-based service, similarity and utility: Figures 4 to 9, Tables 2 to 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.arena import ServiceResult, hide_from_service, location_classes
from tracearena.arena.claims import ClaimResult, Tell, check_share, format_title, report_findings
from tracearena.arena.experiments import KNOWLEDGE
from tracearena.attacks.viterbi import ViterbiTracking
from tracearena.engine import child_seed, generator, seed_sequence, track_progress
from tracearena.files import write_csv
from tracearena.metrics.services import time_divergence, visit_divergence
from tracearena.metrics.similarity import all_pairs, geographic_similarity, semantic_similarity
from tracearena.mobility import AggregateMobility
from tracearena.obfuscation.fakes import METHODS, FakeTraces
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.papers.data import (
    FakesExperiment,
    FigureSource,
    Size,
    choose_class_count,
    load_same_people,
    run_fakes_experiment,
)
from tracearena.papers.style import open_canvas, save_figure, write_head
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SERVICE_SIZE = Size(150)
COUNTS = (5, 10, 20)
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


def draw_sglt_service(
    out: Path, source: FigureSource, tell: Tell | None, *, counts: Sequence[int] = COUNTS
) -> list[Path]:
    """Write sglt-lbs.png and .csv: five generators with 5, 10 and 20 fakes."""
    results = run_service_experiment(source, counts)
    said = check_sglt_service_claims(results)
    report_findings(said, tell)
    with open_canvas(10.5, 4.8, ncols=2, sharey=True) as (figure, axes):
        figure.set_layout_engine("constrained")
        for axis, (overhead, label) in zip(axes, _OVERHEADS.items(), strict=True):
            for number, method in enumerate(METHODS):
                for knows, style in _STYLES.items():
                    mine = [one for one in results if (one.method, one.attacker) == (method, knows)]
                    axis.plot(
                        [getattr(one, overhead) for one in mine],
                        [one.privacy for one in mine],
                        style,
                        marker=MARKERS[number].matplotlib,
                        color=COLOURS[number],
                        label=_NAMES[method] if knows == "population" else None,
                    )
            axis.set_xlabel(f"{label} (1 is free)")
        axes[0].set(ylim=(0, 1.03), ylabel="share of places missed by the attacker\n(1 is best)")
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=2,
            frameon=False,
            fontsize=8,
        )
        write_head(
            figure,
            f"Privacy against overhead, with {', '.join(map(str, counts))} fakes; "
            "dotted: the attacker knows the generator",
            said,
            width=125,
            top=1.01,
        )
        picture = save_figure(figure, out / "sglt-lbs.png")
    rows = [one.to_dict().values() for one in results]
    return [picture, write_csv(out / "sglt-lbs.csv", list(results[0].to_dict()), rows)]


def check_sglt_service_claims(results: Sequence[ServiceResult]) -> list[ClaimResult]:
    """Compare SGLT with every other generator at the same number of fakes.

    [sglt]: semantic fakes hide a person best, at a lower overhead. More privacy, and fewer
    different places and classes sent at once, than every other generator at every number of fakes.
    """
    ours = {one.fakes: one for one in results if one.method == "sglt" and one.attacker == "population"}
    others = [one for one in results if one.method != "sglt" and one.attacker == "population"]
    return [
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
        *_check_own_walk_claim(ours, others),
        *_check_informed_claims(results, ours),
    ]


def _check_own_walk_claim(
    ours: dict[int, ServiceResult], others: Sequence[ServiceResult]
) -> list[ClaimResult]:
    """[sglt]: a walk by one's own profile gets near SGLT's privacy. Here near is nine tenths of it."""
    walks = [one for one in others if one.method == "own-walk"]
    shares = [one.privacy / max(ours[one.fakes].privacy, 1e-9) for one in walks]
    if not shares:
        return []
    best = walks[shares.index(max(shares))]
    return [
        ClaimResult(
            "a walk by one's own profile is nearly as good",
            max(shares) >= NEARLY,
            f"at best {best.privacy:.2f} against {ours[best.fakes].privacy:.2f}, it takes {NEARLY:.0%}",
            max(shares),
        )
    ]


def _check_informed_claims(
    results: Sequence[ServiceResult], ours: dict[int, ServiceResult]
) -> list[ClaimResult]:
    """Ask whether SGLT's privacy outlives an attacker who knows the generator, which [sglt] does not try."""
    known = [one for one in results if one.method == "sglt" and one.attacker == "generator"]
    if not known:
        return []
    kept = min(one.privacy / max(ours[one.fakes].privacy, 1e-9) for one in known)
    said = ", ".join(f"{one.privacy:.2f} against {ours[one.fakes].privacy:.2f}" for one in known)
    return [ClaimResult("fakes hide a person from who knows their generator", kept >= NEARLY, said, kept)]


def run_service_experiment(source: FigureSource, counts: Sequence[int] = COUNTS) -> list[ServiceResult]:
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


def draw_sglt_similarity(out: Path, source: FigureSource, tell: Tell | None) -> list[Path]:
    """Write sglt-similarity.png and .csv: four histograms."""
    values = measure_similarities(run_fakes_experiment(source), source.seed)
    said = check_sglt_similarity_claims(values)
    report_findings(said, tell)
    shares = {name: np.histogram(found, _BINS)[0] / max(len(found), 1) for name, found in values.items()}
    with open_canvas(9, 6.2, nrows=2, ncols=2, sharex=True) as (figure, axes):
        figure.set_layout_engine("constrained")
        for number, (axis, name) in enumerate(zip(axes.flat, _TITLES, strict=True)):
            axis.bar(_BINS[:-1], shares[name], width=0.036, align="edge", color=COLOURS[number])
            axis.axvline(float(values[name].mean()), color="#333333", linewidth=1, linestyle="--")
            axis.set_title(f"{_TITLES[name]} (mean {values[name].mean():.2f})", fontsize=10, loc="left")
            axis.set_xlabel(
                "difference of similarities" if name == "differential" else "similarity (1 = alike)"
            )
            axis.set_ylabel("share of pairs")
            axis.tick_params(labelbottom=True)
        write_head(figure, "Likeness of people, and of fakes and people", said, width=100, top=1.01)
        picture = save_figure(figure, out / "sglt-similarity.png")
    rows = zip(_BINS[:-1].round(2), _BINS[1:].round(2), *shares.values(), strict=True)
    return [picture, write_csv(out / "sglt-similarity.csv", ["from", "to", *shares], rows)]


def measure_similarities(found: FakesExperiment, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return the similarities of pairs behind each histogram."""
    real, fake = found.profiles(found.training), found.profiles(found.fakes)
    pairs = all_pairs(real.n_users)
    model = found.model
    days = Traces.from_dense(model.seeds_.places, model.places_, model.clock_)
    seeds = found.profiles(days)
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
    """Ask whether people are alike in kind more than in place, and could be the seed of others' fakes.

    As in the histograms of [sglt]. A pair of a fake and another person counts if the difference of the
    similarities is at most 0.1, the bound of the privacy test; it takes half of the pairs.
    """
    kind, place = (float(values[name].mean()) for name in ("real_semantic", "real_geographic"))
    share = float((values["differential"] <= DENIABLE).mean()) if len(values["differential"]) else 0.0
    return [
        ClaimResult(
            "people visit different places in the same way",
            kind > place,
            f"mean similarity {kind:.2f} in kind, {place:.2f} in place",
            kind - place,
        ),
        ClaimResult(
            "every second person could be the seed of a fake",
            share >= 0.5,
            f"{share:.0%} of the pairs differ by at most {DENIABLE:g}, it takes half",
            share,
        ),
    ]


# [sglt] Tables 2 to 4: what fake data sets keep of visits and of people's time.


TOP = 50
_COLUMNS = ("fakes", "testing", "uniform", "one place", "random")
Measure = Callable[[Traces | NDArray[np.float64]], float]
DivergenceRow = tuple[str, str, float, float]


def draw_sglt_tables(out: Path, source: FigureSource, tell: Tell | None) -> list[Path]:
    """Write sglt-tables.png and .csv: divergences of ten fake data sets beside the baselines."""
    found = run_fakes_experiment(source)
    rows = measure_divergences(found, source.seed) + build_aggregate_rows(found)
    said = check_sglt_table_claims(rows)
    report_findings(said, tell)
    with open_canvas(8.5, 4.2) as (figure, axes):
        _plot_sglt_tables(axes, [row for row in rows if row[1] in _COLUMNS], said)
        picture = save_figure(figure, out / "sglt-tables.png")
    passed = [("privacy tests", name, share, 0.0) for name, share in found.rates.to_dict().items()]
    return [picture, write_csv(out / "sglt-tables.csv", ["table", "row", "mean", "std"], rows + passed)]


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
    places = found.training.places
    real = AggregateMobility.of(found.profiles(found.training), places)
    others = [AggregateMobility.of(found.profiles(fakes), places) for fakes in found.data_sets()]
    rows: list[DivergenceRow] = []
    for name, values in (
        ("aggregate transitions", [other.move_similarity(real) for other in others]),
        ("aggregate visits", [other.visit_similarity(real) for other in others]),
    ):
        rows.append((name, "similarity", float(np.mean(values)), float(np.std(values))))
        rows.append((name, "median similarity", float(np.median(values)), 0.0))
    return rows


def _plot_sglt_tables(axes: Axes, rows: list[DivergenceRow], said: list[ClaimResult]) -> None:
    tables = list(dict.fromkeys(row[0] for row in rows))
    for number, column in enumerate(_COLUMNS):
        mine = [row for row in rows if row[1] == column]
        axes.errorbar(
            [max(row[2], 1e-4) for row in mine],
            [tables.index(row[0]) for row in mine],
            xerr=[row[3] for row in mine],
            fmt=MARKERS[number].matplotlib,
            color=COLOURS[number],
            label=column,
            markersize=7,
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(tables)), tables)
    axes.invert_yaxis()
    axes.set_xlabel("KL divergence from the real training data (0 is best)")
    axes.legend(frameon=False, fontsize=8, ncols=5, loc="lower left", bbox_to_anchor=(0, 1))
    title = "Divergence of ten fake data sets from the real one, beside the baselines"
    axes.set_title(format_title(title, said), pad=26, loc="left", fontsize=10)
