"""The attacker of a location-based service, and what fakes do to him."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tracearena import cities
from tracearena.arena import hide_from_service, knowing_attacker, location_classes
from tracearena.attacks.viterbi import NOT_SENT, ViterbiTracking
from tracearena.errors import DataError
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.obfuscation.fakes import FakeTraces
from tracearena.traces import DELETED, Clock, ObfuscatedTraces, Places, PlaceSets, Traces


def test_the_tracker_finds_the_most_probable_path_through_the_sets(make_walks):
    walks = make_walks(users=3, days=1, side=4)
    rng = np.random.default_rng(2)
    few = walks.take_instants(0, 7)
    sets = PlaceSets.of([np.sort(rng.choice(16, 3, replace=False)) for _ in range(few.n_events)])
    codes = -2 - np.arange(few.n_events)
    codes[[1, 2, 10]] = DELETED
    sent = ObfuscatedTraces.like(few, codes, sets)
    attacker = ViterbiTracking().fit(walks)
    guess = attacker.track(sent)
    assert (guess[[1, 2, 10]] == NOT_SENT).all()
    mobility = AggregateMobility.of(MobilityProfiles.of(walks), walks.places)
    for user in range(3):
        events = [e for e in range(7 * user, 7 * user + 7) if codes[e] != DELETED]

        def probability(path, events=events):
            total = np.log(attacker.visits_[path[0]])
            for (a, b), (x, y) in zip(itertools.pairwise(path), itertools.pairwise(events), strict=True):
                total += np.log(np.linalg.matrix_power(mobility.moves[0], y - x)[a, b])
            return total

        best = max(itertools.product(*[sent.cell(event) for event in events]), key=probability)
        assert probability(guess[events]) == pytest.approx(probability(best), abs=1e-4)


def test_without_fakes_nothing_is_hidden(make_walks):
    walks = make_walks(users=5)
    guess = ViterbiTracking().fit(walks).track(ObfuscatedTraces.from_traces(walks))
    assert np.array_equal(guess, walks.place_index)


def test_nothing_sent_is_an_error(make_walks):
    walks = make_walks(users=1, days=1)
    with pytest.raises(DataError, match="exposure"):
        hide_from_service(
            walks, walks, FakeTraces(method="uniform", exposure=1e-9), location_classes(walks, 2), seed=1
        )


def test_overheads_count_places_and_classes(make_walks):
    walks = make_walks(users=20)
    classes = location_classes(walks, 1, seed=1)
    result = hide_from_service(walks, walks, FakeTraces(method="uniform", fakes=2), classes, seed=1)
    assert 2.8 < result.distinct_places <= 3
    assert result.distinct_classes == 1
    assert result.exposed == walks.n_events
    assert 0 <= result.privacy <= 1


@pytest.mark.slow
def test_fakes_that_mean_something_hide_better_and_cost_less():
    training, original = cities.simulate(100, 2, seed=2).split_days(1)
    classes = location_classes(training, 50, seed=1)
    attacker = ViterbiTracking().fit(training)
    found = {
        method: hide_from_service(
            training,
            original,
            FakeTraces(method=method, fakes=10, exposure=0.3, classes=50),
            classes,
            attacker=attacker,
            seed=1,
        )
        for method in ("sglt", "uniform", "aggregate", "walk")
    }
    ours = found.pop("sglt")
    for other in found.values():
        assert ours.privacy > other.privacy + 0.3
        assert ours.distinct_places < other.distinct_places
        assert ours.distinct_classes < other.distinct_classes


def test_who_knows_how_fakes_move_takes_the_path_that_fakes_do_not():
    places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
    people = Traces.from_dense([[1] * 4, [1] * 4, [0] * 4], places, clock)
    fakes = Traces.from_dense([[1] * 4] * 3, places, clock)
    sent = ObfuscatedTraces.like(people, np.full(12, -2), PlaceSets.of([[0, 1]]))
    assert (ViterbiTracking().fit(people).track(sent) == 1).all()
    assert (ViterbiTracking().fit(people, fakes).track(sent) == 0).all()


@pytest.mark.long
def test_semantic_fakes_hide_less_from_who_knows_their_generator():
    training, original = cities.simulate(100, 2, seed=2).split_days(1)
    classes = location_classes(training, 50, seed=1)
    defence = FakeTraces(method="sglt", fakes=10, exposure=0.3, classes=50)
    plain, knowing = (
        hide_from_service(training, original, defence, classes, knows=knows, seed=1)
        for knows in ("population", "generator")
    )
    assert (plain.attacker, knowing.attacker) == ("population", "generator")
    assert (plain.distinct_places, plain.exposed) == (knowing.distinct_places, knowing.exposed)
    assert knowing.privacy < plain.privacy - 0.1
    given = knowing_attacker(training, defence, seed=5)
    again = hide_from_service(training, original, defence, classes, attacker=given, seed=1)
    assert again.privacy == pytest.approx(knowing.privacy, abs=0.05)
