"""Figures of [ppmtf] about utility.

Figure 7 (privacy and utility of three synthesizers), Figures 8 and 12 (clusters of users), and Figure 11
(time spent at places of four categories).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import ClaimResult, Tell, check_share, report_findings
from tracearena.arena.evaluation import baselines, compare_halves, evaluate
from tracearena.engine import child_seed, generator, seed_sequence, track_progress
from tracearena.errors import DataError
from tracearena.files import write_csv
from tracearena.metrics import category_fractions, cluster_populations
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.papers.data import (
    ITERATIONS,
    LARGEST_ADVANTAGE,
    MOST_REIDENTIFIED,
    SGLT_CLASSES,
    SGLT_DROPPED,
    TRACES_PER_USER,
    FigureSource,
    load_check_ins,
    load_people_flow,
    read_published_results,
    select_days,
    write_records,
)
from tracearena.papers.style import draw_scale_bar, open_canvas, save_figure, write_head
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.synthesis.ppmtf import cluster_features, measure_deniability
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.geodesy import metres_per_degree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FIGURE_7_ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 10, 20, 100, 200, 1000)
COPIED = (0, 1, 2, 3, 4, 5)
UTILITIES = {
    "tp_tv": ("TP-TV", "TP-TV"),
    "tp_tv_top50": ("TP-TV-Top50", "TP-TV-Top50"),
    "tm_emd_x": ("TM-EMD-X", "TM-EMD-X"),
    "tm_emd_y": ("TM-EMD-Y", "TM-EMD-Y"),
}
_PUBLISHED = " (published)"
PRIVACIES = {
    "reidentification_rate": "share of traces re-identified",
    "membership_advantage": "membership advantage",
}


@dataclass(frozen=True)
class TradeoffPoint:
    """One synthesizer with one setting."""

    series: str
    setting: str
    tp_tv: float
    tp_tv_top50: float
    tm_emd_x: float
    tm_emd_y: float
    reidentification_rate: float
    membership_advantage: float


def draw_ppmtf_figure_7(
    out: Path,
    source: FigureSource,
    tell: Tell | None,
    *,
    alphas: Sequence[float] = FIGURE_7_ALPHAS,
    copied: Sequence[int] = COPIED,
    dropped: Sequence[float] = SGLT_DROPPED,
    classes: Sequence[int] = SGLT_CLASSES,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-7.svg and ppmtf-7.csv; the authors' points come from their tables."""
    training, testing = load_people_flow(source)
    points: list[TradeoffPoint] = []
    models: list[tuple[str, str, PPMTF | SGD | SGLT]] = [
        *(("PPMTF", f"α={alpha:g}", PPMTF(alpha=alpha, iterations=iterations)) for alpha in alphas),
        *(("SGD", f"ξ={many}", SGD(copied=many)) for many in copied),
        *(
            (f"SGLT, c={many}", f"par_l={share:g}", SGLT(classes=many, par_l=share, privacy_tests=False))
            for many in classes
            for share in dropped
        ),
    ]
    for series, setting, model in track_progress(models, len(models)):
        made = model.fit(training, seed=source.seed).synthesize(TRACES_PER_USER, seed=source.seed)
        scores = evaluate(made, training, testing).to_dict()
        points.append(
            TradeoffPoint(series, setting, **{name: scores[name] for name in (*UTILITIES, *PRIVACIES)})
        )
    for method in ("PPMTF", "SGD", "SGLT"):
        points += [_read_published_point(row, method) for row in read_published_results(source.data, method)]
    limits = {name: use.to_dict() for name, use in baselines(training, testing).items()}
    parted = compare_halves(training, testing)
    if parted is not None:
        limits |= {"halves": parted.mean.to_dict(), "halves, spread": parted.spread.to_dict()}
    found = check_ppmtf_7_claims(points, limits)
    report_findings(found, tell)
    rows = [asdict(point) for point in points]
    rows += [{"series": name, **values} for name, values in limits.items()]
    names = list(dict.fromkeys(point.series for point in points))
    with open_canvas(14, 6.5, nrows=2, ncols=4, sharex="col", sharey="row") as (figure, axes):
        for row, (privacy, privacy_label) in enumerate(PRIVACIES.items()):
            for column, (utility, (label, _)) in enumerate(UTILITIES.items()):
                panel = axes[row, column]
                methods = list(dict.fromkeys(line.removesuffix(_PUBLISHED) for line in names))
                for line in names:
                    mine = [point for point in points if point.series == line]
                    x, y = ([getattr(point, axis) for point in mine] for axis in (utility, privacy))
                    number = methods.index(line.removesuffix(_PUBLISHED))
                    look: dict[str, Any] = {"mfc": "none"} if line.endswith(_PUBLISHED) else {}
                    panel.plot(
                        x,
                        y,
                        MARKERS[number % len(MARKERS)].matplotlib,
                        ms=5,
                        color=COLOURS[number % len(COLOURS)],
                        label=line,
                        alpha=0.85,
                        **look,
                    )
                spread = limits.get("halves, spread", {}).get(utility)
                if spread is not None:
                    middle = limits["halves"][utility]
                    panel.axvspan(middle - spread, middle + spread, color="#bbbbbb", alpha=0.5, linewidth=0)
                for name, style in (("training", "--"), ("halves", "-."), ("uniform", ":")):
                    value = limits.get(name, {}).get(utility)
                    if value is not None:
                        panel.axvline(value, color="#555555", linestyle=style, linewidth=1)
                        panel.annotate(
                            name,
                            (value, 1),
                            xycoords=("data", "axes fraction"),
                            fontsize=7,
                            rotation=90,
                            va="top",
                        )
                panel.set_xlabel(f"{label} (0 is best)" if row else "")
                panel.set_ylabel(f"{privacy_label} (0 is best)" if column == 0 else "")
        handles = axes[0, 0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
        write_head(
            figure,
            "Privacy against utility; lines: training data, halves of it against each other, uniform places",
            found,
            width=150,
        )
        picture = save_figure(figure, out / "ppmtf-7.svg")
    return [
        picture,
        write_records(out / "ppmtf-7.csv", rows, list(TradeoffPoint.__dataclass_fields__)),
    ]


def check_ppmtf_7_claims(
    points: Sequence[TradeoffPoint], limits: Mapping[str, Mapping[str, Any]]
) -> list[ClaimResult]:
    """Compare PPMTF, over all settings measured here, with what [ppmtf] section 4.4 says of it.

    There TP-TV is "close to Training" while less than 0.02 of the traces are re-identified and the
    membership advantage is below 0.055, and TM-EMD "significantly outperforms Uniform". Here close is
    nearer to the training data than to uniform, at one setting at least that keeps both bounds; and
    TM-EMD must be better than uniform in every setting.
    """
    ours = [point for point in points if point.series == "PPMTF"]
    training, uniform = (limits[name]["tp_tv"] for name in ("training", "uniform"))
    near = [point for point in ours if training <= point.tp_tv < (training + uniform) / 2]
    near += [point for point in ours if point.tp_tv < training < uniform]
    kept = [
        point
        for point in near
        if point.reidentification_rate < MOST_REIDENTIFIED and point.membership_advantage < LARGEST_ADVANTAGE
    ]
    worse = sum(point.tp_tv >= uniform for point in ours)
    return [
        ClaimResult(
            "PPMTF comes near the training data in where people are while betraying almost nobody",
            bool(kept),
            f"TP-TV is worse than uniform at {worse} of {len(ours)} settings and nearer to training than to "
            f"uniform at {len(near)}, at {len(kept)} of these with < {MOST_REIDENTIFIED:g} "
            "re-identified and "
            f"an advantage < {LARGEST_ADVANTAGE:g}",
            len(kept) / len(ours) if ours else None,
        ),
        *(
            check_share(
                f"PPMTF keeps people's moves better than uniform places do ({UTILITIES[name][0]})",
                [getattr(point, name) < limits["uniform"][name] for point in ours],
                "settings are better",
            )
            for name in ("tm_emd_x", "tm_emd_y")
            if limits["uniform"][name] is not None
        ),
    ]


def _read_published_point(row: dict[str, Any], method: str) -> TradeoffPoint:
    """Return a point of the authors' table, under the name and setting that ours has."""
    file = row["tracefile"]
    series, setting = method + _PUBLISHED, file
    if match := re.search(r"_alp([\d.]+)_", row["tracedir"]):
        setting = f"α={float(match[1]):g}"
    elif match := re.search(r"_cn(\d+)", file):
        setting = f"ξ={match[1]}"
    elif match := re.search(r"_c(\d+)_[\d.]+_[\d.]+_([\d.]+)_", file):
        series, setting = f"{method}, c={match[1]}{_PUBLISHED}", f"par_l={float(match[2]):g}"
    values = {name: row[f"{column}_syn"] for name, (_, column) in UTILITIES.items()}
    return TradeoffPoint(
        series,
        setting,
        **values,
        reidentification_rate=row["reid_rate"],
        membership_advantage=row["MIA_adv"],
    )


# [ppmtf] Figure 8: clusters of users, where they are, and the factors that say so.


FIGURE_8_CLUSTERS = 3
HALVINGS = 10
FIGURE_8_COLUMNS = (
    "cluster", "total_variation", "from_everybody", "halves", "place", "training", "synthetic", "b", "c",
)  # fmt: skip
_ROWS = ("training", "synthetic", "column of B", "column of C")


def draw_ppmtf_figure_8(
    out: Path, source: FigureSource, tell: Tell | None, *, iterations: int = ITERATIONS
) -> list[Path]:
    """Write ppmtf-8.svg and ppmtf-8.csv: three clusters of a tenth of the users."""
    training, _ = load_people_flow(source)
    model = PPMTF(iterations=iterations).fit(training, seed=source.seed)
    synthetic = model.synthesize(10, seed=source.seed)
    clusters = cluster_features(model, training, synthetic)
    chosen, people = clusters.most_distinct(FIGURE_8_CLUSTERS), clusters.populations
    shown = people.training, people.synthetic, clusters.places, clusters.next_places
    rows = [values[chosen] for values in shown]
    apart = {
        "synthetic": people.total_variation[chosen],
        "everybody": np.abs(rows[0] - clusters.everybody).sum(axis=1) / 2,
        "halves": np.array(
            [_compare_cluster_halves(training.take_users(people.users[one]), source.seed) for one in chosen]
        ),
    }
    found = check_ppmtf_8_claims(apart["synthetic"], apart["everybody"])
    report_findings(found, tell)
    with open_canvas(3.2 * FIGURE_8_CLUSTERS + 1.2, 12, nrows=len(rows), ncols=FIGURE_8_CLUSTERS) as (
        figure,
        axes,
    ):
        for row, (label, values) in enumerate(zip(_ROWS, rows, strict=True)):
            for column in range(FIGURE_8_CLUSTERS):
                top = max(values[column].max(), 1e-12)
                panel = axes[row, column]
                shares = values[column]
                places = training.places
                shrunk = float(np.cos(np.radians(places.latitude.mean())))
                panel.set_aspect(1 / shrunk)
                panel.grid(False)
                panel.tick_params(labelsize=6)
                if places.grid is not None:
                    grid = places.grid
                    image = np.clip(shares, 0, None).reshape(grid.rows, grid.columns)
                    extent = (grid.west, grid.east, grid.south, grid.north)
                    panel.imshow(image, origin="lower", extent=extent, vmin=0, vmax=top, aspect=1 / shrunk)
                else:
                    panel.scatter(
                        places.longitude, places.latitude, c=np.clip(shares, 0, None), s=6, vmin=0, vmax=top
                    )
                if row == 0:
                    told = "\n".join(f"{name}: {one[column]:.2f} apart" for name, one in apart.items())
                    axes[row, column].set_title(f"cluster {column + 1}\n{told}", fontsize=9)
            axes[row, 0].set_ylabel(label)
        title = "Three clusters: real people, synthetic people (total variation) and columns of the factors"
        write_head(figure, title, found, width=100)
        picture = save_figure(figure, out / "ppmtf-8.svg")
    return [
        picture,
        write_csv(out / "ppmtf-8.csv", FIGURE_8_COLUMNS, _iterate_numbers(chosen, rows, apart)),
    ]


def check_ppmtf_8_claims(synthetic: NDArray[np.float64], everybody: NDArray[np.float64]) -> list[ClaimResult]:
    """Compare the total variation of a cluster's people from its synthetic ones and from everybody.

    [ppmtf] section 4.4 says that synthetic traces preserve the behaviour of a cluster: each must be
    nearer to its own people than everybody is.
    """
    return [
        check_share(
            "synthetic people of a cluster are where its people are",
            (synthetic < everybody).tolist(),
            "clusters are nearer to their synthetic people than to everybody, mean total variation "
            f"{float(np.mean(synthetic)):.2f} against {float(np.mean(everybody)):.2f}",
        )
    ]


def _compare_cluster_halves(cluster: Traces, seed: int) -> float:
    """Return the mean total variation of random halves of a cluster's people from each other."""
    rng, n = generator(seed), cluster.n_users
    found = []
    for _ in range(HALVINGS if n > 1 else 0):
        order = rng.permutation(n)
        parts = [cluster.take_users(np.sort(part)) for part in (order[: n // 2], order[n // 2 :])]
        one, other = (
            np.bincount(part.place_index, minlength=len(cluster.places)) / max(part.n_events, 1)
            for part in parts
        )
        found.append(float(np.abs(one - other).sum() / 2))
    return float(np.mean(found)) if found else 0.0


def _iterate_numbers(
    chosen: NDArray[np.int64], rows: list[NDArray[np.float64]], apart: dict[str, NDArray[np.float64]]
) -> Iterator[list[float]]:
    for number, factor in enumerate(chosen.tolist()):
        for place, values in enumerate(zip(*(row[number].tolist() for row in rows), strict=True)):
            yield [factor, *(float(one[number]) for one in apart.values()), place, *values]


# [ppmtf] Figure 11: how much of their time people spend at a park, a bar, an office or a
# university.


CATEGORIES = ("Park", "Bar", "Office", "University")
FIGURE_11_K = 10
BINS_SHOWN = 12


def draw_ppmtf_figure_11(
    out: Path, source: FigureSource, tell: Tell | None, *, k: int = FIGURE_11_K, iterations: int = ITERATIONS
) -> list[Path]:
    """Write ppmtf-11.svg and ppmtf-11.csv: visit fractions of places of four categories.

    Categories that the data lacks give way to those with the most visitors in the testing traces.
    """
    training, testing = load_check_ins(source)
    if training.places.categories is None:
        raise DataError("the places of the data have no categories, which this figure is about")
    root = seed_sequence(source.seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    made = model.synthesize(1, seed=child_seed(root, 1))
    passed = measure_deniability(model, made, k=k, early_stop=True, seed=child_seed(root, 2)).passed
    shown = {
        "testing": testing,
        "PPMTF": made,
        f"PPMTF, k = {k}": select_days(made, passed),
        "SGD": SGD().fit(training).synthesize(1, seed=child_seed(root, 3)),
    }
    counts = {method: category_fractions(traces) for method, traces in shown.items()}
    visitors = {name: int(found.sum()) for name, found in counts["testing"].items()}
    rows = []
    for category in _choose_categories(visitors):
        shares = {method: _normalise_counts(found[category]) for method, found in counts.items()}
        for method, share in shares.items():
            variation = float(np.abs(share - shares["testing"]).sum() / 2)
            told = int(counts[method][category].sum())
            rows += [
                {
                    "category": category,
                    "method": method,
                    "visitors": told,
                    "total_variation": variation,
                    "up_to": (number + 1) / len(share),
                    "share": value,
                }
                for number, value in enumerate(share.tolist())
            ]
    found = check_ppmtf_11_claims(rows)
    report_findings(found, tell)
    categories = list(dict.fromkeys(row["category"] for row in rows))
    with open_canvas(3.1 * len(categories), 3.6, ncols=len(categories), sharey=True, squeeze=False) as drawn:
        figure, axes = drawn
        for panel, category in zip(axes[0], categories, strict=True):
            _plot_category(panel, [row for row in rows if row["category"] == category], category)
        axes[0, 0].set(ylim=(0, 1), ylabel="share of a place's visitors")
        figure.supxlabel(
            "part of a visitor's events at the place (upper end of the bin)", fontsize=10, y=-0.03
        )
        axes[0, 0].legend(frameon=False, fontsize=8)
        write_head(figure, "Visit fractions at places of four categories", found)
        picture = save_figure(figure, out / "ppmtf-11.svg")
    return [picture, write_records(out / "ppmtf-11.csv", rows)]


def check_ppmtf_11_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Compare PPMTF and SGD by the total variation of each category from the testing traces.

    [ppmtf] Figure 11: SGD's people concentrate at 1/24 of their time, and the distribution of PPMTF
    is similar to that of the testing traces. PPMTF must be nearer in every category; and SGD must have
    at least half of a category's visitors in the lowest bin, in every category.
    """
    far = {(row["category"], row["method"]): row["total_variation"] for row in rows}
    lowest: dict[str, float] = {}
    for row in rows:
        if row["method"] == "SGD":
            lowest.setdefault(row["category"], row["share"])
    return [
        check_share(
            "PPMTF's people come back to their places more as real ones do than SGD's",
            [far[category, "PPMTF"] < far[category, "SGD"] for category in lowest],
            "categories have a histogram nearer to that of the testing traces",
        ),
        check_share(
            "SGD's people mostly come once",
            [share >= 0.5 for share in lowest.values()],
            "categories have half of their visitors in the lowest bin",
        ),
    ]


def _choose_categories(visitors: dict[str, int]) -> list[str]:
    """Return the paper's categories, by any part of their names, and the most visited for the rest."""
    busy = sorted(visitors, key=lambda name: (-visitors[name], name))
    named = [next((name for name in busy if want in name.split("/")), None) for want in CATEGORIES]
    found = [name for name in named if name is not None and visitors[name]]
    return (found + [name for name in busy if name not in found])[: len(CATEGORIES)]


def _normalise_counts(counts: Any) -> Any:
    return counts / max(counts.sum(), 1)


def _plot_category(panel: Axes, rows: list[dict[str, Any]], category: str) -> None:
    for number, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        mine = [row for row in rows if row["method"] == method][:BINS_SHOWN]
        x, y = [row["up_to"] for row in mine], [row["share"] for row in mine]
        label = method if mine[0]["visitors"] else f"{method} (nobody)"
        panel.plot(x, y, marker=MARKERS[number].matplotlib, ms=4, color=COLOURS[number], label=label)
    panel.set_title(category.rpartition("/")[2], fontsize=10)
    panel.set_xticks([2 / 24, 6 / 24, 10 / 24], ["2/24", "6/24", "10/24"])


# [ppmtf] Figure 12: two clusters of people who check in, on a map and by the hour.


FIGURE_12_CLUSTERS = 2
TOP, LISTED = 20, 5
HOURS = (10, 12)
_OTHER = "#999999"


@dataclass(frozen=True, eq=False)
class UserCluster:
    """What the figure shows of one cluster: weights of places by series, and the column of D.

    The total variation is that of its training users from its synthetic ones, and from everybody.
    """

    number: int
    users: int
    traces: int
    total_variation: float
    from_everybody: float
    weights: dict[str, NDArray[np.float64]]
    slots: NDArray[np.float64]
    training_slots: NDArray[np.float64]


def draw_ppmtf_figure_12(
    out: Path,
    source: FigureSource,
    tell: Tell | None,
    *,
    k: int = FIGURE_11_K,
    traces_per_user: int = TRACES_PER_USER,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-12.svg, ppmtf-12.csv (20 places a map) and ppmtf-12-slots.csv (columns of D).

    The two clusters of a tenth of the users who are farthest from where everybody is; synthetic
    traces are those of ten a user that have (10, 1)-plausible deniability.
    """
    training, _ = load_check_ins(source)
    root = seed_sequence(source.seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    made = model.synthesize(traces_per_user, seed=child_seed(root, 1))
    passed = measure_deniability(model, made, k=k, early_stop=True, seed=child_seed(root, 2)).passed
    clusters = _build_user_clusters(model, training, select_days(made, passed))
    places, clock = training.places, training.clock
    found = check_ppmtf_12_claims(clusters)
    report_findings(found, tell)
    return [
        _plot_ppmtf_12(out / "ppmtf-12.svg", clusters, places, clock, found),
        write_records(
            out / "ppmtf-12.csv",
            [
                {
                    "cluster": cluster.number,
                    "users": cluster.users,
                    "traces": cluster.traces,
                    "total_variation": cluster.total_variation,
                    "total_variation_from_everybody": cluster.from_everybody,
                    "series": series,
                    "rank": rank,
                    "place": places.ids[place],
                    "category": "" if places.categories is None else places.categories[place],
                    "latitude": places.latitude[place],
                    "longitude": places.longitude[place],
                    "value": weights[place],
                }
                for cluster in clusters
                for series, weights in cluster.weights.items()
                for rank, place in enumerate(_select_top_places(weights), 1)
            ],
        ),
        write_records(
            out / "ppmtf-12-slots.csv",
            [
                {
                    "cluster": cluster.number,
                    "slot": clock.label(slot * clock.instants_per_slot),
                    "d": value,
                    "training": cluster.training_slots[slot],
                }
                for cluster in clusters
                for slot, value in enumerate(cluster.slots.tolist())
            ],
        ),
    ]


def check_ppmtf_12_claims(clusters: Sequence[UserCluster]) -> list[ClaimResult]:
    """Ask whether synthetic people of a cluster are nearer to its people than everybody is.

    [ppmtf] Figure 12: PPMTF "synthesizes traces preserving the behavior" of a cluster.
    """
    return [
        check_share(
            "deniable synthetic traces keep what is special about a cluster",
            [one.total_variation < one.from_everybody for one in clusters],
            "clusters are nearer to their synthetic people than to everybody: total variation "
            + ", ".join(f"{one.total_variation:.2f} against {one.from_everybody:.2f}" for one in clusters),
        )
    ]


def _build_user_clusters(model: PPMTF, training: Traces, synthetic: Traces) -> list[UserCluster]:
    features = cluster_features(model, training, synthetic)
    people = features.populations
    parts = _select_late_morning(training), _select_late_morning(synthetic)
    then = cluster_populations(model.trace_model_.users, *parts)
    found = []
    for number in features.most_distinct(FIGURE_12_CLUSTERS).tolist():
        members = people.users[number]
        slots = training.clock.slot_of(training.take_users(members).instants)
        days = len(synthetic.take_users(members)) // training.clock.instants_per_day
        weights = {
            "B": features.places[number],
            "training": then.training[number],
            "synthetic": then.synthetic[number],
        }
        share = np.bincount(slots, minlength=training.clock.slots_per_day) / max(len(slots), 1)
        variation = float(people.total_variation[number])
        apart = float(np.abs(people.training[number] - features.everybody).sum() / 2)
        found.append(
            UserCluster(number, len(members), days, variation, apart, weights, features.slots[number], share)
        )
    return found


def _select_late_morning(traces: Traces) -> Traces:
    """Return the events from 10:00 to 12:00."""
    hour = traces.clock.second_of_day(traces.instants) // 3600
    kept = traces.keep((hour >= HOURS[0]) & (hour < HOURS[1]))
    if not len(kept):
        raise DataError(f"the traces have no events from {HOURS[0]}:00 to {HOURS[1]}:00")
    return kept


def _select_top_places(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places with the largest weights above 0, at most 20."""
    order = np.argsort(-weights, kind="stable")[:TOP]
    return order[weights[order] > 0]


def _plot_ppmtf_12(
    path: Path, clusters: list[UserCluster], places: Places, clock: Clock, found: list[ClaimResult]
) -> Path:
    shown = np.concatenate(
        [_select_top_places(weights) for one in clusters for weights in one.weights.values()]
    )
    names, counts = np.unique(_list_place_kinds(places)[shown], return_counts=True)
    common = names[np.argsort(-counts, kind="stable")][: len(COLOURS)]
    colours = dict(zip(common.tolist(), COLOURS, strict=False))
    with open_canvas(14, 4.6 * len(clusters), nrows=len(clusters), ncols=4, squeeze=False) as (figure, axes):
        figure.subplots_adjust(hspace=0.4, wspace=0.22)
        for row, cluster in zip(axes, clusters, strict=True):
            titles = {
                "B": f"cluster of {cluster.users} people: column of B",
                "training": "training traces, 10:00 to 12:00",
                "synthetic": f"{cluster.traces:,} deniable synthetic traces",
            }
            for panel, (series, title) in zip((row[0], row[2], row[3]), titles.items(), strict=True):
                weights = cluster.weights[series]
                top, kinds = _select_top_places(weights), _list_place_kinds(places)
                panel.set_aspect(1 / float(np.cos(np.radians(places.latitude.mean()))))
                panel.grid(False)
                panel.spines[:].set_visible(False)
                panel.scatter(places.longitude, places.latitude, s=1, color="#dddddd")
                sizes = 20 + 180 * weights[top] / max(weights[top].max(initial=0), 1e-300)
                colour = [colours.get(kind, _OTHER) for kind in kinds[top].tolist()]
                panel.scatter(
                    places.longitude[top], places.latitude[top], s=sizes, c=colour, alpha=0.75, linewidths=0
                )
                panel.set(xticks=[], yticks=[])
                _, east = metres_per_degree(places.latitude.mean())
                draw_scale_bar(panel, float(east) / 1000)
                lines = [
                    f"{rank}. {_label_place(places, place)}" for rank, place in enumerate(top[:LISTED], 1)
                ]
                panel.text(0, -0.03, "\n".join(lines), transform=panel.transAxes, va="top", fontsize=8)
                panel.set_title(title, fontsize=9)
            hours = row[1]
            slots = np.arange(clock.slots_per_day)
            hours.plot(slots, cluster.slots, "o-", ms=4, color=COLOURS[0], label="column of D")
            hours.plot(
                slots, cluster.training_slots, "s--", ms=3, color=COLOURS[1], label="share of training events"
            )
            shown = slots[:: max(len(slots) // 6, 1)]
            hours.set_xticks(
                shown, [clock.label(int(slot) * clock.instants_per_slot) for slot in shown], fontsize=7
            )
            hours.axhline(0, color="#555555", linewidth=0.8)
            hours.set_title("by time of day", fontsize=9)
            hours.legend(frameon=False, fontsize=7)
        handles = [] if places.categories is None else _build_legend(colours)
        figure.legend(handles=handles, loc="lower center", ncol=len(COLOURS), frameon=False, fontsize=9)
        title = "Two clusters: places and hours of the model, places of real and of synthetic people"
        write_head(figure, title, found, width=150)
        return save_figure(figure, path)


def _list_place_kinds(places: Places) -> NDArray[np.str_]:
    """Return the large category of each place, the part before the first slash."""
    if places.categories is None:
        return np.full(len(places), "place")
    return np.array([name.partition("/")[0] for name in places.categories.tolist()])


def _build_legend(colours: dict[str, str]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], marker="o", linestyle="", color=colour, label=kind) for kind, colour in colours.items()
    ]


def _label_place(places: Places, place: int) -> str:
    if places.categories is None:
        return f"place {places.ids[place]}"
    return f"{str(places.categories[place]).rpartition('/')[2]} ({places.ids[place]})"
