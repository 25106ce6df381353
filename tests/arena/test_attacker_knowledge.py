"""Attackers who know the training traces, and attackers who know other days."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.arena import attack_synthetic
from tracearena.cities import simulate
from tracearena.errors import DataError
from tracearena.synthesis import SGD
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def halves() -> tuple[Traces, Traces]:
    before, after = simulate(users=80, days=2, seed=3).split_days(1)
    return before, after


def test_copies_are_found_with_either_knowledge(halves: tuple[Traces, Traces]) -> None:
    before, training = (one.take_users(np.arange(40)) for one in halves)
    strangers = [one.take_users(np.arange(40, 80)) for one in halves]
    everything = attack_synthetic(training, training, strangers[1], attacks=("VisitProb-R",), seed=1)
    other_days = attack_synthetic(training, before, strangers[0], attacks=("VisitProb-R",), seed=1)
    assert everything.reidentification_rate > 0.9
    assert other_days.guess < other_days.reidentification_rate <= everything.reidentification_rate
    assert other_days.linked["VisitProb-R"] > 0.3
    assert everything.membership_advantage is not None
    assert everything.membership_advantage > 0.8


def test_one_chain_for_all_betrays_nobody(halves: tuple[Traces, Traces]) -> None:
    before, training = halves
    made = SGD().fit(training).synthesize(2, seed=1)
    found = attack_synthetic(made, before, attacks=("VisitProb-R",), seed=1)
    assert found.membership_advantage is None
    assert found.reidentification_rate < 0.15


def test_unknown_users_are_refused(halves: tuple[Traces, Traces]) -> None:
    before, training = halves
    with pytest.raises(DataError, match="their ids differ"):
        attack_synthetic(training, before.take_users(np.arange(10)))
