"""People of a contest walk in five-minute steps at the right pace, and are seen by half-hours."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena import contest
from tracearena.contest.virtual_days import ShortStepModel, ShortWalk, solve_pace
from tracearena.errors import ParameterError
from tracearena.io.pwscup import PWS_CLOCK
from tracearena.synthesis import PPMTF
from tracearena.traces import Clock, Grid, Places, Traces

PLACES = Places.of_grid(Grid(rows=4, columns=4, south=34.6, west=135.4, north=34.7, east=135.5))
HALF_HOURS = Clock(instants_per_day=48, interval_s=1800)
HOURS = Clock(instants_per_day=24)
FROM_1 = Clock(instants_per_day=10, start_s=3600)
FROM_7 = Clock(instants_per_day=132, start_s=7 * 3600, interval_s=300)


def wanderers(clock: Clock, stay: float = 0.7, users: int = 80, days: int = 3) -> Traces:
    rng = np.random.default_rng(1)
    length = days * clock.instants_per_day
    moves = rng.random((users, length)) >= stay
    steps = moves * rng.choice([1, 4, 15], (users, length))
    return Traces.from_dense((rng.integers(0, 16, (users, 1)) + np.cumsum(steps, axis=1)) % 16, PLACES, clock)


@pytest.fixture(scope="module")
def walking() -> ShortStepModel:
    course = ShortWalk.of(wanderers(PWS_CLOCK))
    model = PPMTF(factors=4, iterations=10, zeros="all").fit(course.training(), seed=1)
    return course.build_model(model, homes=True, only_seen=True)


@pytest.mark.parametrize(
    ("clock", "steps", "handed", "before", "withheld", "invented"),
    [
        (PWS_CLOCK, 6, PWS_CLOCK, 24, 24, "06:00 to 08:00"),
        (HALF_HOURS, 6, PWS_CLOCK, 0, 24, None),
        (FROM_1, 12, FROM_1, 12, 12, "00:00 to 01:00"),
        (HOURS, 12, HOURS, 0, 0, None),
        (FROM_7, 1, PWS_CLOCK, 12, 24, "06:00 to 07:00"),
    ],
)  # fmt: skip
def test_hours_are_invented_where_home_time_has_none(
    clock, steps, handed, before, withheld, invented
) -> None:
    course = ShortWalk.of(wanderers(clock))
    assert (course.steps, course.before, course.lead_steps, course.extra_hours) == (
        steps,
        before,
        withheld,
        invented,
    )
    assert (course.handed.start_s, course.handed.instants_per_day) == (
        handed.start_s,
        handed.instants_per_day,
    )
    assert course.step_s == 300


def test_learned_is_every_five_minutes_in_hours() -> None:
    training = ShortWalk.of(wanderers(PWS_CLOCK)).training()
    assert (training.clock.interval_s, training.clock.slots_per_day) == (300, 10)
    whole_days = ShortWalk.of(wanderers(HALF_HOURS)).training()
    assert (whole_days.clock.start_s, whole_days.clock.slots_per_day) == (6 * 3600, 12)


@pytest.mark.slow
def test_virtual_users_stay_as_often_as_people(walking: ShortStepModel) -> None:
    assert 0 < walking.walk.pace < 1
    made = walking.sample_users(1_500, 4, homes=True, only_seen=True, seed=9)
    assert made.clock == PWS_CLOCK
    table = made.dense().reshape(1_500, 4, 20)
    stays = (table[:, :, 1:] == table[:, :, :-1]).mean()
    assert stays == pytest.approx(walking.course.compute_stay_share(), abs=0.02)
    assert walking.stays == pytest.approx(walking.course.compute_stay_share(), abs=0.002)


def test_what_is_handed_out_is_a_part_of_the_walk(walking: ShortStepModel) -> None:
    made = walking.sample_users(50, 3, homes=True, only_seen=True, seed=2).dense().reshape(50, 3, 20)
    whole = walking.model.virtual_users(50, homes=True, only_seen=True, walk=walking.walk, seed=2)
    table = whole.draw(3)
    assert table.shape == (50, 3, 144)
    assert np.array_equal(made, table[:, :, 24::6])
    assert (table[:, :, :24] == whole.homes[:, None, None]).mean() > 0.9


def test_it_makes_the_traces_of_a_team_whatever_the_threads(walking: ShortStepModel) -> None:
    plan = contest.ContestPlan(teams=1, users=70, days=4)
    one, three = (on_threads(n, lambda: contest.team_traces(walking, plan, 5)) for n in (1, 3))
    assert [part.span for part in one] == [(0, 40), (40, 80)]
    assert all(np.array_equal(a.place_index, b.place_index) for a, b in zip(one, three, strict=True))


def test_the_pace_solves_the_binomial_mixture() -> None:
    same = [1.0, 0.6, 0.45, 0.4, 0.36, 0.33, 0.3]
    for stays in (0.35, 0.5, 0.9):
        pace = solve_pace(same, stays)
        shares = [comb(6, k) * pace**k * (1 - pace) ** (6 - k) for k in range(7)]
        assert np.dot(shares, same) == pytest.approx(stays, abs=1e-5)
    assert solve_pace(same, 0.2) == 1.0
    assert 0 < solve_pace(same, 1.0) < 1e-5


def test_steps_must_lead_from_instant_to_instant() -> None:
    with pytest.raises(ParameterError, match="1800 s: use a divisor"):
        ShortWalk.of(wanderers(PWS_CLOCK), 420)
