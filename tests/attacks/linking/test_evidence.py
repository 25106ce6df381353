"""Each kind of evidence against its description, one row and one person at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.attacks.linking.cases import MIDNIGHT

from tracearena.attacks.linking import EVIDENCE
from tracearena.attacks.linking.evidence import Histogram, Scalar
from tracearena.attacks.linking.observations import Observations
from tracearena.traces.geodesy import distance_m

INTERVALS_S = [
    0,
    1,
    2,
    3,
    7,
    40,
    149,
    150,
    151,
    599,
    600,
    601,
    3599,
    3600,
    5 * 3600,
    86_400,
    200 * 3600,
    720_000 + 3600,
]
STEPS = [0.0, 0.0, 0.0001, 0.0004, 0.00045, 0.0005, 0.02, -0.03]


def draw_rows() -> Observations:
    """Four people with 150 rows each, some at a deleted place, and one without rows."""
    rng = np.random.default_rng(2)
    user = np.repeat([0, 1, 2, 4], 150)
    n = len(user)
    steps = rng.choice(STEPS, (2, n))
    latitude, longitude = (40.6 + np.cumsum(steps[0])).round(5), (-74.0 + np.cumsum(steps[1])).round(4)
    latitude[rng.random(n) < 0.1] = np.nan
    since = np.array([np.cumsum(rng.choice(INTERVALS_S, 150)) for _ in range(4)]).ravel()
    return Observations(
        n_users=5,
        user=user,
        second=MIDNIGHT + since,
        millisecond=rng.integers(0, 3, n).astype(np.int16),
        latitude=latitude,
        longitude=np.where(np.isnan(latitude), np.nan, longitude),
        place=np.where(np.isnan(latitude), -1, rng.integers(0, 5, n)),
        weight=np.ones(n),
    )


ROWS = draw_rows()
USER = ROWS.user.tolist()
AT = [datetime.fromtimestamp(second, UTC) for second in ROWS.second.tolist()]
WHERE = list(zip(ROWS.latitude.tolist(), ROWS.longitude.tolist(), strict=True))
ALL = range(len(USER))


def has_before(row: int) -> bool:
    return row > 0 and USER[row - 1] == USER[row]


def interval(row: int) -> int | None:
    return round((AT[row] - AT[row - 1]).total_seconds()) if has_before(row) else None


def step(row: int) -> float | None:
    metres = float(ROWS.step_m[row])
    return None if math.isnan(metres) else metres


def log_bin(value: float | None, per_doubling: int) -> int | None:
    """Return ⌊k log₂(v + 1)⌋."""
    return None if value is None else math.floor(per_doubling * math.log2(value + 1))


def pair(*bins: Hashable) -> Hashable:
    return None if None in bins else bins


def second_of_day(row: int) -> int:
    return AT[row].hour * 3600 + AT[row].minute * 60 + AT[row].second


def begins_day(row: int) -> bool:
    return not has_before(row) or AT[row - 1].date() != AT[row].date()


def ends_day(row: int) -> bool:
    return row + 1 == len(USER) or begins_day(row + 1)


def first_of_day(row: int) -> int:
    return row if begins_day(row) else first_of_day(row - 1)


def days_since_active(row: int) -> int | None:
    if not (begins_day(row) and has_before(row)):
        return None
    return min((AT[row].date() - AT[row - 1].date()).days, 60)


def cell(row: int, side_m: float) -> int | None:
    found = int(ROWS.cell(side_m)[row])
    return None if found < 0 else found


def part_of_week(row: int) -> tuple[int, bool]:
    return AT[row].hour // 6, AT[row].weekday() >= 5


def at_most(value: int | None, most: int) -> int | None:
    return None if value is None or value > most else value


def decimals(degrees: float) -> int:
    return 0 if math.isnan(degrees) else len(f"{degrees:.8f}".rstrip("0").partition(".")[2])


def run_length(row: int) -> int | None:
    if has_before(row) and WHERE[row - 1] == WHERE[row]:
        return None
    stop = row + 1
    while stop < len(USER) and has_before(stop) and WHERE[stop] == WHERE[row]:
        stop += 1
    return math.floor(3 * math.log2(stop - row))


def speed(row: int) -> float | None:
    metres, seconds = step(row), interval(row)
    return None if metres is None or seconds is None else 3600 * metres / max(seconds, 1)


BINS: dict[str, Callable[[int], Hashable]] = {
    "hour": lambda r: AT[r].hour,
    "hour by weekend": lambda r: (AT[r].weekday() >= 5, AT[r].hour),
    "hour of week": lambda r: (AT[r].weekday(), AT[r].hour),
    "ten minutes of day": lambda r: (AT[r].hour, AT[r].minute // 10),
    "interval": lambda r: log_bin(interval(r), 4),
    "interval by part of week": lambda r: pair(log_bin(interval(r), 2), part_of_week(r)),
    "hours between events": lambda r: at_most(None if interval(r) is None else interval(r) // 3600, 200),
    "exact seconds between points": lambda r: at_most(interval(r), 600),
    "two exact intervals in turn": lambda r: (
        pair(at_most(interval(r - 1), 150), at_most(interval(r), 150)) if has_before(r) else None
    ),
    "first of day": lambda r: second_of_day(r) // 1800 if begins_day(r) else None,
    "last of day": lambda r: second_of_day(r) // 1800 if ends_day(r) else None,
    "span of day": lambda r: (
        (second_of_day(r) - second_of_day(first_of_day(r))) // 1800 if ends_day(r) else None
    ),
    "events per day": lambda r: math.floor(3 * math.log2(r - first_of_day(r) + 1)) if ends_day(r) else None,
    "weekday of active days": lambda r: AT[r].weekday() if begins_day(r) else None,
    "days between active days": days_since_active,
    "venue": lambda r: None if ROWS.place[r] < 0 else int(ROWS.place[r]),
    "set of places": lambda r: None,
    "cell of 250 m": lambda r: cell(r, 250),
    "cell of 1 km": lambda r: cell(r, 1000),
    "cell of 3 km": lambda r: cell(r, 3000),
    "cell of 10 km": lambda r: cell(r, 10_000),
    "cell of the first of a day": lambda r: cell(r, 2000) if begins_day(r) else None,
    "cell of the last of a day": lambda r: cell(r, 2000) if ends_day(r) else None,
    "cell at night": lambda r: cell(r, 1000) if not 8 <= AT[r].hour < 20 else None,
    "step length": lambda r: log_bin(step(r), 2),
    "speed": lambda r: log_bin(speed(r), 2),
    "step length and interval": lambda r: pair(log_bin(step(r), 1), log_bin(interval(r), 1)),
    "move between cells": lambda r: (cell(r - 1, 2000), cell(r, 2000)) if (step(r) or 0) > 50 else None,
    "cell by part of week": lambda r: pair(cell(r, 2000), part_of_week(r)),
    "cell by hour": lambda r: pair(cell(r, 5000), AT[r].hour),
    "second of minute": lambda r: AT[r].second,
    "minute of hour": lambda r: AT[r].minute,
    "millisecond": lambda r: int(ROWS.millisecond[r]),
    "decimals of coordinates": lambda r: (decimals(WHERE[r][0]), decimals(WHERE[r][1])),
    "last digits of coordinates": lambda r: (
        None if math.isnan(WHERE[r][0]) else round(abs(WHERE[r][0]) * 1e6) % 100
    ),
    "run of equal coordinates": run_length,
    "rows of the same second": lambda r: None if interval(r) is None else interval(r) == 0,
}


@pytest.mark.parametrize("name", [name for name, kind in EVIDENCE.items() if isinstance(kind, Histogram)])
def test_rows_are_in_one_bin_if_their_description_is_the_same(name: str) -> None:
    kind = EVIDENCE[name]
    assert isinstance(kind, Histogram)
    bins, expected = kind.bins(ROWS).tolist(), [BINS[name](row) for row in ALL]
    assert [number < 0 for number in bins] == [one is None for one in expected]
    known = {(number, one) for number, one in zip(bins, expected, strict=True) if one is not None}
    assert len(known) == len({number for number, _ in known}) == len({one for _, one in known})


def own(user: int) -> list[int]:
    return [row for row in ALL if USER[row] == user]


def quantile(values: list[float], q: float) -> float:
    """Return the value at the quantile, the lower of two."""
    return sorted(values)[math.floor(q * (len(values) - 1))]


def intervals(user: int) -> list[float]:
    return [math.log1p(one) for row in own(user) if (one := interval(row)) is not None]


def known(user: int, axis: int) -> list[float]:
    return [WHERE[row][axis] for row in own(user) if not math.isnan(WHERE[row][axis])]


def gyration(user: int) -> float:
    """Return the root mean square distance from the mean position, in metres and as a logarithm."""
    latitude, longitude = np.array(known(user, 0)), np.array(known(user, 1))
    north = latitude - latitude.mean()
    east = (longitude - longitude.mean()) * np.cos(np.radians(latitude))
    return math.log1p(111_195 * math.sqrt((north**2 + east**2).mean()))


def steps(user: int) -> list[float]:
    return [one for row in own(user) if (one := step(row)) is not None]


def active_days(user: int) -> int:
    return len({AT[row].date() for row in own(user)})


def turn_of_clock(row: int) -> float:
    return 2 * math.pi * timedelta(seconds=second_of_day(row)) / timedelta(days=1)


NUMBERS: dict[str, Callable[[int], float]] = {
    "sine of hour": lambda u: float(np.mean([math.sin(turn_of_clock(row)) for row in own(u)])),
    "cosine of hour": lambda u: float(np.mean([math.cos(turn_of_clock(row)) for row in own(u)])),
    "weekend share": lambda u: float(np.mean([AT[row].weekday() >= 5 for row in own(u)])),
    "median interval": lambda u: quantile(intervals(u), 0.5),
    "short intervals": lambda u: quantile(intervals(u), 0.25),
    "long intervals": lambda u: quantile(intervals(u), 0.75),
    "log events": lambda u: math.log1p(len(own(u))),
    "log active days": lambda u: math.log1p(active_days(u)),
    "events per active day": lambda u: math.log1p(len(own(u)) / active_days(u)),
    "median latitude": lambda u: quantile(known(u, 0), 0.5),
    "median longitude": lambda u: quantile(known(u, 1), 0.5),
    "mean log step": lambda u: float(np.log1p(steps(u)).mean()),
    "share of still rows": lambda u: float(np.mean([one < 50 for one in steps(u)])),
    "radius of gyration": gyration,
    "distance per day": lambda u: math.log1p(sum(steps(u)) / active_days(u)),
}


@pytest.mark.parametrize("name", [name for name, kind in EVIDENCE.items() if isinstance(kind, Scalar)])
def test_a_number_per_person_is_its_description(name: str) -> None:
    kind = EVIDENCE[name]
    assert isinstance(kind, Scalar)
    expected = [NUMBERS[name](user) if own(user) else np.nan for user in range(5)]
    assert kind.value(ROWS) == pytest.approx(expected, nan_ok=True)


def test_a_step_has_the_metres_between_two_rows_of_a_person() -> None:
    for row in ALL[1:]:
        if has_before(row) and not math.isnan(WHERE[row - 1][0] + WHERE[row][0]):
            expected = distance_m(*WHERE[row - 1], *WHERE[row])[0]
            assert ROWS.step_m[row] == pytest.approx(expected, rel=5e-3, abs=0.01)
        else:
            assert math.isnan(ROWS.step_m[row])
