"""Times as people write them."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.errors import ParameterError
from tracearena.io.fields import times
from tracearena.traces import time

MOMENT = 1_333_476_006
moments = st.integers(min_value=0, max_value=4_000_000_000)


@pytest.mark.parametrize(
    ("text", "second", "offset"),
    [
        ("2012-04-03T18:00:06Z", MOMENT, 0),
        ("2012-04-03 18:00:06Z", MOMENT, 0),
        ("2012-04-03T18:00:06.123Z", MOMENT, 0),
        ("2012-04-03 18:00:06 UTC", MOMENT, 0),
        ("2012-04-03T14:00:06-04:00", MOMENT, -14_400),
        ("2012-04-03T23:30:06+0530", MOMENT, 19_800),
        ("2012-04-03 18:00:06", MOMENT, None),
        ("2012-04-03T18:00:06.5", MOMENT, None),
        ("2012/04/03 18:00:06", MOMENT, None),
        ("2012-04-03 18:00", MOMENT - 6, None),
        ("2012/4/3 18:00", MOMENT - 6, None),
        ("2012-04-03", MOMENT - 64_806, None),
        ("Tue Apr 03 18:00:06 +0000 2012", MOMENT, 0),
        ("1333476006", MOMENT, 0),
        ("1333476006.9", MOMENT, 0),
        ("1333476006000", MOMENT, 0),
        ("1333476006000000", MOMENT, 0),
        ("03.04.2012", MOMENT - 64_806, None),
        ("3.4.2012 18:00:06", MOMENT, None),
        ("2012-04-03 18:00:06+00", MOMENT, 0),
        ("2012-04-03 20:00:06+02", MOMENT, 7200),
        ("2012-04-03 18:00:06 +0000", MOMENT, 0),
        ("2012-04-03T18:00:06,5", MOMENT, None),
        ("20120403T180006Z", MOMENT, 0),
        ("20120403180006", MOMENT, None),
        ("201204031800", MOMENT - 6, None),
        ("20120403", MOMENT - 64_806, None),
        ("2012年4月3日 18時00分06秒", MOMENT, None),
        ("2012/04/03 18:00:06.25", MOMENT, None),
        ("03/04/2012", None, None),
        ("03/04/12 18:00", None, None),
        ("12-04-03 18:00", None, None),
        ("2012-13-01 00:00:00", None, None),
    ],
)
def test_a_time_is_read_as_it_is_meant(text: str, second: int | None, offset: int | None) -> None:
    read = times.parse_times(pl.Series([text, None]))
    assert read.at.to_list() == [second, None]
    assert read.offset_s[0] == offset
    assert not read.are_instants


def test_styles_may_be_mixed() -> None:
    read = times.parse_times(
        pl.Series(["2012-04-03 18:00:06", "2012-04-03T18:00:06Z", "2012/04/03 18:00", "?"])
    )
    assert read.at.to_list() == [MOMENT, MOMENT, MOMENT - 6, None]
    assert read.offset_s.to_list() == [None, 0, None, None]


@pytest.mark.parametrize(
    ("text", "style", "second", "offset"),
    [
        ("03-04-2012 18:00:06+02", "%d-%m-%Y %H:%M:%S%z", MOMENT - 7200, 7200),
        ("03-04-2012 18:00:06-0430", "%d-%m-%Y %H:%M:%S%z", MOMENT + 16_200, -16_200),
        ("03-04-2012 18:00:06Z", "%d-%m-%Y %H:%M:%S%z", MOMENT, 0),
        ("03-04-2012T18:00:06.5 +02:00", "%d-%m-%YT%H:%M:%S.%f %z", MOMENT - 7200, 7200),
        ("18:00:06-0500 03-04-2012", "%H:%M:%S%z %d-%m-%Y", MOMENT + 18_000, -18_000),
        ("Tue Apr 03 18:00:06 +0900 2012", "%a %b %d %H:%M:%S %z %Y", MOMENT - 32_400, 32_400),
    ],
)
def test_the_zone_is_read_where_the_style_has_it(text: str, style: str, second: int, offset: int) -> None:
    read = times.parse_times(pl.Series([text]), style=style)
    assert (read.at.to_list(), read.offset_s.to_list()) == ([second], [offset])


@pytest.mark.parametrize(
    "style",
    [
        "2012-04-03 18:00:{}",
        "2012-04-03T18:00:{}Z",
        "2012/04/03 18:00:{}",
        "03.04.2012 18:00:{}",
        "201204031800{}",
        "20120403T1800{}",
        "2012-04-03 18:00:{}.5",
    ],
)
def test_a_minute_has_sixty_seconds_and_may_have_a_leap_second(style: str) -> None:
    written = [style.format(second) for second in ("00", "59", "60", "61", "99")]
    read = times.parse_times(pl.Series(written))
    assert read.at.to_list() == [MOMENT - 6, MOMENT + 53, MOMENT + 54, None, None]


def test_a_minute_of_foursquare_ends_as_any_other() -> None:
    written = [f"Tue Apr 03 18:00:{second} +0000 2012" for second in ("00", "59", "60", "61", "99")]
    read = times.parse_twitter_times(pl.Series(written))
    assert read.to_list() == [MOMENT - 6, MOMENT + 53, MOMENT + 54, None, None]


def test_small_numbers_are_instants() -> None:
    read = times.parse_times(pl.Series([1, 2, 35]))
    assert read.are_instants
    assert read.at.to_list() == [1, 2, 35]


def test_a_column_without_numbers_has_no_instants() -> None:
    assert times.has_instant_numbers(pl.Series([1, 2, 35]))
    assert not times.has_instant_numbers(pl.Series([MOMENT]))
    assert not times.has_instant_numbers(pl.Series([None, None], dtype=pl.Int64))
    assert not times.has_instant_numbers(pl.Series([datetime.date(2012, 4, 3)]))


@pytest.mark.parametrize("digits", [10**11, 10**14, 10**17])
def test_unix_time_is_in_seconds_up_to_the_year_5138_and_finer_above(digits: int) -> None:
    assert times.parse_times(pl.Series([digits], dtype=pl.Int64)).at.to_list() == [10**11]
    finer = times.parse_times(pl.Series([digits + digits // 10**6], dtype=pl.Int64))
    assert finer.at.to_list() == [(10**11 + 10**5) // 1000]


@pytest.mark.parametrize(
    ("column", "goes"),
    [
        (pl.Series([93006, 174500]), True),
        (pl.Series(["0930", "1745"]), True),
        (pl.Series(["9:30", "17:45"]), True),
        (pl.Series([datetime.time(9, 30)]), True),
        (pl.Series([1080, 1099]), False),
        (pl.Series(["cafe", "bar"]), False),
    ],
)
def test_times_of_day_go_with_a_date_with_signs_or_without(column: pl.Series, goes: bool) -> None:
    assert times.goes_with_a_date(column) == goes


def test_a_number_beyond_measure_among_dates_in_digits_is_no_time() -> None:
    read = times.parse_times(pl.Series([20120403.0] * 5 + [1e300]))
    assert read.at.to_list() == [MOMENT - 64_806] * 5 + [None]


def test_typed_columns_are_taken_as_they_are() -> None:
    naive = pl.Series([datetime.datetime(2012, 4, 3, 18, 0, 6)])
    assert times.parse_times(naive).offset_s.to_list() == [None]
    zoned = times.parse_times(naive.dt.replace_time_zone("Asia/Tokyo"))
    assert (zoned.at.to_list(), zoned.offset_s.to_list()) == ([MOMENT - 9 * 3600], [0])
    assert times.parse_times(naive.dt.date()).at.to_list() == [MOMENT - 64_806]


@given(st.lists(moments, min_size=1, max_size=20))
def test_foursquare_times_agree_with_the_general_parser(seconds: list[int]) -> None:
    written = [
        datetime.datetime.fromtimestamp(second, datetime.UTC).strftime("%a %b %d %H:%M:%S +0000 %Y")
        for second in seconds
    ]
    assert times.parse_twitter_times(pl.Series(written)).to_list() == seconds


@pytest.mark.parametrize(
    "text",
    [
        "Tue Apr 31 18:00:06 +0000 2012",
        "Tue Apr 03 24:00:06 +0000 2012",
        "Tue Apr 03 18:60:06 +0000 2012",
        "Tue Apr 03 18:00:06 +0100 2012",
        "Tue Apr 03 18:00:06 +0000 2012x",
        "Tue Foo 03 18:00:06 +0000 2012",
    ],
)
def test_what_is_no_foursquare_time_is_none(text: str) -> None:
    assert times.parse_twitter_times(pl.Series([text])).to_list() == [None]


@given(st.lists(moments, min_size=1, max_size=20), st.sampled_from(["America/New_York", "Asia/Kolkata"]))
def test_zones_agree_with_the_standard_library(seconds: list[int], zone: str) -> None:
    from zoneinfo import ZoneInfo

    expected = [
        second + int(datetime.datetime.fromtimestamp(second, ZoneInfo(zone)).utcoffset().total_seconds())  # type: ignore[union-attr]
        for second in seconds
    ]
    assert time.utc_to_zone(pl.Series(seconds), zone).to_list() == expected


def test_an_hour_that_the_clock_skips_is_read_before_the_change() -> None:
    local = int(datetime.datetime(2010, 3, 14, 2, 30, tzinfo=datetime.UTC).timestamp())
    assert time.zone_to_utc(pl.Series([local]), "America/New_York").to_list() == [local + 5 * 3600]


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(ParameterError, match="timezone = 'Mars/Olympus'"):
        time.utc_to_zone(pl.Series([0]), "Mars/Olympus")


@pytest.mark.parametrize("days", [["2012-04-03"], [datetime.date(2012, 4, 3)], [20120403]])
def test_a_day_of_any_type_goes_with_a_time_of_day(days: list[object]) -> None:
    joined = times.join_date_and_time(pl.Series("day", days), pl.Series("at", [datetime.time(18, 0, 6)]))
    assert times.parse_times(joined).at.to_list() == [MOMENT]
