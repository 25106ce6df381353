import pytest

from tracearena.errors import ParameterError
from tracearena.traces import Clock

CONTEST = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)


def test_contest_days_run_from_eight_to_half_past_five() -> None:
    assert CONTEST.label(0) == CONTEST.label(20) == "08:00"
    assert CONTEST.label(19) == "17:30"
    assert CONTEST.day_of([19, 20, 79]).tolist() == [0, 1, 3]
    assert CONTEST.time_of_day([19, 20, 79]).tolist() == [19, 0, 19]


def test_slots_are_the_same_every_day() -> None:
    hourly = Clock(instants_per_day=24, instants_per_slot=2)
    assert hourly.slots_per_day == 12
    assert hourly.slot_of([0, 1, 2, 23, 24]).tolist() == [0, 0, 1, 11, 0]


def test_the_last_slot_may_be_shorter() -> None:
    assert Clock(instants_per_day=5, instants_per_slot=2).slots_per_day == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"instants_per_day": 0},
        {"instants_per_day": 2.5},
        {"instants_per_day": 25},
        {"instants_per_day": 24, "start_s": -1},
        {"instants_per_day": 24, "start_s": 7200},
        {"instants_per_day": 24, "interval_s": 0},
        {"instants_per_day": 24, "instants_per_slot": 0},
    ],
)
def test_days_that_cannot_be_are_refused(settings: dict) -> None:
    with pytest.raises(ParameterError):
        Clock(**settings)


def test_seconds_show_only_where_there_are_any() -> None:
    assert Clock(instants_per_day=3, start_s=5, interval_s=20).label(1) == "00:00:25"
