"""Figures of [contest] about virtual users: appendix D, Figure 4 and Figure 19.

`Lives` has the numbers by which groups of people are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import ClaimResult
from tracearena.contest.virtual_days import ShortWalk, contest_days, contest_training
from tracearena.engine import SeedLike, child_seed, generator, report, seed_sequence, use
from tracearena.errors import DataError
from tracearena.pages.html import COLOURS
from tracearena.papers.base import Drawing, paper_figure
from tracearena.papers.data import GENERATOR, ITERATIONS, FigureSource, fit_generator, load_generator_training
from tracearena.papers.style import draw_cells, draw_ground
from tracearena.synthesis import PPMTF
from tracearena.traces import Grid, Places, Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WITHIN = 2.0
"""Largest distance of virtual users from real people, in spreads between halves of the real people."""
FIVE, HELD_OUT, INSTANT = "5-minute walk", "5-minute walk, people held out", "one step per instant"
_SEED_SPREAD, _SEED_HALVES = 10, 11


@dataclass(frozen=True)
class ComparisonRow:
    """One number of the people and of some virtual users, or one distance between them.

    Attributes
    ----------
    number, kind
        What is compared, and who with whom.
    people, virtual
        The number of either; of a distance, between halves of the people, and from them to the virtual users.
    spread
        Of the number, the standard deviation between halves of the people; of a distance, `people` again.
    apart
        How many spreads lie between them.
    """

    number: str
    kind: str
    people: float
    virtual: float
    spread: float
    apart: float


@paper_figure(
    "contest-people", "virtual users compared with the people they are learned from", takes_zeros=True
)
def compute_contest_people(source: FigureSource, *, iterations: int = ITERATIONS) -> Drawing:
    """Compare virtual users with people; the curves and the map behind it are tables of their own.

    Virtual users are made in three ways: with the walk of `contest data`; the same, learned from one
    half of the people and compared with the other; and with one step per instant.
    """
    training = contest_training(load_generator_training(source))
    root = seed_sequence(source.seed)
    order = generator(child_seed(root, 0)).permutation(training.n_users)
    known, unknown = (np.sort(part) for part in (order[::2], order[1::2]))
    if not len(unknown):
        raise DataError("at least two people are needed, to hold some out")
    people = Lives.of(contest_days(training))
    rows: list[ComparisonRow] = []
    shown = {"people": people}
    tasks = ((FIVE, None, None), (HELD_OUT, known, unknown), (INSTANT, None, None))
    for done, (kind, learned, compared) in enumerate(tasks):
        report(done, len(tasks))
        lived = training if learned is None else training.take_users(learned)
        with use(progress=None):
            model = PPMTF(factors=32, zeros=source.zeros, iterations=iterations)
            made = sample_virtual_lives(lived, kind, people.table.shape[1], training.n_users, root, model)
        rows += compare_lives(people, made, kind, root, compared)
        shown[kind] = made
    report(len(tasks), len(tasks))

    def draw(figure: Any, axes: Any) -> None:
        _draw_apart(axes[0, 0], rows)
        _draw_hours(axes[0, 1], shown)
        _draw_visits(axes[0, 2], shown)
        top = max(float(shown[kind].at_noon().max()) for kind in ("people", FIVE))
        for panel, kind in ((axes[1, 0], "people"), (axes[1, 1], FIVE)):
            panel.set_title(f"{kind} at noon", fontsize=9.5, loc="left")
            grid = _require_grid(people.traces.places)
            image = draw_cells(panel, grid, shown[kind].at_noon(), vmin=0, vmax=top)
            draw_ground(panel, grid.box)
            panel.tick_params(labelsize=6)
            bar = panel.figure.colorbar(image, ax=panel, shrink=0.8)
            bar.ax.set_title("share", fontsize=7)
            bar.ax.tick_params(labelsize=6)
        _draw_transitions(axes[1, 2], shown)

    return Drawing(
        {"": [vars(row) for row in rows], **_tabulate_lives(shown)}, draw, (13.5, 8.2),
        {"nrows": 2, "ncols": 3, "gridspec_kw": {"wspace": 0.42, "hspace": 0.36}},
        title="Virtual users next to the people of the training data",
        claims=check_contest_people_claims(rows), head={"width": 150},
    )  # fmt: skip


def _require_grid(places: Places) -> Grid:
    if places.grid is None:
        raise DataError("the map of the population needs the regions of a grid")
    return places.grid


def _tabulate_lives(shown: Mapping[str, Lives]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of all groups by time of day, by visits, and by place at noon."""
    home = {kind: lives.at_home().mean(axis=0) for kind, lives in shown.items()}
    repeats = {kind: lives.repeats().mean(axis=0) for kind, lives in shown.items()}
    maps = {kind: lives.at_noon() for kind, lives in shown.items()}
    people = shown["people"]
    return {
        "-hours": [
            {"time": time, "who": kind, "at_home": float(home[kind][t]), "next_day": float(repeats[kind][t])}
            for kind in shown
            for t, time in enumerate(people.labels)
        ],
        "-visits": [
            {"visits": count, "who": kind, "share_of_places": float(share)}
            for kind, lives in shown.items()
            for count, share in enumerate(lives.visit_counts(), 1)
            if share
        ],
        "-noon": [
            {"place": place} | {kind: float(maps[kind][at]) for kind in maps}
            for at, place in enumerate(people.traces.places.ids)
        ],
    }


def sample_virtual_lives(
    training: Traces, kind: str, days: int, users: int, root: np.random.SeedSequence, model: PPMTF
) -> Lives:
    """Learn from the traces and return as many days of as many virtual users."""
    seeds = child_seed(root, 1), child_seed(root, 2)
    chosen: dict[str, Any] = {"homes": True, "only_seen": True}
    if kind == INSTANT:
        model.fit(training, seed=seeds[0])
        return Lives.of(contest_days(model.sample_users(users, days, seed=seeds[1], **chosen)))
    course = ShortWalk.of(training)
    model.fit(course.training(), seed=seeds[0])
    walking = course.build_model(model, **chosen)
    return Lives.of(walking.sample_users(users, days, seed=seeds[1], **chosen))


def compare_lives(
    people: Lives,
    made: Lives,
    kind: str,
    root: np.random.SeedSequence,
    compared: NDArray[np.int64] | None = None,
) -> list[ComparisonRow]:
    """Return all numbers and distances of the people, or of those `compared`, and the virtual users.

    The spread of a number is that between halves of all the people.
    """

    def compare(name: str, real: float, virtual: float, scale: float, distance: float) -> ComparisonRow:
        apart = distance / scale if scale > 0 else 0.0 if distance == 0 else float("inf")
        return ComparisonRow(name, kind, real, virtual, scale, apart)

    rows = []
    of_made, whom = made.numbers(), slice(None) if compared is None else compared
    for name, sums in people.numbers().items():
        real, virtual = compute_ratio(sums, whom), compute_ratio(of_made[name])
        scale = estimate_spread(sums, seed=child_seed(root, _SEED_SPREAD))
        rows.append(compare(name, real, virtual, scale, abs(virtual - real)))
    some = people if compared is None else people.take(compared)
    for name, (far, halves) in measure_distances(some, made, seed=child_seed(root, _SEED_HALVES)).items():
        rows.append(compare(name, halves, far, halves, far))
    return rows


def check_contest_people_claims(rows: Sequence[ComparisonRow]) -> list[ClaimResult]:
    """Check whether virtual users move like the people from whom they were learned.

    [contest] appendix D: they keep "the time-dependent population distribution" and "the transition
    matrix of the training traces". It takes that every number lies within two standard deviations of
    the difference between random halves of the people, and every distribution within twice the distance
    between such halves.
    """
    found = []
    for kind, whom in ((FIVE, "whom they are learned from"), (HELD_OUT, "of the same team, held out")):
        mine = [row for row in rows if row.kind == kind]
        wide = [f"{row.number} {row.apart:.1f}" for row in mine if row.apart > WITHIN]
        worst = max(row.apart for row in mine)
        shown = f"{len(mine) - len(wide)} of {len(mine)} within twice the spread between halves"
        measured = f"{shown}; not: {', '.join(wide)}" if wide else shown
        found.append(ClaimResult(f"virtual users live as the people {whom}", not wide, measured, worst))
    return found


_STYLE = {
    "people": ("black", "-", "o"),
    FIVE: (COLOURS[0], "-", "o"),
    HELD_OUT: (COLOURS[2], "--", "s"),
    INSTANT: (COLOURS[1], ":", "^"),
}


def _draw_apart(axes: Axes, rows: list[ComparisonRow]) -> None:
    names = list(dict.fromkeys(row.number for row in rows))
    for kind in (INSTANT, HELD_OUT, FIVE):
        colour, _, marker = _STYLE[kind]
        mine = [row for row in rows if row.kind == kind]
        at = [names.index(row.number) for row in mine]
        axes.scatter(
            [max(row.apart, 0.05) for row in mine], at, color=colour, marker=marker, label=kind, s=26
        )
    axes.axvline(WITHIN, color="black", linewidth=1, linestyle="--")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="spreads between halves of the people (2 or less is good)")
    axes.set_title("distance of virtual users from the people", fontsize=9.5, loc="left")


def _draw_hours(axes: Axes, shown: dict[str, Lives]) -> None:
    labels = shown["people"].labels
    for kind, lives in shown.items():
        colour, line, marker = _STYLE[kind]
        axes.plot(lives.at_home().mean(axis=0), line, color=colour, marker=marker, markersize=3, label=kind)
    axes.set_xticks(range(0, len(labels), 2), labels[::2], rotation=90, fontsize=7)
    axes.set(ylim=(0, 1), ylabel="share at the place of the morning")
    axes.set_title("at home, by time of day", fontsize=9.5, loc="left")
    axes.legend(fontsize=7.5, frameon=False)


def _draw_visits(axes: Axes, shown: dict[str, Lives]) -> None:
    for kind, lives in shown.items():
        colour, line, marker = _STYLE[kind]
        shares = lives.visit_counts()
        counts = np.flatnonzero(shares) + 1
        axes.plot(counts, shares[counts - 1], line, color=colour, marker=marker, markersize=2.5, label=kind)
    axes.set(xscale="log", yscale="log", xlabel="visits of a person to a place", ylabel="share of her places")
    axes.set_title("visits to a place, by number", fontsize=9.5, loc="left")


def _draw_transitions(axes: Axes, shown: dict[str, Lives]) -> None:
    real, made = (shown[kind].distributions()["transition matrix"] for kind in ("people", FIVE))
    kept = np.flatnonzero((real > 0) & (made > 0))
    n = len(shown["people"].traces.places)
    stays = kept // n == kept % n
    for chosen, colour, label in ((~stays, COLOURS[0], "moves"), (stays, COLOURS[1], "stays")):
        cells = kept[chosen]
        look: dict[str, Any] = {"s": 3, "color": colour, "alpha": 0.35, "linewidths": 0, "rasterized": True}
        axes.scatter(real[cells], made[cells], label=label, **look)
    ends = [float(real[kept].min()), float(real[kept].max())] if len(kept) else [1e-6, 1.0]
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel="share of the people's transitions", ylabel=f"share of the {FIVE}'s")
    axes.set_title("cells of the transition matrix", fontsize=9.5, loc="left")
    axes.legend(fontsize=7.5, frameon=False, markerscale=3)


# How people live, in numbers by which groups are compared, and how far halves of a group lie apart.
LIMIT_KM = 2.0
SENSITIVE_WEIGHT = 10.0
MAP_TIME_S = 12 * 3600
Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lives:
    """Whole days of people: users × days × instants of a day, at least two days of two instants each.

    Attributes
    ----------
    table
        Places.
    traces
        The same as traces.
    """

    table: NDArray[np.int32]
    traces: Traces

    @classmethod
    def of(cls, traces: Traces) -> Lives:
        """Look at complete traces."""
        if not traces.is_complete:
            raise DataError("the days of people can only be compared in traces without gaps")
        table = traces.dense().reshape(traces.n_users, -1, traces.clock.instants_per_day)
        if min(table.shape[1:]) < 2:
            raise DataError(
                "the days of people can only be compared if there are two days of two instants, or more"
            )
        return cls(table, traces)

    def take(self, users: NDArray[np.int64]) -> Lives:
        """Look at some of the people."""
        return Lives(self.table[users], self.traces.take_users(users))

    @property
    def labels(self) -> list[str]:
        """The times of day."""
        return [self.traces.clock.label(instant) for instant in range(self.table.shape[2])]

    def morning_places(self) -> NDArray[np.int64]:
        """Return where each person is most often at the first time of day; of equals, the first place."""
        first = self.table[:, :, 0]
        same = (first[:, :, None] == first[:, None, :]).sum(axis=2)
        candidates = np.where(same == same.max(axis=1, keepdims=True), first, np.iinfo(np.int32).max)
        return np.asarray(candidates.min(axis=1), np.int64)

    def at_home(self) -> Table:
        """Return on which share of her days a person is at her place of the morning, users × times."""
        return np.asarray((self.table == self.morning_places()[:, None, None]).mean(axis=1))

    def repeats(self) -> Table:
        """Return the share of each person's days that find her where the next one does, users × times."""
        return np.asarray((self.table[:, 1:] == self.table[:, :-1]).mean(axis=1))

    def numbers(self) -> dict[str, tuple[Table, Table]]:
        """Return each number as two sums a person; the number of a group is the ratio of its sums.

        Replay is the attack that answers with the first half of the days for the second
        ([contest] section 3.4: s_T).
        """
        t, labels, ones = self.table, self.labels, np.ones(len(self.table))
        home, repeats = self.at_home(), self.repeats()
        days = t.shape[1] // 2
        original = t[:, days : 2 * days]
        places = self.traces.places
        distance = places.distance_km(original.ravel(), t[:, :days].ravel()).reshape(len(t), -1)
        weight = np.where(places.sensitive[original.reshape(len(t), -1)], SENSITIVE_WEIGHT, 1.0)
        lost = (weight * np.minimum(distance / LIMIT_KM, 1)).sum(axis=1)
        return {
            "stays from one instant to the next": ((t[:, :, 1:] == t[:, :, :-1]).mean(axis=(1, 2)), ones),
            f"at home at {labels[0]}": (home[:, 0], ones),
            f"at home at {labels[1]}": (home[:, 1], ones),
            f"same place next day at {labels[0]}": (repeats[:, 0], ones),
            f"same place next day at {labels[1]}": (repeats[:, 1], ones),
            "replay leaves (s_T)": (lost, weight.sum(axis=1)),
        }

    def distributions(self) -> dict[str, Table]:
        """Return how people are spread over transitions, over places at noon, and over visits to a place."""
        t, n = self.table.astype(np.int64), len(self.traces.places)
        pairs = np.bincount((t[:, :, :-1] * n + t[:, :, 1:]).ravel(), minlength=n * n)
        return {
            "transition matrix": pairs / pairs.sum(),
            "population at noon": self.at_noon(),
            "visits of a person to a place": self.visit_counts(),
        }

    def at_noon(self) -> Table:
        """Return the share of the people at each place at noon, or at the time next to it."""
        clock = self.traces.clock
        times = clock.second_of_day(np.arange(clock.instants_per_day))
        there = self.table[:, :, int(np.argmin(np.abs(times - MAP_TIME_S)))].ravel()
        return np.asarray(np.bincount(there, minlength=len(self.traces.places)) / len(there))

    def visit_counts(self) -> Table:
        """Return which share of the places of a person she visits 1, 2, … times."""
        _, _, counts = self.traces.visit_counts()
        return np.asarray(np.bincount(counts, minlength=self.table[0].size + 1)[1:] / max(len(counts), 1))


def compute_ratio(sums: tuple[Table, Table], users: NDArray[np.int64] | slice = slice(None)) -> float:
    """Return the number of a group of people."""
    return float(sums[0][users].sum() / sums[1][users].sum())


def estimate_spread(sums: tuple[Table, Table], *, seed: SeedLike, splits: int = 200) -> float:
    """Return the standard deviation of the difference between two random halves of the people."""
    rng, n = generator(seed), len(sums[0])
    orders = [rng.permutation(n) for _ in range(splits)]
    return float(
        np.std([compute_ratio(sums, one[: n // 2]) - compute_ratio(sums, one[n // 2 :]) for one in orders])
    )


def measure_total_variation(a: Table, b: Table) -> float:
    """Return the total variation between two distributions."""
    return float(np.abs(a - b).sum() / 2)


def measure_distances(
    real: Lives, other: Lives, *, seed: SeedLike, splits: int = 10
) -> dict[str, tuple[float, float]]:
    """Return how far half of the others lie from half of the real people, and these from their other half.

    Halves on both sides, since few people look different for that reason alone; means over random splits.
    """
    rng = generator(seed)
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(splits):
        order, others = rng.permutation(len(real.table)), rng.permutation(len(other.table))
        size = min(len(order), len(others)) // 2
        one, two = (real.take(np.sort(part)).distributions() for part in (order[:size], order[-size:]))
        made = other.take(np.sort(others[:size])).distributions()
        for name, mine in one.items():
            far = measure_total_variation(made[name], mine), measure_total_variation(mine, two[name])
            found.setdefault(name, []).append(far)
    means = {name: np.mean(pairs, axis=0).tolist() for name, pairs in found.items()}
    return {name: (far, halves) for name, (far, halves) in means.items()}


# [contest] Figures 4 and 19: where a team's virtual users are at noon, and when they are at home.
@paper_figure("contest-4", "where virtual users are at noon (also draws contest-19)", takes_zeros=True)
@paper_figure(
    "contest-19", "share of virtual users at home by time of day (also draws contest-4)", takes_zeros=True
)
def compute_contest_figures_4_and_19(source: FigureSource, *, iterations: int = ITERATIONS) -> list[Drawing]:
    """Draw 2,000 virtual users with homes."""
    training, model, root = fit_generator(source, iterations)
    size = source.choose_size(GENERATOR)
    users = model.virtual_users(size.users, homes=True, only_seen=True, seed=child_seed(root, 1))
    table = users.draw(size.days)
    share = (table == np.asarray(users.homes)[:, None, None]).mean(axis=(0, 1))
    clock, n = training.clock, len(training.places)
    noon = int(np.argmin(np.abs(clock.second_of_day(np.arange(clock.instants_per_day)) - MAP_TIME_S)))
    real = training.place_index[clock.time_of_day(training.instants) == noon]
    made = table[:, :, noon].ravel()
    maps = [np.bincount(places, minlength=n) / max(len(places), 1) for places in (real, made)]
    homes = [{"time": clock.label(t), "at_home": float(value)} for t, value in enumerate(share)]
    cells = [
        {"place": int(place), "training": float(a), "synthetic": float(b)}
        for place, a, b in zip(training.places.ids, *maps, strict=True)
    ]

    def draw_maps(figure: Any, axes: Any) -> None:
        look = {"vmin": 0, "vmax": max(float(one.max()) for one in maps)}
        look["aspect"] = 1 / float(np.cos(np.radians(training.places.latitude.mean())))
        for panel, values, words in zip(axes, maps, ("training traces", "virtual users"), strict=True):
            image = draw_cells(panel, _require_grid(training.places), values, **look)
            panel.grid(False)
            panel.tick_params(labelsize=6)
            panel.set_title(words, fontsize=10)
        figure.colorbar(image, ax=list(axes), label="share of the people", shrink=0.8)
        common = 1 - measure_total_variation(*maps)
        title = f"People and virtual users at {clock.label(noon)}: {common:.0%} of the crowd in common"
        figure.suptitle(title, fontsize=11, y=0.99)

    def draw_homes(figure: Any, axes: Any) -> None:
        at = range(len(homes))
        axes.plot(at, [row["at_home"] for row in homes], "o-", color=COLOURS[0])
        axes.set_xticks(at, [row["time"] for row in homes], rotation=90, fontsize=7)
        axes.set(ylim=(0, 1), xlabel="time of day", ylabel="share of virtual users at home")

    return [
        Drawing(cells, draw_maps, (9.5, 4.4), {"ncols": 2}, name="contest-4"),
        Drawing(
            homes, draw_homes, (7, 4), title="Virtual users at home, by time of day",
            claims=check_contest_19_claims(homes), head={"width": 80}, name="contest-19",
        ),
    ]  # fmt: skip


def check_contest_19_claims(homes: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Check whether virtual users are at home in the morning and in the evening.

    [contest] Figure 19: each user stays at home then "with high probability". It takes more than half
    of them at the first and the last time of day, and fewer in between.
    """
    first, last = homes[0], homes[-1]
    least = min(homes, key=lambda row: float(row["at_home"]))
    ends = min(first["at_home"], last["at_home"])
    shown = ", ".join(f"{row['at_home']:.2f} at {row['time']}" for row in (first, least, last))
    told = f"{shown}; required: more than 0.5 at both ends and less between"
    statement = "people leave home in the morning and come back in the evening"
    return [ClaimResult(statement, ends > 0.5 and least["at_home"] < ends, told, ends)]
