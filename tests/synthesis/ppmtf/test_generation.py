"""The walk of virtual users through a day of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena.engine import seed_sequence
from tracearena.errors import ParameterError
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.generation import DayWalk, TraceModel, VirtualUserHabits
from tracearena.synthesis.ppmtf.training import SeenCells
from tracearena.traces import Clock, Places, Traces

N, SLOTS = 40, 4


@pytest.fixture(scope="module")
def model() -> TraceModel:
    """Some expected counts are negative, so that unseen and unlikely places are drawn as well."""
    rng = np.random.default_rng(2)
    a, b, c, d = (rng.normal(0.4, 0.6, size=(n, 3)) for n in (9, N, N, SLOTS))
    return TraceModel(a, b, c, a, b, d, np.repeat(np.arange(SLOTS), 5), 1e-3)


@pytest.fixture(scope="module")
def seen() -> SeenCells:
    table = np.random.default_rng(5).integers(0, N, size=(12, SLOTS * 5))
    clock = Clock(instants_per_day=SLOTS * 5, instants_per_slot=5)
    return SeenCells.of(Traces.from_dense(table, Places([0] * N, range(N)), clock))


@pytest.mark.parametrize("only_seen", [True, False])
def test_rows_of_seen_places_make_the_same_walk_as_whole_rows(model, seen, only_seen: bool) -> None:
    homes = np.arange(9, dtype=np.int32)
    habits = VirtualUserHabits(
        homes=homes, home_weight=np.array([20.0, 0, 0, 20.0]), seen=seen if only_seen else None
    )
    root = seed_sequence(4)
    whole = model.draw(30, root, habits=habits)
    sparse = model.draw(30, root, habits=replace(habits, pace=1.0))
    assert (whole == sparse).mean() > 0.999


def test_a_slow_pace_leaves_people_where_they_are_but_for_home_time() -> None:
    rng = np.random.default_rng(1)
    a, b, c, d = (rng.uniform(0.5, 1.5, size=(n, 3)) for n in (9, N, N, SLOTS))
    model = TraceModel(a, b, c, a, b, d, np.repeat(np.arange(SLOTS), 5))

    def stays(pace: float, weight: list[float]) -> np.ndarray:
        habits = VirtualUserHabits(homes=np.zeros(9, np.int32), home_weight=np.array(weight), pace=pace)
        table = model.draw(400, seed_sequence(4), habits=habits)
        return np.asarray((table[:, :, 1:] == table[:, :, :-1]).mean(axis=(0, 1)))

    fast, slow = stays(1.0, [0, 0, 0, 0]), stays(0.25, [0, 0, 0, 0])
    assert 1 - slow[0] == pytest.approx(0.25 * (1 - fast[0]), abs=0.03)
    assert slow[0] > fast[0] + 0.1
    at_home_time = slice(14, 19)
    going_home = stays(0.01, [0, 0, 0, 20])[at_home_time]
    assert stays(0.01, [0, 0, 0, 0])[at_home_time].min() > 0.98
    assert going_home[0] < 0.95


def test_the_hours_before_are_those_of_the_first_slot(model, seen) -> None:
    walk = DayWalk(before=6, home=6)
    stretched, cells, home = walk.stretch_model(model, seen)
    learned, at_home = walk.order(model.slot_of)
    assert len(learned) == 26
    assert home[stretched.slot_of].tolist() == at_home.tolist()
    assert at_home.tolist() == [True] * 6 + [False] * 14 + [True] * 6
    assert np.array_equal(stretched.slots[stretched.slot_of], model.slots[learned])
    assert np.array_equal(cells.visit_table()[stretched.slot_of], seen.visit_table()[learned])
    assert np.array_equal(cells.moves, seen.moves)


def test_people_are_at_home_in_home_time(checkins: Traces) -> None:
    trained = PPMTF(factors=3, alpha=20, iterations=6, zero_transitions=20, zero_visits=20).fit(
        checkins, seed=7
    )
    walk = DayWalk(before=4, home=4, pace=0.5)

    def made() -> np.ndarray:
        return trained.virtual_users(70, homes=True, only_seen=True, walk=walk, seed=3).draw(5)

    table = made()
    assert table.shape == (70, 5, 28)
    homes = trained.virtual_users(70, homes=True, only_seen=True, walk=walk, seed=3).homes
    assert (table[:, :, :4] == homes[:, None, None]).mean() > 0.9
    assert np.array_equal(on_threads(3, made), table)


@pytest.mark.parametrize("bad", [{"pace": 0}, {"pace": 1.5}, {"before": -1}, {"home": 2.5}])
def test_a_walk_is_checked(bad) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        DayWalk(**({"before": 0, "home": 0} | bad))
