"""Slots as any sets of instants: unequal lengths, days of the week, the paper's {1, 2, 25, 26}."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import ParameterError
from tracearena.io import ppmtf
from tracearena.metrics import population, tm_tv, tp_tv
from tracearena.synthesis import PPMTF, SGD
from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability
from tracearena.traces import Clock, Places, SlotPlan, Traces

HOURLY = Clock(instants_per_day=24)
SUNDAY = date(2012, 4, 1)
WEEK = "weekday 0-12,12-24; weekend 0-24"


def test_the_slots_of_the_paper() -> None:
    """[ppmtf] section 2.1: instants an hour apart, and the average of two hours over two days."""
    pairs = ",".join(f"{{{2 * s + 1},{2 * s + 2},{2 * s + 25},{2 * s + 26}}}" for s in range(12))
    clock = SlotPlan.parse(pairs).on(HOURLY)
    assert (clock.slots_per_day, clock.days_per_cycle) == (12, 2)
    regular = replace(HOURLY, instants_per_slot=2)
    hours = np.arange(96)
    assert clock.slot_of(hours).tolist() == regular.slot_of(hours).tolist()
    assert clock.within_slot(hours).tolist() == regular.within_slot(hours).tolist()


def test_slots_of_unequal_lengths() -> None:
    clock = SlotPlan.parse("22-24+0-6, 6-9:30, 9:30-22").on(Clock(instants_per_day=48, interval_s=1800))
    slots = clock.slot_of(np.arange(48))
    assert np.bincount(slots).tolist() == [16, 7, 25]
    assert slots[[0, 12, 19, 47]].tolist() == [0, 1, 2, 0]
    assert clock.slot_of([48, 49]).tolist() == [0, 0]


def test_weekdays_and_weekends_go_by_the_date() -> None:
    clock = SlotPlan.parse(WEEK).on(replace(HOURLY, first_day=SUNDAY))
    assert clock.days_per_cycle == 7
    noon = clock.slot_of(24 * np.arange(8) + 12)
    assert noon.tolist() == [2, 1, 1, 1, 1, 1, 2, 2]
    assert clock.slot_of(24 * np.arange(2)).tolist() == [2, 0]


def test_a_slot_outside_of_the_day_has_no_number() -> None:
    day = Clock(instants_per_day=10, start_s=8 * 3600)
    assert SlotPlan.parse("0-8, 8-12, 12-24").on(day).slots == (0, 0, 0, 0, 1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "such as"),
        ("0-25", "not a time span"),
        ("6-3", "not a time span"),
        ("0-6", "06:00 on mon is in no slot"),
        ("0-12,11-24", "two slots"),
        ("weekday 0-24", "sat, sun has no slots"),
        ("weekday 0-24; mon 0-24; weekend 0-24", "mon is given twice"),
        ("holiday 0-24", "'holiday' is unknown; it must be one of"),
        ("{1,2}", "instant 3 is in no slot"),
        ("{1,1}", "in two slots"),
        ("{0}", "counted from 1"),
        ("{}", "such as"),
        ("{ }", "has no instants"),
    ],
)
def test_what_is_no_plan_is_told(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        SlotPlan.parse(text).on(HOURLY)


def test_days_of_the_week_need_dates() -> None:
    with pytest.raises(ParameterError, match="need dates"):
        SlotPlan.parse(WEEK).on(HOURLY)


@pytest.mark.parametrize(
    "wrong", [{"slots": (0, 1)}, {"slots": (0, 2) * 12}, {"slots": (0,) * 24, "instants_per_slot": 2}]
)
def test_a_clock_refuses_other_slots(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Clock(instants_per_day=24, **wrong)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def commuters() -> Traces:
    """Two weeks of people who are at place 0 or 1 on weekdays and at place 2 on weekends."""
    clock = Clock(instants_per_day=4, interval_s=6 * 3600, first_day=SUNDAY)
    day = np.arange(14)
    weekend = (day + 6) % 7 >= 5
    days = np.where(weekend[:, None], 2, [0, 0, 1, 1])
    return Traces.from_dense(np.tile(days.ravel(), (30, 1)), Places([0] * 3, range(3)), clock)


def test_a_model_keeps_weekends_apart(commuters: Traces) -> None:
    weekly = commuters.with_slots(WEEK)
    model = PPMTF(factors=4, iterations=60).fit(weekly, seed=1)
    made = model.synthesize(14, seed=2)
    assert made.clock.days_per_cycle == 7
    found, daily = (
        population(made),
        population(PPMTF(factors=4, iterations=60).fit(commuters, seed=1).synthesize(14, seed=2)),
    )
    assert found[2, 2] > 0.8
    assert found[0, 2] < 0.2
    assert daily[0, 2] > 0.2
    assert tp_tv(weekly, made, by_day=True) < 0.2
    assert tp_tv(weekly, weekly, by_day=True) == tm_tv(weekly, weekly, by_day=True) == 0


def test_sgd_keeps_weekends_apart(commuters: Traces) -> None:
    made = SGD().fit(commuters.with_slots(WEEK)).synthesize(7, seed=1)
    assert made.n_instants == 28
    again = SGD().fit(commuters).synthesize(7, seed=1)
    assert SGD().fit(commuters.with_slots("0-6,6-12,12-18,18-24")).synthesize(7, seed=1).dense().tolist() == (
        again.dense().tolist()
    )


def test_every_day_is_weighed_by_its_own_slots(commuters: Traces) -> None:
    model = PPMTF(factors=3, iterations=5).fit(commuters.with_slots(WEEK), seed=1)
    made = model.synthesize(7, seed=2)
    whole = model.log_likelihoods(made).reshape(30, 7, 4)
    table, users = model.days_of(made)
    sunday = replace(model.trace_model_, slots_of_days=None)
    alone = sunday.log_likelihoods(table.reshape(30, 7, 4)[:, 0], users.reshape(30, 7)[:, 0])
    assert np.allclose(whole[:, 0], alone)
    assert not np.allclose(whole[:, 1], sunday.log_likelihoods(table.reshape(30, 7, 4)[:, 1], users[::7]))
    assert len(measure_deniability(model, made, DeniabilityTest(k=2)).k_prime) == 30 * 7


def test_equal_slots_in_words_change_nothing(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=20, days=2)
    per_day = walks.clock.instants_per_day
    words = ",".join(f"{{{at + 1}}}" for at in range(per_day))
    one, other = (
        PPMTF(factors=3, iterations=3).fit(traces, seed=1) for traces in (walks, walks.with_slots(words))
    )
    assert one.synthesize(2, seed=2).dense().tobytes() == other.synthesize(2, seed=2).dense().tobytes()


def test_synthetic_files_and_models_keep_the_slots(commuters: Traces, tmp_path: Path) -> None:
    model = PPMTF(factors=2, iterations=2).fit(commuters.with_slots(WEEK), seed=1)
    made = model.synthesize(7, seed=2)
    ppmtf.write_synthetic(made, tmp_path / "made.csv")
    again = ppmtf.read_synthetic(tmp_path / "made.csv", commuters.places, made.clock).traces
    assert np.array_equal(again.dense(), made.dense())
    model.save(tmp_path / "model.npz")
    assert PPMTF.load(tmp_path / "model.npz").clock_ == model.clock_


def test_virtual_users_have_weekends_but_no_homes(commuters: Traces) -> None:
    model = PPMTF(factors=2, iterations=2).fit(commuters.with_slots(WEEK), seed=1)
    assert model.sample_users(3, 8, seed=1).n_instants == 32
    with pytest.raises(ParameterError, match="homes need slots of equal length"):
        model.sample_users(3, 8, homes=True, seed=1)
