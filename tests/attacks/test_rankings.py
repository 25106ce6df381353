"""Whom attacks consider besides their answer."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.arena import pseudonymise
from tracearena.arena.ensemble import Ensemble, make_attacks
from tracearena.attacks.base import LISTED, choose_greedily
from tracearena.attacks.bayesian.pairs import CandidatePairs, build_all_pairs, rank_users
from tracearena.cities import simulate
from tracearena.traces import ObfuscatedTraces

NAMES = ["Random-R", "VisitProb-R", "HomeProb-R", "FuzzyCount-R", "Polya-R", "Markov-R", "Bayes-R"]


@pytest.mark.parametrize("users", [1, 3, 10, 40])
def test_users_are_listed_by_their_scores(users: int) -> None:
    table = np.random.default_rng(users).random((7, users)).round(1)

    def score(first: int, scores: np.ndarray) -> None:  # type: ignore[type-arg]
        scores += table[first : first + len(scores)]

    match = choose_greedily(7, users, score)
    for row, ranked in zip(table, match.ranking, strict=True):
        expected = sorted(range(users), key=lambda user: (-row[user], user))[:LISTED]
        assert ranked[: len(expected)].tolist() == expected
        assert (ranked[len(expected) :] == -1).all()
    assert np.array_equal(match.ranking[:, 0], match.best)


def test_who_was_given_stands_first_and_the_others_by_score() -> None:
    pairs = build_all_pairs(2, 3)
    ranked = rank_users(pairs, np.array([3.0, 2.0, 1.0, 1.0, 2.0, 3.0]), np.array([1, 2]))
    assert ranked[:, :4].tolist() == [[1, 0, 2, -1], [2, 1, 0, -1]]
    few = CandidatePairs(np.array([0, 1, 1]), np.array([2], np.int32), 3)
    assert rank_users(few, np.array([1.0]), np.array([0, 1]))[:, :3].tolist() == [[0, 2, -1], [1, -1, -1]]


@pytest.mark.slow
def test_every_attack_answers_what_it_ranks_first() -> None:
    reference, original = simulate(users=15, days=4, seed=1).split_days(2)
    release = pseudonymise(ObfuscatedTraces.from_traces(original), seed=1)
    team = Ensemble(make_attacks([*NAMES, "VisitProb-T"])).fit(reference)
    answered = {str(attack): answer for attack, answer in team.answers(release.anonymized, seed=2)}
    ranked = {str(attack): found for attack, found in team.rankings(release.anonymized, seed=2)}
    assert list(ranked) == NAMES
    for name, found in ranked.items():
        first = reference.user_ids[np.asarray(found)[:, 0]]
        assert first.tolist() == answered[name].user_ids.tolist()  # type: ignore[union-attr]
