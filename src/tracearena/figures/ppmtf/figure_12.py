"""[ppmtf] Figure 12: two clusters of people who check in, on a map and by the hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.figures.data import Source, check_ins, kept_days
from tracearena.figures.style import canvas, head, save, scale_bar
from tracearena.figures.tables import write_records
from tracearena.metrics import cluster_populations
from tracearena.pages.html import COLOURS
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import cluster_features, measure_deniability
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.geodesy import metres_per_degree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 2
TOP, LISTED = 20, 5
HOURS = (10, 12)
K = 10
TRACES_PER_USER = 10
ITERATIONS = 100
_OTHER = "#999999"


@dataclass(frozen=True, eq=False)
class Cluster:
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


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    k: int = K,
    traces_per_user: int = TRACES_PER_USER,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-12.svg, ppmtf-12.csv (20 places a map) and ppmtf-12-slots.csv (columns of D).

    The two clusters of a tenth of the users who are farthest from where everybody is; synthetic
    traces are those of ten a user that have (10, 1)-plausible deniability.
    """
    training, _ = check_ins(source)
    root = seed_sequence(source.seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    made = model.synthesize(traces_per_user, seed=child_seed(root, 1))
    passed = measure_deniability(model, made, k=k, early_stop=True, seed=child_seed(root, 2)).passed
    clusters = _clusters(model, training, kept_days(made, passed))
    places, clock = training.places, training.clock
    found = findings(clusters)
    announce(found, tell)
    return [
        _draw(out / "ppmtf-12.svg", clusters, places, clock, found),
        write_records(out / "ppmtf-12.csv", _place_rows(clusters, places)),
        write_records(out / "ppmtf-12-slots.csv", _slot_rows(clusters, clock)),
    ]


def findings(clusters: Sequence[Cluster]) -> list[Finding]:
    """Ask whether synthetic people of a cluster are nearer to its people than everybody is.

    [ppmtf] Figure 12: PPMTF "synthesizes traces preserving the behavior" of a cluster.
    """
    return [
        counted(
            "deniable synthetic traces keep what is special about a cluster",
            [one.total_variation < one.from_everybody for one in clusters],
            "clusters are nearer to their synthetic people than to everybody: total variation "
            + ", ".join(f"{one.total_variation:.2f} against {one.from_everybody:.2f}" for one in clusters),
        )
    ]


def _clusters(model: PPMTF, training: Traces, synthetic: Traces) -> list[Cluster]:
    features = cluster_features(model, training, synthetic)
    people = features.populations
    parts = _late_morning(training), _late_morning(synthetic)
    then = cluster_populations(model.trace_model_.users, *parts)
    found = []
    for number in features.most_distinct(SHOWN).tolist():
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
            Cluster(number, len(members), days, variation, apart, weights, features.slots[number], share)
        )
    return found


def _late_morning(traces: Traces) -> Traces:
    """Return the events from 10:00 to 12:00."""
    hour = traces.clock.second_of_day(traces.instants) // 3600
    kept = traces.keep((hour >= HOURS[0]) & (hour < HOURS[1]))
    if not len(kept):
        raise DataError(f"the traces have no events from {HOURS[0]}:00 to {HOURS[1]}:00")
    return kept


def _top(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places with the largest weights above 0, at most 20."""
    order = np.argsort(-weights, kind="stable")[:TOP]
    return order[weights[order] > 0]


def _place_rows(clusters: list[Cluster], places: Places) -> list[dict[str, Any]]:
    return [
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
        for rank, place in enumerate(_top(weights), 1)
    ]


def _slot_rows(clusters: list[Cluster], clock: Clock) -> list[dict[str, Any]]:
    return [
        {
            "cluster": cluster.number,
            "slot": clock.label(slot * clock.instants_per_slot),
            "d": value,
            "training": cluster.training_slots[slot],
        }
        for cluster in clusters
        for slot, value in enumerate(cluster.slots.tolist())
    ]


def _draw(path: Path, clusters: list[Cluster], places: Places, clock: Clock, found: list[Finding]) -> Path:
    colours = _colours(clusters, places)
    with canvas(14, 4.6 * len(clusters), nrows=len(clusters), ncols=4, squeeze=False) as (figure, axes):
        figure.subplots_adjust(hspace=0.4, wspace=0.22)
        for row, cluster in zip(axes, clusters, strict=True):
            titles = {
                "B": f"cluster of {cluster.users} people: column of B",
                "training": "training traces, 10:00 to 12:00",
                "synthetic": f"{cluster.traces:,} deniable synthetic traces",
            }
            for panel, (series, title) in zip((row[0], row[2], row[3]), titles.items(), strict=True):
                _map(panel, places, cluster.weights[series], colours)
                panel.set_title(title, fontsize=9)
            _hours(row[1], cluster, clock)
        handles = [] if places.categories is None else _legend(colours)
        figure.legend(handles=handles, loc="lower center", ncol=len(COLOURS), frameon=False, fontsize=9)
        title = "Two clusters: places and hours of the model, places of real and of synthetic people"
        head(figure, title, found, width=150)
        return save(figure, path)


def _kinds(places: Places) -> NDArray[np.str_]:
    """Return the large category of each place, the part before the first slash."""
    if places.categories is None:
        return np.full(len(places), "place")
    return np.array([name.partition("/")[0] for name in places.categories.tolist()])


def _colours(clusters: list[Cluster], places: Places) -> dict[str, str]:
    """Give the commonest kinds of places in the picture a colour each; what is rarer is grey."""
    shown = np.concatenate([_top(weights) for one in clusters for weights in one.weights.values()])
    names, counts = np.unique(_kinds(places)[shown], return_counts=True)
    common = names[np.argsort(-counts, kind="stable")][: len(COLOURS)]
    return dict(zip(common.tolist(), COLOURS, strict=False))


def _legend(colours: dict[str, str]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], marker="o", linestyle="", color=colour, label=kind) for kind, colour in colours.items()
    ]


def _map(panel: Axes, places: Places, weights: NDArray[np.float64], colours: dict[str, str]) -> None:
    top, kinds = _top(weights), _kinds(places)
    panel.set_aspect(1 / float(np.cos(np.radians(places.latitude.mean()))))
    panel.grid(False)
    panel.spines[:].set_visible(False)
    panel.scatter(places.longitude, places.latitude, s=1, color="#dddddd")
    sizes = 20 + 180 * weights[top] / max(weights[top].max(initial=0), 1e-300)
    colour = [colours.get(kind, _OTHER) for kind in kinds[top].tolist()]
    panel.scatter(places.longitude[top], places.latitude[top], s=sizes, c=colour, alpha=0.75, linewidths=0)
    panel.set(xticks=[], yticks=[])
    _, east = metres_per_degree(places.latitude.mean())
    scale_bar(panel, float(east) / 1000)
    lines = [f"{rank}. {_label(places, place)}" for rank, place in enumerate(top[:LISTED], 1)]
    panel.text(0, -0.03, "\n".join(lines), transform=panel.transAxes, va="top", fontsize=8)


def _label(places: Places, place: int) -> str:
    if places.categories is None:
        return f"place {places.ids[place]}"
    return f"{str(places.categories[place]).rpartition('/')[2]} ({places.ids[place]})"


def _hours(panel: Axes, cluster: Cluster, clock: Clock) -> None:
    slots = np.arange(clock.slots_per_day)
    panel.plot(slots, cluster.slots, "o-", ms=4, color=COLOURS[0], label="column of D")
    panel.plot(slots, cluster.training_slots, "s--", ms=3, color=COLOURS[1], label="share of training events")
    shown = slots[:: max(len(slots) // 6, 1)]
    panel.set_xticks(shown, [clock.label(int(slot) * clock.instants_per_slot) for slot in shown], fontsize=7)
    panel.axhline(0, color="#555555", linewidth=0.8)
    panel.set_title("by time of day", fontsize=9)
    panel.legend(frameon=False, fontsize=7)
