"""Defences of time against slow and obvious ones, and the distributions that they draw from."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from scipy import stats

from tracearena.algorithms import catalogue
from tracearena.arena import pseudonymise, run_sweep
from tracearena.cities import simulate, simulate_gps
from tracearena.engine import seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.io import read_released, write
from tracearena.io.pwscup import PWS_CLOCK
from tracearena.metrics import utility_score
from tracearena.obfuscation import (
    MRLH,
    PerDay,
    Resample,
    RoundTime,
    ShuffleDays,
    SwapHours,
    SwapTimes,
    TimeDefence,
)
from tracearena.traces import DELETED, Clock, GpsTraces, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.geodesy import cell_keys
from tracearena.traces.time import exact_local_seconds

DAY_S = 86_400
HOURS = Clock(instants_per_day=24, first_day=datetime.date(2019, 4, 1))
NEW_YORK = ZoneInfo("America/New_York")
EVERY = [
    SwapTimes(cell=1000, period="month"),
    SwapHours(cell=1000),
    RoundTime(unit="3h"),
    RoundTime(unit="day"),
    PerDay(n=2),
    ShuffleDays(period="month"),
    Resample(interval=3600),
]


@pytest.fixture(scope="module")
def check_ins() -> Traces:
    """Check-ins of 60 people in two months, to the second."""
    return simulate(users=60, days=61, mode="checkins", seed=1)


@pytest.fixture(scope="module")
def points() -> GpsTraces:
    """Points of six people in New York in the weeks in which its clocks change, with milliseconds."""
    city = simulate_gps(users=6, days=20, seed=2)
    start = int(datetime.datetime(2019, 3, 1, tzinfo=datetime.UTC).timestamp() * 1000)
    moved = city.time_ms - int(city.time_ms.min()) + start
    return GpsTraces(
        user_ids=city.user_ids,
        offsets=city.offsets,
        time_ms=moved + np.arange(len(moved)) % 7,
        latitude=city.latitude + 5.8,
        longitude=city.longitude - 224,
        trajectory=city.trajectory,
        trajectory_ids=city.trajectory_ids,
    ).keep(np.arange(len(city)) % 11 == 0)


def local(seconds: Any) -> list[datetime.datetime]:
    """Local times of events as people write them."""
    return [datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=int(one)) for one in seconds]


def local_of(traces: Traces | ObfuscatedTraces) -> list[datetime.datetime]:
    return local(exact_local_seconds(traces))


def new_york(traces: GpsTraces) -> list[datetime.datetime]:
    """Local times of points, by the standard library."""
    return [
        datetime.datetime.fromtimestamp(int(ms) / 1000, datetime.UTC)
        .astimezone(NEW_YORK)
        .replace(tzinfo=None)
        for ms in traces.time_ms
    ]


def rows_of(traces: Any) -> Counter[Any]:
    """Who was where, whenever."""
    if isinstance(traces, GpsTraces):
        return Counter(
            zip(traces.user_index.tolist(), traces.latitude.tolist(), traces.longitude.tolist(), strict=True)
        )
    codes = traces.place_index if isinstance(traces, Traces) else traces.codes
    return Counter(zip(traces.user_index.tolist(), codes.tolist(), strict=True))


def cells_of(traces: Any, side_m: float) -> list[int]:
    if isinstance(traces, GpsTraces):
        latitude, longitude = traces.latitude, traces.longitude
    else:
        at = traces.place_index if isinstance(traces, Traces) else traces.codes
        latitude, longitude = traces.places.latitude[at], traces.places.longitude[at]
    keys: list[int] = cell_keys(latitude, longitude, side_m).tolist()
    return keys


# Swapping


@pytest.mark.parametrize("period", ["day", "week", "month", "all"])
def test_swapped_times_leave_the_counts_of_each_cell_and_time(check_ins: Traces, period: Any) -> None:
    released = SwapTimes(cell=1000, period=period).transform(check_ins, seed=3)
    assert rows_of(released) == rows_of(check_ins), "people stay where they were"
    before = Counter(zip(cells_of(check_ins, 1000), local_of(check_ins), strict=True))
    after = Counter(zip(cells_of(released, 1000), local_of(released), strict=True))
    assert after == before
    assert released.timestamps is not None
    assert not np.array_equal(released.timestamps, check_ins.timestamps)


def test_times_are_swapped_within_their_period_alone() -> None:
    places = Places([35.0], [139.0])
    days = [0, 1, 7, 29, 30, 31]
    traces = Traces.from_events(range(6), [24 * day for day in days], [0] * 6, places, HOURS)
    groups = {"day": [[0]] * 6, "week": [{0, 1}, {7}, {29, 30, 31}], "month": [{0, 1, 7, 29}, {30, 31}]}
    for period, expected in groups.items():
        met: dict[int, set[int]] = defaultdict(set)
        for seed in range(60):
            released = SwapTimes(cell=100, period=period).transform(traces, seed=seed)  # type: ignore[arg-type]
            for user, instant in enumerate(released.instants.tolist()):
                met[days[user]].add(instant // 24)
        if period == "day":
            assert all(seen == {day} for day, seen in met.items())
        else:
            assert {frozenset(seen) for seen in met.values()} == set(map(frozenset, expected))


@pytest.mark.slow
def test_every_permutation_of_a_cell_is_equally_likely() -> None:
    places = Places([35.0, 35.5], [139.0, 139.0])
    traces = Traces.from_events([1, 2, 3, 4], [3, 9, 17, 20], [0, 0, 0, 1], places, HOURS)
    seen = Counter(
        tuple(SwapTimes(cell=1000, period="all").transform(traces, seed=seed).instants.tolist())
        for seed in range(1200)
    )
    assert {one[3] for one in seen} == {20}, "who is alone in a cell stays"
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


@pytest.mark.parametrize("defence", [SwapTimes(cell=500, period="day"), SwapHours(cell=500)])
def test_swapped_points_leave_the_counts_of_each_cell_and_hour(
    points: GpsTraces, defence: TimeDefence
) -> None:
    released = defence.transform(points, seed=3)
    assert rows_of(released) == rows_of(catalogue.create("PerDay(1000000)").transform(points, seed=1))

    def count(traces: GpsTraces) -> Counter[Any]:
        when = [(one.weekday() >= 5, one.hour) for one in new_york(traces)]
        # At two in the morning of 10 March no clock in New York shows two.
        return Counter(
            pair
            for pair in zip(cells_of(traces, 500), when, strict=True)
            if pair[1] not in [(True, 2), (True, 3)]
        )

    assert count(released) == count(rounded_positions(points))
    if isinstance(defence, SwapTimes):
        assert sorted(released.time_ms.tolist()) == sorted(points.time_ms.tolist())


def rounded_positions(points: GpsTraces) -> GpsTraces:
    return points.with_positions(points.latitude.round(6), points.longitude.round(6))


def test_swapped_hours_leave_dates_and_the_hours_of_each_cell(check_ins: Traces) -> None:
    released = SwapHours(cell=1000).transform(check_ins, seed=3)

    def dates(traces: Any) -> Counter[Any]:
        where = traces.place_index if isinstance(traces, Traces) else traces.codes
        days = [one.date() for one in local_of(traces)]
        return Counter(zip(traces.user_index.tolist(), where.tolist(), days, strict=True))

    def times(traces: Any) -> Counter[Any]:
        when = [(one.weekday() >= 5, one.time()) for one in local_of(traces)]
        return Counter(zip(cells_of(traces, 1000), when, strict=True))

    assert dates(released) == dates(check_ins)
    assert times(released) == times(check_ins)
    assert [one.time() for one in local_of(released)] != [one.time() for one in local_of(check_ins)]


def test_a_set_is_in_the_cell_of_its_first_place_and_what_is_deleted_keeps_its_time() -> None:
    places = Places([35.0, 36.0], [139.0, 139.0])
    traces = Traces.from_events(range(6), [1, 2, 3, 4, 5, 6], [0] * 6, places, HOURS)
    codes = [0, -2, -3, 1, DELETED, DELETED]
    release = ObfuscatedTraces.like(traces, codes, PlaceSets.of([[0, 1], [1, 0]]))
    met: dict[int, set[int]] = defaultdict(set)
    for seed in range(40):
        released = SwapTimes(cell=1000, period="all").transform(release, seed=seed)
        assert released.codes.tolist() == codes
        for user, instant in enumerate(released.instants.tolist()):
            met[user].add(instant)
    assert met == {0: {1, 2}, 1: {1, 2}, 2: {3, 4}, 3: {3, 4}, 4: {5}, 5: {6}}


# Rounding


@pytest.mark.parametrize(
    ("unit", "hours"),
    [("1h", 1), ("3h", 3), ("part", 6), ("day", 24), (7200, 2), ("90min", 1.5), ("10min", 1 / 6)],
)
def test_events_are_rounded_down_in_local_time(check_ins: Traces, unit: Any, hours: float) -> None:
    released = RoundTime(unit=unit).transform(check_ins, seed=1)

    def slot(moment: datetime.datetime) -> datetime.datetime:
        midnight = moment.replace(hour=0, minute=0, second=0)
        length = datetime.timedelta(hours=hours)
        return midnight + (moment - midnight) // length * length

    def slots(traces: Any, when: list[datetime.datetime]) -> Counter[Any]:
        where = traces.place_index if isinstance(traces, Traces) else traces.codes
        return Counter(zip(traces.user_index.tolist(), where.tolist(), when, strict=True))

    assert slots(released, local_of(released)) == slots(check_ins, list(map(slot, local_of(check_ins))))
    if hours >= 1 and hours == int(hours):
        assert released.timestamps is None, "instants say all there is to know"


@pytest.mark.parametrize(("unit", "hours"), [("3h", 3), ("day", 24), ("10min", 1 / 6)])
def test_points_are_rounded_down_in_the_zone_of_the_person(
    points: GpsTraces, unit: str, hours: float
) -> None:
    released = RoundTime(unit=unit).transform(points, seed=1)
    assert not (released.time_ms % 1000).any(), "milliseconds are gone"
    there = new_york(released)
    seconds = np.array([one.hour * 3600 + one.minute * 60 + one.second for one in there])
    # The clocks skip from two to three on 10 March, where no slot may begin.
    odd = np.array([one.date() == datetime.date(2019, 3, 10) for one in there])
    assert not (seconds[~odd] % (hours * 3600)).any()
    before = Counter(
        (user, one.date()) for user, one in zip(points.user_index.tolist(), new_york(points), strict=True)
    )
    assert (
        Counter((user, one.date()) for user, one in zip(released.user_index.tolist(), there, strict=True))
        == before
    )
    assert rows_of(released) == rows_of(rounded_positions(points))


def test_a_zone_can_be_named(points: GpsTraces) -> None:
    released = RoundTime(unit="day", timezone="Asia/Tokyo").transform(points, seed=1)
    assert set((released.time_ms // 1000 % DAY_S).tolist()) == {15 * 3600}
    with pytest.raises(ParameterError, match="perhaps Asia/Tokyo"):
        RoundTime(unit="day", timezone="Asia/Tokio")


def test_the_zone_of_a_person_does_not_depend_on_others(points: GpsTraces) -> None:
    tokyo = points.take_users([0]).with_positions(
        points.take_users([0]).latitude - 5, points.take_users([0]).longitude + 213.6
    )
    both = GpsTraces.concat([points.take_users([1, 2, 3]), tokyo.with_user_ids(["zz"])])
    released = RoundTime(unit="day").transform(both, seed=1)
    alone = RoundTime(unit="day").transform(tokyo, seed=1)
    assert set((alone.time_ms // 1000 % DAY_S).tolist()) == {15 * 3600}
    assert set((released.take_users([3]).time_ms // 1000 % DAY_S).tolist()) == {15 * 3600}


@pytest.mark.parametrize("kind", ["events", "points"])
def test_the_order_of_rows_in_a_slot_tells_nothing(kind: str) -> None:
    n = 20_000
    when = np.arange(n) % 3000 * 7
    if kind == "events":
        places = Places(np.linspace(35, 36, n), np.full(n, 139.0))
        traces: Any = Traces.from_events(
            np.arange(n) // 3000, when // 3600, np.arange(n), places, HOURS, timestamps=when + 18_000_000 * 86
        )
        released = RoundTime(unit="6h").transform(traces, seed=4).codes
    else:
        latitude = np.linspace(35, 36, n)
        traces = GpsTraces.from_points(np.arange(n) // 3000, when * 1000, latitude, np.full(n, 139.0))
        released = np.argsort(
            np.argsort(RoundTime(unit="6h", timezone="UTC").transform(traces, seed=4).latitude)
        )
    for user in range(n // 3000):
        own = released[user * 3000 : (user + 1) * 3000]
        assert abs(stats.spearmanr(np.arange(3000), own).statistic) < 0.09
        # Neither do neighbours stay neighbours.
        assert np.mean(np.abs(np.diff(own)) == 1) < 0.005


def test_slots_begin_no_earlier_than_the_days_of_a_clock(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=5, days=2)
    assert walks.clock == PWS_CLOCK
    for unit, begins in {"part": {0, 8}, "3h": {0, 2, 8, 14}, "day": {0}, "10min": set(range(20))}.items():
        released = RoundTime(unit=unit).transform(walks, seed=1)
        assert set((released.instants % 20).tolist()) == begins, unit
        assert np.array_equal(released.instants // 20, walks.instants // 20)
    assert set((Resample(interval=3 * 3600).transform(walks).instants % 20).tolist()) == {0, 2, 8, 14}


# Fewer events


def test_as_many_events_of_a_day_are_drawn_as_asked_for(check_ins: Traces, points: GpsTraces) -> None:
    for traces, when in ((check_ins, local_of), (points, new_york)):
        released: Any = PerDay(n=2).transform(traces, seed=1)  # type: ignore[call-overload]
        before, after = (
            Counter(
                (user, one.date()) for user, one in zip(some.user_index.tolist(), when(some), strict=True)
            )  # type: ignore[operator]
            for some in (traces, released)
        )
        assert after == {day: min(count, 2) for day, count in before.items()}
    assert not Counter(new_york(PerDay(n=2).transform(points, seed=1))) - Counter(new_york(points))


def test_every_event_of_a_day_is_drawn_as_often() -> None:
    places = Places(np.linspace(35, 36, 10), np.full(10, 139.0))
    traces = Traces.from_events([1] * 10, np.arange(10), np.arange(10), places, HOURS)
    seen = Counter(
        code for seed in range(600) for code in PerDay(n=3).transform(traces, seed=seed).codes.tolist()
    )
    assert sum(seen.values()) == 1800
    assert stats.chisquare([seen[place] for place in range(10)]).pvalue > 1e-3


@pytest.mark.parametrize("minutes", [10, 60, 240])
def test_resampled_is_the_first_of_each_interval_at_its_beginning(
    check_ins: Traces, points: GpsTraces, minutes: int
) -> None:
    length = datetime.timedelta(minutes=minutes)

    def expected(users: list[int], when: list[datetime.datetime], where: list[Any]) -> list[Any]:
        first: dict[Any, Any] = {}
        for user, moment, place in zip(users, when, where, strict=True):
            midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
            first.setdefault((user, midnight + (moment - midnight) // length * length), place)
        return [(user, begin, place) for (user, begin), place in first.items()]

    released = Resample(interval=60 * minutes).transform(check_ins)
    made = zip(released.user_index.tolist(), local_of(released), released.codes.tolist(), strict=True)
    assert list(made) == expected(
        check_ins.user_index.tolist(), local_of(check_ins), check_ins.place_index.tolist()
    )
    march_9 = datetime.datetime(2019, 3, 9, tzinfo=datetime.UTC)
    march = points.keep(points.time_ms < march_9.timestamp() * 1000)
    thinned = Resample(interval=60 * minutes).transform(march)
    positions = thinned.latitude.tolist()
    made = zip(thinned.user_index.tolist(), new_york(thinned), positions, strict=True)
    assert list(made) == expected(
        march.user_index.tolist(), new_york(march), march.latitude.round(6).tolist()
    )


# Shuffling days


@pytest.mark.parametrize("kind", ["events", "points"])
def test_days_move_within_their_month_and_keep_weekday_and_hours(
    check_ins: Traces, points: GpsTraces, kind: str
) -> None:
    until_march_9 = rounded_positions(points).keep(points.time_ms < 1_552_100_000_000)
    traces: Any = check_ins if kind == "events" else until_march_9
    when: Any = local_of if kind == "events" else new_york
    released = ShuffleDays(period="month").transform(traces, seed=5)
    days: list[dict[Any, list[Any]]] = []
    for some in (traces, released):
        own: dict[Any, list[Any]] = defaultdict(list)
        where = cells_of(some, 50)
        for user, moment, cell in zip(some.user_index.tolist(), when(some), where, strict=True):
            own[user, moment.date()].append((moment.time(), cell))
        days.append(own)
    before, after = days
    assert before != after

    def kept(own: dict[Any, list[Any]]) -> Counter[Any]:
        return Counter(
            (user, day.year, day.month, day.weekday(), tuple(sorted(rows)))
            for (user, day), rows in own.items()
        )

    assert kept(after) == kept(before), "whole days move, none is joined with another"
    for user in {user for user, _ in before}:
        first, last = (edge(day for one, day in before if one == user) for edge in (min, max))
        assert all(first <= day <= last for one, day in after if one == user)


@pytest.mark.slow
def test_every_date_of_a_month_is_as_likely() -> None:
    # Mondays 1, 8, 15, 22 and 29 April, of which 8 and 22 have no events.
    traces = Traces.from_events(
        [1] * 3, [0, 14 * 24, 28 * 24], [0, 1, 2], Places([35, 36, 37], [0] * 3), HOURS
    )
    seen: Counter[Any] = Counter()
    for seed in range(1500):
        released = ShuffleDays(period="month").transform(traces, seed=seed)
        seen[tuple((released.instants // 168)[np.argsort(released.codes)].tolist())] += 1
    assert len(seen) == 5 * 4 * 3
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_days_without_dates_move_within_four_weeks() -> None:
    clock = Clock(instants_per_day=24)
    traces = Traces.from_events(
        [1] * 8, np.arange(8) * 168, np.arange(8) % 2, Places([35, 36], [0, 0]), clock
    )
    met: dict[int, set[int]] = defaultdict(set)
    for seed in range(60):
        released = ShuffleDays(period="month").transform(traces.with_places(np.arange(8) // 4), seed=seed)
        for week, block in zip((released.instants // 168).tolist(), released.codes.tolist(), strict=True):
            met[block].add(week)
    assert met == {0: {0, 1, 2, 3}, 1: {4, 5, 6, 7}}


# All of them


@pytest.mark.parametrize("defence", EVERY, ids=str)
def test_trajectories_are_one_of_each_person_under_one_name(points: GpsTraces, defence: TimeDefence) -> None:
    assert points.n_trajectories > points.n_users
    released = defence.transform(points, seed=1)
    assert released.trajectory.tolist() == released.user_index.tolist()
    assert released.trajectory_ids.tolist() == [0] * points.n_users
    assert (np.diff(released.time_ms)[np.diff(released.user_index) == 0] >= 0).all()


@pytest.mark.parametrize("defence", [one for one in EVERY if one.by_user], ids=str)
def test_some_events_after_the_others_get_what_all_get_at_once(
    check_ins: Traces, defence: TimeDefence
) -> None:
    whole = defence.transform(check_ins, seed=5)
    for first, stop in [(0, 1), (1, 30), (30, 60)]:
        part = defence.transform_part(
            check_ins.take_users(slice(first, stop)),
            seed=seed_sequence(5),
            first=int(check_ins.offsets[first]),
            total=len(check_ins),
        )
        assert part == whole.take_users(slice(first, stop))


@pytest.mark.parametrize("defence", EVERY, ids=str)
def test_releases_are_written_and_read_again(check_ins: Traces, defence: TimeDefence, tmp_path: Any) -> None:
    released = pseudonymise(defence.transform(check_ins, seed=1), seed=2).anonymized
    write(released, tmp_path / "x.csv")
    again = read_released(tmp_path / "x.csv", places=check_ins.places, clock=check_ins.clock).traces
    assert again.codes.tolist() == released.codes.tolist()
    assert local_of(again) == local_of(released)


@pytest.mark.parametrize("defence", EVERY, ids=str)
def test_a_release_of_places_can_be_followed(make_walks: Callable[..., Traces], defence: TimeDefence) -> None:
    release = MRLH(mu_x=1, mu_y=1, deletion=0.5).transform(make_walks(users=6, days=3), seed=1)
    assert release.is_set.any()
    released = defence.transform(release, seed=2)
    assert isinstance(released, ObfuscatedTraces)
    assert not rows_of(released) - rows_of(release)


def test_utility_refuses_times_that_were_changed(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=6, days=4)
    released = PerDay(n=3).transform(walks, seed=1)
    with pytest.raises(DataError, match="utility compares events one by one"):
        utility_score(walks, released)
    reference, original = walks.split_days(2)
    rows = run_sweep(reference, original, defences=["No", "RoundTime(30min)"], attacks=["Random-R"], seed=1)
    assert rows[0].error is None
    assert rows[1].error is not None
    assert "s_U compares events one by one" in rows[1].error


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            "RoundTime(7h)",
            "unit = 25200.0 is not allowed; it must be a time of whole seconds that divides a day",
        ),
        ("RoundTime(week)", "unit = 'week' is not allowed"),
        ("RoundTime(1km)", "unit is measured in s, not in m"),
        ("Resample(0.5s)", "interval = 0.5 is not allowed"),
        ("Resample(day)", "interval = 'day' is not allowed"),
        ("SwapTimes(1km,year)", "period = 'year' is not allowed; it must be day, week, month or all"),
        ("SwapTimes(0.1m,day)", "cell = 0.1 is not allowed"),
        ("SwapHours(1h)", "cell is measured in m"),
        ("PerDay(0)", "n = 0 is not allowed"),
        ("ShuffleDays(week)", "period = 'week' is not allowed; it must be month"),
    ],
)
def test_what_cannot_be_meant_is_refused(spec: str, told: str) -> None:
    with pytest.raises(ParameterError) as refused:
        catalogue.create(spec)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("RoundTime(180min)", "RoundTime(3h)"),
        ("RoundTime(part)", "RoundTime(part)"),
        ("RoundTime(86400)", "RoundTime(24h)"),
        ("Resample(90s)", "Resample(90s)"),
        ("SwapTimes(2500,all)", "SwapTimes(2500m,all)"),
        ("SwapHours(3km)", "SwapHours(3km)"),
    ],
)
def test_names_have_units(spec: str, name: str) -> None:
    assert str(catalogue.create(spec)) == name
    assert RoundTime(unit="3h") == RoundTime(unit=10_800) == catalogue.create("RoundTime(180min)")


@pytest.mark.parametrize("unit", ["1h,2h", "(", "", "1h 2"])
def test_a_unit_that_is_no_single_time_is_refused(unit: str) -> None:
    with pytest.raises(ParameterError, match=r"unit = .* must be a time of whole seconds"):
        RoundTime(unit=unit)
