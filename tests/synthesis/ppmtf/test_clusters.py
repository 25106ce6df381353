"""Clusters of users: a column of each factor matrix, and who has most of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.io.ppmtf import read_parameters
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import cluster_features
from tracearena.traces import Clock, Places, Traces

SMALL = {"factors": 3, "alpha": 20, "iterations": 4, "zero_transitions": 20, "zero_visits": 20}


@pytest.mark.parametrize("zeros", ["sampled", "all"])
def test_columns_have_a_square_sum_of_one_and_keep_every_count(checkins: Traces, zeros):
    model = PPMTF(**SMALL, zeros=zeros).fit(checkins, seed=1)
    found = cluster_features(model, checkins, model.synthesize(seed=2))
    factors = model.visit_factors_
    for columns, matrix in (
        (found.places, factors.places),
        (found.next_places, factors.next_places),
        (found.slots, factors.slots),
    ):
        assert columns.shape == matrix.T.shape
        assert np.allclose((columns**2).sum(axis=1), 1)
    assert (found.slots.sum(axis=1) >= 0).all()
    for one, other in ((found.slots, factors.slots), (found.next_places, factors.next_places)):
        turned = np.sign(found.places[:, 0] * one[:, 0])
        assert np.array_equal(turned, np.sign(factors.places[0] * other[0]))


def test_the_most_distinct_cluster_is_farthest_from_everybody(checkins: Traces):
    model = PPMTF(**SMALL).fit(checkins, seed=1)
    found = cluster_features(model, checkins, model.synthesize(seed=2))
    distance = [float(np.abs(row - found.everybody).sum()) for row in found.populations.training]
    assert found.most_distinct(3).tolist() == sorted(range(3), key=lambda number: -distance[number])
    assert found.most_distinct(1).tolist() == [int(np.argmax(distance))]
    assert found.everybody.sum() == pytest.approx(1)


def test_two_kinds_of_people_are_two_clusters():
    """Half the people are at places 0 to 3 in the morning, half at places 4 to 7 in the evening."""
    rng = np.random.default_rng(1)
    early = np.where(np.arange(8) < 4, rng.integers(0, 4, (30, 10, 8)), -1)
    late = np.where(np.arange(8) < 4, -1, rng.integers(4, 8, (30, 10, 8)))
    table = np.concatenate([early, late]).reshape(60, 80)
    kinds = ["food/Bar"] * 4 + ["outdoors/Park"] * 2 + ["shop/Mall"] * 2
    places = Places(np.linspace(35, 36, 8), np.linspace(139, 140, 8), categories=kinds)
    training = Traces.from_dense(table, places, Clock(instants_per_day=8, instants_per_slot=4))
    model = PPMTF(factors=2, iterations=50).fit(training, seed=3)
    found = cluster_features(model, training, model.synthesize(20, seed=4), share=0.3)
    sides = [set((users >= 30).tolist()) for users in found.populations.users]
    assert sorted(sides, key=str) == [{False}, {True}]
    for side, where, when in zip(sides, found.places, found.slots, strict=True):
        assert set(np.argsort(-where)[:4].tolist()) == (set(range(4, 8)) if side == {True} else set(range(4)))
        assert int(np.argmax(when)) == (1 if side == {True} else 0)
    named = dict(zip(map(str, sides), found.names(places), strict=True))
    assert named["{False}"] == "food"
    assert set(named["{True}"].split(", ")) == {"outdoors", "shop"}
    assert [name in ("food", "outdoors", "shop") for name in found.names(places, 1)] == [True, True]
    with pytest.raises(DataError, match="categories"):
        found.names(Places(places.latitude, places.longitude))


def test_the_authors_own_clusters(tokyo: Path, tokyo_training: Traces):
    model = PPMTF.import_parameters(tokyo, tokyo_training)
    found = cluster_features(model, tokyo_training, tokyo_training)
    published = read_parameters(tokyo)
    members = np.argsort(-published.A[:, 5])[:50]
    assert set(found.populations.users[5].tolist()) == set(members.tolist())
    assert found.populations.total_variation.tolist() == [0] * 16
    assert np.allclose(np.abs(found.places[5]), np.abs(published.B[:, 5]) / np.linalg.norm(published.B[:, 5]))


def test_factors_that_are_not_shared_have_no_common_clusters(checkins: Traces):
    model = PPMTF(**SMALL, shared_factors=False).fit(checkins, seed=1)
    with pytest.raises(ParameterError, match="shared"):
        cluster_features(model, checkins, checkins)
