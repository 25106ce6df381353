"""A statement about a figure is tested on the numbers drawn: it holds, or this does not hold here."""

from __future__ import annotations

import ast
import csv
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.command_line import tracearena as run

import tracearena
from tracearena import papers
from tracearena.arena import AttackScores, Band, Deanonymisation, SweepRow
from tracearena.arena.claims import ClaimResult, Tell, check_privacy_costs_utility
from tracearena.metrics import Diversity
from tracearena.papers import arena as arena_attacks
from tracearena.papers import arena as arena_defences
from tracearena.papers import contest_board as contest_7
from tracearena.papers import contest_board as contest_8
from tracearena.papers import contest_board as contest_9
from tracearena.papers import contest_board as contest_k_anonymity
from tracearena.papers import contest_board as contest_spread
from tracearena.papers import contest_board as contest_table_2
from tracearena.papers import contest_people, list_figures
from tracearena.papers import contest_scores as contest_12
from tracearena.papers import contest_scores as contest_16
from tracearena.papers import contest_scores as contest_17
from tracearena.papers import contest_scores as contest_18
from tracearena.papers import geo as geo_3
from tracearena.papers import geo as geo_4
from tracearena.papers import geo as geo_5
from tracearena.papers import geo as geo_6
from tracearena.papers import ppmtf_privacy as ppmtf_10
from tracearena.papers import ppmtf_privacy as ppmtf_14
from tracearena.papers import ppmtf_privacy as ppmtf_15
from tracearena.papers import ppmtf_privacy as ppmtf_knowledge
from tracearena.papers import ppmtf_privacy as ppmtf_parameters
from tracearena.papers import ppmtf_training as ppmtf_9
from tracearena.papers import ppmtf_training as ppmtf_13
from tracearena.papers import ppmtf_training as ppmtf_chains
from tracearena.papers import ppmtf_training as ppmtf_factors
from tracearena.papers import ppmtf_utility as ppmtf_7
from tracearena.papers import ppmtf_utility as ppmtf_8
from tracearena.papers import ppmtf_utility as ppmtf_11
from tracearena.papers import ppmtf_utility as ppmtf_12
from tracearena.papers import sglt as sglt_classes
from tracearena.papers import sglt as sglt_published
from tracearena.papers import sglt as sglt_quantiles
from tracearena.papers import sglt as sglt_service
from tracearena.papers.contest_board import AnonymityPoint
from tracearena.traces import Grid, Places

SOURCE = Path(tracearena.__file__).parent
LIMITS = {"training": {"tp_tv": 0.4}, "uniform": {"tp_tv": 0.6, "tm_emd_x": 6.0, "tm_emd_y": 6.0}}


def release(defence: str, s_r: float, s_t: float, utility: float = 0.8, valid: bool = True) -> SweepRow:
    scores = AttackScores(reidentification={"VisitProb-R": s_r}, trace_inference={"VisitProb-T": s_t})
    return SweepRow(defence=defence, utility=utility, valid=valid, scores=scores)


def fought(old: float, new: float, ceiling: float) -> SweepRow:
    """A release that old and new attacks leave so much of, in both ways."""
    scores = AttackScores({"VisitProb-R": old, "Bayes-R": new}, {"VisitProb-T": old, "Tracking-T": new})
    return SweepRow("PL(4,1)", 0.8, True, scores, band=Band(0.0, ceiling))


def disguised(left: float) -> list[SweepRow]:
    """What disguises leave, beside 0.4 of cluster averaging."""
    return [release(name, 0.5, left) for name in arena_defences.DISGUISES] + [
        release(arena_defences.AVERAGING, 0.5, 0.4)
    ]


def lives(apart: float) -> list[contest_people.ComparisonRow]:
    """Virtual users so many spreads away from the people, learned from all of them and from half."""
    kinds = contest_people.FIVE, contest_people.HELD_OUT
    return [
        contest_people.ComparisonRow("stays", kind, 0.2, 0.2 + 0.01 * apart, 0.01, apart) for kind in kinds
    ]


def points(tp_tv: list[float], tm_emd: float, reidentified: float = 0.01) -> list[Any]:
    return [
        ppmtf_7.TradeoffPoint("PPMTF", str(n), value, 0.1, tm_emd, tm_emd, reidentified, 0.03)
        for n, value in enumerate(tp_tv)
    ]


def times(training: float, synthesis: float, places: float) -> list[Any]:
    """Seconds that grow with a power of the size."""
    made = []
    for size in (100, 1000):
        made.append(("PPMTF training", "users", size, 400, size**training))
        made.append(("PPMTF synthesis", "users", size, 400, size**synthesis))
        made.append(("PPMTF training", "places", 100, size, size**places))
    return made


def check_in_seconds(t: float, s: float, p: float) -> list[dict[str, Any]]:
    return [
        {"series": f"PPMTF ({name})", "users": users, "seconds": users**power, "source": "measured"}
        for name, power in (("T", t), ("S", s), ("P", p))
        for users in (1000, 2000, 8000)
    ]


def visits(ppmtf: float, sgd: float, lowest: float) -> list[dict[str, Any]]:
    return [
        {"category": "Park", "method": method, "total_variation": far, "up_to": 1 / 24, "share": lowest}
        for method, far in (("testing", 0.0), ("PPMTF", ppmtf), ("SGD", sgd))
    ]


def cluster(synthetic: float, everybody: float) -> ppmtf_12.UserCluster:
    none = np.zeros(1)
    return ppmtf_12.UserCluster(0, "", 10, 10, synthetic, everybody, {}, none, none)


def rates(few: float, many: float) -> list[dict[str, Any]]:
    """The share that passes with few and with many people, at k = 10, and at k = 20 halfway to `many`."""
    shares = {(100, 10): few, (100, 20): few, (1000, 10): many, (1000, 20): (few + many) / 2}
    return [
        {"zeros": "all", "users": users, "k": k, "pass_rate": share} for (users, k), share in shares.items()
    ]


def mixing(share: float) -> list[dict[str, Any]]:
    """So much of what is watched has mixed."""
    kinds = ("error", "transition", "visit", "population")
    return [{"kind": kind, "iterations": 100, "mixed": share, "r_hat_median": 1.05} for kind in kinds]


def leaks(advantage: float, found: float) -> list[dict[str, Any]]:
    """The advantage of (B, C, D), of which chance explains 0.08, and whom A names."""
    return [
        {"released": "(B, C, D)", "advantage": advantage, "chance": 0.08},
        {"released": "(A, B, C, D)", "reidentification_rate": found},
    ]


def known(maximum: float, partial: float) -> list[dict[str, Any]]:
    """How many traces of 500 users are found with either knowledge."""
    rates = (("maximum", maximum), ("partial", partial))
    row = {"method": "PPMTF", "users": 500}
    return [row | {"knowledge": name, "reidentification_rate": rate} for name, rate in rates]


def trained(shared: float, apart: float, betrayed: float) -> list[dict[str, Any]]:
    """Both ways to train at one α."""
    names = ("tp_tv", "tm_emd_x", "tm_emd_y"), ("reidentification_rate", "membership_advantage")
    return [
        {"factors": way, "alpha": 200, **dict.fromkeys(names[0], value), **dict.fromkeys(names[1], betrayed)}
        for way, value in (("shared", shared), ("apart", apart))
    ]


def budget(at_small: float, at_large: float) -> list[dict[str, Any]]:
    return [
        {"epsilon_trace_kappa_0": 6.0, "tp_tv": at_small},
        {"epsilon_trace_kappa_0": 6e5, "tp_tv": at_large},
    ]


def bars(**vf_tv: float) -> list[dict[str, Any]]:
    return [
        {"method": name, "vf_tv": value, "tp_tv_top50": value, "tm_emd_sliced": value}
        for name, value in vf_tv.items()
    ]


def plus(value: float, ppmtf: float, sgd: float) -> list[dict[str, Any]]:
    """One city as [contest] has it, and one with these numbers."""
    return [
        {"city": city} | row
        for city, found in (("city", (0.41, 0.4, 0.69)), ("town", (value, ppmtf, sgd)))
        for row in bars(**dict(zip(("PPMTF+", "PPMTF", "SGD"), found, strict=True)), uniform=0.7)
    ]


def teams(gap_plus: float, gap: float) -> dict[str, dict[str, Diversity]]:
    """One city as [contest] has it, and one with these gaps."""
    return {
        city: {
            name: Diversity(same_tv=0.5 - far, diff_tv=0.5, same_sd=1.0, diff_sd=1.0, pairs=10)
            for name, far in (("PPMTF+", plus), ("PPMTF", plain))
        }
        for city, plus, plain in (("city", 0.01, 0.4), ("town", gap_plus, gap))
    }


def homes(*shares: float) -> list[dict[str, Any]]:
    return [{"time": f"{6 + n:02}:00", "at_home": share} for n, share in enumerate(shares)]


def spread(largest: float) -> list[Any]:
    return [SimpleNamespace(defence="No", reidentification_sd=0.001, trace_inference_sd=largest)]


def confusion(right: int) -> Deanonymisation:
    """Two classes of 50 windows, of which so many are answered rightly."""
    table = np.array([[50, 0], [100 - right, right - 50]])
    return Deanonymisation(
        **{
            name: {"confusion": table, "accuracy": right / 100, "most_frequent": 0.5}.get(name)
            for name in Deanonymisation.__dataclass_fields__
        }
    )


def offloaded(gain: float) -> Any:
    before = np.full((5, 3), 0.9)
    return np.stack([before, before + gain])


def maps(noisy: list[float], updated: list[float]) -> dict[str, Any]:
    return {"original": np.array([1.0, 0.0]), "noise": np.array(noisy), "update": np.array(updated)}


def classes(by_column: bool) -> list[ClaimResult]:
    """Four columns of places: a class a column lies together, a class a row lies across."""
    grid = Grid(rows=2, columns=8, south=35.0, west=139.0, north=35.002, east=139.8)
    places = Places.of_grid(grid)
    of = np.arange(16) % 8 if by_column else np.arange(16) // 8
    return sglt_classes.check_sglt_class_claims(places, of.astype(np.int32))


def service(privacy: float, places: float, kinds: float) -> list[Any]:
    def one(method: str, hidden: float, sent: float, of: float) -> Any:
        return SimpleNamespace(
            method=method,
            fakes=5,
            privacy=hidden,
            distinct_places=sent,
            distinct_classes=of,
            attacker="population",
        )

    return [one("sglt", privacy, places, kinds), one("uniform", 0.5, 5.0, 5.0)]


def own_walk_and_knowing(own: float, known: float) -> list[Any]:
    """SGLT hides 0.9; what a walk of one's own does, and what is left before who knows the generator."""
    walk = service(own, 3.0, 3.0)[0]
    walk.method = "own-walk"
    knowing = service(known, 3.0, 2.0)[0]
    knowing.attacker = "generator"
    return sglt_service.check_sglt_service_claims([service(0.9, 3.0, 2.0)[0], walk, knowing])[-2:]


def published_table(tp_tv: float, mended: float) -> list[dict[str, Any]]:
    """Two rows of 200 classes, published and ours."""
    rows = []
    for rules, lost in (
        ("published", 0.6),
        ("program", tp_tv),
        ("program, decoder mended", mended),
        ("paper", tp_tv),
    ):
        rows += [
            {"rules": rules, "classes": 200, "par_l": par_l, "tp_tv": value}
            for par_l, value in ((0, 0.4), (1, lost))
        ]
    return rows


def likeness(kind: float, place: float, difference: float) -> dict[str, Any]:
    return {
        "real_semantic": np.array([kind]),
        "real_geographic": np.array([place]),
        "differential": np.full(10, difference),
    }


def equal_traces(identified: list[float], left: list[float], useful: float) -> list[ClaimResult]:
    """Releases of KAnonymous: how many are found under three k, what is left of ever more alike people."""
    over_k = [
        AnonymityPoint(0, k, 0.3, useful, one, one, 0.01, 0.5, 0.4)
        for k, one in zip((2, 5, 10), identified, strict=True)
    ]
    alike = [
        AnonymityPoint(0, 10, at, useful, 0.1, 0.1, 0.01, one, 0.4)
        for at, one in zip((0, 0.5, 1), left, strict=True)
    ]
    return contest_k_anonymity.check_k_anonymity_claims(over_k, alike)


Q = np.linspace(0, 1, 11)
Pair = tuple[Callable[[], list[ClaimResult]], Callable[[], list[ClaimResult]]]
CASES: dict[str, Pair] = {
    "arena-attacks": (
        lambda: arena_attacks.check_arena_attack_claims([fought(0.6, 0.2, 0.5)]),
        lambda: arena_attacks.check_arena_attack_claims([fought(0.2, 0.3, 0.5)]),
    ),
    "arena-defences": (
        lambda: arena_defences.check_arena_defence_claims([release("a", 0.5, 0.4), release("b", 0.3, 0.2)]),
        lambda: arena_defences.check_arena_defence_claims([release("a", 0.5, 0.2), release("b", 0.3, 0.4)]),
    ),
    "arena-defences, long and short": (
        lambda: arena_defences.check_disguise_claims(disguised(0.6), disguised(0.3), 10),
        lambda: arena_defences.check_disguise_claims(disguised(0.3), disguised(0.6), 10),
    ),
    "contest-8": (
        lambda: contest_8.check_contest_8_claims([release("No", 0.2, 0.1), release("Cheat(1)", 0.99, 0.11)]),
        lambda: contest_8.check_contest_8_claims([release("No", 0.2, 0.1), release("Cheat(1)", 0.99, 0.5)]),
    ),
    "contest-9": (
        lambda: contest_9.check_contest_9_claims([release(str(n), n / 9, n / 10) for n in range(9)]),
        lambda: contest_9.check_contest_9_claims([release(str(n), n / 9, n % 2) for n in range(9)]),
    ),
    "contest-people": (
        lambda: contest_people.check_contest_people_claims(lives(0.5)),
        lambda: contest_people.check_contest_people_claims(lives(2.5)),
    ),
    "contest-12": (
        lambda: contest_12.check_contest_12_claims(
            [0.9] * (len(contest_12.WEIGHTS) - 1) + [0.8], {"a": (1.0, 0.4), "b": (2.0, 0.5)}
        ),
        lambda: contest_12.check_contest_12_claims(
            [0.3] * len(contest_12.WEIGHTS), {"a": (2.0, 0.4), "b": (1.0, 0.5)}
        ),
    ),
    "ppmtf-7": (
        lambda: ppmtf_7.check_ppmtf_7_claims(points([0.45, 0.5], 2.0), LIMITS),
        lambda: ppmtf_7.check_ppmtf_7_claims(points([0.7] * 9 + [0.55] * 3, 7.0), LIMITS),
    ),
    "ppmtf-8": (
        lambda: ppmtf_8.check_ppmtf_8_claims(np.array([0.3, 0.2]), np.array([0.5, 0.5])),
        lambda: ppmtf_8.check_ppmtf_8_claims(np.array([0.6, 0.2]), np.array([0.5, 0.5])),
    ),
    "ppmtf-9": (
        lambda: ppmtf_9.check_ppmtf_9_claims(times(1.0, 1.0, 0.1)),
        lambda: ppmtf_9.check_ppmtf_9_claims(times(2.0, 1.5, 1.0)),
    ),
    "ppmtf-10": (
        lambda: ppmtf_10.check_ppmtf_10_claims(bars(PPMTF=0.4, SGD=0.7, training=0.3, uniform=0.7)),
        lambda: ppmtf_10.check_ppmtf_10_claims(bars(PPMTF=0.4, SGD=0.39, training=0.3, uniform=0.7)),
    ),
    "ppmtf-11": (
        lambda: ppmtf_11.check_ppmtf_11_claims(visits(0.1, 0.4, 0.9)),
        lambda: ppmtf_11.check_ppmtf_11_claims(visits(0.5, 0.4, 0.3)),
    ),
    "ppmtf-12": (
        lambda: ppmtf_12.check_ppmtf_12_claims([cluster(0.2, 0.4)]),
        lambda: ppmtf_12.check_ppmtf_12_claims([cluster(0.2, 0.4), cluster(0.5, 0.4)]),
    ),
    "ppmtf-13": (
        lambda: ppmtf_13.check_ppmtf_13_claims(check_in_seconds(1.0, 0.9, 1.5)),
        lambda: ppmtf_13.check_ppmtf_13_claims(check_in_seconds(1.3, 1.4, 2.5)),
    ),
    "ppmtf-14": (
        lambda: ppmtf_14.check_ppmtf_14_claims(rates(0.1, 0.3)),
        lambda: ppmtf_14.check_ppmtf_14_claims(rates(0.3, 0.1)),
    ),
    "ppmtf-15": (
        lambda: ppmtf_15.check_ppmtf_15_claims(budget(0.7, 0.5)),
        lambda: ppmtf_15.check_ppmtf_15_claims(budget(0.5, 0.7)),
    ),
    "ppmtf-factors": (
        lambda: ppmtf_factors.check_ppmtf_factor_claims(trained(0.4, 0.5, 0.01)),
        lambda: ppmtf_factors.check_ppmtf_factor_claims(trained(0.5, 0.4, 0.3)),
    ),
    "ppmtf-chains": (
        lambda: ppmtf_chains.check_ppmtf_chain_claims(mixing(0.95)),
        lambda: ppmtf_chains.check_ppmtf_chain_claims(mixing(0.5)),
    ),
    "ppmtf-parameters": (
        lambda: ppmtf_parameters.check_ppmtf_parameter_claims(leaks(0.05, 0.8)),
        lambda: ppmtf_parameters.check_ppmtf_parameter_claims(leaks(0.3, 0.2)),
    ),
    "ppmtf-knowledge": (
        lambda: ppmtf_knowledge.check_ppmtf_knowledge_claims(known(0.015, 0.01)),
        lambda: ppmtf_knowledge.check_ppmtf_knowledge_claims(known(0.015, 0.2)),
    ),
    "contest-16": (
        lambda: contest_16.check_contest_16_claims(teams(0.01, 0.4)),
        lambda: contest_16.check_contest_16_claims(teams(0.4, 0.01)),
    ),
    "contest-17": (
        lambda: contest_17.check_contest_17_claims(plus(0.41, 0.4, 0.69)),
        lambda: contest_17.check_contest_17_claims(plus(0.6, 0.4, 0.45)),
    ),
    "contest-18": (
        lambda: contest_18.check_contest_18_claims(
            [{"method": "PPMTF+", "reidentification_rate": 0.0021}], 500, 5000
        ),
        lambda: contest_18.check_contest_18_claims(
            [{"method": "PPMTF+", "reidentification_rate": 0.016}], 500, 5000
        ),
    ),
    "contest-19": (
        lambda: contest_people.check_contest_19_claims(homes(0.9, 0.2, 0.8)),
        lambda: contest_people.check_contest_19_claims(homes(0.9, 0.2, 0.3)),
    ),
    "contest-7": (
        lambda: contest_7.check_contest_7_claims(*contest_7.compute_distance_scores(contest_7.DISTANCES_KM)),
        lambda: contest_7.check_contest_7_claims(np.zeros(41), np.zeros(41)),
    ),
    "contest-spread": (
        lambda: contest_spread.check_contest_spread_claims([(100, *spread(0.04)), (400, *spread(0.01))]),
        lambda: contest_spread.check_contest_spread_claims([(100, *spread(0.01)), (400, *spread(0.01))]),
    ),
    "contest-k-anonymity": (
        lambda: equal_traces([0.5, 0.2, 0.1], [0.6, 0.3, 0.0], 0.6),
        lambda: equal_traces([0.9, 0.8, 0.7], [0.6, 0.6, 0.6], 0.9),
    ),
    "contest-table2": (
        lambda: contest_table_2.check_contest_table_2_claims(spread(0.011)),
        lambda: contest_table_2.check_contest_table_2_claims(spread(0.05)),
    ),
    "geo-3": (
        lambda: geo_3.check_geo_3_claims(offloaded(0.01)),
        lambda: geo_3.check_geo_3_claims(offloaded(-0.01)),
    ),
    "geo-3, margin": (
        lambda: geo_3.check_grid_margin_claims(np.stack([offloaded(0.02), offloaded(0.01)])),
        lambda: geo_3.check_grid_margin_claims(np.stack([offloaded(0.01), offloaded(0.02)])),
    ),
    "geo-4": (
        lambda: geo_4.check_geo_4_claims(maps([0.5, 0.5], [0.9, 0.1])),
        lambda: geo_4.check_geo_4_claims(maps([0.9, 0.1], [0.5, 0.5])),
    ),
    "geo-5": (
        lambda: geo_5.check_geo_5_claims(0.1, np.full((4, 5, 3), 0.3)),
        lambda: geo_5.check_geo_5_claims(0.4, np.full((4, 5, 3), 0.3)),
    ),
    "geo-6": (
        lambda: geo_6.check_geo_6_claims([confusion(90)]),
        lambda: geo_6.check_geo_6_claims([confusion(90), confusion(50)]),
    ),
    "sglt-classes": (lambda: classes(by_column=False), lambda: classes(by_column=True)),
    "sglt-qq": (
        lambda: sglt_quantiles.check_sglt_quantile_claims(Q, Q + 0.05),
        lambda: sglt_quantiles.check_sglt_quantile_claims(Q, 0.5 + Q / 2),
    ),
    "sglt-lbs": (
        lambda: sglt_service.check_sglt_service_claims(service(0.9, 3.0, 2.0)),
        lambda: sglt_service.check_sglt_service_claims(service(0.2, 6.0, 6.0)),
    ),
    "sglt-similarity": (
        lambda: sglt_service.check_sglt_similarity_claims(likeness(0.8, 0.1, 0.05)),
        lambda: sglt_service.check_sglt_similarity_claims(likeness(0.1, 0.8, 0.5)),
    ),
    "sglt-published": (
        lambda: sglt_published.check_sglt_published_claims(published_table(0.61, 0.45)),
        lambda: sglt_published.check_sglt_published_claims(published_table(0.7, 0.69)),
    ),
    "sglt-tables": (
        lambda: sglt_service.check_sglt_table_claims(
            [("visits", "fakes", 0.1, 0.0), ("visits", "uniform", 0.8, 0.0)]
        ),
        lambda: sglt_service.check_sglt_table_claims(
            [("visits", "fakes", 0.9, 0.0), ("visits", "uniform", 0.8, 0.0)]
        ),
    ),
}


FIGURES_WITH_CLAIMS = {name.partition(",")[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_statement_follows_the_numbers(name: str) -> None:
    good, bad = (make() for make in CASES[name])
    assert len(good) == len(bad) > 0
    assert all(finding.holds and str(finding).startswith("holds: ") for finding in good), good
    for finding in bad:
        assert not finding.holds, finding
        assert str(finding).startswith("does not hold here: ")
    for finding in (*good, *bad):
        assert re.search(r"\d", finding.measured)
        assert finding.number is not None


def test_every_claim_is_tried_and_every_figure_tells_its_claims() -> None:
    claims = re.compile(r"\bcheck_\w+_claims\b")
    sources = [path.read_text() for path in (SOURCE / "papers").glob("*.py")]
    stating = {name for text in sources for name in re.findall(r"^def (check_\w+_claims)\(", text, re.M)}
    tried = set(claims.findall(Path(__file__).read_text()))
    assert stating == tried
    telling = [inspect.getsource(list_figures()[name].compute) for name in FIGURES_WITH_CLAIMS]
    assert {name for text in telling for name in claims.findall(text)} == stating


def test_what_is_said_of_ones_own_walk_and_of_a_knowing_attacker_follows_the_numbers() -> None:
    assert [finding.holds for finding in own_walk_and_knowing(0.85, 0.88)] == [True, True]
    assert [finding.holds for finding in own_walk_and_knowing(0.49, 0.67)] == [False, False]


def test_nine_of_twelve_points_worse_than_uniform_are_not_near_the_training_data() -> None:
    first, *_ = CASES["ppmtf-7"][1]()
    assert "worse than uniform at 9 of 12 settings" in first.measured


def test_a_correlation_of_a_third_is_none() -> None:
    rng = np.random.default_rng(4)
    x, noise = rng.random(17), rng.random(17)
    for finding in contest_9.check_contest_9_claims(
        [release("d", a, 0.35 * a + b) for a, b in zip(x, noise, strict=True)]
    ):
        assert finding.number is not None
        assert 0.1 < finding.number < 0.7
        assert not finding.holds


def test_nothing_holds_of_too_little_data() -> None:
    lone = [release("No", 0.1, 0.1)]
    for finding in (
        *contest_9.check_contest_9_claims(lone),
        *contest_8.check_contest_8_claims(lone),
        check_privacy_costs_utility(lone),
    ):
        assert not finding.holds
        assert finding.number is None


# Words that make a title a claim; a neutral one names what is drawn and has no verb.
CLAIM = re.compile(
    r"\b(is|are|was|were|has|have|hides?|keeps?|makes?|comes?|takes?|leaves?|wins?|blurs?|sharpens?|lie|lies"
    r"|rises?|grows?|grow|hardly|behaves?|betrays?|loses?|shows?|needs?|helps?|stays?|meets?|count|counts|could)\b"
)
FORMER = (
    "PPMTF comes near the training data in where people are while betraying almost nobody",
    "Who is safe from trace inference is safe from re-identification",
    "Shuffling whole traces (Cheat) hides who is who, and hides nothing else",
    "Whose data a team gets hardly matters",
    "Noise makes people meet who never met (GeoLife)",
    "Noise blurs the map; the update sharpens it again",
    "Places that mean the same lie all over the city",
    "With PPMTF+ every team has people of its own",
)


def titles(path: Path) -> Iterator[str]:
    """Yield the words of every title in a module, without what is computed."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id.lower() in ("title", "caption")
            for target in node.targets
        ):
            yield from words(node.value)
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        position = {"set_title": 0, "suptitle": 0, "draw_bars": 2}.get(name)
        if position is not None and len(node.args) > position:
            yield from words(node.args[position])
        yield from (text for word in node.keywords if word.arg == "title" for text in words(word.value))


def words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Call):
        yield from (text for one in node.args[:1] for text in words(one))
    else:
        for child in ast.iter_child_nodes(node):
            yield from words(child)


def test_titles_name_what_is_drawn_and_claim_nothing() -> None:
    assert all(CLAIM.search(title) for title in FORMER)
    found = [(path.name, text) for path in sorted((SOURCE / "papers").rglob("*.py")) for text in titles(path)]
    assert found
    assert [(name, text) for name, text in found if CLAIM.search(text)] == []


def telling(findings: list[ClaimResult], *_: object, tell: Tell, **__: object) -> list[Path]:
    """Make a figure of which this is said, and no picture."""
    for finding in findings:
        tell(finding)
    return []


def test_the_command_prints_what_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["figure", "sglt-classes", "--out", str(tmp_path)]
    for holds, by_column in (("holds: ", False), ("does not hold here: ", True)):
        shown = classes(by_column=by_column)
        monkeypatch.setattr(papers, "figure", lambda name, shown=shown: partial(telling, shown))
        told = run(*command)
        assert told.status == 0
        last = told.out.splitlines()[-1]
        assert last.startswith(f"{holds}places that mean the same lie all over the city (spread of a class ")
        (finding,) = run(*command, "--json").json["findings"]
        assert set(finding) == {"statement", "holds", "measured", "number"}
        assert finding["holds"] is not by_column
        assert finding["number"] > 0


@pytest.mark.long
def test_osaka_does_not_show_the_correlation_of_2019(tmp_path: Path, shared_data: Path) -> None:
    data = shared_data / "pwscup2019-osaka"
    told = run("figure", "contest-9", "--data", data, "--out", tmp_path, "--json")
    ours, theirs = told.json["findings"]
    assert not ours["holds"]
    assert ours["number"] < 0.7
    assert "does not hold here" in (tmp_path / "contest-9.svg").read_text()
    assert theirs["holds"]
    assert round(theirs["number"], 4) == 0.8952
    with (tmp_path / "contest-9-2019.csv").open(newline="") as file:
        points = list(csv.DictReader(file))
    assert len(points) == 18
    assert sum(point["role"] == "team" for point in points) == 17


@pytest.mark.slow
def test_the_page_of_a_contest_follows_its_numbers() -> None:
    from tests.contest.residents import Residents

    from tracearena.contest import simulate_contest
    from tracearena.pages.contest import contest_report

    held = simulate_contest(teams=3, users=30, days=4, maker=Residents(), seed=5)
    shuffled = "shuffling whole traces hides who is who, and hides almost nothing else (at most 0.022)"
    costs = "the more the data is changed, the less it tells of people"
    together = "who is safe from trace inference is safe from re-identification"
    samples = (release("No", 0.1, 0.1, 1.0), release("a", 0.5, 0.5, 0.6), release("b", 0.9, 0.9, 0.2))
    against = (release("No", 0.1, 0.9, 1.0), release("a", 0.5, 0.1, 0.6), release("b", 0.9, 0.3, 0.2))
    cases = {
        "this holds": (samples, (release("Cheat(0)", 0.1, 0.1), release("Cheat(1)", 0.99, 0.1))),
        "this does not hold here": (against, (release("Cheat(0)", 0.1, 0.9), release("Cheat(1)", 0.2, 0.1))),
    }
    for verdict, (rows, cheating) in cases.items():
        page = contest_report(replace(held, samples=rows, cheating=cheating).to_report_data("x")).html()
        for statement in (shuffled, costs, together):
            assert f"{verdict}: {statement}" in page
