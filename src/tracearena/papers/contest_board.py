"""Figures of [contest] about scores and the board, and [samples] Figure 4.

Figures 7 (score functions), 8 and 9 (privacy of defences), Table 2 and appendix E (spread over teams),
and what k-anonymity of traces hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena import ATTACKS_2019, SweepRow, measure_fairness, require_success, run_sweep
from tracearena.arena.claims import (
    ClaimResult,
    check_privacies_correlate,
    check_share,
    check_shuffling_hides_names,
    correlation,
    format_title,
)
from tracearena.arena.ensemble import Scoring
from tracearena.arena.experiments import Fairness
from tracearena.contest import ContestPlan, Rules, read_score_tables, select_compared_rows, team_traces
from tracearena.contest.board import BoardRow, Role
from tracearena.engine import SeedLike, child_seed, generator, seed_sequence, track_progress
from tracearena.metrics import trace_inference_score, utility_score
from tracearena.obfuscation.k_anonymity import KAnonymous, group_by_mdav
from tracearena.pages.html import BLUE, COLOURS
from tracearena.papers.base import Drawing, Table, paper_figure
from tracearena.papers.data import (
    ITERATIONS,
    STAND_INS,
    FigureSource,
    Size,
    TeamData,
    fit_generator,
    generate_teams,
    load_teams,
    load_virtual_teams,
)
from tracearena.papers.style import NAMES, WHEREABOUTS, choose_look, draw_scatter_points, label_points
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces


# [samples] Figure 4: the sample programs with and without the utility threshold.
@paper_figure("samples-4", "privacy of the sample defences, with and without the utility threshold")
def compute_samples_figure_4(source: FigureSource) -> Drawing:
    """Try the sample defences, scored as in 2019."""
    (team,) = load_teams(source)
    scoring = Scoring(utility_rule="2019")
    rows = require_success(run_sweep(*team, scoring=scoring, legacy_2019=True, seed=source.seed))

    def draw(figure: Any, axes: Any) -> None:
        useful = f"only useful releases (threshold {Rules().utility_threshold:g})"
        shown = {"all releases (threshold 0)": rows, useful: [row for row in rows if row.valid]}
        for panel, (words, some) in zip(axes, shown.items(), strict=True):
            draw_scatter_points(panel, some)
            panel.set_title(words, fontsize=10, loc="left", pad=24)

    return Drawing(rows, draw, (15, 6), {"ncols": 2})


# [contest] Figure 7: the two functions that make scores of distances.
SCORE_LIMIT_KM = 2.0
DISTANCES_KM = np.arange(0, 4.01, 0.1).round(1)


@paper_figure("contest-7", "the two functions that turn distances into scores")
def compute_contest_figure_7(source: FigureSource) -> Drawing:
    """Compute what one event scores at each distance."""
    useful, private = compute_distance_scores(DISTANCES_KM)
    table = ("distance_km", "g_U", "g_T"), zip(DISTANCES_KM, useful, private, strict=True)
    panels = (
        (useful, "utility g_U of an event", "distance of the released place (km)"),
        (private, "privacy g_T of an event", "distance of the inferred place (km)"),
    )

    def draw(figure: Any, both: Any) -> None:
        for number, (axes, (values, name, distance)) in enumerate(zip(both, panels, strict=True)):
            axes.plot(DISTANCES_KM, values, color=COLOURS[number], linewidth=2)
            axes.set(xlabel=distance, ylabel=f"{name} (1 is best)", ylim=(-0.03, 1.03))
        figure.subplots_adjust(wspace=0.3)

    claims = check_contest_7_claims(useful, private)
    return Drawing(table, draw, (9, 3.4), {"ncols": 2}, title="Scores over distances", claims=claims)


def compute_distance_scores(
    distances: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return g_U and g_T: utility of an event released so far away, and privacy of one guessed so far away.

    >>> compute_distance_scores(np.array([0.0, 1.0, 3.0]))[0].tolist()
    [1.0, 0.5, 0.0]
    """
    places = Places(np.zeros(len(distances) + 1), [0, *distances], km_per_degree=(1, 1))
    original = Traces.from_dense([[0]], places, Clock(instants_per_day=1))
    useful, private = [], []
    for at in range(1, len(places)):
        released = ObfuscatedTraces.like(original, [at])
        useful.append(utility_score(original, released, limit_km=SCORE_LIMIT_KM).utility)
        private.append(trace_inference_score(original, original.with_places([at])).trace_inference)
    return np.array(useful), np.array(private)


def check_contest_7_claims(useful: NDArray[np.float64], private: NDArray[np.float64]) -> list[ClaimResult]:
    """Test that the two are what [contest] section 3.4 defines: 1 - d / 2 km and d / 2 km, then flat."""
    wanted = np.minimum(DISTANCES_KM / SCORE_LIMIT_KM, 1)
    error = float(max(np.abs(useful - (1 - wanted)).max(), np.abs(private - wanted).max()))
    told = f"largest difference {error:.1e}, required: less than 1e-9"
    statement = "both scores are straight lines up to 2 km and flat beyond"
    return [ClaimResult(statement, error < 1e-9, told, error)]


# [contest] Figure 8: privacy scores of the sample algorithms.
@paper_figure(
    "contest-8",
    "both kinds of privacy of the sample defences, including the cheating anonymization",
    takes_zeros=True,
)
def compute_contest_figure_8(
    source: FigureSource, *, legacy_2019: bool = False, iterations: int = ITERATIONS
) -> Drawing:
    """Try the sample defences on a team of virtual users; with `legacy_2019` as the programs of 2019 did."""
    (team,) = load_virtual_teams(source, iterations=iterations)
    scoring = Scoring(utility_rule="2019" if legacy_2019 else "paper")
    rows = require_success(run_sweep(*team, scoring=scoring, legacy_2019=legacy_2019, seed=source.seed))
    title = "The sample defences, by both kinds of privacy"
    return _draw_privacies(rows, title, check_contest_8_claims(rows))


def _draw_privacies(rows: Sequence[SweepRow], title: str, claims: Sequence[ClaimResult]) -> Drawing:
    """Return a point for each defence, by both kinds of privacy."""
    return Drawing(
        rows, lambda _, axes: draw_scatter_points(axes, rows), (8, 6),
        title=title, claims=claims, head={"pad": 24},
    )  # fmt: skip


def check_contest_8_claims(rows: Sequence[SweepRow]) -> list[ClaimResult]:
    """Return what the picture is for: re-identification alone is not enough as a measure."""
    return [check_shuffling_hides_names(rows)]


# [contest] Figure 9: privacy of the teams' releases, ours with a defence for each team.
@paper_figure(
    "contest-9",
    "both kinds of privacy of 17 defences, in place of the releases of the 17 valid teams",
    takes_zeros=True,
)
def compute_contest_figure_9(source: FigureSource, *, iterations: int = ITERATIONS) -> Drawing:
    """Try a defence for each team, and read the published final where it is at hand."""
    tables = find_published_final(source.data)
    # A folder with the published scores alone has no traces: ours are then virtual users.
    ours = source if tables is None or tables[0].parent != source.data else replace(source, data=None)
    (team,) = load_virtual_teams(ours, iterations=iterations)
    rows = run_sweep(*team, defences=("No", *STAND_INS), attacks=ATTACKS_2019, seed=source.seed)
    require_success(rows)
    points = [] if tables is None else select_compared_rows(read_score_tables(*tables).board())
    found = check_contest_9_claims(rows, points)
    title = f"{len(rows)} releases by both kinds of privacy"
    if not points:
        return _draw_privacies(rows, title, found)

    def draw(figure: Any, axes: Any) -> None:
        draw_scatter_points(axes[0], rows)
        axes[0].set_title(format_title(title, found[:1]), fontsize=10, loc="left", pad=24)
        where = [(row.s_R_min, row.s_T_min) for row in points]
        for role, marker in ((Role.TEAM, "o"), (Role.PSEUDONYMISED, "x")):
            own = [pair for row, pair in zip(points, where, strict=True) if row.role is role]
            axes[1].scatter([x for x, _ in own], [y for _, y in own], marker=marker, color=BLUE, zorder=3)
        label_points(axes[1], where, [row.team for row in points], size=6.5)
        axes[1].set(xlabel=NAMES.title, ylabel=WHEREABOUTS.title)
        theirs = f"{len(points)} data sets of the published final (x: pseudonymised only)"
        axes[1].set_title(format_title(theirs, found[1:]), fontsize=10, loc="left", pad=24)
        for one in axes:
            one.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))

    table: dict[str, Table] = {"": rows, "-2019": [row.to_dict() for row in points]}
    return Drawing(table, draw, (14, 6), {"ncols": 2}, claims=found)


def find_published_final(data: Path | None) -> tuple[Path, Path, Path] | None:
    """Return the published tables of scores, if they lie in the folder or next to it."""
    for folder in () if data is None else (data, data.resolve().parent / "pwscup2019-results"):
        one, two, three = (
            folder / f"final_{kind}.csv" for kind in ("reidentification", "trace_inference", "utility")
        )
        if one.is_file() and two.is_file() and three.is_file():
            return one, two, three
    return None


def check_contest_9_claims(rows: Sequence[SweepRow], published: Sequence[BoardRow] = ()) -> list[ClaimResult]:
    """Return whether the two kinds of privacy go together over the valid releases ([contest] Figure 9).

    The same is asked of the published points, where they are at hand.
    """
    found = [check_privacies_correlate(row.scores.minima for row in rows if row.valid)]
    if published:
        theirs = check_privacies_correlate((row.s_R_min, row.s_T_min) for row in published)
        found.append(replace(theirs, statement=f"{theirs.statement}, in the published final"))
    return found


# [contest] Table 2: spread of the privacy scores over the teams' data.
LARGEST_SPREAD = 0.015
PLAN = ContestPlan()


@paper_figure(
    "contest-table2", "fairness: spread of the scores between the data of different teams", takes_zeros=True
)
def compute_contest_table_2(
    source: FigureSource, *, count: int = 17, plan: ContestPlan = PLAN, iterations: int = ITERATIONS
) -> Drawing:
    """Measure the scores of 17 teams of 2,000 virtual users over 40 days."""
    _, model, root = fit_generator(source, iterations)
    teams = (
        team_traces(model, plan, child_seed(root, 1, team)) for team in track_progress(range(count), count)
    )
    found = measure_fairness(teams, seed=child_seed(root, 2))

    def draw(figure: Any, axes: Any) -> None:
        series = (("reidentification", "s_R,min", -0.15), ("trace_inference", "s_T,min", 0.15))
        for number, (name, label, side) in enumerate(series):
            values = [getattr(row, f"{name}_mean") for row in found]
            spread = [getattr(row, f"{name}_sd") for row in found]
            at = [place + side for place in range(len(found))]
            look = {"fmt": "os"[number], "color": COLOURS[number], "label": label}
            axes.errorbar(at, values, yerr=spread, capsize=4, **look)
        axes.set_xticks(range(len(found)), [row.defence for row in found])
        axes.set(ylim=(0, 1.05), ylabel="privacy (1 is best)\nmean ± standard deviation over teams")
        axes.legend(frameon=False)

    return Drawing(
        [row.to_dict() for row in found], draw, (6.5, 4), title="Privacy scores over the teams' data",
        claims=check_contest_table_2_claims(found), head={"width": 75},
    )  # fmt: skip


def check_contest_table_2_claims(found: Sequence[Fairness]) -> list[ClaimResult]:
    """Check whether the spread over the teams is small.

    [contest] appendix E and Table 2: "about 0.01 or less", 0.011 at most. It takes a standard deviation
    below 0.015, which rounds to that, for every defence and both scores.
    """
    spread = max(max(row.reidentification_sd, row.trace_inference_sd) for row in found)
    told = f"largest standard deviation {spread:.4f}, required: less than {LARGEST_SPREAD:g}"
    return [ClaimResult("whose data a team gets hardly matters", spread < LARGEST_SPREAD, told, spread)]


# [contest] appendix E: more users, smaller spread of the scores over the teams.
SCORES = (("reidentification_sd", "s_R,min"), ("trace_inference_sd", "s_T,min"))


@paper_figure(
    "contest-spread", "spread of the scores between teams, by number of users per team", takes_zeros=True
)
def compute_contest_spread(
    source: FigureSource,
    *,
    users: Sequence[int] = (50, 100, 200, 400),
    count: int = 8,
    days: int = 20,
    iterations: int = ITERATIONS,
) -> Drawing:
    """Measure the scores of teams of ever more virtual users."""
    sizes = [size for size in users for _ in range(count)]
    teams = list(track_progress(generate_teams(source, sizes, days, iterations=iterations), len(sizes)))
    root = seed_sequence(source.seed)
    found = [
        (size, row)
        for number, size in enumerate(users)
        for row in measure_fairness(
            teams[number * count : (number + 1) * count], seed=child_seed(root, 2, number)
        )
    ]

    def draw(figure: Any, both: Any) -> None:
        defences = dict.fromkeys(row.defence for _, row in found)
        sizes = list(dict.fromkeys(size for size, _ in found))
        for axes, (name, score) in zip(both, SCORES, strict=True):
            for number, defence in enumerate(defences):
                points = [(size, getattr(row, name)) for size, row in found if row.defence == defence]
                axes.plot(*zip(*points, strict=True), label=defence, **choose_look(number))
            axes.set(xscale="log", yscale="log", xlabel="virtual users of a team")
            axes.set_xticks(sizes, [str(size) for size in sizes])
            axes.minorticks_off()
            axes.set_title(score, fontsize=10, loc="left")
        both[0].set_ylabel("standard deviation over teams")
        both[1].legend(frameon=False, fontsize=8)

    return Drawing(
        [{"users": size, **row.to_dict()} for size, row in found], draw, (10, 4),
        {"ncols": 2, "sharey": True}, title="Spread of the scores over the users of a team",
        claims=check_contest_spread_claims(found),
    )  # fmt: skip


def check_contest_spread_claims(found: Sequence[tuple[int, Fairness]]) -> list[ClaimResult]:
    """Check whether the spread falls as the users grow.

    [contest] appendix E: "To improve the fairness (i.e., to further reduce the SD), we should increase the
    number m of virtual users." It takes a fall of the mean spread, over defences and both scores, with an
    exponent of the users of -0.25 or less; independent people would give -0.5.
    """
    sizes = dict.fromkeys(size for size, _ in found)
    mean = {
        size: float(np.mean([getattr(row, name) for own, row in found if own == size for name, _ in SCORES]))
        for size in sizes
    }
    slope = float(np.polyfit(np.log(list(mean)), np.log(list(mean.values())), 1)[0])
    first, last = min(mean), max(mean)
    return [
        ClaimResult(
            "the more users a team has, the smaller is the spread over the teams",
            slope <= -0.25,
            f"mean standard deviation {mean[first]:.4f} of {first:,} users, {mean[last]:.4f} of {last:,}: "
            f"users to the power of {slope:.2f}, required: -0.25",
            slope,
        )
    ]


# [contest] sections 1 and 5.2: what k-anonymity of traces hides, and what it does not.
PEOPLE = Size(500, 10)
TOGETHER = 10
"""How many people share their days in the second panel, and the k that hides them there."""
FALLS = -0.9
K_ANONYMITY_ATTACKS = ("samples", "FuzzyCount-R", "Replay-T")
"""Attackers who read the release, and one who goes by habits alone."""


class AnonymityPoint(NamedTuple):
    """One release: how alike people are made, how many traces are equal, and what attackers leave.

    Attributes
    ----------
    together
        Share of the times of day at which ten people are made to be where the first of them is.
    homogeneity
        Share of the events at which a person is where the common trace of her group is.
    identified, known
        Share of people identified by an attacker who knows the reference, and the originals themselves.
    chance
        Standard deviation of a share that is found by guessing within the groups.
    s_T, habits
        What is left by the strongest trace inference that reads the release, and by habits alone.
    """

    together: float
    k: int
    homogeneity: float
    s_U: float
    identified: float
    known: float
    chance: float
    s_T: float
    habits: float


@paper_figure(
    "contest-k-anonymity",
    "k-anonymity: at most one person in k is re-identified, but whereabouts are still inferred",
)
def compute_contest_k_anonymity(
    source: FigureSource,
    *,
    ks: Sequence[int] = (2, 3, 5, 10, 20, 50),
    shares: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0),
) -> Drawing:
    """Make traces k-anonymous, for several k and for people who are ever more alike."""
    (team,) = load_teams(replace(source, size=source.choose_size(PEOPLE)))
    work = [*((0.0, k) for k in ks), *((share, TOGETHER) for share in shares)]
    points = [
        measure_anonymity(make_companions(team, TOGETHER, share, source.seed), share, k, source.seed)
        for share, k in track_progress(work, len(work))
    ]
    over_k, over_share = points[: len(ks)], sorted(points[len(ks) :], key=lambda point: point.homogeneity)
    lines = {
        "identified": "share identified",
        "known": "share identified by who knows the originals",
        "s_T": "s_T,min of who reads the release (1 = no place found)",
        "habits": "the same by habits alone",
        "s_U": "utility s_U",
    }

    def draw(figure: Any, both: Any) -> None:
        left, right = both
        for axes, points, field in ((left, over_k, "k"), (right, over_share, "homogeneity")):
            at = [getattr(point, field) for point in points]
            for number, (name, label) in enumerate(lines.items()):
                axes.plot(at, [getattr(point, name) for point in points], label=label, **choose_look(number))
            axes.plot(at, [1 / point.k for point in points], ":", color="black", label="1/k")
            axes.set(ylim=(-0.03, 1.03), ylabel="share, or score")
        left.set(xscale="log", xlabel="traces that are equal, k")
        left.set_xticks([point.k for point in over_k], [str(point.k) for point in over_k], minor=False)
        left.minorticks_off()
        left.set_title("traces of unchanged people", fontsize=10, loc="left")
        right.set_xlabel("homogeneity: share of events equal to the group trace")
        right.set_title(f"traces of people made alike, k = {TOGETHER}", fontsize=10, loc="left")
        lines_of = left.get_legend_handles_labels()
        figure.legend(*lines_of, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 0.0))

    return Drawing(
        [point._asdict() for point in points], draw, (12, 4.8), {"ncols": 2},
        title="k-anonymity of whole traces", claims=check_k_anonymity_claims(over_k, over_share),
    )  # fmt: skip


def make_companions(team: TeamData, together: int, share: float, seed: SeedLike) -> TeamData:
    """Make people alike: at some times of the day groups of people are where the first of them is.

    The times are the same on all days, so that people stay as regular as they were.

    >>> from tracearena.papers.data import FigureSource
    >>> (team,) = load_teams(FigureSource(size=Size(4, 1)))
    >>> one = make_companions(team, 2, 1.0, 1).original.dense()
    >>> bool((one[0] == one[1]).all() and (one[2] == one[3]).all())
    True
    """
    times = team.original.clock.instants_per_day
    shared = generator(seed).permutation(times)[: round(share * times)]

    def align(traces: Traces) -> Traces:
        first = traces.user_index // together * together
        led = traces.dense()[first, traces.instants - traces.span[0]]
        follows = np.isin(traces.clock.time_of_day(traces.instants), shared) & (led >= 0)
        return traces.with_places(np.where(follows, led, traces.place_index))

    return TeamData(*map(align, team))


def measure_anonymity(team: TeamData, share: float, k: int, seed: int) -> AnonymityPoint:
    """Release a team k-anonymously, and attack it with what attackers know and with all there is to know."""
    chosen: dict[str, Any] = {"defences": [f"KAnonymous({k})"], "seed": seed}
    (partial,) = require_success(run_sweep(*team, attacks=K_ANONYMITY_ATTACKS, **chosen))
    (known,) = require_success(run_sweep(*team, attacks=["samples"], knowledge="maximum", **chosen))
    assert partial.utility is not None
    assert known.scores.s_R_min is not None
    left = dict(partial.scores.trace_inference)
    habits = left.pop("Replay-T")
    released = KAnonymous(k=k).transform(team.original)
    groups = int(group_by_mdav(team.original, k).max()) + 1
    return AnonymityPoint(
        share,
        k,
        homogeneity=float((released.codes == team.original.place_index).mean()),
        s_U=partial.utility,
        identified=1 - min(partial.scores.reidentification.values()),
        known=1 - known.scores.s_R_min,
        chance=groups**0.5 / team.original.n_users,
        s_T=min(left.values()),
        habits=habits,
    )


def check_k_anonymity_claims(
    over_k: Sequence[AnonymityPoint], over_share: Sequence[AnonymityPoint]
) -> list[ClaimResult]:
    """Test what [contest] says of k-anonymity.

    Nobody is re-identified with more than 1/k (section 1): the shares found may be three standard
    deviations of a guess above it. But it is "vulnerable to attribute (location) inference" (section 4.2)
    where members are alike: s_T must fall with homogeneity (R below -0.9), and end below a fifth of
    where it began. And it "requires too much noise for long traces" (section 5.2): s_U stays below 0.7.
    """
    everywhere = [*over_k, *over_share]
    first, last = over_share[0].s_T, over_share[-1].s_T
    fall = correlation([(point.homogeneity, point.s_T) for point in over_share]) or 0.0
    best = max(point.s_U for point in over_k)
    told = f"s_T,min goes from {first:.3f} to {last:.3f} with homogeneity, R = {fall:.3f}"
    useful = f"s_U {best:.3f} at best, a contest takes 0.7"
    falls = fall < FALLS and last < first / 5
    return [
        check_share(
            "k-anonymity lets at most one in k be re-identified, whatever is known",
            [max(point.identified, point.known) <= 1 / point.k + 3 * point.chance for point in everywhere],
            "releases stay within three standard deviations of 1/k",
        ),
        ClaimResult("it does not prevent trace inference where people are alike", falls, told, fall),
        ClaimResult("long traces lose their use to it", best < 0.7, useful, best),
    ]
