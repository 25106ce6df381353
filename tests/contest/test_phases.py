"""One function of schedule and time answers every phase question."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.contest import Gate, Phase, Schedule, phase_at
from tracearena.errors import ParameterError

MILLISECOND = timedelta(milliseconds=1)
DAY = timedelta(days=1)
START = datetime(2026, 5, 1, tzinfo=UTC)
TIMES = {
    "anonymization_begin": START + 7 * DAY,
    "anonymization_end": START + 14 * DAY,
    "attack_begin": START + 15 * DAY,
    "attack_end": START + 22 * DAY,
    "results_begin": START + 23 * DAY,
}
SCHEDULE = Schedule(**TIMES)


@pytest.mark.parametrize(
    ("day", "phase"),
    [
        (-1, None),
        (6, None),
        (7, Phase.ANONYMIZATION),
        (14, None),
        (15, Phase.ATTACK),
        (22, None),
        (23, Phase.RESULTS),
        (9999, Phase.RESULTS),
    ],
)
def test_each_day_has_its_phase(day: int, phase: Phase | None) -> None:
    assert phase_at(SCHEDULE, START + day * DAY).phase is phase


@pytest.mark.parametrize(
    ("gate", "name"),
    [("obfuscated", "anonymization"), ("attacks", "attack")],
)
def test_one_millisecond_before_the_end_is_in_and_the_end_is_late(gate: str, name: str) -> None:
    begin, end = TIMES[f"{name}_begin"], TIMES[f"{name}_end"]
    assert getattr(phase_at(SCHEDULE, begin - MILLISECOND), gate) is Gate.EARLY
    assert getattr(phase_at(SCHEDULE, begin), gate) is Gate.OPEN
    assert getattr(phase_at(SCHEDULE, end - MILLISECOND), gate) is Gate.OPEN
    assert getattr(phase_at(SCHEDULE, end - timedelta(microseconds=1)), gate) is Gate.OPEN
    assert getattr(phase_at(SCHEDULE, end), gate) is Gate.LATE


def test_the_time_left_counts_to_the_next_change() -> None:
    assert phase_at(SCHEDULE, START + 13.5 * DAY).time_left == DAY / 2
    assert phase_at(SCHEDULE, START + 14.75 * DAY).next_change == TIMES["attack_begin"]
    assert phase_at(SCHEDULE, START).time_left == 7 * DAY
    assert phase_at(SCHEDULE, TIMES["results_begin"]).time_left is None


@given(st.integers(-30 * 86_400_000, 60 * 86_400_000))
def test_at_most_one_gate_is_open_and_it_is_that_of_the_phase(milliseconds: int) -> None:
    answer = phase_at(SCHEDULE, START + milliseconds * MILLISECOND)
    gates = {
        Phase.ANONYMIZATION: answer.obfuscated,
        Phase.ATTACK: answer.attacks,
    }
    opened = [phase for phase, gate in gates.items() if gate is Gate.OPEN]
    assert opened == ([answer.phase] if answer.phase in gates else [])


@given(st.integers(-14, 14), st.integers(-5, 30))
def test_the_same_moment_in_another_time_zone_gets_the_same_answer(hours: int, day: int) -> None:
    moment = START + day * DAY
    assert phase_at(SCHEDULE, moment.astimezone(timezone(timedelta(hours=hours)))) == phase_at(
        SCHEDULE, moment
    )


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"time = .* with its time zone"):
        phase_at(SCHEDULE, datetime(2026, 5, 1))
    with pytest.raises(ParameterError, match="attack_end"):
        Schedule(**TIMES | {"attack_end": datetime(2026, 5, 22)})


def test_phases_follow_each_other() -> None:
    with pytest.raises(ParameterError, match=r"attack_begin = .* at or after anonymization_end"):
        Schedule(**TIMES | {"attack_begin": TIMES["anonymization_end"] - MILLISECOND})
    with pytest.raises(ParameterError, match=r"attack_end = .* must be after attack_begin"):
        Schedule(**TIMES | {"attack_end": TIMES["attack_begin"]})


def test_a_schedule_survives_json() -> None:
    assert Schedule.from_dict(json.loads(json.dumps(SCHEDULE.to_dict()))) == SCHEDULE


@pytest.mark.parametrize("value", ["tomorrow", "2026-05-01", "2026-05-01T00:00", 5, None])
def test_a_text_that_is_no_moment_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match=r"attack_begin = .* with its time zone"):
        Schedule.from_dict(SCHEDULE.to_dict() | {"attack_begin": value})


def test_missing_and_unknown_points_are_named() -> None:
    points = SCHEDULE.to_dict() | {"lunch": "2026-05-01T12:00Z"}
    del points["attack_end"]
    with pytest.raises(ParameterError, match="missing or unknown: attack_end, lunch"):
        Schedule.from_dict(points)


def test_an_answer_is_plain_values() -> None:
    assert json.loads(json.dumps(phase_at(SCHEDULE, START + 8 * DAY).to_dict())) == {
        "phase": "anonymization",
        "obfuscated": "open",
        "attacks": "early",
        "next_change": "2026-05-15T00:00:00+00:00",
        "time_left_s": 6 * 86_400.0,
    }


def test_weeks_begin_at_once_with_a_pause_before_the_attacks_and_before_the_results() -> None:
    made = Schedule.weeks(START, anonymization_days=2, attack_days=0.5, pause_hours=6)
    assert phase_at(made, START).obfuscated is Gate.OPEN
    assert phase_at(made, START + 2 * DAY).phase is None
    assert phase_at(made, START + 2.25 * DAY).attacks is Gate.OPEN
    assert phase_at(made, START + 2.75 * DAY).phase is None
    assert phase_at(made, START + 3 * DAY).phase is Phase.RESULTS
    usual = Schedule.weeks(START)
    assert usual.attack_begin - usual.anonymization_end == usual.results_begin - usual.attack_end == DAY / 24
    none = Schedule.weeks(START, pause_hours=0)
    assert none.anonymization_end == none.attack_begin
    assert none.attack_end == none.results_begin


@pytest.mark.parametrize("days", [0, -1, float("nan"), 1e9, "7"])
def test_weeks_of_no_length_are_refused(days: float) -> None:
    with pytest.raises(ParameterError, match="attack_days"):
        Schedule.weeks(START, attack_days=days)
    with pytest.raises(ParameterError, match="begin"):
        Schedule.weeks(START.replace(tzinfo=None))


def test_a_moved_end_takes_the_next_begin_with_it_where_there_is_no_pause() -> None:
    made = Schedule.weeks(START, pause_hours=0)
    later = made.with_time("attack_end", START + 15 * DAY)
    assert later.attack_end == later.results_begin == START + 15 * DAY
    paused = made.with_time("attack_begin", START + 8 * DAY)
    assert paused.anonymization_end == made.anonymization_end
    again = paused.with_time("anonymization_end", START + 7.5 * DAY)
    assert again.attack_begin == START + 8 * DAY
    beyond = paused.with_time("anonymization_end", START + 9 * DAY)
    assert beyond.attack_begin == START + 10 * DAY, "a pause of a day stays one"


def test_a_schedule_is_not_moved_out_of_order() -> None:
    made = Schedule.weeks(START)
    with pytest.raises(ParameterError, match="attack_end"):
        made.with_time("attack_end", START)
    with pytest.raises(ParameterError, match="anonymization_begin"):
        made.with_time("anonymization_begin", START + 30 * DAY)
    with pytest.raises(ParameterError, match="point"):
        made.with_time("lunch", START)
    with pytest.raises(ParameterError, match="time zone"):
        made.with_time("attack_end", START.replace(tzinfo=None))
