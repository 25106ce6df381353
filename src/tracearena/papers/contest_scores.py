"""Figures of [contest] about measures and synthesizers.

Figure 12 (trace-inference score against the expected error), Figure 13 (usefulness of releases), and
Figures 16 to 18 (diversity, utility and privacy of PPMTF+).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.arena import Ensemble, make_attacks, pseudonymise
from tracearena.arena.claims import STRONG, ClaimResult, check_share, correlation
from tracearena.attacks import MembershipInference, ReferenceReplay, SyntheticIdentification
from tracearena.engine import SeedLike, block_ranges, child_seed, run_blocks, seed_sequence, track_progress
from tracearena.io.ppmtf import read_synthetic
from tracearena.metrics import (
    Diversity,
    measure_diversity,
    poi_accuracy_score,
    tm_emd_sliced,
    tp_tv,
    trace_inference_score,
    utility_score,
)
from tracearena.metrics.contest_scores import places_at
from tracearena.metrics.transitions import BINS
from tracearena.pages.html import COLOURS, VERMILION
from tracearena.papers.base import Drawing, draw_bars, paper_figure
from tracearena.papers.data import (
    DEFENCES,
    ITERATIONS,
    TITLES,
    City,
    FigureSource,
    TeamData,
    load_check_in_cities,
    load_people_flow,
    load_points_of_interest,
    load_teams,
    measure_utility,
    tabulate_halves,
)
from tracearena.papers.style import choose_look, label_points, number_families
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.traces import ObfuscatedTraces, Places, Traces

# [contest] Figure 12: the trace-inference score against the plain mean error, by hospital weight.
WEIGHTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
CONTEST_WEIGHT = 10
INFERENCE_ATTACKS = ("VisitProb-T", "HomeProb-T", "FuzzyCount-T")
"""The inferences of 2019 that look at the release; guesses and replay are the same for all releases."""


class InferenceScores(NamedTuple):
    """One attack on one release: the expected error, and s_T for every weight of hospitals."""

    defence: str
    attack: str
    expected_error_km: float
    s_T: tuple[float, ...]


@paper_figure("contest-12", "the trace-inference score and the unweighted mean error, by weight of hospitals")
def compute_contest_figure_12(source: FigureSource) -> Drawing:
    """Attack all releases; a second table has the correlations of both measures."""
    (team,) = load_teams(source)
    found = attack_releases(team, source.seed)
    least = find_release_minima(found)
    correlations = [
        correlation((error, scores[at]) for error, scores in least.values()) or 0.0
        for at in range(len(WEIGHTS))
    ]
    header = ("defence", "attack", "expected_error_km", *(f"s_T_weight_{weight}" for weight in WEIGHTS))
    pairs = zip(WEIGHTS, correlations, strict=True)
    at = WEIGHTS.index(CONTEST_WEIGHT)

    marks = {defence: (error, scores[at]) for defence, (error, scores) in least.items()}

    def draw(figure: Any, axes: Any) -> None:
        left, right = axes
        for family, k in number_families(marks).items():
            own = [mark for defence, mark in marks.items() if defence.partition("(")[0] == family]
            left.scatter(*zip(*own, strict=True), label=family, zorder=3, **choose_look(k))
        left.set(
            xlabel="expected error of the best inference (km)",
            ylabel="privacy against trace inference, s_T,min (1 = no place found)",
        )
        figure.subplots_adjust(wspace=0.35)
        left.margins(0.1)
        left.set_title(f"weight {CONTEST_WEIGHT}: R = {correlations[at]:.3f}", fontsize=10, loc="left")
        left.legend(frameon=False, loc="lower right", fontsize=8)
        label_points(left, list(marks.values()), list(marks), size=6.5)
        right.plot(WEIGHTS, correlations, marker="o", color=COLOURS[0])
        right.set(xscale="log", xlabel="weight of hospitals", ylabel="correlation R with the expected error")
        right.set_ylim(min(0.0, *correlations), 1.02)
        right.set_title("the weight of hospitals and the plain error", fontsize=10, loc="left")

    return Drawing(
        {
            "": (header, [(*one[:3], *one.s_T) for one in found]),
            "-weights": (("hospital_weight", "correlation"), pairs),
        },
        draw, (12, 4.8), {"ncols": 2}, title="The trace-inference score and the expected error",
        claims=check_contest_12_claims(correlations, marks),
    )  # fmt: skip


def check_contest_12_claims(
    correlations: Sequence[float], marks: Mapping[str, tuple[float, float]]
) -> list[ClaimResult]:
    """Return whether the score of the contest goes with the plain error, and less so with larger weights.

    [contest] Figure 12: R = 0.937 at weight 10, "highly correlated"; 0.7 is required here. "As the hospital
    weight increases from 10, R rapidly decreases", to 0.811 at 1,000; any fall counts here, and its
    size is printed, because ours is smaller. "The best anonymization algorithm" also has the largest error.

    Parameters
    ----------
    marks
        Defence → expected error and score, of its strongest attack.
    """
    found, last = correlations[WEIGHTS.index(CONTEST_WEIGHT)], correlations[-1]
    farthest, best = (max(marks, key=lambda name: marks[name][at]) for at in (0, 1))
    ends = f"{best}: {marks[best][0]:.2f} km, the largest is {marks[farthest][0]:.2f} km"
    told = f"R = {found:.3f} at weight {CONTEST_WEIGHT}, required: {STRONG:g}"
    fell = f"R = {last:.3f} at weight {WEIGHTS[-1]:,}, {found - last:.3f} less"
    return [
        ClaimResult("the trace-inference score goes with the plain mean error", found >= STRONG, told, found),
        ClaimResult("the more hospitals weigh, the less it does", last < found, fell, last),
        ClaimResult(
            "the release with the highest score has the largest expected error",
            best == farthest,
            ends,
            marks[best][0],
        ),
    ]


def attack_releases(team: TeamData, seed: int) -> list[InferenceScores]:
    """Attack the release of every defence."""
    ensemble = Ensemble(make_attacks(INFERENCE_ATTACKS)).fit(team.reference)
    root = seed_sequence(seed)
    defences = ("No", *DEFENCES)

    def score(defence: str, attack: str, answer: Traces) -> InferenceScores:
        scores = [trace_inference_score(team.original, answer, sensitive_weight=one) for one in WEIGHTS]
        left = tuple(score.trace_inference for score in scores)
        return InferenceScores(defence, attack, scores[0].expected_error_km, left)

    def one(block: int, first: int, stop: int) -> list[InferenceScores]:
        chance = child_seed(root, zlib.crc32(defences[first].encode()))
        obfuscator = catalogue.create(defences[first], "obfuscator")
        released = obfuscator.transform(team.original, seed=child_seed(chance, 0))
        anonymized = pseudonymise(released, seed=child_seed(chance, 1)).anonymized
        return [
            score(defences[first], str(attack), answer)
            for attack, answer in ensemble.answers(anonymized, seed=child_seed(chance, 2))
            if isinstance(answer, Traces)
        ]

    parts = run_blocks(one, block_ranges(len(defences), 1), report=True)
    return [inference for part in parts for inference in part]


def find_release_minima(found: Sequence[InferenceScores]) -> dict[str, tuple[float, tuple[float, ...]]]:
    """Return what the strongest attack leaves of each release: the expected error, and s_T by weight."""
    by: dict[str, list[InferenceScores]] = {}
    for one in found:
        by.setdefault(one.defence, []).append(one)
    return {
        defence: (
            min(one.expected_error_km for one in own),
            tuple(map(min, zip(*(one.s_T for one in own), strict=True))),
        )
        for defence, own in by.items()
    }


# [contest] Figure 13: what released traces are still good for.
OURS, REFERENCE = "17 defences", "Reference"
GROUPS = {"PL(4,1)": "PL(4,1)", "PL(1,1)": "PL(1,1)", "PL(0.1,1)": "PL(0.1,1)", "Uniform": "RR(0)"}
"""Group → defence; randomised response without a budget answers every place equally often."""


class ReleaseUsefulness(NamedTuple):
    """One release of one team, measured for three uses; `poi_accuracy` is None without POIs."""

    group: str
    defence: str
    team: int
    s_U: float
    poi_accuracy: float | None
    tp_tv_top50: float
    tm_emd: float


PANELS = {
    "poi_accuracy": "POI accuracy (1 is best)",
    "tp_tv_top50": "TP-TV-Top50 (0 is best)",
    "tm_emd": "TM-EMD, sliced, in regions (0 is best)",
}


@paper_figure("contest-13", "usefulness of releases: recommending places to eat, crowds, movements")
def compute_contest_figure_13(source: FigureSource, *, count: int = len(DEFENCES)) -> Drawing:
    """Measure three uses of releases; without a file of POIs the first panel is left out.

    Every team has a defence of its own, and every comparator; with fewer teams they take turns.
    """
    several = load_teams(source, count)
    found = measure_releases(several, load_points_of_interest(source.data), source.seed)
    panels = {field: words for field, words in PANELS.items() if getattr(found[0], field) is not None}

    def draw(figure: Any, all_axes: Any) -> None:
        groups = {group: [one for one in found if one.group == group] for group in (OURS, *GROUPS, REFERENCE)}
        useful = {group: sum(one.s_U for one in own) / len(own) for group, own in groups.items()}
        labels = [f"{group}\n[{mean:.2f}]" for group, mean in useful.items()]
        for axes, (field, words) in zip(all_axes, panels.items(), strict=True):
            values = [[getattr(one, field) for one in own] for own in groups.values()]
            axes.boxplot(values, medianprops={"color": VERMILION, "linewidth": 2})
            axes.set_xticks(range(1, len(groups) + 1), labels, fontsize=7)
            axes.set_ylim(bottom=0)
            axes.set_title(words, fontsize=10, loc="left")
        figure.tight_layout()

    return Drawing([one._asdict() for one in found], draw, (5 * len(panels), 4.2), {"ncols": len(panels)})


def measure_releases(
    several: Sequence[TeamData], pois: Places | None, seed: SeedLike
) -> list[ReleaseUsefulness]:
    """Measure the 17 defences, each on one of the teams in turn, and the comparators on every team."""
    work = [(OURS, defence, number % len(several)) for number, defence in enumerate(DEFENCES)]
    work += [
        (group, name, team)
        for group, name in (GROUPS | {REFERENCE: REFERENCE}).items()
        for team in range(len(several))
    ]
    root = seed_sequence(seed)

    def one(block: int, first: int, stop: int) -> ReleaseUsefulness:
        group, defence, number = work[first]
        original = several[number].original
        released = _release_team(
            several[number], defence, child_seed(root, zlib.crc32(defence.encode()), number)
        )
        grid = original.places.grid
        return ReleaseUsefulness(
            group,
            defence,
            number + 1,
            utility_score(original, released).utility,
            None if pois is None else poi_accuracy_score(original, released, pois).poi_accuracy,
            tp_tv(original, released, top=50),
            tm_emd_sliced(original, released, bins=BINS if grid is None else max(grid.rows, grid.columns)),
        )

    return run_blocks(one, block_ranges(len(work), 1), report=True)


def _release_team(team: TeamData, defence: str, seed: SeedLike) -> ObfuscatedTraces:
    if defence != REFERENCE:
        released: ObfuscatedTraces = catalogue.create(defence, "obfuscator").transform(
            team.original, seed=seed
        )
        return released
    frame = ObfuscatedTraces.from_traces(team.original)
    replayed = ReferenceReplay().fit(team.reference).infer(frame, seed=seed)
    return ObfuscatedTraces.like(team.original, places_at(replayed, team.original))


# [contest] Figure 16: do two teams get the same people?
ALIKE = 0.1
METHODS = ("PPMTF", "PPMTF+")


@paper_figure(
    "contest-16", "diversity of PPMTF and PPMTF+: whether two teams get the same people", takes_zeros=True
)
def compute_contest_figure_16(
    source: FigureSource, *, days: int = 20, iterations: int = ITERATIONS
) -> Drawing:
    """Measure Same-TV and Diff-TV of PPMTF and PPMTF+, 20 days per user.

    In several cities: three simulated ones, or those of a folder of published data.
    """
    cities = load_check_in_cities(source)
    found = {
        city.name: measure_team_diversity(
            city.training, days, PPMTF(zeros=source.zeros, iterations=iterations), source.seed
        )
        for city in track_progress(cities, len(cities))
    }
    rows = [
        {"city": city, "method": name, **result.to_dict()}
        for city, of in found.items()
        for name, result in of.items()
    ]

    def draw(figure: Any, panels: Any) -> None:
        for panel, name in zip(panels, METHODS, strict=True):
            mine = [of[name] for of in found.values()]
            for number, (label, side) in enumerate((("same number", -0.2), ("other number", 0.2))):
                values = [one.diff_tv if number else one.same_tv for one in mine]
                errors = [0.1 * (one.diff_sd if number else one.same_sd) for one in mine]
                at = [place + side for place in range(len(mine))]
                panel.bar(at, values, 0.38, yerr=errors, capsize=3, color=COLOURS[number], label=label)
            panel.set_xticks(range(len(found)), list(found))
            panel.set_title(name, fontsize=10)
        panels[0].set(ylim=(0, 1), ylabel="mean total variation\nof two users of two teams")
        words = "bars: 0.1 × standard deviation"
        panels[1].legend(frameon=False, title=words, loc="center left", bbox_to_anchor=(1, 0.5))

    return Drawing(
        rows, draw, (8.5, 3.8), {"ncols": 2, "sharey": True}, title="Same-TV and Diff-TV of two teams",
        claims=check_contest_16_claims(found), head={"width": 105},
    )  # fmt: skip


def measure_team_diversity(training: Traces, days: int, model: PPMTF, seed: int) -> dict[str, Diversity]:
    """Return how similar two teams are that PPMTF and PPMTF+ make from the same people."""
    root = seed_sequence(seed)
    model = model.fit(training, seed=child_seed(root, 0))
    pair = [child_seed(root, 1), child_seed(root, 2)]
    real = [model.synthesize(days, seed=one) for one in pair]
    virtual = [model.sample_users(training.n_users, days, seed=one) for one in pair]
    return {
        name: measure_diversity(*teams, seed=seed)
        for name, teams in zip(METHODS, (real, virtual), strict=True)
    }


def check_contest_16_claims(found: Mapping[str, Mapping[str, Diversity]]) -> list[ClaimResult]:
    """Ask in each city whether user i of one team is more like user i of another than like anybody there.

    [contest] appendix B: with PPMTF Same-TV is smaller than Diff-TV, with PPMTF+ their difference is
    smaller than 0.1 times the standard deviation. The same bound is taken for both.
    """
    virtual, real = ([of[name].gap for of in found.values()] for name in ("PPMTF+", "PPMTF"))
    listed, listed_real = (", ".join(f"{gap:.3f}" for gap in gaps) for gaps in (virtual, real))
    return [
        check_share(
            "with PPMTF+ every team has people of its own",
            [abs(gap) < ALIKE for gap in virtual],
            f"cities have Same-TV within {ALIKE:g} standard deviations of Diff-TV: {listed} below",
        ),
        check_share(
            "with PPMTF two teams have the same people",
            [gap >= ALIKE for gap in real],
            f"cities have Same-TV at least {ALIKE:g} standard deviations below Diff-TV: {listed_real}",
        ),
    ]


# [contest] Figure 17: utility of PPMTF+ beside PPMTF and SGD.
UTILITY_METRICS = ("vf_tv", "tp_tv_top50", "tm_emd_sliced")


@paper_figure("contest-17", "utility of PPMTF+, PPMTF and SGD", takes_zeros=True)
def compute_contest_figure_17(
    source: FigureSource, *, days: int = 20, iterations: int = ITERATIONS
) -> Drawing:
    """Compare each of 20 days with the training traces, averaged.

    In several cities: three simulated ones, or those of a folder of published data.
    """
    rows: list[dict[str, Any]] = []
    spread: dict[str, Mapping[str, float | None]] = {}
    cities = load_check_in_cities(source)
    for city in track_progress(cities, len(cities)):
        model = PPMTF(zeros=source.zeros, iterations=iterations)
        mine, spread[city.name] = measure_synthesizers(city, days, model, source.seed)
        rows += [{"city": city.name, **row} for row in mine]
    title = "Utility of PPMTF+, PPMTF and SGD, against the training traces"
    return draw_bars(rows, UTILITY_METRICS, title, check_contest_17_claims(rows), spread)


def measure_synthesizers(
    city: City, days: int, model: PPMTF, seed: int
) -> tuple[list[dict[str, Any]], dict[str, float | None]]:
    """Return a row a synthesizer, one each of real, uniform and halved traces, and the halves' spread."""
    _, training, testing = city
    root = seed_sequence(seed)
    model = model.fit(training, seed=child_seed(root, 0))
    candidates: dict[str, Traces | None] = {
        "PPMTF+": model.sample_users(training.n_users, days, seed=child_seed(root, 1)),
        "PPMTF": model.synthesize(days, seed=child_seed(root, 2)),
        "SGD": SGD().fit(training).synthesize(days, seed=child_seed(root, 3)),
        "real": testing,
        "uniform": None,
    }
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            **measure_utility(
                training, traces, UTILITY_METRICS, by_day=name not in ("real", "uniform"), other=testing
            ),
        }
        for name, traces in candidates.items()
    ]
    parted, spread = tabulate_halves(training, testing, UTILITY_METRICS)
    return rows + parted, spread


def check_contest_17_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Compare virtual users with PPMTF's, and SGD's with uniform places, in each city.

    [contest] appendix B: PPMTF+ has high utility "in all utility metrics in the same way as PPMTF" (here: it
    is nearer to PPMTF than to uniform places in every metric), and SGD is "almost the same as Uniform" in
    VF-TV (here: nearer to uniform than to PPMTF).
    """
    by: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        by.setdefault(row["city"], {})[row["method"]] = row
    pairs = {
        city: [
            (name, of["PPMTF+"][name], of["PPMTF"][name], of["uniform"][name])
            for name in UTILITY_METRICS
            if of["PPMTF"][name] is not None
        ]
        for city, of in by.items()
    }
    listed = (
        f"{city} " + ", ".join(f"{TITLES[name]} {plus:.3f} / {plain:.3f}" for name, plus, plain, _ in mine)
        for city, mine in pairs.items()
    )
    found = [
        check_share(
            "virtual users (PPMTF+) are as useful as PPMTF's",
            [
                abs(plus - plain) < abs(plus - uniform)
                for mine in pairs.values()
                for _, plus, plain, uniform in mine
            ],
            f"metrics are nearer to PPMTF's than to uniform's; PPMTF+ / PPMTF: {'; '.join(listed)}",
        )
    ]
    habits = {
        city: [of[name]["vf_tv"] for name in ("SGD", "PPMTF", "uniform")]
        for city, of in by.items()
        if of["PPMTF"]["vf_tv"] is not None
    }
    if habits:
        listed = (
            f"{city} SGD {chain:.3f}, PPMTF {ours:.3f}, uniform {uniform:.3f}"
            for city, (chain, ours, uniform) in habits.items()
        )
        found.append(
            check_share(
                "SGD's people behave alike: their VF-TV is nearer to that of uniform places than to PPMTF's",
                [abs(chain - uniform) < abs(chain - ours) for chain, ours, uniform in habits.values()],
                f"cities: {'; '.join(listed)}",
            )
        )
    return found


# [contest] Figure 18: privacy and utility of PPMTF+ beside PPMTF, SGD and SGLT.
UTILITIES = ("tp_tv_top50", "tm_emd_sliced")
TRADEOFF_METRICS = ("reidentification_rate", "membership_advantage", *UTILITIES)


@paper_figure("contest-18", "privacy and utility of PPMTF+, PPMTF, SGD and SGLT")
def compute_contest_figure_18(
    source: FigureSource,
    *,
    days: int = 10,
    iterations: int = ITERATIONS,
    alphas: Sequence[float] = (0.5, 10.0, 1000.0),
    settings: Sequence[tuple[int, float]] = ((50, 1.0), (50, 0.0), (100, 0.0)),
) -> Drawing:
    """Attack synthetic traces and measure their utility.

    Virtual user i is compared with training user i, so that 1 / users is a random guess. PPMTF+ and PPMTF
    have α = 200, the paper's, and further ones, SGLT 100 classes and par_l = 1 and further ones (tests off,
    as the published fakes, which stand next to ours if the data has them).
    """
    training, testing = load_people_flow(source)
    root = seed_sequence(source.seed)
    candidates = _sample_ppmtf(training, days, PPMTF(iterations=iterations), "", root)
    candidates |= {
        "SGD": SGD().fit(training).synthesize(days, seed=child_seed(root, 3)),
        "SGLT": _make_sglt_fakes(training, days, 100, 1.0, child_seed(root, 4)),
    }
    for number, alpha in enumerate(alphas):
        model, own = PPMTF(alpha=alpha, iterations=iterations), child_seed(root, 5, number)
        candidates |= _sample_ppmtf(training, days, model, f", α={alpha:g}", own)
    for number, (classes, par_l) in enumerate(settings):
        name = f"SGLT, c={classes}, par_l={par_l:g}"
        candidates[name] = _make_sglt_fakes(training, days, classes, par_l, child_seed(root, 6, number))
    for path in [] if source.data is None else sorted(source.data.glob("syntraces_sglt_*.csv*"))[:1]:
        candidates["SGLT (published)"] = read_synthetic(path, training.places, training.clock).traces
    who = SyntheticIdentification().fit(training)
    members = MembershipInference().fit(training, testing)
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            "reidentification_rate": who.rate(traces),
            "membership_advantage": members.evaluate(traces).advantage,
            **measure_utility(training, traces, UTILITIES, by_day=True),
        }
        for name, traces in candidates.items()
    ]
    none = dict.fromkeys(TRADEOFF_METRICS)
    for name, real in (("real", testing), ("uniform", None)):
        rows.append({"method": name, **none, **measure_utility(training, real, UTILITIES, by_day=False)})
    rows.append({"method": "random guess", **none, "reidentification_rate": 1 / training.n_users})
    parted, spread = tabulate_halves(training, testing, UTILITIES)
    rows += [{**row, **none, **{name: row[name] for name in UTILITIES}} for row in parted]
    claims = check_contest_18_claims(rows, training.n_users, days * training.n_users)
    title = "Privacy and utility of PPMTF+, PPMTF, SGD and SGLT"
    return draw_bars(rows, TRADEOFF_METRICS, title, claims, {"": spread})


def check_contest_18_claims(rows: Sequence[Mapping[str, Any]], users: int, traces: int) -> list[ClaimResult]:
    """Check whether a virtual user is re-identified more often than by chance.

    [contest] appendix B: PPMTF+ has almost the re-identification rate of a random guess. It may be three
    standard errors of a guess about this many traces above 1 / users.
    """
    rate = next(row["reidentification_rate"] for row in rows if row["method"] == "PPMTF+")
    guess = 1 / users
    most = guess + 3 * (guess * (1 - guess) / traces) ** 0.5
    told = f"rate {rate:.4f}, a guess has {guess:.4f}, at most {most:.4f}"
    return [ClaimResult("re-identification of a virtual user is a guess", rate <= most, told, rate)]


def _sample_ppmtf(
    training: Traces, days: int, model: PPMTF, suffix: str, root: np.random.SeedSequence
) -> dict[str, Traces]:
    """Return virtual users and the training users' own days, of one model."""
    fitted = model.fit(training, seed=child_seed(root, 0))
    virtual = fitted.sample_users(training.n_users, days, seed=child_seed(root, 1))
    return {
        f"PPMTF+{suffix}": virtual.with_user_ids(training.user_ids),
        f"PPMTF{suffix}": fitted.synthesize(days, seed=child_seed(root, 2)),
    }


def _make_sglt_fakes(
    training: Traces, days: int, classes: int, par_l: float, seed: np.random.SeedSequence
) -> Traces:
    few = min(classes, len(training.places) // 2)
    maker = SGLT(classes=few, par_l=par_l, privacy_tests=False).fit(training, seed=child_seed(seed, 0))
    return maker.synthesize(days, seed=child_seed(seed, 1))
