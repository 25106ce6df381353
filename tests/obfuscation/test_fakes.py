"""Hiding among fakes: what is sent."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.algorithms import catalogue
from tracearena.engine import seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.obfuscation import FakeTraces
from tracearena.obfuscation.fakes import METHODS, make_fake_days
from tracearena.traces import DELETED, Clock, Places, Traces


@pytest.mark.parametrize("method", METHODS)
def test_the_real_place_is_always_sent(make_walks, method):
    walks = make_walks(users=8, days=2)
    sent = FakeTraces(method=method, fakes=3, classes=6).transform(walks, seed=1)
    for event, cell in enumerate(sent.cells()):
        assert walks.place_index[event] in cell
        assert 1 <= len(cell) <= 4
        assert cell == sorted(set(cell))


def test_exposure_is_the_share_that_is_sent(make_walks):
    walks = make_walks(users=50, days=4)
    sent = FakeTraces(method="uniform", fakes=2, exposure=0.3).transform(walks, seed=1)
    assert (sent.codes != DELETED).mean() == pytest.approx(0.3, abs=0.03)


def test_fakes_come_from_the_training_traces(make_walks):
    walks = make_walks(users=6, days=2)
    training, original = walks.split_days(1)
    sent = FakeTraces(method="own-walk", fakes=5, training=training).transform(original, seed=1)
    visited = [set(row) for row in training.dense().tolist()]
    for event, cell in enumerate(sent.cells()):
        user = original.user_index[event]
        assert set(cell) - {original.place_index[event]} <= visited[user]


def test_walks_follow_moves_and_single_instants_follow_visits(make_walks):
    walks = make_walks(users=200, days=1, side=4)
    users = np.arange(200)
    share = np.bincount(walks.place_index, minlength=16) / len(walks)
    for method in ("aggregate", "walk"):
        days = make_fake_days(method, walks, users, 5, seed_sequence(1))
        drawn = np.bincount(days.ravel(), minlength=16) / days.size
        assert np.abs(drawn - share).sum() / 2 < 0.05, method
    even = make_fake_days("uniform", walks, users, 5, seed_sequence(1))
    assert np.allclose(np.bincount(even.ravel(), minlength=16) / even.size, 1 / 16, atol=0.01)


def test_fakes_of_sglt_are_never_where_their_own_seed_is(make_walks):
    walks = make_walks(users=30, days=1)
    days = make_fake_days("sglt", walks, np.arange(30), 4, seed_sequence(1), classes=8)
    own = (days == walks.dense()[:, None, :]).mean()
    assert own < 0.02  # only fakes borrowed from another seed can meet her


def test_where_every_fake_would_say_where_its_seed_was_there_is_none():
    stay = Traces.from_dense([[0] * 24, [0] * 24], Places([0.0], [0.0]), Clock(instants_per_day=24))
    assert (
        make_fake_days("sglt", stay, np.arange(2), 3, seed_sequence(1), classes=1).tolist()
        == [[[-1] * 24] * 3] * 2
    )


def test_its_name_says_what_it_does():
    assert str(FakeTraces(method="walk", fakes=5, exposure=0.3)) == "Fakes(walk,5,0.3)"
    assert catalogue.create("Fakes(sglt,20)") == FakeTraces(fakes=20)


@pytest.mark.parametrize(
    "wrong", [{"method": "magic"}, {"fakes": 0}, {"exposure": 0}, {"exposure": 1.1}, {"classes": 0}]
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        FakeTraces(**wrong)


def test_people_without_training_traces_are_refused(make_walks):
    walks = make_walks(users=4)
    with pytest.raises(DataError, match="every user"):
        FakeTraces(method="uniform", training=walks.take_users([0, 1])).transform(walks, seed=1)
