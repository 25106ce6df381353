"""Timeline, gauge and activity."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pages.svg.gallery import NOW, SCHEDULE, SVG, Picture, of_class, tree

from tracearena.contest import Rules, phase_at
from tracearena.errors import ParameterError
from tracearena.pages.html import VERMILION
from tracearena.pages.svg import activity_picture, gauge_picture, timeline_picture

MS = timedelta(milliseconds=1)


def now_at(picture: Picture) -> float:
    lines = [one for one in tree(picture).iter(f"{SVG}line") if one.get("stroke") == VERMILION]
    (x,) = {float(one.attrib["x1"]) for one in lines}
    return x


def states(picture: Picture) -> list[str]:
    return [row[-1] for row in picture.table_rows]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (SCHEDULE.anonymization_begin - MS, ["to come"] * 3),
        (SCHEDULE.anonymization_end - MS, ["now", "to come", "to come"]),
        (SCHEDULE.anonymization_end, ["over", "to come", "to come"]),
        (SCHEDULE.attack_begin, ["over", "now", "to come"]),
        (SCHEDULE.results_begin, ["over", "over", "now"]),
    ],
)
def test_the_state_of_every_phase_is_that_of_the_contest(time: datetime, expected: list[str]) -> None:
    picture = timeline_picture(SCHEDULE, time)
    assert states(picture) == expected
    running = [one for one in of_class(picture, "stretch") if one.get("fill")]
    assert len(running) == (phase_at(SCHEDULE, time).phase is not None)


@given(st.lists(st.integers(-(10**6), 4 * 10**6), min_size=2, max_size=2))
def test_later_is_never_farther_left(seconds: list[int]) -> None:
    early, late = (SCHEDULE.anonymization_begin + timedelta(seconds=one) for one in sorted(seconds))
    assert now_at(timeline_picture(SCHEDULE, early)) <= now_at(timeline_picture(SCHEDULE, late))


def test_now_stands_in_its_phase() -> None:
    middle = SCHEDULE.attack_begin + (SCHEDULE.attack_end - SCHEDULE.attack_begin) / 2
    picture = timeline_picture(SCHEDULE, middle)
    (bar,) = [one for one in of_class(picture, "stretch") if one.get("fill")]
    assert now_at(picture) == pytest.approx(float(bar.attrib["x"]) + float(bar.attrib["width"]) / 2, abs=0.02)


def test_the_caption_says_what_runs_and_how_long() -> None:
    assert timeline_picture(SCHEDULE, NOW).caption == (
        "The anonymization phase runs: 4 days 17 hours left, until 2026-05-15 00:00 UTC."
    )
    pause = SCHEDULE.anonymization_end + timedelta(hours=23, minutes=30)
    assert (
        "the next phase begins in 30 minutes, at 2026-05-16 00:00 UTC."
        in timeline_picture(SCHEDULE, pause).caption
    )
    assert timeline_picture(SCHEDULE, SCHEDULE.results_begin).caption.startswith("The contest is over")


def test_another_time_zone_is_the_same_moment() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    assert timeline_picture(SCHEDULE, tokyo) == timeline_picture(SCHEDULE, NOW)


def test_pauses_are_hatched() -> None:
    hatched = [one for one in tree(timeline_picture(SCHEDULE, NOW)).iter(f"{SVG}rect")
               if one.get("fill", "").startswith("url(#")]  # fmt: skip
    assert len(hatched) == 2


def bar_width(picture: Picture) -> float:
    bars = [one for one in tree(picture).iter(f"{SVG}rect") if one.get("fill")]
    return float(bars[0].attrib["width"]) if bars else 0.0


def test_a_gauge_is_as_long_as_the_utility() -> None:
    whole = bar_width(gauge_picture(1.0, Rules()))
    assert bar_width(gauge_picture(0.25, Rules())) == pytest.approx(whole / 4, abs=0.01)
    assert bar_width(gauge_picture(None, Rules())) == 0
    (line,) = of_class(gauge_picture(None, Rules()), "threshold")
    assert float(line.attrib["x1"]) - 24 == pytest.approx(0.7 * whole, abs=0.02)


@pytest.mark.parametrize(
    ("utility", "told"),
    [
        (0.7, "Valid: the utility is 0.700, and 0.7 is enough."),
        (0.6999999, "Not valid: the utility is 0.6999999, below 0.7"),
        (0.812, "Valid: the utility is 0.812"),
        (None, "Nothing has been handed in yet"),
    ],
)
def test_a_gauge_says_whether_a_data_set_is_valid(utility: float | None, told: str) -> None:
    assert gauge_picture(utility, Rules()).caption.startswith(told)


@given(st.floats(0, 1), st.floats(0, 1))
def test_rounding_never_changes_the_verdict_of_a_gauge(utility: float, threshold: float) -> None:
    rules = Rules(utility_threshold=threshold)
    picture = gauge_picture(utility, rules)
    assert picture.caption.startswith("Valid" if rules.is_valid(utility) else "Not valid")
    shown = of_class(picture, "large")[0].text
    assert rules.is_valid(float(shown)) == rules.is_valid(utility)


def counts(picture: Picture) -> list[int]:
    return [int(one.attrib["data-count"]) for one in tree(picture).iter() if "data-count" in one.attrib]


def test_every_upload_of_the_last_hours_is_in_a_bar() -> None:
    times = [NOW - timedelta(minutes=minutes) for minutes in (0, 10, 31, 60, 600, 2850, 5000)]
    picture = activity_picture(times, NOW)
    assert counts(picture) == [1, 1, 2, 2]
    assert sum(row[1] for row in picture.table_rows) == 6
    assert len(picture.table_rows) == 48
    assert picture.caption == (
        "6 uploads arrived in the last 48 hours; the busiest hour began at 2026-05-10 05:00 UTC with 2."
    )


def test_an_hour_includes_its_beginning_and_excludes_its_end() -> None:
    hour = datetime(2026, 5, 10, 5, tzinfo=UTC)
    rows = dict(activity_picture([hour, hour + timedelta(hours=1) - MS], NOW).table_rows)
    assert rows["2026-05-10 05:00 UTC"] == 2


def test_an_idle_contest_has_a_picture() -> None:
    picture = activity_picture([], NOW, hours=1)
    assert picture.caption == "No upload arrived in the last hour."
    assert counts(picture) == []


def test_hours_must_be_a_whole_number() -> None:
    with pytest.raises(ParameterError):
        activity_picture([], NOW, hours=0)
