"""A fleet in the city: vehicles that work in shifts and report where they are at intervals of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.cities import city as v
from tracearena.cities.city import GRID
from tracearena.cities.gps import (
    BUILDINGS,
    LOST,
    Recordings,
    build_buildings,
    degree_m,
    draw_position_errors,
    interpolate_streets,
    join_recordings,
)
from tracearena.cities.people import Atlas, build_atlas
from tracearena.cities.simulation import FIRST_DAY, UTC_OFFSET_S
from tracearena.engine import SeedLike, run_blocks, seed_sequence, stream
from tracearena.errors import ParameterError
from tracearena.traces import GpsTraces
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EPOCH

Floats = NDArray[np.float64]

SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 20, 120
"""Range of the reporting intervals of vehicles."""
JITTER_S = 0.6
"""Standard deviation of how far a report is off its time."""
DEPOTS = 12
_STEP_S = 60
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
_ORDERS = {
    v.FOOD: 25,
    v.SHOP: 25,
    v.NIGHT: 5,
    v.ARTS: 8,
    v.TRAVEL: 15,
    v.OFFICE: 15,
    v.HOSPITAL: 5,
    v.SCHOOL: 2,
}
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
    return _Vehicle(
        depot=int(rng.choice(_draw_depots(town))),
        district=int(district),
        loyalty=float(rng.uniform(0, _MOST_LOYAL)),
        start=start + spread * rng.standard_normal(),
        length=_LENGTH_MIN + _LENGTH_SPREAD_MIN * rng.standard_normal(),
        day_off=int(rng.integers(7)) if rng.random() < _FIXED_DAY_OFF else -1,
        idle=float(rng.uniform(0, _MOST_IDLE)),
        interval_s=int(rng.integers(SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S + 1)),
    )


def _draw_depots(town: Atlas) -> NDArray[np.int64]:
    """Return the regions of the depots, which are the same for every fleet: more where more people live."""
    rng = np.random.default_rng([2019, _DEPOTS])
    return np.asarray(np.searchsorted(town.homes, rng.random(DEPOTS) * town.homes[-1], side="right"))


def _record_vehicle(
    rng: np.random.Generator, vehicle: _Vehicle, days: int, town: Atlas, buildings: Floats
) -> Recordings:
    """Drive one vehicle and record it."""
    from tracearena.cities._kernels import Duty, drive_vehicle

    starts, stops = _draw_shifts(rng, vehicle, days)
    weights = np.array([_ORDERS.get(kind, 0) for kind in range(len(v.KINDS))])
    kinds = np.cumsum(weights) / weights.sum()
    duty = Duty(vehicle.depot, vehicle.district, vehicle.loyalty, kinds, starts, stops)
    minutes = np.arange(days * _DAY_MIN + 1) * (_STEP_S / 60)
    region, door = np.empty((2, len(minutes)), np.int32)
    drive_vehicle(rng, town, duty, BUILDINGS, minutes, region, door)

    second, shift = _report_times(rng, vehicle, 60 * starts, 60 * np.minimum(stops, days * _DAY_MIN))
    x, y = interpolate_streets(buildings[region, door], second, _STEP_S)
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
