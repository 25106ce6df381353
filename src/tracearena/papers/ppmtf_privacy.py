"""Figures of [ppmtf] about privacy.

Figures 10 and 14 (plausible deniability), Figure 15 (privacy budget), what published parameters betray,
and attackers with maximum and partial knowledge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np

from tracearena.arena.attacker_knowledge import ATTACKS, attack_synthetic
from tracearena.arena.claims import ClaimResult, check_share
from tracearena.attacks import MembershipInference, SyntheticIdentification, attack_parameters
from tracearena.engine import child_seed, seed_sequence, track_progress
from tracearena.pages.html import COLOURS
from tracearena.papers.base import Drawing, draw_bars, paper_figure
from tracearena.papers.data import (
    ITERATIONS,
    MOST_REIDENTIFIED,
    TITLES,
    TRACES_PER_USER,
    FigureSource,
    Size,
    load_check_ins,
    load_people_flow,
    load_teams,
    measure_utility,
    select_days,
    tabulate_halves,
)
from tracearena.papers.style import choose_look
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability, privacy_budget
from tracearena.synthesis.ppmtf.tensors import Zeros
from tracearena.traces import Traces

# [ppmtf] Figure 10: utility of traces with plausible deniability.
FIGURE_10_KS = (5, 10, 20, 100, 200)
FEWEST = 100
WAYS: dict[str, dict[str, Any]] = {
    "PPMTF": {},
    "PPMTF, all zeros": {"zeros": "all"},
    "PPMTF, factors apart": {"shared_factors": False},
}
"""Names of the ways to train → what they set."""
TESTED = ("PPMTF", "PPMTF, all zeros")
FIGURE_10_METRICS = ("tp_tv", "tp_tv_top50", "tm_emd_x", "tm_emd_y", "vf_tv")


@paper_figure("ppmtf-10", "utility of traces with (k, 1)-plausible deniability")
def compute_ppmtf_figure_10(source: FigureSource, *, iterations: int = ITERATIONS) -> Drawing:
    """Measure PPMTF without the test and with (k, 1), SGD, and both ends.

    PPMTF is the paper's, with sampled zeros, and next to it ours with all zeros, and the paper's with
    factors apart. A k that fewer than 100 traces reach has no bar.
    """
    training, testing = load_check_ins(source)
    root = seed_sequence(source.seed)
    candidates: dict[str, Traces | None] = {}
    for number, (name, options) in enumerate(WAYS.items()):
        own = child_seed(root, 4, number)
        model = PPMTF(iterations=iterations, **options).fit(training, seed=child_seed(own, 0))
        made = model.synthesize(1, seed=child_seed(own, 1))
        candidates[name] = made
        if name in TESTED:
            k_prime = measure_deniability(
                model, made, DeniabilityTest(k=max(FIGURE_10_KS)), seed=child_seed(own, 2)
            ).k_prime
            for k in FIGURE_10_KS:
                kept = select_days(made, k_prime >= k)
                some = np.diff(kept.offsets) > 0
                if some.sum() >= FEWEST:
                    candidates[f"{name}, k = {k}"] = kept.take_users(some)
    candidates["SGD"] = SGD().fit(training).synthesize(1, seed=child_seed(root, 3))
    candidates |= {"training": training, "uniform": None}
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            "traces": "" if traces is None else traces.n_users,
            **measure_utility(
                testing, traces, FIGURE_10_METRICS, by_day=name not in ("training", "uniform"), other=training
            ),
        }
        for name, traces in candidates.items()
    ]
    parted, spread = tabulate_halves(training, testing, FIGURE_10_METRICS)
    rows += [{"method": row["method"], "traces": "", **row} for row in parted]
    title = "Utility with and without the test of (k, 1)-deniability"
    return draw_bars(rows, FIGURE_10_METRICS, title, check_ppmtf_10_claims(rows), {"": spread})


def check_ppmtf_10_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Check whether PPMTF keeps how often people come back better than SGD.

    [ppmtf] Figure 10: "for VF-TV, SGD performs almost the same as Uniform, whereas PPMTF significantly
    outperforms SGD". It takes VF-TV below that of SGD, without the test and at every k drawn. Nothing is
    said where VF-TV has no meaning.
    """
    value = {row["method"]: row["vf_tv"] for row in rows}
    ours = {name: found for name, found in value.items() if name.startswith("PPMTF")}
    if value["SGD"] is None or None in ours.values():
        return []
    return [
        check_share(
            "PPMTF keeps how often people come back better than SGD (VF-TV)",
            [found < value["SGD"] for found in ours.values()],
            f"rows of PPMTF are below SGD's {value['SGD']:.3f}: "
            + ", ".join(f"{found:.3f}" for found in ours.values()),
        )
    ]


# [ppmtf] Figure 14: how many synthetic traces pass the plausible-deniability test.
FIGURE_14_SHARES = (0.25, 0.5, 1.0)
FIGURE_14_ZEROS: dict[Zeros, str] = {"sampled": "-", "all": "--"}
"""How zeros are taken → how the line looks."""


@paper_figure("ppmtf-14", "share of traces that pass the plausible-deniability test, by k")
def compute_ppmtf_figure_14(
    source: FigureSource,
    *,
    ks: Sequence[int] = (1, 10, 20, 50, 100, 150, 200),
    iterations: int = ITERATIONS,
) -> Drawing:
    """Measure the pass rate over k for growing numbers of users, η = 1.

    With the paper's sampled zeros, and with all of them.
    """
    training, _ = load_check_ins(source)
    root = seed_sequence(source.seed)
    rows: list[dict[str, Any]] = []
    plan = list(product(FIGURE_14_ZEROS, FIGURE_14_SHARES))
    for zeros, share in track_progress(plan, len(plan)):
        users = max(round(share * training.n_users), 1)
        part = training.take_users(range(users))
        model = PPMTF(zeros=zeros, iterations=iterations).fit(part, seed=child_seed(root, 0))
        synthetic = model.synthesize(1, seed=child_seed(root, 1))
        found = measure_deniability(model, synthetic, DeniabilityTest(k=max(ks)), seed=child_seed(root, 2))
        rows += [
            {"zeros": zeros, "users": users, "k": k, "eta": 1, "pass_rate": found.pass_rate_at(k)} for k in ks
        ]

    def draw(figure: Any, axes: Any) -> None:
        people = sorted({row["users"] for row in rows})
        for users, zeros in product(people, FIGURE_14_ZEROS):
            mine = [row for row in rows if (row["users"], row["zeros"]) == (users, zeros)]
            line = [(row["k"], row["pass_rate"]) for row in mine]
            look = choose_look(people.index(users)) | {"ls": FIGURE_14_ZEROS[zeros]}
            axes.plot(*zip(*line, strict=True), label=f"{users:,} users, {zeros} zeros", **look)
        axes.set(xlabel="k: people a trace must be plausible for", ylabel="share of traces that pass")
        axes.set_ylim(0, 1)
        axes.legend(frameon=False)

    title = "Pass rate of the deniability test over k"
    claims = check_ppmtf_14_claims(rows)
    return Drawing(rows, draw, (6.5, 4.2), title=title, claims=claims, head={"width": 70})


def check_ppmtf_14_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Compare the pass rates with the most users and with the fewest, and with small and large k.

    [ppmtf] appendix E: the rate falls with k. That it grows with the users is our own claim: there
    Istanbul, with the most users, is below New York at k = 200. Sampled zeros and all of them count alike.
    """
    few, many = (pick(row["users"] for row in rows) for pick in (min, max))
    rate = {(row["zeros"], row["users"], row["k"]): row["pass_rate"] for row in rows}
    ks = sorted({row["k"] for row in rows})
    kinds = sorted({(row["zeros"], row["users"]) for row in rows})
    ways = sorted({row["zeros"] for row in rows})
    return [
        check_share(
            "the more others a trace must be plausible for, the fewer pass",
            [rate[*kind, b] <= rate[*kind, a] for kind in kinds for a, b in pairwise(ks)],
            "steps of k have a rate that does not rise",
        ),
        check_share(
            "the more people, the more traces could have been made by others",
            [few < many and rate[way, many, k] >= rate[way, few, k] for way in ways for k in ks],
            f"values of k have a rate with {many:,} users that is not below that with {few:,}",
        ),
    ]


# [ppmtf] Figure 15: privacy budget of the parameters against utility.
SMALLEST_USEFUL = 20_000


@paper_figure("ppmtf-15", "privacy budget ε of the parameters, and utility")
def compute_ppmtf_figure_15(
    source: FigureSource,
    *,
    alphas: Sequence[float] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0),
    iterations: int = ITERATIONS,
) -> Drawing:
    """Measure ε, for κ = 0 (as published) and as measured, and utility for α from 1e-6 to 1e3."""
    training, testing = load_check_ins(source)
    rows: list[dict[str, Any]] = []
    for alpha in track_progress(alphas, len(alphas)):
        model = PPMTF(alpha=alpha, iterations=iterations).fit(training, seed=source.seed)
        made = model.synthesize(1, seed=source.seed)
        utility = measure_utility(testing, made, FIGURE_10_METRICS, by_day=False, other=training)
        least, measured = privacy_budget(model, kappa=0), privacy_budget(model)
        rows.append(
            {
                "alpha": alpha,
                "epsilon_trace_kappa_0": least.epsilon_trace,
                "epsilon_location_kappa_0": least.epsilon_location,
                "kappa": measured.kappa,
                "epsilon_trace": measured.epsilon_trace,
                "epsilon_location": measured.epsilon_location,
                **utility,
            }
        )
    shown = [name for name in FIGURE_10_METRICS if rows[0][name] is not None]

    def draw(figure: Any, axes: Any) -> None:
        budgets = {"epsilon_trace_kappa_0": "a whole trace", "epsilon_location_kappa_0": "one location"}
        for panel, metric in zip(axes, shown, strict=True):
            for number, (column, label) in enumerate(budgets.items()):
                line = sorted((row[column], row[metric]) for row in rows)
                panel.plot(*zip(*line, strict=True), "o-", color=COLOURS[number], label=label)
            panel.set_xscale("log")
            panel.set(xlabel="ε of the parameters (κ = 0)", ylabel=f"{TITLES[metric]} (0 is best)")
        axes[0].legend(frameon=False, title="neighbouring data differ in")
        figure.subplots_adjust(wspace=0.3)

    title = "Privacy budget of the parameters against utility"
    layout, claims = {"ncols": len(shown)}, check_ppmtf_15_claims(rows)
    return Drawing(rows, draw, (4.2 * len(shown), 3.8), layout, title=title, claims=claims)


def check_ppmtf_15_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Ask from which ε of a trace (κ = 0) on the parameters are useful.

    [ppmtf] appendix F: "ε needs to be larger than 2 × 10⁴ to provide high utility". Useful is a TP-TV
    in the better half of the range that the settings span.
    """
    values = [row["tp_tv"] for row in rows]
    best, worst = min(values), max(values)
    useful = [row["epsilon_trace_kappa_0"] for row in rows if row["tp_tv"] < (best + worst) / 2]
    least = min(useful, default=None)
    told = "no setting is" if least is None else f"useful from ε = {least:,.6g} on"
    told = f"{told}; TP-TV from {best:.3f} to {worst:.3f}"
    statement = f"parameters are useful only where ε is larger than {SMALLEST_USEFUL:,}"
    return [ClaimResult(statement, least is not None and least > SMALLEST_USEFUL, told, least)]


# What published parameters of PPMTF betray: the open problem of [ppmtf] section 5, measured.
TRACES, PROFILES, EVERYTHING = "synthetic traces", "(B, C, D)", "(A, B, C, D)"


@paper_figure(
    "ppmtf-parameters", "what the parameters of PPMTF reveal about the training users if they are published"
)
def compute_ppmtf_parameters(
    source: FigureSource,
    *,
    alphas: Sequence[float] = (1.0, 20.0, 200.0, 1000.0),
    iterations: int = ITERATIONS,
) -> Drawing:
    """Attack traces, (B, C, D) and all parameters, over α."""
    training, testing = load_people_flow(source)
    who, members = SyntheticIdentification().fit(training), MembershipInference().fit(training, testing)
    columns = ("advantage", "chance", "epsilon_at_least", "reidentification_rate")
    rows: list[dict[str, Any]] = []
    for alpha in track_progress(alphas, len(alphas)):
        model = PPMTF(alpha=alpha, iterations=iterations).fit(training, seed=source.seed)
        made = model.synthesize(TRACES_PER_USER, seed=source.seed)
        found = {
            TRACES: {"advantage": members.evaluate(made).advantage, "reidentification_rate": who.rate(made)},
            PROFILES: attack_parameters(model, training, testing, "BCD").to_dict(),
            EVERYTHING: attack_parameters(model, training, testing, "ABCD").to_dict(),
        }
        bound = {"epsilon_bound": privacy_budget(model, kappa=0).epsilon_trace}
        rows += [
            {"alpha": alpha, "released": name} | {key: one.get(key) for key in columns} | bound
            for name, one in found.items()
        ]

    def draw(figure: Any, axes: Any) -> None:
        for number, name in enumerate((TRACES, PROFILES, EVERYTHING)):
            for panel, column in zip(axes, ("advantage", "reidentification_rate"), strict=True):
                line = [(row["alpha"], row[column]) for row in rows if row["released"] == name]
                if line[0][1] is not None:
                    panel.plot(*zip(*line, strict=True), label=name, **choose_look(number))
        axes[0].axhline(rows[1]["chance"], color="#555555", linestyle="--", linewidth=1, label="chance, 95 %")
        for panel, label in zip(axes, ("membership advantage", "share of people found"), strict=True):
            panel.set_xscale("log")
            panel.set(xlabel="α", ylabel=f"{label} (0 is best)", ylim=(-0.02, 1))
            panel.legend(frameon=False, fontsize=8)
        figure.subplots_adjust(wspace=0.3)

    return Drawing(
        rows, draw, (10, 4.0), {"ncols": 2}, title="Attacks on the parameters of PPMTF",
        claims=check_ppmtf_parameter_claims(rows), head={"width": 115},
    )  # fmt: skip


def check_ppmtf_parameter_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Ask what (B, C, D) tell of who was in the training data, and what A adds.

    [ppmtf] section 3.5: "it is hard to infer private information from (B, C, D)". Hard is an advantage
    that chance alone explains, at every α. And A must be kept secret: with it most users are found.
    """
    profiles = [row for row in rows if row["released"] == PROFILES]
    whole = [row for row in rows if row["released"] == EVERYTHING]
    most = max(row["reidentification_rate"] for row in whole)
    told = f"up to {most:.0%} of the rows of A, required: half"
    return [
        check_share(
            "profiles of places and of time, (B, C, D), do not tell who was in the training data",
            [row["advantage"] <= row["chance"] for row in profiles],
            "settings have an advantage that chance explains: "
            + ", ".join(f"{row['advantage']:.2f}" for row in profiles)
            + f", chance up to {profiles[0]['chance']:.2f}",
        ),
        ClaimResult("with the profiles of users, A, most people are found", most > 0.5, told, most),
    ]


# Synthetic traces against attackers with maximum and with partial knowledge.
KNOWLEDGE_SIZE = Size(1_000, 2)
"""Members and others together; days of training traces, and as many that are known."""
KNOWLEDGE_TRACES_PER_USER = 5
MAXIMUM, PARTIAL = "maximum", "partial"
KNOWLEDGE_COLUMNS = {
    "reidentification_rate": "Markov attack, each trace",
    **{name: f"{name}, all traces of a user" for name in ATTACKS},
    "membership_advantage": "membership advantage",
}
NOISE = 3
"""Standard errors by which partial knowledge may look better."""


@paper_figure(
    "ppmtf-knowledge", "attacks on synthetic traces by attackers with maximum and with partial knowledge"
)
def compute_ppmtf_knowledge(source: FigureSource, *, iterations: int = ITERATIONS) -> Drawing:
    """Attack traces of a team: half of its users are members, the others are not.

    Maximum knowledge is the training traces, as in [ppmtf]; partial knowledge the reference traces, of
    other days of the same people, as in a contest.
    """
    (team,) = load_teams(replace(source, size=source.choose_size(KNOWLEDGE_SIZE)))
    half = team.original.n_users // 2
    members, others = (np.arange(half), np.arange(half, 2 * half))
    training = team.original.take_users(members)
    root = seed_sequence(source.seed)
    rows: list[dict[str, Any]] = []
    methods = {
        "PPMTF": PPMTF(iterations=iterations),
        "SGD, ξ = 0": SGD(),
        "SGD, ξ = 5": SGD(copied=5),
        "SGLT": SGLT(classes=max(len(training.places) // 4, 1), privacy_tests=False),
    }
    for number, (name, model) in enumerate(track_progress(methods.items(), len(methods))):
        made = model.fit(training, seed=child_seed(root, number, 0))
        synthetic = made.synthesize(KNOWLEDGE_TRACES_PER_USER, seed=child_seed(root, number, 1))
        for knowledge, known in ((MAXIMUM, team.original), (PARTIAL, team.reference)):
            both = known.take_users(members), known.take_users(others)
            risk = attack_synthetic(synthetic, *both, seed=child_seed(root, number, 2))
            rows.append(
                {
                    "method": name,
                    "knowledge": knowledge,
                    "users": half,
                    "reidentification_rate": risk.reidentification_rate,
                    **risk.linked,
                    "membership_advantage": risk.membership_advantage,
                    "guess": risk.guess,
                }
            )

    def draw(figure: Any, axes: Any) -> None:
        for panel, (column, words) in zip(axes, KNOWLEDGE_COLUMNS.items(), strict=True):
            for number, knowledge in enumerate((MAXIMUM, PARTIAL)):
                mine = [row[column] for row in rows if row["knowledge"] == knowledge]
                at = np.arange(len(methods)) + 0.4 * number - 0.2
                panel.bar(at, mine, 0.38, color=COLOURS[number], label=f"{knowledge} knowledge")
            panel.axhline(rows[0]["guess"], color="#555555", linestyle=":", linewidth=1)
            panel.set_xticks(range(len(methods)), list(methods), rotation=90, fontsize=8)
            panel.set_title(words, fontsize=9)
        axes[0].set(ylabel="share found (0 is best)", ylim=(0, 1))
        axes[0].legend(frameon=False, fontsize=8)

    many = len(KNOWLEDGE_COLUMNS)
    return Drawing(
        rows, draw, (3.2 * many, 3.8), {"ncols": many, "sharey": True},
        title="Synthetic traces against maximum and partial knowledge; dotted: a guess",
        claims=check_ppmtf_knowledge_claims(rows), head={"width": 140, "top": 0.98},
    )  # fmt: skip


def check_ppmtf_knowledge_claims(rows: Sequence[Mapping[str, Any]]) -> list[ClaimResult]:
    """Check whether maximum knowledge is the worst case, and what PPMTF betrays to partial knowledge.

    [ppmtf] section 4.3 attacks with the training traces themselves, as a worst case. It takes that no
    method has more traces re-identified with partial knowledge, but for three standard errors; and of
    PPMTF's fewer than 0.02, the bound of Figure 7.
    """
    rate = {(row["method"], row["knowledge"]): row["reidentification_rate"] for row in rows}
    traces = rows[0]["users"] * KNOWLEDGE_TRACES_PER_USER
    methods = list(dict.fromkeys(row["method"] for row in rows))

    def most(name: str) -> float:
        share = rate[name, MAXIMUM]
        return float(share + NOISE * (max(share, 1 / traces) * (1 - share) / traces) ** 0.5)

    found = rate["PPMTF", PARTIAL]
    told = f"{found:.4f} re-identified, required: < {MOST_REIDENTIFIED:g}"
    statement = "PPMTF's traces betray almost nobody to an attacker who knows other days"
    return [
        check_share(
            "an attacker with the training traces is the worst case",
            [rate[name, PARTIAL] <= most(name) for name in methods],
            "methods have no more re-identified with partial knowledge; maximum / partial: "
            + ", ".join(f"{name} {rate[name, MAXIMUM]:.3f} / {rate[name, PARTIAL]:.3f}" for name in methods),
        ),
        ClaimResult(statement, found < MOST_REIDENTIFIED, told, found),
    ]
