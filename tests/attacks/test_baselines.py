"""Attacks to compare others with: chance, the known days once more, and knowing the very days."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.attacks import AlignedIdentification, RandomIdentification, RandomInference, ReferenceReplay
from tracearena.errors import DataError, ParameterError
from tracearena.obfuscation import MRLH
from tracearena.traces import DELETED, Clock, ObfuscatedTraces, Places, Traces

LINE = Places([0] * 9, np.arange(9) / 2, km_per_degree=(1, 1))
"""A place every half kilometre."""


@pytest.mark.parametrize("limit_km", [0.7, 1.5, 2.0])
def test_the_user_who_was_nearest_at_the_same_instants_is_answered(
    make_walks: Callable[..., Traces], limit_km: float
) -> None:
    reference = make_walks(users=9, days=1, side=5, missing=0.2)
    released = MRLH(mu_x=1, mu_y=0, deletion=0.3).transform(reference, seed=2)
    known = reference.dense()
    scores = np.zeros((9, 9))
    for trace, instant, cell in zip(released.user_index, released.instants, released.cells(), strict=True):
        for place in cell:
            for user in range(9):
                if known[user, instant] >= 0:
                    apart = float(reference.places.distance_km(place, known[user, instant])[()])
                    scores[trace, user] += max(1 - apart / limit_km, 0) / len(cell)
    best = (
        AlignedIdentification(limit_km=limit_km)
        .fit(reference)
        .make_matcher()
        .fit(reference)
        .match(released)
        .best
    )
    assert scores[np.arange(9), best] == pytest.approx(scores.max(axis=1))


def test_alignment_counts_the_first_of_two_places_and_from_the_first_instant_of_each_side() -> None:
    clock = Clock(instants_per_day=4)
    reference = Traces.from_events([0, 0, 1, 1], [4, 4, 4, 5], [0, 8, 8, 8], LINE, clock, span=(4, 8))
    released = ObfuscatedTraces.from_traces(Traces.from_dense([[0, -1, -1, -1], [8, 8, -1, -1]], LINE, clock))
    guess = AlignedIdentification().fit(reference).identify(released)
    assert guess.user_ids.tolist() == [0, 1]


@pytest.mark.parametrize("limit_km", [0, -1, 1e9 + 1])
def test_a_distance_without_meaning_is_refused(limit_km: float) -> None:
    with pytest.raises(ParameterError, match="limit_km"):
        AlignedIdentification(limit_km=limit_km)


def test_a_replay_fills_gaps_from_before_then_from_after_and_days_in_turn() -> None:
    clock = Clock(instants_per_day=4)
    table = [[-1, 1, -1, 2, 3, -1, -1, -1], [-1, -1, -1, -1, 5, 5, 5, 5]]
    reference = Traces.from_dense(table, LINE, clock)
    original = Traces.from_dense([[0] * 12, [0] * 12], LINE, clock, first_instant=8)
    released = ObfuscatedTraces.like(original, np.full(24, DELETED))
    answers = [ReferenceReplay().fit(reference).infer(released, seed=seed) for seed in range(60)]
    tables = np.array([answer.dense() for answer in answers])
    assert answers[0].span == (8, 20)
    assert (tables[:, 0] == [1, 1, 1, 2, 3, 3, 3, 3, 1, 1, 1, 2]).all()
    assert (tables[:, 1, 4:8] == 5).all()
    # A day without any event is answered at random: 480 draws of nine places.
    drawn = np.bincount(tables[:, 1, [0, 1, 2, 3, 8, 9, 10, 11]].ravel(), minlength=9)
    assert ((drawn - 480 / 9) ** 2 / (480 / 9)).sum() < 26.1  # the 0.999 quantile of chi-square, 8 degrees
    with pytest.raises(DataError, match="places"):
        ReferenceReplay().fit(Traces.from_dense([[0]], Places([0], [0]), clock)).infer(released)


def test_chance_names_every_user_once_and_every_place_equally_often() -> None:
    clock = Clock(instants_per_day=4)
    reference = Traces.from_dense([[0] * 4] * 5, LINE, clock, user_ids=[7, 8, 9, 10, 11])
    released = ObfuscatedTraces.from_traces(Traces.from_dense([[0] * 4] * 5, LINE, clock))
    named = [
        RandomIdentification().fit(reference).identify(released, seed=seed).user_ids for seed in range(200)
    ]
    assert all(sorted(one) == [7, 8, 9, 10, 11] for one in named)
    counts = np.array([[(np.array(named)[:, at] == user).sum() for user in range(7, 12)] for at in range(5)])
    assert ((counts - 40) ** 2 / 40).sum() * 4 / 5 < 39.3  # the 0.999 quantile of chi-square, 16 degrees
    places = np.array(
        [RandomInference().fit(reference).infer(released, seed=seed).dense() for seed in range(90)]
    )
    assert places.shape == (90, 5, 4)
    drawn = np.bincount(places.ravel(), minlength=9)
    assert ((drawn - 200) ** 2 / 200).sum() < 26.1
