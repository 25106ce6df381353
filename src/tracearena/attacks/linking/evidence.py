"""Kinds of evidence that can distinguish the rows of different people.

A `Histogram` maps rows to bins, and people are compared by how their rows are distributed over these. A
`Scalar` is one number per person. To add one of your own, decorate a function with `histogram` or `scalar`:

>>> from tracearena.attacks.linking import histogram
>>> @histogram("lunch minute", group="hours")
... def lunch_minute(rows):
...     minute = rows.second_of_day // 60
...     return np.where((minute >= 690) & (minute < 840), minute // 5, -1)
>>> EVIDENCE.pop("lunch minute").group
'hours'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracearena.attacks.base import Floats, Ints
from tracearena.attacks.linking.observations import Observations
from tracearena.errors import ParameterError

TIME_GROUPS = ("hours", "intervals", "first and last of day", "day activity", "activity level")
"""Groups that look at times alone."""
PLACE_GROUPS = ("places", "home and work", "trips", "moves", "place and time")
"""Groups that look at places, alone or with times."""
FILE_GROUPS = ("decimals", "seconds", "duplicates")
"""Groups that look at how the file was written."""


@dataclass(frozen=True)
class Histogram:
    """Evidence from the distribution of a person's rows.

    Attributes
    ----------
    name, group
        Its name, and the group under which it is reported.
    bins
        Maps rows to whole numbers from 0 on; rows with a negative number are not counted.
    by_member
        Whether a generalised event counts at each of its places instead of once in their middle.
    only
        ``events`` or ``gps`` if it applies to these only.
    """

    name: str
    group: str
    bins: Callable[[Observations], Ints]
    by_member: bool = False
    only: str | None = None


@dataclass(frozen=True)
class Scalar:
    """Evidence from one number per person, NaN if there is none."""

    name: str
    group: str
    value: Callable[[Observations], Floats]
    only: str | None = None


@dataclass(frozen=True)
class Likelihood:
    """Evidence through the defence's channel: a log-likelihood ratio of `attacks.bayesian`.

    Attributes
    ----------
    likelihood
        Its name in `attacks.bayesian.likelihoods.KINDS`. A kind that is not listed below, such as
        ``simulation``, is not used by the linker: it runs the defence on known events itself.
    """

    name: str
    group: str
    likelihood: str
    only: str | None = "events"


Kind = Histogram | Scalar | Likelihood
EVIDENCE: dict[str, Kind] = {}
"""Every kind of evidence, by name."""


def histogram(
    name: str, *, group: str, by_member: bool = False, only: str | None = None
) -> Callable[[Callable[[Observations], Ints]], Callable[[Observations], Ints]]:
    """Add a kind of evidence: the decorated function maps rows to bins."""

    def add(bins: Callable[[Observations], Ints]) -> Callable[[Observations], Ints]:
        EVIDENCE[name] = Histogram(name, group, bins, by_member, only)
        return bins

    return add


def scalar(
    name: str, *, group: str, only: str | None = None
) -> Callable[[Callable[[Observations], Floats]], Callable[[Observations], Floats]]:
    """Add a kind of evidence: the decorated function returns one number per person."""

    def add(value: Callable[[Observations], Floats]) -> Callable[[Observations], Floats]:
        EVIDENCE[name] = Scalar(name, group, value, only)
        return value

    return add


def kinds_for(is_gps: bool, by: str = "all") -> list[Kind]:
    """Return the kinds that suit the rows.

    Parameters
    ----------
    by
        ``all``, ``times``, ``places``, ``file``, or the name of one group.
    """
    groups = {"times": TIME_GROUPS, "places": PLACE_GROUPS, "file": FILE_GROUPS}.get(by, (by,))
    known = {kind.group for kind in EVIDENCE.values()}
    if by != "all" and not known & {*groups}:
        allowed = ", ".join(("all", "times", "places", "file", *sorted(known)))
        raise ParameterError.of("evidence", by, f"one of {allowed}")
    other = "events" if is_gps else "gps"
    return [
        kind for kind in EVIDENCE.values() if kind.only != other and (by == "all" or kind.group in groups)
    ]


def log_bins(values: Floats | Ints, per_doubling: int) -> Ints:
    """Return ⌊k log₂ v⌋ for values of at least 1, -1 for missing ones."""
    values = np.asarray(values, np.float64)
    known = values >= 1
    return np.where(known, np.floor(per_doubling * np.log2(np.where(known, values, 1.0))), -1).astype(
        np.int64
    )


def _number_pairs(first: Ints, second: Ints, size: int) -> Ints:
    """Number pairs of bins; a missing one makes the pair missing. The second is below `size`."""
    return np.where((first >= 0) & (second >= 0), first * size + second, -1)


def _part_of_day(rows: Observations) -> Ints:
    return np.asarray(rows.hour // 6)


# Hours.

histogram("hour", group="hours")(lambda rows: rows.hour)
histogram("hour by weekend", group="hours")(lambda rows: np.asarray(rows.is_weekend * 24 + rows.hour))
histogram("hour of week", group="hours")(lambda rows: np.asarray(rows.weekday * 24 + rows.hour))
histogram("ten minutes of day", group="hours", only="gps")(lambda rows: np.asarray(rows.second_of_day // 600))
scalar("sine of hour", group="hours")(
    lambda rows: rows.per_user(np.sin(2 * np.pi * rows.second_of_day / 86_400))
)
scalar("cosine of hour", group="hours")(
    lambda rows: rows.per_user(np.cos(2 * np.pi * rows.second_of_day / 86_400))
)
scalar("weekend share", group="hours")(lambda rows: rows.per_user(rows.is_weekend))


# Intervals between rows.


def _interval_plus_one(rows: Observations) -> Ints:
    return np.where(rows.interval_s >= 0, rows.interval_s + 1, 0)


histogram("interval", group="intervals")(lambda rows: log_bins(_interval_plus_one(rows), 4))
histogram("interval by part of week", group="intervals")(
    lambda rows: _number_pairs(
        log_bins(_interval_plus_one(rows), 2), _part_of_day(rows) * 2 + rows.is_weekend, 8
    )
)


@histogram("hours between events", group="intervals", only="events")
def _hours_between(rows: Observations) -> Ints:
    hours = rows.interval_s // 3600
    return np.where((rows.interval_s >= 0) & (hours <= 200), hours, -1)


histogram("exact seconds between points", group="intervals", only="gps")(
    lambda rows: np.where(rows.interval_s <= 600, rows.interval_s, -1)
)


@histogram("two exact intervals in turn", group="intervals", only="gps")
def _two_intervals(rows: Observations) -> Ints:
    short = np.where(rows.interval_s <= 150, rows.interval_s, -1)
    before = np.full(len(rows), -1, np.int64)
    before[1:] = short[:-1]
    before[rows.is_first] = -1
    return _number_pairs(before, short, 151)


def _interval_quantile(rows: Observations, q: float) -> Floats:
    """Return the quantile of each user's logarithmic intervals."""
    known = np.flatnonzero(rows.interval_s >= 0)
    order = known[np.lexsort((rows.interval_s[known], rows.user[known]))]
    ends = np.searchsorted(rows.user[order], np.arange(rows.n_users + 1))
    counts = np.diff(ends)
    at = ends[:-1] + np.floor(q * np.maximum(counts - 1, 0)).astype(np.int64)
    found = np.full(rows.n_users, np.nan)
    there = counts > 0
    found[there] = np.log1p(rows.interval_s[order[at[there]]])
    return found


scalar("median interval", group="intervals")(lambda rows: _interval_quantile(rows, 0.5))
scalar("short intervals", group="intervals")(lambda rows: _interval_quantile(rows, 0.25))
scalar("long intervals", group="intervals")(lambda rows: _interval_quantile(rows, 0.75))


# First and last row of a day.

histogram("first of day", group="first and last of day")(
    lambda rows: np.where(rows.begins_day, rows.second_of_day // 1800, -1)
)
histogram("last of day", group="first and last of day")(
    lambda rows: np.where(rows.ends_day, rows.second_of_day // 1800, -1)
)


@histogram("span of day", group="first and last of day")
def _span_of_day(rows: Observations) -> Ints:
    first, last = np.flatnonzero(rows.begins_day), np.flatnonzero(rows.ends_day)
    bins = np.full(len(rows), -1, np.int64)
    bins[last] = (rows.second_of_day[last] - rows.second_of_day[first]) // 1800
    return bins


# Days.


@histogram("events per day", group="day activity")
def _events_per_day(rows: Observations) -> Ints:
    first, last = np.flatnonzero(rows.begins_day), np.flatnonzero(rows.ends_day)
    bins = np.full(len(rows), -1, np.int64)
    bins[last] = log_bins((last - first + 1).astype(np.float64), 3)
    return bins


histogram("weekday of active days", group="day activity")(
    lambda rows: np.where(rows.begins_day, rows.weekday, -1)
)


@histogram("days between active days", group="day activity")
def _day_gap(rows: Observations) -> Ints:
    first = np.flatnonzero(rows.begins_day)
    bins = np.full(len(rows), -1, np.int64)
    gap = np.diff(rows.day[first], prepend=0)
    again = first[~rows.is_first[first]]
    bins[again] = np.minimum(gap[~rows.is_first[first]], 60)
    return bins


@scalar("log events", group="activity level")
def _log_events(rows: Observations) -> Floats:
    total = np.bincount(rows.user, rows.weight, rows.n_users)
    return np.where(total > 0, np.log1p(total), np.nan)


@scalar("log active days", group="activity level")
def _log_days(rows: Observations) -> Floats:
    days = np.bincount(rows.user, rows.begins_day, rows.n_users)
    return np.where(days > 0, np.log1p(days), np.nan)


@scalar("events per active day", group="activity level")
def _rate(rows: Observations) -> Floats:
    days = np.bincount(rows.user, rows.begins_day, rows.n_users)
    return np.where(days > 0, np.log1p(rows.counts / np.maximum(days, 1)), np.nan)


# Places.

histogram("venue", group="places", by_member=True, only="events")(lambda rows: rows.place)
histogram("set of places", group="places", only="events")(
    lambda rows: rows.place if rows.members is not None else np.full(len(rows), -1, np.int64)
)
histogram("cell of 250 m", group="places", by_member=True)(lambda rows: rows.cell(250.0))
histogram("cell of 1 km", group="places", by_member=True)(lambda rows: rows.cell(1000.0))
histogram("cell of 3 km", group="places", by_member=True)(lambda rows: rows.cell(3000.0))
histogram("cell of 10 km", group="places", by_member=True)(lambda rows: rows.cell(10_000.0))


def _user_median(rows: Observations, degrees: Floats) -> Floats:
    known = np.flatnonzero(np.isfinite(degrees))
    order = known[np.lexsort((degrees[known], rows.user[known]))]
    ends = np.searchsorted(rows.user[order], np.arange(rows.n_users + 1))
    found = np.full(rows.n_users, np.nan)
    there = np.diff(ends) > 0
    found[there] = degrees[order[(ends[:-1] + (np.diff(ends) - 1) // 2)[there]]]
    return found


scalar("median latitude", group="places")(lambda rows: _user_median(rows, rows.latitude))
scalar("median longitude", group="places")(lambda rows: _user_median(rows, rows.longitude))
histogram("cell of the first of a day", group="home and work")(
    lambda rows: np.where(rows.begins_day, rows.cell(2000.0), -1)
)
histogram("cell of the last of a day", group="home and work")(
    lambda rows: np.where(rows.ends_day, rows.cell(2000.0), -1)
)
histogram("cell at night", group="home and work", by_member=True)(
    lambda rows: np.where((rows.hour >= 20) | (rows.hour < 8), rows.cell(1000.0), -1)
)


# Trips.

histogram("step length", group="trips")(lambda rows: log_bins(np.nan_to_num(rows.step_m, nan=-1.0) + 1, 2))


@histogram("speed", group="trips")
def _speed(rows: Observations) -> Ints:
    metres_per_hour = 3600 * rows.step_m / np.maximum(rows.interval_s, 1)
    return log_bins(np.nan_to_num(metres_per_hour, nan=-1.0) + 1, 2)


@histogram("step length and interval", group="trips")
def _step_and_interval(rows: Observations) -> Ints:
    step = log_bins(np.nan_to_num(rows.step_m, nan=-1.0) + 1, 1)
    return _number_pairs(step, log_bins(_interval_plus_one(rows), 1), 64)


scalar("mean log step", group="trips")(lambda rows: rows.per_user(np.log1p(rows.step_m)))
scalar("share of still rows", group="trips")(
    lambda rows: rows.per_user(np.where(np.isfinite(rows.step_m), rows.step_m < 50, np.nan))
)


@scalar("radius of gyration", group="trips")
def _gyration(rows: Observations) -> Floats:
    north = rows.latitude - rows.per_user(rows.latitude)[rows.user]
    east = (rows.longitude - rows.per_user(rows.longitude)[rows.user]) * np.cos(np.radians(rows.latitude))
    return np.asarray(np.log1p(111_195 * np.sqrt(rows.per_user(north**2 + east**2))))


@scalar("distance per day", group="trips")
def _per_day(rows: Observations) -> Floats:
    days = np.bincount(rows.user, rows.begins_day, rows.n_users)
    metres = np.bincount(rows.user, np.nan_to_num(rows.step_m), rows.n_users)
    return np.where(days > 0, np.log1p(metres / np.maximum(days, 1)), np.nan)


@histogram("move between cells", group="moves")
def _move(rows: Observations) -> Ints:
    cell = rows.cell(2000.0)
    before = np.full(len(rows), -1, np.int64)
    before[1:] = cell[:-1]
    moved = np.nan_to_num(rows.step_m, nan=-1.0) > 50
    # Two cell numbers do not fit into one integer: the pair is mixed into 62 bits.
    mixed = (before * np.int64(0x9E3779B97F4A7C15 - 2**64) ^ cell) & np.int64(2**62 - 1)
    return np.where(moved & (before >= 0) & (cell >= 0), mixed, -1)


# Places and times together.

histogram("cell by part of week", group="place and time", by_member=True)(
    lambda rows: _number_pairs(rows.cell(2000.0), _part_of_day(rows) * 2 + rows.is_weekend, 8)
)
histogram("cell by hour", group="place and time", by_member=True)(
    lambda rows: _number_pairs(rows.cell(5000.0), rows.hour, 24)
)


# Likelihoods through the channel of the defence.

for _likelihood, _name, _group in (
    ("polya", "visits through the channel", "places"),
    ("home", "first and last hour through the channel", "home and work"),
    ("profile", "times of day through the channel", "place and time"),
    ("markov", "steps through the channel", "moves"),
):
    EVIDENCE[_name] = Likelihood(_name, _group, _likelihood)


# How the file was written.

histogram("second of minute", group="seconds")(lambda rows: np.asarray(rows.second % 60))
histogram("minute of hour", group="seconds")(lambda rows: np.asarray(rows.second // 60 % 60))
histogram("millisecond", group="seconds", only="gps")(lambda rows: rows.millisecond.astype(np.int64))
histogram("decimals of coordinates", group="decimals", only="gps")(
    lambda rows: decimals_of(rows.latitude) * 10 + decimals_of(rows.longitude)
)


@histogram("last digits of coordinates", group="decimals", only="gps")
def _last_digits(rows: Observations) -> Ints:
    digits = np.rint(np.abs(np.nan_to_num(rows.latitude)) * 1e6).astype(np.int64) % 100
    return np.where(np.isfinite(rows.latitude), digits, -1)


def decimals_of(degrees: Floats, most: int = 8) -> Ints:
    """Return with how many decimals each number can be written.

    >>> decimals_of(np.array([40.0, 40.5, 40.123456])).tolist()
    [0, 1, 6]
    """
    found = np.full(len(degrees), most, np.int64)
    values = np.nan_to_num(degrees)
    for digits in range(most - 1, -1, -1):
        fits = np.abs(np.round(values, digits) - values) < 1e-10
        found[fits] = digits
    return found


@histogram("run of equal coordinates", group="duplicates")
def _run_length(rows: Observations) -> Ints:
    changes = np.ones(len(rows), bool)
    changes[1:] = (np.diff(rows.latitude) != 0) | (np.diff(rows.longitude) != 0)
    changes |= rows.is_first
    starts = np.flatnonzero(changes)
    bins = np.full(len(rows), -1, np.int64)
    bins[starts] = log_bins(np.diff(np.append(starts, len(rows))).astype(np.float64), 3)
    return bins


@histogram("rows of the same second", group="duplicates")
def _same_second(rows: Observations) -> Ints:
    return np.where(rows.interval_s >= 0, (rows.interval_s == 0).astype(np.int64), -1)
