"""GPS traces in the city: points every few seconds along its streets, with gaps and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.cities.city import (
    ARTS,
    FOOD,
    GRID,
    HOSPITAL,
    KINDS,
    NIGHT,
    OFFICE,
    SCHOOL,
    SHOP,
    TRAVEL,
    regions,
)
from tracearena.cities.people import Atlas, build_atlas
from tracearena.cities.simulation import FIRST_DAY, UTC_OFFSET_S, simulate
from tracearena.engine import SeedLike, child_seed, run_blocks, seed_sequence, stream, use
from tracearena.errors import ParameterError
from tracearena.traces import Clock, GpsTraces
from tracearena.traces._arrays import mark_readonly
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.time import EPOCH

Floats = NDArray[np.float64]

STREET_M = 280.0
"""Distance between parallel streets."""
BUILDINGS = 6
"""Buildings of a region in which people of the region meet."""
_STEP_S = 300
_LINGER = 2
"""Steps that a receiver records before leaving and after arriving."""
_JITTER_M = 4.0
_JITTER_MEMORY = 0.95
LOST = 0.02
"""Share of single points that a receiver loses."""
_HOLES_PER_STEP = 0.02
_LIVES, _RECEIVERS, _MAP = range(3)


@dataclass(frozen=True)
class Recordings:
    """The points of one user."""

    time_ms: NDArray[np.int64]
    latitude: Floats
    longitude: Floats
    trajectory: NDArray[np.int32]


def simulate_gps(
    users: int = 40, days: int = 60, *, interval_s: float = 5.0, recorded: float = 0.45, seed: SeedLike = None
) -> GpsTraces:
    """Simulate people of the embedded city who carry GPS receivers.

    They are the people of `simulate`, seen every few seconds: each region has a street grid and
    some buildings; a way from one region to the next follows the streets. As in GeoLife, people
    record some days and not others, some people record much more than others, receivers run
    while people are on the way and shortly before and after, and lose the signal now and then.

    Parameters
    ----------
    users, days
        How many people, for how long; each at least 1.
    interval_s
        Typical time between points; a receiver has a fixed one of 0.4 to 1 times it.
    recorded
        Mean share of days that people record, above 0, at most 1.
    seed
        Seed of everything random; the map is always the same.

    Notes
    -----
    Positions err by about 4 m, and errors persist for about 20 points. Not modelled: one-way
    streets, traffic lights, rail and tunnels, buildings that reflect the signal.

    Examples
    --------
    >>> simulate_gps(users=2, days=3, seed=1).n_users
    2
    """
    require_number("recorded", recorded, above=0, at_most=1)
    require_number("interval_s", interval_s, at_least=0.1, at_most=_STEP_S)
    root = seed_sequence(seed)
    lives = child_seed(root, _LIVES)
    clock = Clock(instants_per_day=DAY_S // _STEP_S, interval_s=_STEP_S, first_day=FIRST_DAY)
    with use(progress=None):
        stays = simulate(users, days, clock=clock, seed=lives)
    table = stays.place_index.reshape(users, -1)
    buildings = build_buildings()

    def work(block: int, first: int, stop: int) -> Recordings:
        rng = stream(root, _RECEIVERS, first)
        return _record_person(rng, first, table[first], buildings, days, interval_s, recorded)

    found = run_blocks(work, [(u, u + 1) for u in range(users)], report=True)
    return join_recordings(found)


def join_recordings(found: list[Recordings]) -> GpsTraces:
    trajectories = [int(one.trajectory[-1]) + 1 if len(one.trajectory) else 0 for one in found]
    first = np.concatenate([[0], np.cumsum(trajectories)[:-1]])
    lengths = [len(one.time_ms) for one in found]
    return GpsTraces(
        user_ids=np.array([f"{user:03d}" for user in range(len(found))]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        time_ms=mark_readonly(np.concatenate([one.time_ms for one in found])),
        latitude=mark_readonly(np.concatenate([one.latitude for one in found])),
        longitude=mark_readonly(np.concatenate([one.longitude for one in found])),
        trajectory=mark_readonly(
            np.concatenate([one.trajectory + np.int32(at) for one, at in zip(found, first, strict=True)])
        ),
        trajectory_ids=np.concatenate([np.arange(n) for n in trajectories]).astype(np.int64),
    )


def build_buildings() -> Floats:
    """Return x, y in metres (from the south-west corner) of the buildings, regions × buildings × 2.

    They stand at streets that run east.
    """
    places = regions()
    north, east = degree_m()
    centre = np.column_stack([(places.longitude - GRID.west) * east, (places.latitude - GRID.south) * north])
    rng = np.random.default_rng([2019, _MAP])
    size = np.array([GRID.cell_width * east, GRID.cell_height * north])
    spots = centre[:, None, :] + (rng.random((len(places), BUILDINGS, 2)) - 0.5) * size * 0.9
    spots[..., 1] = np.rint(spots[..., 1] / STREET_M) * STREET_M
    return np.asarray(spots)


def degree_m() -> tuple[float, float]:
    north, east = metres_per_degree((GRID.south + GRID.north) / 2)
    return float(north), float(east)


def _record_person(
    rng: np.random.Generator,
    user: int,
    region: NDArray[np.int32],
    buildings: Floats,
    days: int,
    interval_s: float,
    recorded: float,
) -> Recordings:
    """Record one person."""
    steps_per_day = len(region) // days
    # A few record nearly every day and many now and then.
    eagerness = rng.beta(recorded * 1.5, (1 - recorded) * 1.5) if recorded < 1 else 1.0
    on_days = rng.random(days) < eagerness
    on_days[rng.integers(days)] = True
    # Steps within ten minutes of one in which the person moves.
    moving = np.zeros(len(region), bool)
    moving[:-1] = np.diff(region) != 0
    running = np.convolve(moving, np.ones(2 * _LINGER + 1), mode="same") > 0
    running &= np.repeat(on_days, steps_per_day)
    running &= rng.random(len(region)) >= _HOLES_PER_STEP
    running[-1] = False
    # At the beginning of each step the person is at a building of the region; at home, the most frequent
    # region, everybody has a door of their own.
    building = (user * 7_919 + region.astype(np.int64) * 104_729) % 10_007 % BUILDINGS
    corners = buildings[region, building].copy()
    corners[region == np.bincount(region).argmax(), 0] += (user * 37 % 160) - 80.0
    second, trajectory = _draw_recorded_points(rng, running, interval_s * rng.choice([0.4, 0.6, 1.0]))
    x, y = interpolate_along_streets(corners, second)
    x, y = x + draw_position_errors(rng, len(x)), y + draw_position_errors(rng, len(y))
    north, east = degree_m()
    midnight = (FIRST_DAY - EPOCH).days * DAY_S - UTC_OFFSET_S
    # PLT files and many receivers give whole seconds.
    time_ms = (np.floor(second).astype(np.int64) + midnight) * 1000
    return Recordings(time_ms, GRID.south + y / north, GRID.west + x / east, trajectory)


def _draw_recorded_points(
    rng: np.random.Generator, running: NDArray[np.bool_], interval_s: float
) -> tuple[Floats, NDArray[np.int32]]:
    """Return the time of each recorded point in seconds since the first midnight, and its trajectory."""
    edges = np.diff(np.concatenate([[0], running.view(np.int8), [0]]))
    starts, stops = np.flatnonzero(edges == 1) * _STEP_S, np.flatnonzero(edges == -1) * _STEP_S
    counts = ((stops - starts) // interval_s).astype(np.int64)
    recording = np.repeat(np.arange(len(starts), dtype=np.int32), counts)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    second = starts[recording] + number * interval_s
    kept = rng.random(len(second)) >= LOST
    recording = recording[kept]
    return second[kept], np.unique(recording, return_inverse=True)[1].astype(np.int32)


def interpolate_along_streets(
    stations: Floats, second: Floats, step_s: int = _STEP_S
) -> tuple[Floats, Floats]:
    """Return x and y at each second: along the street, up a cross street, along the next street.

    Parameters
    ----------
    stations
        Where somebody is at the beginning of each step.
    second
        Seconds since the beginning of the first step.
    step_s
        Length of a step.
    """
    step = np.minimum((second // step_s).astype(np.int64), len(stations) - 2)
    share = second / step_s - step
    a, b = stations[step], stations[step + 1]
    cross = np.rint((0.3 * a[:, 0] + 0.7 * b[:, 0]) / STREET_M) * STREET_M
    first, middle = np.abs(cross - a[:, 0]), np.abs(b[:, 1] - a[:, 1])
    # Neighbours in one street need no cross street.
    cross = np.where(middle == 0, b[:, 0], cross)
    first = np.where(middle == 0, np.abs(b[:, 0] - a[:, 0]), first)
    last = np.abs(b[:, 0] - cross)
    walked = share * (first + middle + last)
    on_first = np.minimum(walked, first)
    on_middle = np.clip(walked - first, 0, middle)
    on_last = np.clip(walked - first - middle, 0, last)
    x = a[:, 0] + np.sign(cross - a[:, 0]) * on_first + np.sign(b[:, 0] - cross) * on_last
    return x, a[:, 1] + np.sign(b[:, 1] - a[:, 1]) * on_middle


def draw_position_errors(rng: np.random.Generator, count: int) -> Floats:
    """Draw errors in metres that persist for a while: a first-order autoregression."""
    from scipy.signal import lfilter

    fresh = rng.normal(0.0, _JITTER_M * np.sqrt(1 - _JITTER_MEMORY**2), count)
    return np.asarray(lfilter([1.0], [1.0, -_JITTER_MEMORY], fresh))


# A fleet: vehicles that work in shifts and report where they are at intervals of their own.

SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 20, 120
"""Range of the reporting intervals of vehicles."""
JITTER_S = 0.6
"""Standard deviation of how far a report is off its time."""
DEPOTS = 12
_FLEET_STEP_S = 60
_DAY_MIN = DAY_S // 60
_SHIFTS = ((390.0, 75.0, 0.5), (840.0, 90.0, 0.35), (1290.0, 75.0, 0.15))
"""Day, late and night shifts: minute of the day at which they begin, its spread between vehicles, share."""
_START_JITTER_MIN = 35.0
_LENGTH_MIN, _LENGTH_SPREAD_MIN, _LENGTH_JITTER_MIN = 480.0, 75.0, 60.0
"""Length of shifts in minutes: typical, spread between vehicles, and from day to day."""
_SHORTEST_SHIFT_MIN, _LONGEST_SHIFT_MIN = 120.0, 840.0
_LEAST_RECORDED_MIN = 10.0
"""A shift that begins later than this before the end of the last day is left out."""
_FIXED_DAY_OFF = 0.5
"""Share of the vehicles with a fixed day off in the week."""
_MOST_IDLE = 0.25
"""A vehicle stays in the depot on up to this share of its other days, each its own share."""
_MOST_LOYAL = 0.3
"""Up to this share of a vehicle's orders come from its district, each its own share."""
_ORDERS = {FOOD: 25, SHOP: 25, NIGHT: 5, ARTS: 8, TRAVEL: 15, OFFICE: 15, HOSPITAL: 5, SCHOOL: 2}
"""Kinds of venue that vehicles are called to, with weights."""
_MOST_VEHICLE_DAYS = 10**6
_VEHICLES, _DEPOTS = range(2)


@dataclass(frozen=True)
class _Vehicle:
    """One vehicle and its habits; times in minutes.

    Attributes
    ----------
    depot, district
        Regions where its shifts begin and end, and where some of its orders come from.
    loyalty
        Share of the orders that come from the district.
    start, length
        Typical begin of its shifts as minute of the day, and their length.
    day_off
        Day of the week on which it never works; -1 without any.
    idle
        Share of the other days on which it does not work.
    interval_s
        Time between the reports of its device.
    """

    depot: int
    district: int
    loyalty: float
    start: float
    length: float
    day_off: int
    idle: float
    interval_s: int


def simulate_fleet(vehicles: int = 500, days: int = 14, *, seed: SeedLike = None) -> GpsTraces:
    """Simulate vehicles that drive from order to order in the embedded city.

    Each vehicle has a depot that it shares with others, a district where some of its orders come from,
    shifts (day, late or night, with its own start and length, and days off), and a device that reports the
    position at an interval of its own. One trajectory is one shift.

    Parameters
    ----------
    vehicles
        Number of vehicles, at least 1; the first n of a larger fleet with the same seed are the same.
    days
        Number of consecutive days, at least 1, from a Monday on. Nothing is recorded after the last.
    seed
        Seed of everything random; the map is always the same.

    Notes
    -----
    The interval of a vehicle is a whole number of seconds from 20 to 120, each as likely. Reports are about
    0.6 s off their time and come in whole seconds, and 2 % are lost. Positions err as in `simulate_gps`.
    Vehicles drive the quickest ways of the people, railways included; traffic jams, one-way streets and fuel
    stops are not modelled. 500 vehicles report about 2.9 million points in two weeks.

    Examples
    --------
    >>> simulate_fleet(vehicles=2, days=7, seed=1).n_users
    2
    """
    require_whole("vehicles", vehicles, at_least=1)
    require_whole("days", days, at_least=1)
    if vehicles * days > _MOST_VEHICLE_DAYS:
        raise ParameterError.of("vehicles × days", vehicles * days, f"at most {_MOST_VEHICLE_DAYS:,}")
    root, town, buildings = seed_sequence(seed), build_atlas(), build_buildings()

    def work(block: int, first: int, stop: int) -> Recordings:
        rng = stream(root, _VEHICLES, first)
        return _record_vehicle(rng, _draw_vehicle(rng, town), days, town, buildings)

    return join_recordings(run_blocks(work, [(u, u + 1) for u in range(vehicles)], report=True))


def _draw_vehicle(rng: np.random.Generator, town: Atlas) -> _Vehicle:
    start, spread, _ = _SHIFTS[rng.choice(len(_SHIFTS), p=[share for _, _, share in _SHIFTS])]
    district = np.searchsorted(town.homes, rng.random() * town.homes[-1], side="right")
    # The depots are the same for every fleet: more where more people live.
    spots = np.random.default_rng([2019, _DEPOTS]).random(DEPOTS)
    depots = np.searchsorted(town.homes, spots * town.homes[-1], side="right")
    return _Vehicle(
        depot=int(rng.choice(depots)),
        district=int(district),
        loyalty=float(rng.uniform(0, _MOST_LOYAL)),
        start=start + spread * rng.standard_normal(),
        length=_LENGTH_MIN + _LENGTH_SPREAD_MIN * rng.standard_normal(),
        day_off=int(rng.integers(7)) if rng.random() < _FIXED_DAY_OFF else -1,
        idle=float(rng.uniform(0, _MOST_IDLE)),
        interval_s=int(rng.integers(SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S + 1)),
    )


def _record_vehicle(
    rng: np.random.Generator, vehicle: _Vehicle, days: int, town: Atlas, buildings: Floats
) -> Recordings:
    """Drive one vehicle and record it."""
    from tracearena.cities._kernels import Duty, drive_vehicle

    starts, stops = _draw_shifts(rng, vehicle, days)
    weights = np.array([_ORDERS.get(kind, 0) for kind in range(len(KINDS))])
    kinds = np.cumsum(weights) / weights.sum()
    duty = Duty(vehicle.depot, vehicle.district, vehicle.loyalty, kinds, starts, stops)
    minutes = np.arange(days * _DAY_MIN + 1) * (_FLEET_STEP_S / 60)
    region, door = np.empty((2, len(minutes)), np.int32)
    drive_vehicle(rng, town, duty, BUILDINGS, minutes, region, door)

    second, shift = _report_times(rng, vehicle, 60 * starts, 60 * np.minimum(stops, days * _DAY_MIN))
    x, y = interpolate_along_streets(buildings[region, door], second, _FLEET_STEP_S)
    x, y = x + draw_position_errors(rng, len(x)), y + draw_position_errors(rng, len(y))
    north, east = degree_m()
    midnight = (FIRST_DAY - EPOCH).days * DAY_S - UTC_OFFSET_S
    time_ms = (second.astype(np.int64) + midnight) * 1000
    return Recordings(time_ms, GRID.south + y / north, GRID.west + x / east, shift)


def _draw_shifts(rng: np.random.Generator, vehicle: _Vehicle, days: int) -> tuple[Floats, Floats]:
    """Return begin and end of the shifts in minutes since the first midnight; there is at least one."""
    day, end = np.arange(days), days * _DAY_MIN
    starts = day * _DAY_MIN + vehicle.start + _START_JITTER_MIN * rng.standard_normal(days)
    length = vehicle.length + _LENGTH_JITTER_MIN * rng.standard_normal(days)
    on = (day % 7 != vehicle.day_off) & (rng.random(days) >= vehicle.idle)
    on &= starts < end - _LEAST_RECORDED_MIN
    if not on.any():
        on[rng.integers(days)] = True
    starts = np.clip(starts, 0, end - _LEAST_RECORDED_MIN)
    stops = starts + np.clip(length, _SHORTEST_SHIFT_MIN, _LONGEST_SHIFT_MIN)
    return starts[on], stops[on]


def _report_times(
    rng: np.random.Generator, vehicle: _Vehicle, starts: Floats, stops: Floats
) -> tuple[Floats, NDArray[np.int32]]:
    """Return whole seconds since the first midnight at which the device reports, and the shift of each."""
    counts = np.maximum((stops - starts) // vehicle.interval_s, 1).astype(np.int64)
    shift = np.repeat(np.arange(len(starts), dtype=np.int32), counts)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    off = JITTER_S * np.clip(rng.standard_normal(len(number)), -4, 4)
    second = np.floor(np.maximum(starts[shift] + (number + 0.5) * vehicle.interval_s + off, 0.0))
    # The first report of a shift always arrives, so that no shift is empty.
    kept = (rng.random(len(second)) >= LOST) | (number == 0)
    return second[kept], shift[kept]
