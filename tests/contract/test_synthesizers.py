"""What every synthesizer keeps to."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tracearena.algorithms import catalogue
from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, Places, Traces

SPECS = [
    "PPMTF(2,20,iterations=4)",
    "PPMTF(2,20,iterations=4,share=false)",
    "SGD",
    "SGD(2)",
    "SGLT(4)",
    "SGLT(privacy_tests=false)",
    "Uniform",
    "Training",
]


@pytest.fixture(params=SPECS)
def synthesizer(request):
    return catalogue.create(request.param, "synthesizer")


def test_a_seed_fixes_the_traces_and_the_input_stays(synthesizer, make_walks):
    walks = make_walks(missing=0.2)
    before = walks.place_index.copy(), walks.instants.copy()
    first = synthesizer.fit(walks, seed=1).synthesize(2, seed=2)
    again = synthesizer.fit(walks, seed=1).synthesize(2, seed=2)
    assert first == again
    assert np.array_equal(walks.place_index, before[0])
    assert np.array_equal(walks.instants, before[1])
    assert np.array_equal(first.user_ids, walks.user_ids)
    assert first.places == walks.places


def test_one_user_with_one_event_is_enough(synthesizer):
    places, clock = Places([35.0], [139.0]), Clock(instants_per_day=3)
    single = Traces.from_events(["solo"], [1], [0], places, clock)
    made = synthesizer.fit(single, seed=1).synthesize(seed=1)
    assert made.user_ids.tolist() == ["solo"]
    assert (made.place_index == 0).all()


def test_no_events_and_no_traces_are_refused(synthesizer, make_walks):
    walks = make_walks()
    with pytest.raises(DataError):
        synthesizer.fit(walks.keep(np.zeros(len(walks), bool)))
    with pytest.raises(ParameterError, match="traces_per_user"):
        synthesizer.fit(walks, seed=1).synthesize(0)


def test_a_synthesizer_is_named_by_its_parameters(synthesizer):
    assert dataclasses.asdict(catalogue.create(str(synthesizer))) == dataclasses.asdict(synthesizer)
