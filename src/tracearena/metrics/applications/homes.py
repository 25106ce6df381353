"""Home and work, found from where people are at night and on working days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.frames import take_point_frames
from tracearena.checks import require_number
from tracearena.dataframes import Result, export_frame
from tracearena.errors import DataError
from tracearena.metrics.applications.error import mean_error_m
from tracearena.metrics.applications.paired import (
    ComparisonChunk,
    ComparisonChunks,
    IdTable,
    WholeComparison,
    with_true_ids,
)
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import mark_readonly
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import distance_m, earth_centred, metres_per_degree
from tracearena.traces.time import local_seconds, solar_seconds

NIGHT = (20, 8)
OFFICE_HOURS = (10, 17)
_LONGEST_STAY_S = 900.0
_SHORTEST_STAY_S = 1.0
REACH_M = 300.0
_ROUNDS = 20


@dataclass(frozen=True)
class KeyPlaces:
    """Home and workplace of each user in degrees; NaN if they cannot be determined."""

    user_ids: NDArray[Any]
    home_latitude: NDArray[np.float64]
    home_longitude: NDArray[np.float64]
    work_latitude: NDArray[np.float64]
    work_longitude: NDArray[np.float64]

    @property
    def columns(self) -> tuple[NDArray[np.float64], ...]:
        """The four columns."""
        return (*self.home, *self.work)

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row per user.

        Columns ``user_id``, ``home_lat``, ``home_lng``, ``work_lat`` and ``work_lng``; null if they cannot be
        determined. The table is as secret as the traces. `library` is ``polars``, ``pandas`` or ``arrow``.
        """
        import polars as pl

        names = ("home_lat", "home_lng", "work_lat", "work_lng")
        places = {
            name: pl.Series(column).fill_nan(None) for name, column in zip(names, self.columns, strict=True)
        }
        return export_frame(pl.DataFrame({"user_id": self.user_ids, **places}), library)

    @property
    def home(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latitudes and longitudes of homes."""
        return self.home_latitude, self.home_longitude

    @property
    def work(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latitudes and longitudes of workplaces."""
        return self.work_latitude, self.work_longitude


@dataclass(frozen=True)
class HomesComparison(Result):
    """Homes and workplaces that are still found in a release.

    Attributes
    ----------
    users_with_home, users_with_work
        Number of users whose home or work can be found in the original.
    home_found, work_found
        Share of these whose home or work in the release is within `within_m` of it. The attacker takes the
        densest spot of the nights (working hours) of a user in the release, with points up to `reach_m`
        apart. An attacker who knows more may find more.
    home_chance, work_chance
        The success rate of guessing: the same share if each user gets the place of another user, averaged
        over all pairs of users. None with fewer than two users.
    users_released
        Number of users of the original with released points.
    home_error_m, work_error_m
        Median distance between the two, over users with both; None if there are none.
    within_m
        Largest distance at which a place counts as found, in metres.
    reach_m
        The attacker's `reach_m` of `homes_and_workplaces`: the mean noise between the two files, at least
        300 m.
    """

    users_with_home: int
    users_with_work: int
    home_found: float | None
    work_found: float | None
    home_chance: float | None
    work_chance: float | None
    users_released: int
    home_error_m: float | None
    work_error_m: float | None
    within_m: float
    reach_m: float


@take_point_frames
def homes_and_workplaces(
    traces: GpsTraces, *, timezone: str | None = None, reach_m: float = REACH_M
) -> KeyPlaces:
    """Return home and work of each user; a data frame of points is answered with one of users.

    Home is where a user spends most of the time from 20 to 8 o'clock, and work from 10 to 17 o'clock on
    weekdays. A point represents the time until the next one, at most 15 minutes. Mean shift over the points
    within `reach_m` starts at the cell of `reach_m` with the most time and climbs to the peak, so noise of
    that size averages out.

    Parameters
    ----------
    timezone
        Time zone of the hours; by default local solar time (longitude / 15°, in whole hours).
    reach_m
        Largest distance between the points of one place, in metres.
    """
    require_number("reach_m", reach_m, above=0)
    local = (
        solar_seconds(traces.time_ms, traces.longitude)
        if timezone is None
        else local_seconds(traces.time_ms, timezone)
    )
    hour = local % DAY_S // 3600
    weekday = (local // DAY_S + 3) % 7 < 5
    night = (hour >= NIGHT[0]) | (hour < NIGHT[1])
    office = weekday & (hour >= OFFICE_HOURS[0]) & (hour < OFFICE_HOURS[1])
    # Seconds until the user's next point, within bounds.
    weight = np.full(len(traces), _SHORTEST_STAY_S)
    if len(traces) > 1:
        until_next = np.diff(traces.time_ms) / 1000
        until_next[np.diff(traces.user_index) != 0] = _SHORTEST_STAY_S
        weight[:-1] = np.clip(until_next, _SHORTEST_STAY_S, _LONGEST_STAY_S)
    home = [_find_peak(traces, user, night, weight, reach_m) for user in range(traces.n_users)]
    work = [_find_peak(traces, user, office, weight, reach_m) for user in range(traces.n_users)]
    columns = (np.array(places, np.float64).reshape(-1, 2) for places in (home, work))
    (home_lat, home_lon), (work_lat, work_lon) = (np.ascontiguousarray(c.T) for c in columns)
    return KeyPlaces(
        traces.user_ids,
        mark_readonly(home_lat),
        mark_readonly(home_lon),
        mark_readonly(work_lat),
        mark_readonly(work_lon),
    )


def compare_homes(
    original: GpsTraces,
    released: GpsTraces,
    *,
    timezone: str | None = None,
    within_m: float = 200.0,
    id_table: IdTable | None = None,
) -> HomesComparison:
    """Find homes and workplaces in both traces, and compare them for each user.

    Parameters
    ----------
    timezone
        Zone of the hours; by default clocks follow the sun.
    within_m
        Largest distance at which a place counts as found, in metres.
    id_table
        Pseudonym → user. Required if the release has other ids than the original.
    """
    require_number("within_m", within_m, above=0)
    true = with_true_ids(original, released, id_table)
    return compare_homes_in_chunks(WholeComparison(original, true), timezone=timezone, within_m=within_m)


def compare_homes_in_chunks(
    walk: ComparisonChunks, *, timezone: str | None = None, within_m: float = 200.0
) -> HomesComparison:
    """Return what `compare_homes` does, of users who are walked through."""
    require_number("within_m", within_m, above=0)
    if not walk.released_points:
        raise DataError("the released traces have no points")
    noise_m = mean_error_m(walk) if (walk.is_released & (walk.points > 0)).any() else 0.0
    reach_m = max(REACH_M, noise_m)

    def find_in_release(part: ComparisonChunk) -> KeyPlaces:
        """Return what the release tells of the users of the original, in their order."""
        places = homes_and_workplaces(part.released, timezone=timezone, reach_m=reach_m)
        columns = (np.append(column, np.nan)[part.same] for column in places.columns)
        return KeyPlaces(part.original.user_ids, *columns)

    before = _concat_key_places(
        walk.visit(lambda part: homes_and_workplaces(part.original, timezone=timezone))
    )
    after = _concat_key_places(walk.visit(find_in_release))
    home = _compare_places(before.home, after.home, within_m)
    work = _compare_places(before.work, after.work, within_m)
    return HomesComparison(
        users_with_home=home.users,
        users_with_work=work.users,
        home_found=home.found,
        work_found=work.found,
        home_chance=home.chance,
        work_chance=work.chance,
        users_released=int(walk.is_released.sum()),
        home_error_m=home.error_m,
        work_error_m=work.error_m,
        within_m=within_m,
        reach_m=reach_m,
    )


def _concat_key_places(parts: list[KeyPlaces]) -> KeyPlaces:
    columns = zip(*((part.user_ids, *part.columns) for part in parts), strict=True)
    return KeyPlaces(*map(np.concatenate, columns))


class _Comparison(NamedTuple):
    users: int
    found: float | None
    chance: float | None
    error_m: float | None


def _find_peak(
    traces: GpsTraces, user: int, chosen: NDArray[np.bool_], weight: NDArray[np.float64], reach_m: float
) -> tuple[float, float]:
    """Return the position where a user's chosen points are densest, NaN without points."""
    own = slice(traces.offsets[user], traces.offsets[user + 1])
    mask = chosen[own]
    latitude, longitude, w = traces.latitude[own][mask], traces.longitude[own][mask], weight[own][mask]
    if not len(w):
        return np.nan, np.nan
    north, east = (float(m) for m in metres_per_degree(np.median(latitude)))
    turn = (longitude - longitude[0] + 180) % 360 - 180
    x, y = turn * max(east, 1.0), (latitude - latitude[0]) * north
    cells, index = np.unique(
        np.floor(x / reach_m).astype(np.int64) * 2**31 + np.floor(y / reach_m).astype(np.int64),
        return_inverse=True,
    )
    heaviest = index == np.argmax(np.bincount(index, weights=w, minlength=len(cells)))
    centre = np.average(x[heaviest], weights=w[heaviest]), np.average(y[heaviest], weights=w[heaviest])
    for _ in range(_ROUNDS):
        near = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 <= reach_m**2
        moved = np.average(x[near], weights=w[near]), np.average(y[near], weights=w[near])
        if moved == centre:
            break
        centre = moved
    found_longitude = (longitude[0] + centre[0] / max(east, 1.0) + 180) % 360 - 180
    return float(latitude[0] + centre[1] / north), float(found_longitude)


def _compare_places(
    truth: tuple[NDArray[np.float64], NDArray[np.float64]],
    inferred: tuple[NDArray[np.float64], NDArray[np.float64]],
    within_m: float,
) -> _Comparison:
    known = ~np.isnan(truth[0])
    if not known.any():
        return _Comparison(0, None, None, None)
    both = known & ~np.isnan(inferred[0])
    guesses = [degrees[both] for degrees in inferred]
    distances = distance_m(*(degrees[both] for degrees in truth), *guesses)
    found = int((distances <= within_m).sum())
    chance = _estimate_chance(
        earth_centred(*(degrees[known] for degrees in truth)), earth_centred(*guesses), found, within_m
    )
    return _Comparison(
        int(known.sum()),
        float(found / known.sum()),
        chance,
        float(np.median(distances)) if distances.size else None,
    )


def _estimate_chance(
    truth: NDArray[np.float64], inferred: NDArray[np.float64], own: int, within_m: float
) -> float | None:
    """Return the share of pairs of a user and another user's released place that lie together.

    Where a release tells fewer places, some users have no guess, as for `found`.
    """
    from scipy.spatial import KDTree

    if len(truth) < 2:
        return None
    if not len(inferred):
        return 0.0
    together = int(KDTree(truth).query_ball_point(inferred, within_m, return_length=True).sum())
    return (together - own) / (len(truth) * (len(truth) - 1))
