"""Scores of single kinds of evidence are what their formulas say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm, rankdata
from tests.attacks.linking.cases import halved

from tracearena.attacks.bayesian.pairs import build_all_pairs
from tracearena.attacks.linking import EVIDENCE, Histogram, Observations, Scalar
from tracearena.attacks.linking.scoring import (
    SETTINGS,
    Comparison,
    ComparisonSide,
    correlation_of,
    normal_scores,
    scalar_scores,
)
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces


def compared(known: Traces, seen: Traces) -> Comparison:
    sides = [ComparisonSide((Observations.of(one),)) for one in (seen, known)]
    return Comparison(sides[0], sides[1], build_all_pairs(seen.n_users, known.n_users))


@pytest.mark.parametrize("name", ["hour of week", "venue", "cell of 1 km", "events per day"])
def test_histograms_are_compared_by_the_polya_formula(
    make_check_ins: Callable[..., Traces], name: str
) -> None:
    known, seen = halved(make_check_ins(users=12, events=900, seed=4))
    kind = EVIDENCE[name]
    assert isinstance(kind, Histogram)
    pairs = build_all_pairs(seen.n_users, known.n_users)
    scores = compared(known, seen).scores(kind, 0.0)

    counts = []
    for side in (seen, known):
        rows = Observations.of(side)
        bins = kind.bins(rows)
        counts.append({(int(u), int(b)): 0.0 for u, b in zip(rows.user, bins, strict=True) if b >= 0})
        for u, b in zip(rows.user, bins, strict=True):
            if b >= 0:
                counts[-1][int(u), int(b)] += 1
    every = sorted({b for side in counts for _, b in side})
    tables = []
    for side, traces in zip(counts, (seen, known), strict=True):
        tables.append(np.array([[side.get((u, b), 0.0) for b in every] for u in range(traces.n_users)]))
    usual = sum(table.sum(axis=0) / table.sum() for table in tables) / 2
    is_shared = (tables[0].sum(axis=0) > 0) & (tables[1].sum(axis=0) > 0)
    n_seen, n_known = (table.sum(axis=1) for table in tables)
    worth = [rows / (1 + rows / SETTINGS.saturation) for rows in (n_seen, n_known)]
    seen_table, known_table = (
        table * (value / rows)[:, None]
        for table, value, rows in zip(tables, worth, (n_seen, n_known), strict=True)
    )
    alpha = SETTINGS.prior_rows * usual
    expected = np.empty(len(pairs.users))
    for at, (p, u) in enumerate(zip(pairs.traces, pairs.users, strict=True)):
        a, b, prior = known_table[u][is_shared], seen_table[p][is_shared], alpha[is_shared]
        each = gammaln(prior + a + b) - gammaln(prior + a) - gammaln(prior + b) + gammaln(prior)
        total = (
            gammaln(SETTINGS.prior_rows + worth[1][u] + worth[0][p])
            - gammaln(SETTINGS.prior_rows + worth[1][u])
            - gammaln(SETTINGS.prior_rows + worth[0][p])
            + gammaln(SETTINGS.prior_rows)
        )
        expected[at] = each.sum() - total
    assert scores == pytest.approx(expected, abs=1e-8)


def test_normal_scores_are_quantiles_of_ranks() -> None:
    values = np.array([5.0, np.nan, 1.0, 1.0, 9.0, -3.0, np.nan, 2.0])
    known = np.isfinite(values)
    scores = normal_scores(values)
    assert np.isnan(scores[~known]).all()
    ranks = rankdata(values[known])
    assert scores[known] == pytest.approx(norm.ppf((ranks - 0.5) / known.sum()))


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
def test_single_numbers_are_compared_by_a_normal_density(rho: float) -> None:
    z = np.random.default_rng(1).normal(size=(2, 50))
    together = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).logpdf(z.T)
    apart = norm.logpdf(z).sum(axis=0)
    # What all pairs have in common, the determinant, is left out.
    assert scalar_scores(z[0], z[1], rho) == pytest.approx(together - apart + np.log(1 - rho**2) / 2)


def test_a_missing_number_speaks_for_nobody() -> None:
    assert scalar_scores(np.array([np.nan, 1.0]), np.array([1.0, np.nan]), 0.5).tolist() == [0.0, 0.0]


def test_numbers_that_persist_correlate(make_check_ins: Callable[..., Traces]) -> None:
    known, seen = halved(make_check_ins(users=40, events=4000, seed=4))
    sides = [ComparisonSide((Observations.of(one),)) for one in (known, seen)]
    own = np.random.default_rng(2).normal(size=known.n_users)
    steady = Scalar("steady", "any", lambda rows: own)
    assert correlation_of(steady, *sides) == pytest.approx(1.0)
    draws = iter(np.random.default_rng(3).normal(size=(2, known.n_users)))
    fickle = Scalar("fickle", "any", lambda rows: next(draws))
    assert abs(correlation_of(fickle, *sides)) < 0.5
    constant = Scalar("constant", "any", lambda rows: np.ones(rows.n_users))
    assert correlation_of(constant, *sides) == 0.0


def test_a_generalised_event_counts_at_each_of_its_places_or_once_in_their_middle() -> None:
    """Half an event in each of two draws: at places 0 and 2 with a quarter, or as set 3 with a half."""
    original = Traces.from_dense([[0, 1]], Places([0.0, 1.0, 2.0], [0.0] * 3), Clock(instants_per_day=2))
    draws = (
        Observations.of(ObfuscatedTraces.like(original, [-2, 1], PlaceSets.of([[0, 2]]))),
        Observations.of(ObfuscatedTraces.like(original, [1, 1])),
    )
    found = {}
    for name in ("venue", "set of places"):
        kind = EVIDENCE[name]
        assert isinstance(kind, Histogram)
        _, bins, weights = ComparisonSide(draws).bins(kind)
        found[name] = np.bincount(bins, weights, 4).tolist()
    assert found["venue"] == [0.25, 1.5, 0.25, 0]
    assert found["set of places"] == [0, 0.5, 0, 0.5]


def test_a_trace_of_which_one_draw_in_two_is_left_counts_as_half_a_row() -> None:
    """One event at place 0 in one of two draws, and three known ones each at place 0 and at place 1."""
    places, clock = Places([0.0, 1.0], [0.0, 0.0]), Clock(instants_per_day=3)
    seen = Traces.from_dense([[0, -1, -1]], places, clock)
    known = Traces.from_dense([[0, 0, 0], [1, 1, 1]], places, clock)
    draws = (Observations.of(seen), Observations.of(seen.keep(np.zeros(1, bool))))
    sides = ComparisonSide(draws), ComparisonSide((Observations.of(known),))
    scores = Comparison(*sides, build_all_pairs(1, 2)).scores(EVIDENCE["venue"], 0.0)
    a0, half, three = SETTINGS.prior_rows, *(n / (1 + n / SETTINGS.saturation) for n in (0.5, 3))
    # Place 0 is all of what was seen, and half of what is known.
    alpha = a0 * (1 + 1 / 2) / 2
    together, apart = (
        gammaln(a + three + half) - gammaln(a + three) - gammaln(a + half) + gammaln(a) for a in (alpha, a0)
    )
    assert scores == pytest.approx([together - apart, -apart])
