"""Finding homes behind privacy zones of GPS traces.

The attack finds the ends of trips before and after each night with their headings, and then computes a
likelihood map of the circle that hides the home.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracearena.attacks.base import Floats, Ints32
from tracearena.checks import require_number
from tracearena.engine import run_blocks
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import mark_readonly
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.time import local_seconds, solar_seconds

_SILENCE_MS = 1_200_000
_DEEP_NIGHT_S = 3 * 3600
_BASE_M = 60.0
"""Length of the way by which a heading is measured; half of it is the least."""
_MOST_POINTS = 60


@dataclass(frozen=True)
class LocalPoints:
    """A user's released points in metres east and north of their middle."""

    xy: Floats
    latitude: float
    longitude: float
    metres: tuple[float, float]
    """Metres of a degree of longitude and of latitude."""

    @classmethod
    def of(cls, traces: GpsTraces, own: slice) -> LocalPoints:
        """Lay a user's points on a plane, also across the date line."""
        latitude, longitude = traces.latitude[own], traces.longitude[own]
        middle, first = float(np.median(latitude)), float(longitude[0])
        north, east = (float(m) for m in metres_per_degree(middle))
        east = max(east, 1.0)
        turn = (longitude - first + 180) % 360 - 180
        return cls(np.column_stack([turn * east, (latitude - middle) * north]), middle, first, (east, north))

    def degrees(self, spot: Floats) -> tuple[float, float]:
        """Return latitude and longitude of a spot of the plane."""
        longitude = (self.longitude + spot[0] / self.metres[0] + 180) % 360 - 180
        return float(self.latitude + spot[1] / self.metres[1]), float(longitude)


@dataclass(frozen=True)
class TripEnds:
    """Points at which trips vanish before a night, or appear after it.

    Attributes
    ----------
    xy
        Where, in metres.
    heading
        Unit vector of the way on, into what is hidden; 0 where the trip does not tell.
    step_m
        How far from the zone the point may be: the length of a step of the trip there.
    """

    xy: Floats
    heading: Floats
    step_m: Floats

    def __len__(self) -> int:
        return len(self.xy)


def find_night_ends(traces: GpsTraces, own: slice, xy: Floats, timezone: str | None) -> TripEnds:
    """Find the ends of a user: on both sides of each silence that lasts over three o'clock at night."""
    time_ms, trajectory = traces.time_ms[own], traces.trajectory[own]
    longitude = traces.longitude[own]
    local = solar_seconds(time_ms, longitude) if timezone is None else local_seconds(time_ms, timezone)
    night = np.diff((local - _DEEP_NIGHT_S) // DAY_S) != 0
    before = np.flatnonzero(night & (np.diff(time_ms) >= _SILENCE_MS))
    # The recording as a whole begins and ends somewhere, at home more often than not.
    into = np.concatenate([before, [len(xy) - 1]])
    out_of = np.concatenate([before + 1, [0]])
    found = [_measure_end(xy, trajectory, int(at), -1) for at in into]
    found += [_measure_end(xy, trajectory, int(at), 1) for at in out_of]
    return TripEnds(
        xy[np.concatenate([into, out_of])],
        np.array([heading for heading, _ in found]),
        np.array([step for _, step in found]),
    )


def _measure_end(xy: Floats, trajectory: Ints32, at: int, side: int) -> tuple[Floats, float]:
    """Return heading and step of an end whose trip continues to the side of -1 or 1."""
    stop = at
    while (
        abs(stop - at) < _MOST_POINTS
        and 0 <= stop + side < len(xy)
        and trajectory[stop + side] == trajectory[at]
        and np.hypot(*(xy[stop] - xy[at])) < _BASE_M
    ):
        stop += side
    if stop == at:
        return np.zeros(2), 50.0
    way = xy[at] - xy[stop]
    length = float(np.hypot(*way))
    step = float(np.hypot(*(xy[at + side] - xy[at])))
    return (way / length if length >= _BASE_M / 2 else np.zeros(2)), min(step, 150.0)


# Homes, from where the released trips stop.

_PER_END = 1.5
"""Log likelihood of an end that lies on a circle against one that lies anywhere."""
_TOLERANCE_M = 8.0
_STREET_M = 20.0
"""How far from the straight continuation of a trip a home is thought to be."""
_BEND = 0.15
"""Likelihood of homes off the continuation, against those on it."""
_SAME_EXIT_M = 40.0
_CELLS = 40
"""Cells of the attacker's map a radius."""
_FINEST_M = 10.0
_FEWEST = 2


@dataclass(frozen=True)
class GuessedHomes:
    """Guessed home of each user in degrees; NaN if there is no guess."""

    latitude: Floats
    longitude: Floats


def homes_behind_zones(
    released: GpsTraces,
    *,
    radius_m: float,
    shift_m: float = 0.0,
    within_m: float = 100.0,
    timezone: str | None = None,
) -> GuessedHomes:
    """Guess homes that are hidden by circles of known radius.

    A maximum-likelihood attack. The attacker knows the mechanism (`Zones` or `TrimEnds`) with its parameters,
    and has the release. Trips that end before a night or begin after it do so on the circle around the home,
    and no released point lies inside the circle: this gives a likelihood of every possible centre. The home
    lies within `shift_m` of the centre, and often in the direction of the street on which trips end: this
    gives a probability of every possible home. The guess is the point with the largest probability within
    `within_m`.

    Parameters
    ----------
    radius_m, shift_m
        Radius of the zones, and the largest distance between a home and the centre of its zone, in metres;
        with 0 the home is the centre.
    within_m
        Distance within which a guess counts as right, in metres.
    timezone
        Time zone of the nights; by default local solar time.

    Notes
    -----
    The attacker knows no map, only the released trips. With a map of houses and streets, the attack would
    find more homes.

    Examples
    --------
    >>> from tracearena.cities import simulate_gps
    >>> trips = simulate_gps(users=1, days=2, interval_s=30, seed=1)
    >>> homes_behind_zones(trips, radius_m=500).latitude.shape
    (1,)
    """
    require_number("radius_m", radius_m, above=0)
    require_number("shift_m", shift_m, at_least=0)
    require_number("within_m", within_m, above=0)
    guesses = np.full((released.n_users, 2), np.nan)

    def work(block: int, user: int, stop: int) -> None:
        own = slice(int(released.offsets[user]), int(released.offsets[user + 1]))
        if own.stop - own.start >= _FEWEST:
            points = LocalPoints.of(released, own)
            ends = find_night_ends(released, own, points.xy, timezone)
            spot = _HomeMap(points.xy, ends, radius_m).find_home(shift_m, within_m)
            guesses[user] = points.degrees(spot)

    run_blocks(work, [(user, user + 1) for user in range(released.n_users)], report=True)
    latitude, longitude = np.ascontiguousarray(guesses.T)
    return GuessedHomes(mark_readonly(latitude), mark_readonly(longitude))


class _HomeMap:
    """The area around the circle that explains the most ends, in square cells."""

    def __init__(self, xy: Floats, ends: TripEnds, radius_m: float) -> None:
        from scipy.spatial import KDTree

        self.ends, self.radius_m = ends, radius_m
        self.step_m = max(_FINEST_M, radius_m / _CELLS)
        # Points nearer to each other than the tolerance say the same.
        self.tree = KDTree(np.unique(np.rint(xy / 2) * 2, axis=0))
        # Centres of circles that touch some end, all around it.
        turns = np.linspace(0, 2 * np.pi, 4 * _CELLS, endpoint=False)
        distance = radius_m + np.minimum(ends.step_m, _SAME_EXIT_M) / 2
        circle = np.column_stack([np.cos(turns), np.sin(turns)])
        spots = (ends.xy[:, None, :] + distance[:, None, None] * circle).reshape(-1, 2)
        around = np.unique(np.rint(spots / (2 * _FINEST_M)), axis=0) * (2 * _FINEST_M)
        middle = around[np.argmax(self._count_on_circle(around))]
        reach = int(2 * radius_m // self.step_m)
        side = np.arange(-reach, reach + 1) * self.step_m
        east, north = np.meshgrid(side, side)
        self.cells = middle + np.column_stack([east.ravel(), north.ravel()])
        self.shape = east.shape

    def find_home(self, shift_m: float, within_m: float) -> Floats:
        """Return the spot with the most probability of a home around it."""
        from scipy.signal import fftconvolve

        on_circle = self._count_on_circle(self.cells)
        middle = np.exp(_PER_END * (on_circle - on_circle.max())).reshape(self.shape)
        home = np.maximum(fftconvolve(middle, _build_disc(shift_m, self.step_m), mode="same"), 0)
        along = np.zeros(len(self.cells))
        for at, heading, times in self._list_exits():
            ahead = (self.cells - at) @ heading
            aside = (self.cells - at) @ np.array([-heading[1], heading[0]])
            near = np.exp(-0.5 * (aside / _STREET_M) ** 2) * (ahead > 0)
            along += np.log(_BEND + near) * np.sqrt(min(times, 3))
        home *= np.exp(along - along.max()).reshape(self.shape)
        found = fftconvolve(home, _build_disc(within_m, self.step_m), mode="same").ravel()
        best = self.cells[found >= 0.999 * found.max()]
        return np.asarray(best[np.argmin(np.hypot(*(best - best.mean(axis=0)).T))])

    def _count_on_circle(self, middles: Floats) -> Floats:
        """How many ends lie on the circle around each middle, less what lies inside."""
        count = np.zeros(len(middles))
        for end, step in zip(self.ends.xy, self.ends.step_m, strict=True):
            apart = np.hypot(*(middles - end).T) - self.radius_m
            beyond = np.maximum(apart - step - _TOLERANCE_M, 0)
            count += np.where(apart < -_TOLERANCE_M, 0, np.exp(-beyond / 15.0))
        nearest = self.tree.query(middles)[0]
        return np.asarray(count - np.clip((self.radius_m - 3 - nearest) / 5, 0, 10))

    def _list_exits(self) -> list[tuple[Floats, Floats, int]]:
        """Ends near the map with a heading, those by the same street counted together."""
        exits: list[tuple[Floats, Floats, int]] = []
        middle = self.cells[len(self.cells) // 2]
        for at, heading in zip(self.ends.xy, self.ends.heading, strict=True):
            if not heading.any() or np.hypot(*(at - middle)) > 2.2 * self.radius_m:
                continue
            for number, (known, way, times) in enumerate(exits):
                if np.hypot(*(at - known)) < _SAME_EXIT_M and heading @ way > 0.9:
                    exits[number] = known, way, times + 1
                    break
            else:
                exits.append((at, heading, 1))
        return exits


def _build_disc(radius_m: float, step_m: float) -> Floats:
    reach = np.arange(-int(radius_m // step_m), int(radius_m // step_m) + 1) * step_m
    return np.asarray((reach[:, None] ** 2 + reach**2 <= radius_m**2 + 1e-6).astype(float))
