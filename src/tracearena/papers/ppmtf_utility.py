"""Figures of [ppmtf] about utility.

Figure 7 (privacy and utility of three synthesizers), Figures 8 and 12 (clusters of users), and Figure 11
(time spent at places of four categories).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import ClaimResult, check_share
from tracearena.arena.evaluation import baselines, compare_halves, evaluate
from tracearena.engine import child_seed, generator, seed_sequence, track_progress
from tracearena.errors import DataError
from tracearena.metrics import category_fractions, cluster_populations
from tracearena.pages.html import COLOURS
from tracearena.papers.base import Drawing, Table, paper_figure
from tracearena.papers.data import (
    ITERATIONS,
    LARGEST_ADVANTAGE,
    MOST_REIDENTIFIED,
    SGLT_CLASSES,
    SGLT_DROPPED,
    TITLES,
    TRACES_PER_USER,
    FigureSource,
    load_check_ins,
    load_people_flow,
    read_published_results,
    select_days,
)
from tracearena.papers.style import choose_look, draw_cells, draw_scale_bar
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.synthesis.ppmtf import DeniabilityTest, cluster_features, measure_deniability
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.geodesy import metres_per_degree

# [ppmtf] Figure 7: privacy against utility of three synthesizers.
UTILITIES = ("tp_tv", "tp_tv_top50", "tm_emd_x", "tm_emd_y")
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


@paper_figure("ppmtf-7", "privacy and utility of PPMTF, SGD and SGLT")
def compute_ppmtf_figure_7(
    source: FigureSource,
    *,
    alphas: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 10, 20, 100, 200, 1000),
    copied: Sequence[int] = (0, 1, 2, 3, 4, 5),
    dropped: Sequence[float] = SGLT_DROPPED,
    classes: Sequence[int] = SGLT_CLASSES,
    iterations: int = ITERATIONS,
) -> Drawing:
    """Evaluate each synthesizer with each setting; the authors' points come from their tables."""
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
    rows = [asdict(point) for point in points]
    rows += [{"series": name, **values} for name, values in limits.items()]

    def draw(figure: Any, axes: Any) -> None:
        for row, (privacy, privacy_label) in enumerate(PRIVACIES.items()):
            for column, utility in enumerate(UTILITIES):
                panel = axes[row, column]
                _plot_tradeoff(panel, points, utility, privacy)
                _mark_limits(panel, limits, utility)
                panel.set_xlabel(f"{TITLES[utility]} (0 is best)" if row else "")
                panel.set_ylabel(f"{privacy_label} (0 is best)" if column == 0 else "")
        handles = axes[0, 0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=6, frameon=False, fontsize=9)

    return Drawing(
        rows, draw, (14, 6.5), {"nrows": 2, "ncols": 4, "sharex": "col", "sharey": "row"},
        title="Privacy against utility; lines: training data, halves of it against each other, uniform "
        "places", claims=check_ppmtf_7_claims(points, limits), head={"width": 150},
    )  # fmt: skip


def _plot_tradeoff(panel: Any, points: Sequence[TradeoffPoint], utility: str, privacy: str) -> None:
    """Draw a mark for each setting; those of the authors are hollow, in the colour of ours."""
    names = list(dict.fromkeys(point.series for point in points))
    methods = list(dict.fromkeys(line.removesuffix(_PUBLISHED) for line in names))
    for line in names:
        mine = [point for point in points if point.series == line]
        x, y = ([getattr(point, axis) for point in mine] for axis in (utility, privacy))
        look = choose_look(methods.index(line.removesuffix(_PUBLISHED))) | {"ls": "", "ms": 5, "alpha": 0.85}
        panel.plot(x, y, label=line, **look, **({"mfc": "none"} if line.endswith(_PUBLISHED) else {}))


def _mark_limits(panel: Any, limits: Mapping[str, Mapping[str, Any]], utility: str) -> None:
    """Draw lines at the training data, its halves with their spread, and uniform places."""
    spread = limits.get("halves, spread", {}).get(utility)
    if spread is not None:
        middle = limits["halves"][utility]
        panel.axvspan(middle - spread, middle + spread, color="#bbbbbb", alpha=0.5, linewidth=0)
    for name, style in (("training", "--"), ("halves", "-."), ("uniform", ":")):
        value = limits.get(name, {}).get(utility)
        if value is not None:
            panel.axvline(value, color="#555555", linestyle=style, linewidth=1)
            at = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "top"}
            panel.annotate(name, (value, 1), fontsize=7, **at)


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
            f"uniform at {len(near)}, at {len(kept)} of these with < {MOST_REIDENTIFIED:g} re-identified and "
            f"an advantage < {LARGEST_ADVANTAGE:g}",
            len(kept) / len(ours) if ours else None,
        ),
        *(
            check_share(
                f"PPMTF keeps people's moves better than uniform places do ({TITLES[name]})",
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
    values = {name: row[f"{TITLES[name]}_syn"] for name in UTILITIES}
    values |= {"reidentification_rate": row["reid_rate"], "membership_advantage": row["MIA_adv"]}
    return TradeoffPoint(series, setting, **values)


# [ppmtf] Figure 8: clusters of users, where they are, and the factors that say so.
FIGURE_8_CLUSTERS = 3


@paper_figure("ppmtf-8", "clusters of users in training and synthetic traces")
def compute_ppmtf_figure_8(source: FigureSource, *, iterations: int = ITERATIONS) -> Drawing:
    """Compute three clusters of a tenth of the users."""
    training, _ = load_people_flow(source)
    model = PPMTF(iterations=iterations).fit(training, seed=source.seed)
    synthetic = model.synthesize(10, seed=source.seed)
    clusters = cluster_features(model, training, synthetic)
    chosen, people = clusters.most_distinct(FIGURE_8_CLUSTERS), clusters.populations
    maps = {
        "training": people.training[chosen],
        "synthetic": people.synthetic[chosen],
        "column of B": clusters.places[chosen],
        "column of C": clusters.next_places[chosen],
    }
    apart = {
        "synthetic": people.total_variation[chosen],
        "everybody": np.abs(maps["training"] - clusters.everybody).sum(axis=1) / 2,
        "halves": np.array(
            [_compare_cluster_halves(training.take_users(people.users[one]), source.seed) for one in chosen]
        ),
    }
    columns = (
        "cluster",
        "total_variation",
        "from_everybody",
        "halves",
        "place",
        "training",
        "synthetic",
        "b",
        "c",
    )
    rows = [
        [factor, *(float(one[number]) for one in apart.values()), place, *values]
        for number, factor in enumerate(chosen.tolist())
        for place, values in enumerate(zip(*(one[number].tolist() for one in maps.values()), strict=True))
    ]
    places = training.places
    shape = 1 / float(np.cos(np.radians(places.latitude.mean())))

    def draw(figure: Any, axes: Any) -> None:
        for row, (label, values) in zip(axes, maps.items(), strict=True):
            for panel, shares in zip(row, values, strict=True):
                look = {"vmin": 0, "vmax": max(shares.max(), 1e-12)}
                panel.set_aspect(shape)
                panel.grid(False)
                panel.tick_params(labelsize=6)
                shown = np.clip(shares, 0, None)
                if places.grid is not None:
                    draw_cells(panel, places.grid, shown, aspect=shape, **look)
                else:
                    panel.scatter(places.longitude, places.latitude, c=shown, s=6, **look)
            row[0].set_ylabel(label)
        for column, panel in enumerate(axes[0]):
            told = "\n".join(f"{name}: {one[column]:.2f} apart" for name, one in apart.items())
            panel.set_title(f"cluster {column + 1}\n{told}", fontsize=9)

    return Drawing(
        (columns, rows), draw, (3.2 * FIGURE_8_CLUSTERS + 1.2, 12),
        {"nrows": len(maps), "ncols": FIGURE_8_CLUSTERS},
        title="Three clusters: real people, synthetic people (total variation) and columns of the factors",
        claims=check_ppmtf_8_claims(apart["synthetic"], apart["everybody"]), head={"width": 100},
    )  # fmt: skip


def check_ppmtf_8_claims(synthetic: NDArray[np.float64], everybody: NDArray[np.float64]) -> list[ClaimResult]:
    """Compare the total variation of a cluster's people from its synthetic ones and from everybody.

    [ppmtf] section 4.4 says that synthetic traces preserve the behaviour of a cluster: each must be
    nearer to its own people than everybody is.
    """
    far = f"{float(np.mean(synthetic)):.2f} against {float(np.mean(everybody)):.2f}"
    told = f"clusters are nearer to their synthetic people than to everybody, mean total variation {far}"
    kept = (synthetic < everybody).tolist()
    return [check_share("synthetic people of a cluster are where its people are", kept, told)]


def _compare_cluster_halves(cluster: Traces, seed: int) -> float:
    """Return the mean total variation of ten random halves of a cluster's people from each other."""
    rng, n = generator(seed), cluster.n_users
    found = []
    for _ in range(10 if n > 1 else 0):
        order = rng.permutation(n)
        parts = [cluster.take_users(np.sort(part)) for part in (order[: n // 2], order[n // 2 :])]
        one, other = (
            np.bincount(part.place_index, minlength=len(cluster.places)) / max(part.n_events, 1)
            for part in parts
        )
        found.append(float(np.abs(one - other).sum() / 2))
    return float(np.mean(found)) if found else 0.0


# [ppmtf] Figure 11: how much of their time people spend at a park, a bar, an office or a
# university.
CATEGORIES = ("Park", "Bar", "Office", "University")
BINS_SHOWN = 12


@paper_figure(
    "ppmtf-11", "how much time people spend at parks, bars, offices and universities", takes_zeros=True
)
def compute_ppmtf_figure_11(source: FigureSource, *, k: int = 10, iterations: int = ITERATIONS) -> Drawing:
    """Compute visit fractions of places of four categories.

    Categories that the data lacks give way to those with the most visitors in the testing traces.
    """
    training, testing = load_check_ins(source)
    if training.places.categories is None:
        raise DataError("the places of the data have no categories, which this figure is about")
    root = seed_sequence(source.seed)
    model = PPMTF(zeros=source.zeros, iterations=iterations)
    made, deniable = _synthesize_deniable(model, training, 1, k, root)
    shown = {
        "testing": testing,
        "PPMTF": made,
        f"PPMTF, k = {k}": deniable,
        "SGD": SGD().fit(training).synthesize(1, seed=child_seed(root, 3)),
    }
    counts = {method: category_fractions(traces) for method, traces in shown.items()}
    visitors = {name: int(found.sum()) for name, found in counts["testing"].items()}
    rows: list[dict[str, Any]] = []
    for category in _choose_categories(visitors):
        shares = {name: one[category] / max(one[category].sum(), 1) for name, one in counts.items()}
        for method, share in shares.items():
            row = {
                "category": category,
                "method": method,
                "visitors": int(counts[method][category].sum()),
                "total_variation": float(np.abs(share - shares["testing"]).sum() / 2),
            }
            rows += [
                row | {"up_to": (number + 1) / len(share), "share": value}
                for number, value in enumerate(share.tolist())
            ]
    categories = list(dict.fromkeys(row["category"] for row in rows))

    def draw(figure: Any, axes: Any) -> None:
        for panel, category in zip(axes[0], categories, strict=True):
            for number, method in enumerate(shown):
                mine = [row for row in rows if (row["category"], row["method"]) == (category, method)]
                label = method if mine[0]["visitors"] else f"{method} (nobody)"
                line = [(row["up_to"], row["share"]) for row in mine[:BINS_SHOWN]]
                panel.plot(*zip(*line, strict=True), ms=4, label=label, **choose_look(number))
            panel.set_title(category.rpartition("/")[2], fontsize=10)
            panel.set_xticks([2 / 24, 6 / 24, 10 / 24], ["2/24", "6/24", "10/24"])
        axes[0, 0].set(ylim=(0, 1), ylabel="share of a place's visitors")
        words = "part of a visitor's events at the place (upper end of the bin)"
        figure.supxlabel(words, fontsize=10, y=-0.03)
        axes[0, 0].legend(frameon=False, fontsize=8)

    many = len(categories)
    return Drawing(
        rows, draw, (3.1 * many, 3.6), {"ncols": many, "sharey": True, "squeeze": False},
        title="Visit fractions at places of four categories", claims=check_ppmtf_11_claims(rows),
    )  # fmt: skip


def _synthesize_deniable(
    model: PPMTF, training: Traces, days: int, k: int, root: np.random.SeedSequence
) -> tuple[Traces, Traces]:
    """Train the model; return its traces, and those of them that pass the test of (k, 1)-deniability."""
    made = model.fit(training, seed=child_seed(root, 0)).synthesize(days, seed=child_seed(root, 1))
    passed = measure_deniability(
        model, made, DeniabilityTest(k=k, early_stop=True), seed=child_seed(root, 2)
    ).passed
    return made, select_days(made, passed)


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


# [ppmtf] Figure 12: two clusters of people who check in, on a map and by the hour.
FIGURE_12_CLUSTERS = 2
TOP, LISTED = 20, 5
HOURS = (10, 12)


@dataclass(frozen=True, eq=False)
class UserCluster:
    """What the figure shows of one cluster: weights of places by series, and the column of D.

    The total variation is that of its training users from its synthetic ones, and from everybody.
    """

    number: int
    name: str
    users: int
    traces: int
    total_variation: float
    from_everybody: float
    weights: dict[str, NDArray[np.float64]]
    slots: NDArray[np.float64]
    training_slots: NDArray[np.float64]


@paper_figure("ppmtf-12", "two clusters of check-in users: their places and hours", takes_zeros=True)
def compute_ppmtf_figure_12(
    source: FigureSource,
    *,
    k: int = 10,
    traces_per_user: int = TRACES_PER_USER,
    iterations: int = ITERATIONS,
) -> Drawing:
    """Compute 20 places a map, and the columns of D in a table of their own.

    The two clusters of a tenth of the users who are farthest from where everybody is; synthetic
    traces are those of ten a user that have (10, 1)-plausible deniability.
    """
    training, _ = load_check_ins(source)
    model = PPMTF(zeros=source.zeros, iterations=iterations)
    _, deniable = _synthesize_deniable(model, training, traces_per_user, k, seed_sequence(source.seed))
    clusters = _build_user_clusters(model, training, deniable)
    places, clock = training.places, training.clock

    def draw(figure: Any, axes: Any) -> None:
        from matplotlib.lines import Line2D

        figure.subplots_adjust(hspace=0.4, wspace=0.22)
        colours = _choose_kind_colours(clusters, places)
        for row, cluster in zip(axes, clusters, strict=True):
            titles = {
                "B": f"{cluster.users} people{f' ({cluster.name})' if cluster.name else ''}: column of B",
                "training": "training traces, 10:00 to 12:00",
                "synthetic": f"{cluster.traces:,} deniable synthetic traces",
            }
            for panel, (series, words) in zip((row[0], row[2], row[3]), titles.items(), strict=True):
                _draw_top_places(panel, places, cluster.weights[series], colours)
                panel.set_title(words, fontsize=9)
            _draw_slots(row[1], cluster, clock)
        if places.categories is None:
            colours = {}
        handles = [Line2D([], [], marker="o", ls="", color=one, label=kind) for kind, one in colours.items()]
        figure.legend(handles=handles, loc="lower center", ncol=len(COLOURS), frameon=False, fontsize=9)

    return Drawing(
        _tabulate_clusters(clusters, places, clock), draw, (14, 4.6 * len(clusters)),
        {"nrows": len(clusters), "ncols": 4, "squeeze": False},
        title="Two clusters: places and hours of the model, places of real and of synthetic people",
        claims=check_ppmtf_12_claims(clusters), head={"width": 150},
    )  # fmt: skip


def _tabulate_clusters(clusters: Sequence[UserCluster], places: Places, clock: Clock) -> dict[str, Table]:
    """Return the tables of top places and of columns of D."""
    rows = [
        {
            "cluster": cluster.number,
            "name": cluster.name,
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
    ]
    slots = [
        {
            "cluster": cluster.number,
            "slot": clock.label(slot * clock.instants_per_slot),
            "d": value,
            "training": cluster.training_slots[slot],
        }
        for cluster in clusters
        for slot, value in enumerate(cluster.slots.tolist())
    ]
    return {"": rows, "-slots": slots}


def check_ppmtf_12_claims(clusters: Sequence[UserCluster]) -> list[ClaimResult]:
    """Check whether synthetic people of a cluster are nearer to its people than everybody is.

    [ppmtf] Figure 12: PPMTF "synthesizes traces preserving the behavior" of a cluster.
    """
    far = ", ".join(f"{one.total_variation:.2f} against {one.from_everybody:.2f}" for one in clusters)
    told = f"clusters are nearer to their synthetic people than to everybody: total variation {far}"
    kept = [one.total_variation < one.from_everybody for one in clusters]
    return [check_share("deniable synthetic traces keep what is special about a cluster", kept, told)]


def _build_user_clusters(model: PPMTF, training: Traces, synthetic: Traces) -> list[UserCluster]:
    features = cluster_features(model, training, synthetic)
    people = features.populations
    parts = _select_late_morning(training), _select_late_morning(synthetic)
    then = cluster_populations(model.trace_model_.users, *parts)
    places = training.places
    names = [""] * model.factors if places.categories is None else features.names(places)
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
            UserCluster(
                number,
                names[number],
                len(members),
                days,
                variation,
                apart,
                weights,
                features.slots[number],
                share,
            )
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


def _list_place_kinds(places: Places) -> NDArray[np.str_]:
    """Return the large category of each place, the part before the first slash."""
    if places.categories is None:
        return np.full(len(places), "place")
    return np.array([name.partition("/")[0] for name in places.categories.tolist()])


def _choose_kind_colours(clusters: Sequence[UserCluster], places: Places) -> dict[str, str]:
    """Return the colours of the categories that are shown most often."""
    shown = [_select_top_places(weights) for one in clusters for weights in one.weights.values()]
    names, counts = np.unique(_list_place_kinds(places)[np.concatenate(shown)], return_counts=True)
    return dict(zip(names[np.argsort(-counts, kind="stable")].tolist(), COLOURS, strict=False))


def _draw_top_places(
    panel: Any, places: Places, weights: NDArray[np.float64], colours: Mapping[str, str]
) -> None:
    """Draw the places with the largest weights on a map, and list the first of them below it."""
    top = _select_top_places(weights)
    panel.set_aspect(1 / float(np.cos(np.radians(places.latitude.mean()))))
    panel.grid(False)
    panel.spines[:].set_visible(False)
    panel.scatter(places.longitude, places.latitude, s=1, color="#dddddd")
    sizes = 20 + 180 * weights[top] / max(weights[top].max(initial=0), 1e-300)
    colour = [colours.get(kind, "#999999") for kind in _list_place_kinds(places)[top].tolist()]
    panel.scatter(places.longitude[top], places.latitude[top], s=sizes, c=colour, alpha=0.75, linewidths=0)
    panel.set(xticks=[], yticks=[])
    _, east = metres_per_degree(places.latitude.mean())
    draw_scale_bar(panel, float(east) / 1000)
    names = [
        f"place {places.ids[place]}"
        if places.categories is None
        else f"{str(places.categories[place]).rpartition('/')[2]} ({places.ids[place]})"
        for place in top[:LISTED]
    ]
    lines = "\n".join(f"{rank}. {name}" for rank, name in enumerate(names, 1))
    panel.text(0, -0.03, lines, transform=panel.transAxes, va="top", fontsize=8)


def _draw_slots(panel: Any, cluster: UserCluster, clock: Clock) -> None:
    """Draw the column of D and the share of events, by time of day."""
    slots = np.arange(clock.slots_per_day)
    panel.plot(slots, cluster.slots, "o-", ms=4, color=COLOURS[0], label="column of D")
    share = {"color": COLOURS[1], "label": "share of training events"}
    panel.plot(slots, cluster.training_slots, "s--", ms=3, **share)
    shown = slots[:: max(len(slots) // 6, 1)]
    panel.set_xticks(shown, [clock.label(int(slot) * clock.instants_per_slot) for slot in shown], fontsize=7)
    panel.axhline(0, color="#555555", linewidth=0.8)
    panel.set_title("by time of day", fontsize=9)
    panel.legend(frameon=False, fontsize=7)
