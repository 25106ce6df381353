"""Figures of [ppmtf] about training: Figures 9 and 13 (running time), shared factors, and chains."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tracearena.arena.claims import ClaimResult, check_share
from tracearena.arena.evaluation import baselines, evaluate
from tracearena.engine import track_progress
from tracearena.pages.html import COLOURS
from tracearena.papers.base import Drawing, paper_figure
from tracearena.papers.data import (
    CHECK_INS,
    ITERATIONS,
    LARGEST_ADVANTAGE,
    TITLES,
    TRACES_PER_USER,
    FigureSource,
    Size,
    load_check_ins,
    load_people_flow,
)
from tracearena.papers.style import choose_look
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability, run_chains
from tracearena.synthesis.ppmtf.tensors import Zeros
from tracearena.traces import Places, Traces

# [ppmtf] Figure 9: running time over users and over places.
FEW_USERS, PLACES = 100, 400
TimingRow: TypeAlias = tuple[str, str, int, int, float]
T = TypeVar("T")

# Hours that the paper's text states, in seconds: series, varied, users, places, seconds.
PUBLISHED: tuple[TimingRow, ...] = (
    ("SGLT training (published)", "users", 100, 400, 0.47 * 3600),
    ("SGLT training (published)", "users", 1000, 400, 47 * 3600),
    ("SGLT training (published)", "places", 100, 100, 8.1e-3 * 3600),
    ("SGLT training (published)", "places", 100, 1000, 8.4 * 3600),
    ("PPMTF synthesis (published)", "users", 100, 400, 6.3e-5 * 3600),
    ("PPMTF synthesis (published)", "users", 1000, 400, 5.9e-4 * 3600),
    ("PPMTF synthesis (published)", "places", 100, 100, 9.3e-3 * 3600),
    ("PPMTF synthesis (published)", "places", 100, 1000, 0.96 * 3600),
)


@paper_figure("ppmtf-9", "running time by number of users and of places")
def compute_ppmtf_figure_9(
    source: FigureSource,
    *,
    sizes: Sequence[int] = (100, 200, 400, 600, 800, 1000),
    iterations: int = ITERATIONS,
) -> Drawing:
    """Measure times with α = 200, z = 16, 100 iterations, one trace per user."""
    training, testing = load_people_flow(source)
    index = np.concatenate([training.user_index, testing.user_index + training.n_users])
    instants = np.concatenate([training.instants, testing.instants])
    visited = np.concatenate([training.place_index, testing.place_index])
    everybody = Traces.from_events(index, instants, visited, training.places, training.clock)

    def measure(sized: Traces, iterations: int) -> dict[str, tuple[float, float]]:
        sglt = SGLT(classes=len(sized.places) // 4, privacy_tests=False)
        models: dict[str, PPMTF | SGLT] = {"PPMTF": PPMTF(iterations=iterations), "SGLT": sglt}
        seconds = {}
        for name, model in models.items():
            _, training = measure_time(partial(model.fit, sized, seed=source.seed))
            seconds[name] = training, measure_time(partial(model.synthesize, 1, seed=source.seed))[1]
        return seconds

    measure(_resize_traces(everybody, 50, 50), 1)
    plan = [("users", users, PLACES) for users in sizes] + [("places", FEW_USERS, n) for n in sizes]
    rows: list[TimingRow] = []
    for varied, users, places in track_progress(plan, len(plan)):
        for method, seconds in measure(_resize_traces(everybody, users, places), iterations).items():
            for part, value in zip(("training", "synthesis"), seconds, strict=True):
                rows.append((f"{method} {part}", varied, users, places, value))
    claims = check_ppmtf_9_claims(rows)
    rows += PUBLISHED

    def draw(figure: Any, axes: Any) -> None:
        labels = {"users": f"users ({PLACES} places)", "places": f"places ({FEW_USERS} users)"}
        for axis, (panel, (varied, label)) in enumerate(zip(axes, labels.items(), strict=True), 2):
            shown = [row for row in rows if row[1] == varied]
            for number, series in enumerate(dict.fromkeys(row[0] for row in shown)):
                line = [(row[axis], row[4]) for row in shown if row[0] == series]
                panel.plot(*zip(*line, strict=True), label=series, **choose_look(number))
            panel.set(xscale="log", yscale="log", xlabel=label)
        axes[0].set_ylabel("processor seconds")
        axes[0].legend(fontsize=8, frameon=False)

    return Drawing(
        (("series", "varied", "users", "places", "seconds"), rows), draw, (11, 4.5),
        {"ncols": 2, "sharey": True}, title="Running time over users and over places", claims=claims,
    )  # fmt: skip


def check_ppmtf_9_claims(rows: Sequence[TimingRow]) -> list[ClaimResult]:
    """Fit how the measured times of PPMTF grow.

    [ppmtf] section 4.4 says that they are linear in the users, so twice the users may take 2.2 times
    as long, a tenth for measuring. That training hardly depends on the places is our own claim: ten
    times as many may take twice as long.
    """
    found = []
    for series, varied, times, most in (
        ("PPMTF training", "users", 2, 2.2),
        ("PPMTF synthesis", "users", 2, 2.2),
        ("PPMTF training", "places", 10, 2.0),
    ):
        at = 2 if varied == "users" else 3
        points = [(float(row[at]), row[4]) for row in rows if row[:2] == (series, varied)]
        statement = f"{times} times the {varied} cost {series} at most {most:g} times the time"
        found.append(_check_growth(statement, points, times, 0, most))
    return found


def _check_growth(
    statement: str, points: Sequence[tuple[float, float]], times: int, least: float, most: float
) -> ClaimResult:
    """Check whether this many times the size takes from `least` to `most` times the seconds."""
    slope = fit_growth(points)
    factor = None if slope is None else float(times**slope)
    told = "not measured" if factor is None else f"{factor:.2f} times"
    return ClaimResult(statement, factor is not None and least <= factor <= most, told, factor)


def fit_growth(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the exponent of a power law of seconds over size; None for fewer than two sizes.

    >>> round(fit_growth([(1, 3.0), (2, 6.0), (4, 12.0)]) or 0, 6)
    1.0
    """
    if len({size for size, _ in points}) < 2:
        return None
    size, seconds = np.log(np.array(points, float)).T
    return float(np.polyfit(size, seconds, 1)[0])


def _resize_traces(traces: Traces, users: int, places: int) -> Traces:
    """Repeat or cut the users; fold the places into fewer, or spread them over more."""
    chosen = np.arange(users) % traces.n_users
    some = traces.take_users(chosen).with_user_ids(np.arange(users))
    spread = (some.place_index.astype(np.int64) + 37 * some.user_index) % places
    ground = Places(np.zeros(places), np.linspace(0, 1, places))
    return Traces.from_events(
        some.user_index, some.instants, spread, ground, some.clock, user_ids=np.arange(users)
    )


def measure_time(work: Callable[[], T]) -> tuple[T, float]:
    """Do the work; return its result and the processor seconds it took.

    Of all cores together, so that other work on the machine does not count, and as those of a program
    with one thread.
    """
    begin = time.process_time()
    result = work()
    return result, max(time.process_time() - begin, 1e-6)


# [ppmtf] Figure 13: running time of training, synthesis and deniability test on check-ins.
FIGURE_13_SIZE = Size(10_000, CHECK_INS.days)
FIGURE_13_SHARES = (0.125, 0.25, 0.5, 1.0)
VERIFIERS = 32_000
FIGURE_13_ZEROS: dict[str, Zeros] = {"PPMTF": "sampled", "PPMTF, all zeros": "all"}
ISTANBUL = 219_793
AUTHORS = {"PPMTF (T)": 10.2, "PPMTF (S)": 0.6, "PPMTF (P)": 2.1}
"""Hours of the authors' program (one thread) for Istanbul, extrapolated from runs with up to 8,000 users."""
MEASURED, EXTRAPOLATED = "measured", "authors' program, extrapolated"


@paper_figure("ppmtf-13", "running time of training, synthesis and deniability test, by number of users")
def compute_ppmtf_figure_13(source: FigureSource, *, k: int = 10, iterations: int = ITERATIONS) -> Drawing:
    """Measure times of up to 8,000 training users, k = 10, η = 1, |U*| = 32,000.

    T is training (100 iterations), S one trace per user, P the test with early stop; with the paper's sampled
    zeros, and with all of them.
    """
    training, _ = load_check_ins(source, FIGURE_13_SIZE)
    _measure_times(training.take_users(range(min(50, training.n_users))), k, iterations, source.seed)
    rows: list[dict[str, Any]] = []
    for share in track_progress(FIGURE_13_SHARES, len(FIGURE_13_SHARES)):
        users = max(round(share * training.n_users), 1)
        seconds = _measure_times(training.take_users(range(users)), k, iterations, source.seed)
        rows += [
            {"series": name, "users": users, "seconds": value, "source": MEASURED}
            for name, value in seconds.items()
        ]
    rows += [
        {"series": name, "users": ISTANBUL, "seconds": hours * 3600, "source": EXTRAPOLATED}
        for name, hours in AUTHORS.items()
    ]

    def draw(figure: Any, axes: Any) -> None:
        for number, series in enumerate(dict.fromkeys(row["series"] for row in rows)):
            for origin, look in ((MEASURED, {"label": series}), (EXTRAPOLATED, {"mfc": "white"})):
                mine = [row for row in rows if (row["series"], row["source"]) == (series, origin)]
                line = [row["users"] for row in mine], [row["seconds"] for row in mine]
                axes.plot(*line, **choose_look(number), **look)
        words = "authors' program for Istanbul,\nextrapolated"
        axes.plot([], [], "o", color="#555555", mfc="white", label=words)
        axes.set(xscale="log", yscale="log", xlabel="training users", ylabel="processor seconds")
        axes.legend(frameon=False, fontsize=8)

    title = "Running time of training (T), synthesis (S) and deniability test (P)"
    return Drawing(rows, draw, (7.5, 4.8), title=title, claims=check_ppmtf_13_claims(rows))


def check_ppmtf_13_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Fit how the measured times grow with the users.

    [ppmtf] calls the time linear in the users (of Figure 9). Twice the users may take 2.2 times as long in
    training and synthesis, a tenth for measuring; the test, to which every user adds a trace and a
    verifier until 32,000, must be between that and 4 times.
    """
    found = []
    for series, least, most in (("PPMTF (T)", 0, 2.2), ("PPMTF (S)", 0, 2.2), ("PPMTF (P)", 2.2, 4.0)):
        mine = [row for row in rows if row["series"] == series and row["source"] == "measured"]
        points = [(row["users"], row["seconds"]) for row in mine]
        said = f"at most {most:g}" if not least else f"{least:g} to {most:g}"
        found.append(
            _check_growth(f"twice the users cost {series} {said} times the time", points, 2, least, most)
        )
    return found


def _measure_times(training: Traces, k: int, iterations: int, seed: int) -> dict[str, float]:
    """Return the seconds of each part."""
    ours: dict[str, float] = {}
    test = DeniabilityTest(k=k, eta=1, verifiers=VERIFIERS, early_stop=True)
    for name, zeros in FIGURE_13_ZEROS.items():
        model = PPMTF(zeros=zeros, iterations=iterations)
        _, learned = measure_time(partial(model.fit, training, seed=seed))
        made, drawn = measure_time(partial(model.synthesize, 1, seed=seed))
        _, tested = measure_time(partial(measure_deniability, model, made, test, seed=seed))
        ours |= {f"{name} (T)": learned, f"{name} (S)": drawn, f"{name} (P)": tested}
    chain, counted = measure_time(lambda: SGD().fit(training))
    _, walked = measure_time(lambda: chain.synthesize(1, seed=seed))
    return ours | {"SGD (T)": counted, "SGD (S)": walked}


# Factors that both tensors share, and factors of their own, against [ppmtf] section 3.1.
FACTORS_SHARED, FACTORS_APART = "shared", "apart"
FACTOR_METRICS = ("tp_tv", "tm_emd_x", "tm_emd_y", "reidentification_rate", "membership_advantage")
FACTOR_MOST_REIDENTIFIED = 0.03
"""Half as much again as [ppmtf] claims of Figure 7."""


@paper_figure(
    "ppmtf-factors", "utility and privacy with factors shared by both tensors, and with separate factors"
)
def compute_ppmtf_factors(
    source: FigureSource,
    *,
    alphas: Sequence[float] = (1.0, 20.0, 200.0, 1000.0),
    seeds: int = 3,
    iterations: int = ITERATIONS,
) -> Drawing:
    """Measure utility and privacy of both ways over α and seeds."""
    training, testing = load_people_flow(source)
    ways = FACTORS_SHARED, FACTORS_APART
    plan = [(way, alpha, source.seed + run) for alpha in alphas for run in range(seeds) for way in ways]
    rows: list[dict[str, Any]] = []
    for way, alpha, seed in track_progress(plan, len(plan)):
        model = PPMTF(alpha=alpha, iterations=iterations, shared_factors=way == FACTORS_SHARED)
        made = model.fit(training, seed=seed).synthesize(TRACES_PER_USER, seed=seed)
        found = evaluate(made, training, testing).to_dict()
        rows.append(
            {"factors": way, "alpha": alpha, "seed": seed, **{name: found[name] for name in FACTOR_METRICS}}
        )
    limits = {name: use.to_dict() for name, use in baselines(training, testing).items()}
    ends = [
        {"factors": name, **{key: one.get(key) for key in FACTOR_METRICS}} for name, one in limits.items()
    ]

    def draw(figure: Any, axes: Any) -> None:
        for panel, name in zip(axes, FACTOR_METRICS, strict=True):
            for number, way in enumerate(ways):
                mine = [row for row in rows if row["factors"] == way]
                x, y = ([row[column] for row in mine] for column in ("alpha", name))
                panel.scatter(x, y, s=22, label=f"factors {way}", **choose_look(number))
            for end, style in (("training", "--"), ("uniform", ":")):
                value = limits[end].get(name)
                if value is not None:
                    panel.axhline(value, color="#555555", linestyle=style, linewidth=1, label=end)
            panel.set_xscale("log")
            panel.set_ylim(bottom=0)
            panel.set_xlabel("α")
            panel.set_title(TITLES[name], fontsize=10)
        axes[0].set_ylabel("0 is best")
        axes[0].legend(frameon=False, fontsize=8, loc="lower left")
        figure.subplots_adjust(wspace=0.35)

    return Drawing(
        rows + ends, draw, (3.0 * len(FACTOR_METRICS), 3.8), {"ncols": len(FACTOR_METRICS)},
        title="PPMTF with factors of users and places shared by both tensors, and apart",
        claims=check_ppmtf_factor_claims(rows), head={"width": 170},
    )  # fmt: skip


def check_ppmtf_factor_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Check whether sharing the factors helps, and what factors apart betray.

    [ppmtf] section 3.1: "the utility is improved by sharing A and B". It takes a mean over the seeds that
    is lower with shared factors, at every α, in each metric of utility.
    """
    alphas = sorted({row["alpha"] for row in rows})

    def mean(way: str, alpha: float, name: str) -> float:
        return float(np.mean([row[name] for row in rows if (row["factors"], row["alpha"]) == (way, alpha)]))

    found = []
    for name in ("tp_tv", "tm_emd_x", "tm_emd_y"):
        pairs = [(mean(FACTORS_SHARED, alpha, name), mean(FACTORS_APART, alpha, name)) for alpha in alphas]
        found.append(
            check_share(
                f"sharing factors between the tensors makes traces more useful ({TITLES[name]})",
                [shared < apart for shared, apart in pairs],
                "settings are better shared; shared / apart: "
                + ", ".join(f"{shared:.3g} / {apart:.3g}" for shared, apart in pairs),
            )
        )
    worst = {
        name: max(mean(FACTORS_APART, alpha, name) for alpha in alphas)
        for name in ("reidentification_rate", "membership_advantage")
    }
    rate, advantage = worst.values()
    found.append(
        ClaimResult(
            "factors apart betray almost nobody either",
            rate < FACTOR_MOST_REIDENTIFIED and advantage < LARGEST_ADVANTAGE,
            f"at most {rate:.3f} re-identified and an advantage of {advantage:.3f}, required: "
            f"< {FACTOR_MOST_REIDENTIFIED:g} and < {LARGEST_ADVANTAGE:g}",
            rate,
        )
    )
    return found


# Whether chains from different starts agree on what PPMTF says, and after how many iterations.
KINDS = {
    "error": "error",
    "transition": "moves of a user",
    "visit": "visits of a user",
    "population": "population",
}
CHAINS_APART = 0.1
MIXED = 1.1


@paper_figure("ppmtf-chains", "whether chains from different starts agree: R̂ and effective draws")
def compute_ppmtf_chains(source: FigureSource, *, iterations: int = 200, chains: int = 4) -> Drawing:
    """Compute R̂ and effective draws by iterations."""
    training, _ = load_people_flow(source)
    report = run_chains(PPMTF(iterations=iterations), training, chains=chains, seed=source.seed)
    total = report.draws.shape[2]
    kinds = np.array([name.split()[0] for name in report.names])
    rows: list[dict[str, Any]] = []
    for done in sorted({max(total * part // 8, 8) for part in range(1, 9)}):
        r_hat, effective = report.r_hat(done), report.effective(done)
        for kind in KINDS:
            mine = kinds == kind
            rows.append(
                {
                    "kind": kind,
                    "iterations": done,
                    "watched": int(mine.sum()),
                    "r_hat_median": float(np.median(r_hat[mine])),
                    "r_hat_largest": float(r_hat[mine].max()),
                    "mixed": float((r_hat[mine] < MIXED).mean()),
                    "effective_median": float(np.median(effective[mine])),
                }
            )

    def draw(figure: Any, axes: Any) -> None:
        paths = {
            "error": "root mean squared error",
            "population 1": "population of the busiest place and slot",
        }
        for panel, (name, label) in zip(axes, paths.items(), strict=False):
            for number, one in enumerate(report.draws[report.names.index(name)]):
                colour = COLOURS[number % len(COLOURS)]
                panel.plot(np.arange(1, len(one) + 1), one, color=colour, linewidth=1)
            panel.set(xlabel="iterations", ylabel=label)
        axes[0].set_yscale("log")
        for panel, column, label in (
            (axes[2], "r_hat_median", "median R̂ (1 is best)"),
            (axes[3], "effective_median", "median effective draws"),
        ):
            for number, (kind, words) in enumerate(KINDS.items()):
                line = [(row["iterations"], row[column]) for row in rows if row["kind"] == kind]
                panel.plot(*zip(*line, strict=True), label=words, **choose_look(number))
            panel.set(xlabel="iterations (the later half counts)", ylabel=label)
        axes[2].axhline(MIXED, color="#555555", linestyle="--", linewidth=1)
        axes[2].legend(frameon=False, fontsize=8)
        figure.subplots_adjust(wspace=0.35)

    return Drawing(
        rows, draw, (14, 4.0), {"ncols": 4}, claims=check_ppmtf_chain_claims(rows), head={"width": 150},
        title="Chains of PPMTF from different starts on the same cells",
    )  # fmt: skip


def check_ppmtf_chain_claims(rows: Sequence[dict[str, Any]]) -> list[ClaimResult]:
    """Check whether chains that start apart agree, after the iterations of the paper or all there are.

    [ppmtf] takes the state after 100 iterations and says nothing of other chains. It takes R̂ < 1.1 for nine
    in ten of what is watched: of the populations, and of the counts of single users.
    """
    last = max(row["iterations"] for row in rows)
    at = min(ITERATIONS, last)
    here = {row["kind"]: row for row in rows if row["iterations"] == at}
    found = []
    for words, kinds in (("where everybody is", ("population",)), ("single people", ("transition", "visit"))):
        share = float(np.mean([here[kind]["mixed"] for kind in kinds]))
        worst = max(here[kind]["r_hat_median"] for kind in kinds)
        told = f"R̂ < {MIXED:g} for {share:.0%}, median R̂ {worst:.2f}; required: {1 - CHAINS_APART:.0%}"
        statement = f"after {at} iterations chains from different starts agree on {words}"
        found.append(ClaimResult(statement, share >= 1 - CHAINS_APART, told, share))
    return found
