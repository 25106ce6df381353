"""`PrivateTrips`: synthetic trips in a public box, with differential privacy for people or for trips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import GpsSynthesizer, setting
from tracearena.checks import LARGEST_COUNT, require_choice, require_fitted, require_kind, require_whole
from tracearena.engine import SeedLike, seed_sequence, stream
from tracearena.errors import ParameterError
from tracearena.mobility.trips import FEWEST_POINTS, MOST_POINTS, STEP_S, Trips, cut_trips
from tracearena.synthesis.private.base import PrivateModel
from tracearena.synthesis.private.denoising import denoise, order_places, project_simplex
from tracearena.synthesis.private.tables import (
    BITS,
    SCALE,
    Budget,
    Ints,
    Table,
    Unit,
    parse_shares,
)
from tracearena.traces import Box, GpsTraces

Floats = NDArray[np.float64]

SHARES = (
    "ends=0.22,terminals=0.14,moves=0.19,turns=0.03,detours=0.08,durations=0.04,pauses=0.03,"
    "districts=0.12,density=0.15"
)
"""Tuned with the grids below on simulated cities of 3,000 and 33,000 trips (seed 301);
`benchmarks/bench_private_trips.py` measures on others."""
ENDS, MOVES, FINE = 6, 16, 48
DIRECTIONS = 8
STEP_X = np.array([1, 1, 0, -1, -1, -1, 0, 1])
STEP_Y = np.array([0, 1, 1, 1, 0, -1, -1, -1])
DISTANCE_EDGES = np.array([1, 2, 3, 5, 7, 10, 13])
"""Borders of the bins of distance, in moves that a straight way needs."""
DETOUR_EDGES = np.array([1, 2, 3, 4, 6, 8, 11, 15, 21, 29, 41])
"""Borders of the bins of moves beyond the straight way."""
MOST_DETOUR = 56
LENGTH_EDGES = np.array([1, 3, 6, 10, 15, 24, 40])
"""Borders of the bins of all moves of a trip."""
POINT_EDGES = np.array([12, 15, 18, 22, 27, 33, 40, 50, 60, 75, 95])
"""Borders of the bins of points of a trip."""
PAUSE_EDGES = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6])
"""Borders of the bins of the share of its time that a trip spends in the fine cell of its start, or end."""
_UNITS: dict[str, Unit] = {"user": "person", "trip": "trip"}
_SHAPES: dict[str, tuple[int, ...]] = {
    "ends": (ENDS**2, ENDS**2),
    "terminals": (2, FINE**2),
    "moves": (MOVES**2, DIRECTIONS),
    "turns": (DIRECTIONS,),
    "detours": (len(DISTANCE_EDGES) + 1, len(DETOUR_EDGES) + 1),
    "durations": (len(LENGTH_EDGES) + 1, len(POINT_EDGES) + 1),
    "pauses": (2, len(LENGTH_EDGES) + 1, len(PAUSE_EDGES) + 1),
    "districts": (ENDS**2,),
    "density": (FINE**2,),
}
_NAMES = tuple(_SHAPES)
_FAR_EDGES = np.array([0.01, 0.2, 0.3, 0.45, 0.6, 0.8])
"""Borders of the bins of distance between cells of ends, as a share of the box."""
_CANDIDATES = 12
_DAY_MS = 24 * 3_600_000


def define_tables(unit: Unit, shares: Mapping[str, float]) -> list[Table]:
    """Return the tables: a person or a trip adds at most one to each."""
    return [Table(name, unit, "L1", 1.0, shares[name]) for name in _NAMES]


def count_tables(trips: Trips, unit: Unit) -> dict[str, Ints]:
    """Count the tables without noise, in units of 1 / `SCALE`: nothing of them may be shown.

    A trip contributes to each table shares that add up to at most 1. If the unit is a person, the
    contributions of each of her n trips are divided by n.

    ends
        Its start and end, on 6 × 6 cells.
    terminals
        One half at its start, one half at its end, on 48 × 48 cells.
    moves, turns
        Shares of its moves between 16 × 16 cells by cell and direction, and of the changes of direction.
    detours, durations
        Moves beyond the straight way, by the straight way; and number of points, by the number of moves.
    pauses
        Share of its time in the cell of its start, one half; in the cell of its end, one half; by moves.
    districts, density
        Shares of its points on 6 × 6 and on 48 × 48 cells.
    """
    from tracearena.synthesis.private._trip_kernels import add_trips

    tables = {name: np.zeros(shape, np.int64) for name, shape in _SHAPES.items()}
    of_unit = np.bincount(trips.user)[trips.user] if unit == "person" else np.ones(len(trips), np.int64)
    add_trips(trips.offsets, trips.x, trips.y, of_unit, BITS, tuple(tables.values()))
    return tables


class TripModel(NamedTuple):
    """What the noisy tables say: ends, maps, the chain of moves, and how long trips are and last."""

    ends: Floats
    starts: Floats
    stops: Floats
    passing: Floats
    density: Floats
    chain: Floats
    persistence: Floats
    detours: Floats
    durations: Floats
    pauses: Floats


def _locate_cells(side: int) -> Floats:
    row, column = np.divmod(np.arange(side * side), side)
    return np.column_stack([column + 0.5, row + 0.5]) / side


def _find_coarser(side: int, to: int) -> Ints:
    """Return the cell of a coarser grid in which the middle of each cell lies."""
    column, row = (_locate_cells(side) * to).astype(np.int64).T
    return np.asarray(row * to + column)


@cache
def _order_cells(side: int) -> list[Ints]:
    return order_places(_locate_cells(side))


_TO_ENDS, _TO_MOVES = _find_coarser(FINE, ENDS), _find_coarser(FINE, MOVES)


def estimate_model(noisy: Mapping[str, Ints], budget: Budget) -> TripModel:
    """Estimate what the tables were before the noise; this is post-processing, and costs nothing."""
    sigma = {one.table.name: one.sigma for one in budget.costs}
    tables = {name: values / SCALE for name, values in noisy.items()}

    # Every trip is counted once in these tables: their sums are one number with different noise.
    whole = [name for name in _NAMES if name not in ("moves", "turns")]
    variance = np.array([sigma[name] ** 2 * tables[name].size for name in whole])
    total = max(float(np.average([tables[name].sum() for name in whole], weights=1 / variance)), 1.0)

    # Maps of starts, ends and points: what they have in common and what is different, first on 6 × 6 cells,
    # for which the table of ends has less noise, then within each of these cells.
    fine = np.stack([2 * tables["terminals"][0], 2 * tables["terminals"][1], tables["density"]])
    noise = np.array([2 * sigma["terminals"]] * 2 + [sigma["density"]])
    summed: Floats = np.stack([_sum_cells(one, _TO_ENDS, ENDS) for one in fine])
    spread = noise * FINE / ENDS
    sums = tables["ends"].sum(axis=1), tables["ends"].sum(axis=0), tables["districts"]
    noise_of_sums = sigma["ends"] * ENDS, sigma["ends"] * ENDS, sigma["districts"]
    for at, (other, wide) in enumerate(zip(sums, noise_of_sums, strict=True)):
        weight = spread[at] ** 2 / (spread[at] ** 2 + wide**2)
        summed[at] += weight * (other - summed[at])
        spread[at] *= np.sqrt(1 - weight)
    coarse = _denoise_together(summed, spread, total, _order_cells(ENDS))
    maps = _denoise_together(fine, noise, total, _order_cells(FINE)) + 1e-9 * total
    within = np.stack([_sum_cells(one, _TO_ENDS, ENDS) for one in maps])
    starts, stops, density = maps * (coarse / within)[:, _TO_ENDS]

    # Pairs of start and end: what the maps and the distance say, and what the table says beyond it.
    expected = _expect_ends(tables["ends"], coarse[0], coarse[1], total)
    beyond, wide = tables["ends"] - expected, sigma["ends"]
    beyond = (
        denoise(beyond, wide, _order_cells(ENDS)) + denoise(beyond.T.copy(), wide, _order_cells(ENDS)).T
    ) / 2
    ends = project_simplex((expected + beyond).ravel(), total).reshape(expected.shape)

    # The chain of moves: the traffic in each cell, and how it is divided among directions.
    moves = tables["moves"].T.copy()
    flow = denoise(moves.sum(axis=0)[None], sigma["moves"] * DIRECTIONS**0.5, _order_cells(MOVES))[0]
    flow = project_simplex(flow, max(float(flow.sum()), 1.0)) + 1e-4
    split = np.maximum(moves.sum(axis=1), 0) + 1e-4
    common = flow * (split / split.sum())[:, None]
    chain = (
        np.maximum(common + denoise(moves - common, sigma["moves"], _order_cells(MOVES)), 0) + 0.02 * flow / 8
    )
    row, column = np.divmod(np.arange(MOVES**2), MOVES)
    for d in range(DIRECTIONS):
        ahead = np.stack([row + STEP_Y[d], column + STEP_X[d]])
        chain[d, ((ahead < 0) | (ahead >= MOVES)).any(axis=0)] = 0
    turns = project_simplex(tables["turns"], max(float(tables["turns"].sum()), 1.0))
    turns = turns + turns[-np.arange(DIRECTIONS)]  # left and right alike
    persistence = np.maximum(turns / turns.mean(), 1e-4)

    pauses = np.stack([_smooth_rows(one, total / 2) for one in tables["pauses"]])
    borders = np.concatenate([[0.0], PAUSE_EDGES, [1.0]])
    mean = pauses.sum(axis=1) @ ((borders[:-1] + borders[1:]) / 2) / pauses.sum(axis=(1, 2))
    return TripModel(
        ends=ends / ends.sum(),
        starts=starts,
        stops=stops,
        # Points on the way: without those of the pauses at both ends.
        passing=np.maximum(density - mean[0] * starts - mean[1] * stops, 0.05 * density),
        density=density / density.sum(),
        chain=np.ascontiguousarray((chain / chain.sum(axis=0)).T),
        persistence=persistence,
        detours=_smooth_rows(tables["detours"], total),
        durations=_smooth_rows(tables["durations"], total),
        pauses=pauses,
    )


def _sum_cells(values: Floats, coarser: Ints, side: int) -> Floats:
    """Return the sums of the values in the cells of a coarser grid."""
    return np.bincount(coarser, values, side**2).astype(np.float64)


def _denoise_together(maps: Floats, sigma: Floats, total: float, orders: list[Ints]) -> Floats:
    """Return maps with a sum: what they have in common, and what each has beyond it."""
    weights = sigma**-2 / (sigma**-2).sum()
    common = denoise((weights @ maps)[None], float(np.sqrt((sigma**-2).sum() ** -1)), orders)[0]
    own = common + denoise(maps - common, sigma, orders)
    return np.stack([project_simplex(one, total) for one in own])


def _expect_ends(ends: Floats, starts: Floats, stops: Floats, total: float) -> Floats:
    """Return the pairs that the maps and the distances of cells predict, by proportional fitting."""
    points = _locate_cells(ENDS)
    far = np.searchsorted(_FAR_EDGES, np.linalg.norm(points[:, None] - points, axis=2))
    bins = len(_FAR_EDGES) + 1
    seen = project_simplex(np.bincount(far.ravel(), ends.ravel(), bins).astype(np.float64), total)
    expected = np.outer(starts + 1e-6 * total, stops + 1e-6 * total)
    for _ in range(6):
        expected *= (seen / np.maximum(np.bincount(far.ravel(), expected.ravel(), bins), 1e-12))[far]
        expected *= (starts / np.maximum(expected.sum(axis=1), 1e-12))[:, None]
        expected *= stops / np.maximum(expected.sum(axis=0), 1e-12)
    return np.asarray(expected * total / max(float(expected.sum()), 1e-12))


def _smooth_rows(table: Floats, total: float) -> Floats:
    """Return a table without negative values, whose rows borrow a trip from the sum of all rows."""
    kept = project_simplex(table.ravel(), total).reshape(table.shape)
    return np.asarray(kept + (kept.sum(axis=0) + 1e-6 * total) / total)


def draw_from_model(model: TripModel, trips: int, rng: np.random.Generator) -> Trips:
    """Draw trips of a model, each of a user of its own."""
    from tracearena.synthesis.private._trip_kernels import draw_trips

    even = (np.arange(trips) + rng.random()) / trips * model.ends.sum()
    pair = np.minimum(np.searchsorted(np.cumsum(model.ends), even, side="right"), model.ends.size - 1)
    rng.shuffle(pair)

    # Several starts and ends in the cells of each pair; one is chosen so that the distances are as counted.
    places = np.empty((trips, _CANDIDATES, 4))
    for side, weights in enumerate((model.starts, model.stops)):
        cells = _draw_finer(rng, weights, pair // ENDS**2 if side == 0 else pair % ENDS**2)
        places[..., 2 * side] = (cells % FINE + rng.random(cells.shape)) / FINE
        places[..., 2 * side + 1] = (cells // FINE + rng.random(cells.shape)) / FINE
    straight = np.abs(np.diff((places * MOVES).astype(np.int64).reshape(trips, _CANDIDATES, 2, 2), axis=2))
    straight = straight.max(axis=3)[:, :, 0]
    bins = np.searchsorted(DISTANCE_EDGES, straight, side="right")
    wanted = model.detours.sum(axis=1) / model.detours.sum() * trips
    preference = np.ones(len(wanted))
    for _ in range(20):
        weights = preference[bins]
        weights = weights / weights.sum(axis=1, keepdims=True)
        found = np.bincount(bins.ravel(), weights.ravel(), len(wanted))
        preference *= np.clip(wanted / np.maximum(found, 1e-9), 0.2, 5)
    chosen = np.arange(trips), _draw_columns(rng, preference[bins])
    places, straight, bins = places[chosen], straight[chosen], bins[chosen]

    moves = straight + _draw_values(rng, model.detours[bins], DETOUR_EDGES, 0, MOST_DETOUR)
    lengths = np.searchsorted(LENGTH_EDGES, moves, side="right")
    points = _draw_values(rng, model.durations[lengths], POINT_EDGES, FEWEST_POINTS, MOST_POINTS)
    borders = np.concatenate([[0.0], PAUSE_EDGES, [1.0]])
    at = np.stack([_draw_columns(rng, rows[lengths]) for rows in model.pauses], axis=1)
    pauses = borders[at] + rng.random(at.shape) * np.diff(borders)[at]
    pauses /= np.maximum(pauses.sum(axis=1, keepdims=True) / 0.9, 1)

    offsets = np.concatenate([[0], np.cumsum(points)]).astype(np.int64)
    goal = (places[:, 3] * MOVES).astype(np.int64) * MOVES + (places[:, 2] * MOVES).astype(np.int64)
    order = np.argsort(goal, kind="stable")
    groups = np.searchsorted(goal[order], np.arange(MOVES**2 + 1))
    x, y, slowness = np.empty(offsets[-1]), np.empty(offsets[-1]), np.ones(MOVES**2)
    # People are slow where more of their time is spent than passing through takes.
    time_of = _sum_cells(model.density, _TO_MOVES, MOVES) * trips
    for last in (False, False, True):
        spent = np.zeros(FINE**2)
        draw_trips(
            rng, order, groups, places, pauses, moves.astype(np.int64), offsets, model.chain,
            model.persistence, slowness, model.passing, spent, x, y,
        )  # fmt: skip
        if not last:
            drawn = _sum_cells(spent, _TO_MOVES, MOVES)
            slowness *= np.clip((time_of + 1) / (drawn + 1), 0.3, 3) ** 0.7
    return Trips(offsets, x, y, np.arange(trips))


def _draw_finer(rng: np.random.Generator, weights: Floats, cells: Ints) -> Ints:
    """Draw candidates among the fine cells of each cell of ends."""
    order = np.argsort(_TO_ENDS, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order] + 1e-12)])
    borders = sums[np.searchsorted(_TO_ENDS[order], np.arange(ENDS**2 + 1))]
    low, high = borders[cells][:, None], borders[cells + 1][:, None]
    at = np.searchsorted(sums, low + rng.random((len(cells), _CANDIDATES)) * (high - low), side="right") - 1
    per_cell = FINE**2 // ENDS**2
    first = (cells * per_cell)[:, None]
    return np.asarray(order[np.clip(at, first, first + per_cell - 1)])


def _draw_columns(rng: np.random.Generator, weights: Floats) -> Ints:
    """Draw a column of each row by its weights."""
    sums = np.cumsum(weights, axis=1)
    above = sums <= rng.random((len(weights), 1)) * sums[:, -1:]
    return np.asarray(np.minimum(above.sum(axis=1), weights.shape[1] - 1))


def _draw_values(rng: np.random.Generator, weights: Floats, edges: Ints, least: int, most: int) -> Ints:
    """Draw a bin of each row by its weights, and a whole number in it, evenly."""
    borders = np.concatenate([[least], edges, [most + 1]])
    bins = _draw_columns(rng, weights)
    return np.asarray(borders[bins] + (rng.random(len(bins)) * np.diff(borders)[bins]).astype(np.int64))


@dataclass(kw_only=True)
class PrivateTrips(PrivateModel["GpsTraces"], GpsSynthesizer):
    """Trips that nobody made in a public box, from tables that are ε-differentially private.

    Whatever an attacker knows, adding or removing one person with all her trips (or one trip) changes the
    probability of any release by at most the factor e^ε. The box and the number of virtual trips are public:
    they must not be taken from the data.

    Parameters
    ----------
    epsilon
        Privacy loss ε, greater than 0.
    unit
        Whose guarantee it is: ``user``, a person with all her trips, or ``trip``, each trip alone.
    bounds
        The public box: south,west,north,east in degrees. Nothing outside is used.
    shares
        Share of ε for each table, adding up to 1.

    Notes
    -----
    Without a seed the noise is OpenDP's (extra ``private``). With a seed, or a root that is not secret, it
    comes from NumPy: that is for experiments, and `guarantee` then says that there is none.

    Examples
    --------
    >>> from tracearena.cities import simulate_gps
    >>> traces = simulate_gps(users=5, days=5, seed=1)
    >>> model = PrivateTrips(epsilon=8, bounds="34.9,150.0,35.0,150.12").fit(traces, seed=1)
    >>> model.sample_users(3, seed=1).n_trajectories
    3
    """

    name: ClassVar[str] = "PrivateTrips"
    file_format: ClassVar[str] = "tracearena-private-trips"

    epsilon: float
    unit: str = "user"
    bounds: str = setting("")
    shares: str = setting(SHARES)

    def __post_init__(self) -> None:
        require_choice("unit", self.unit, tuple(_UNITS))
        if self.bounds:
            Box.parse(self.bounds)
        self.plan()

    @property
    def box(self) -> Box:
        """The public box."""
        if not self.bounds:
            raise ParameterError(f"{self} needs bounds, a public box: where the data lies is not public")
        return Box.parse(self.bounds)

    def plan(self) -> Budget:
        """Return what each table costs, before any data is read."""
        return Budget.plan(define_tables(_UNITS[self.unit], parse_shares(self.shares, _NAMES)), self.epsilon)

    def fit(self, traces: GpsTraces, *, seed: SeedLike = None) -> Self:
        """Cut trips, count the tables and add noise; only noisy tables are kept."""
        require_kind(self, traces, GpsTraces)
        trips = cut_trips(traces, self.box)
        return self._release(self.plan(), count_tables(trips, _UNITS[self.unit]), traces, seed)

    def _estimate(self) -> None:
        self.model_ = estimate_model(self.noisy_, self.budget_)

    def sample_trips(self, trips: int, *, seed: SeedLike = None) -> Trips:
        """Return virtual trips as positions in the box; how many must not depend on the data."""
        require_fitted(self, "noisy_")
        require_whole("trips", trips, at_least=1, at_most=LARGEST_COUNT)
        return draw_from_model(self.model_, trips, stream(seed_sequence(seed)))

    def sample_users(self, users: int, trips: int = 1, *, seed: SeedLike = None) -> GpsTraces:
        """Return trips of virtual people, numbered from 1: one per day, at midnight from 1970-01-01 on.

        The trips of a virtual person have nothing to do with each other, and times of day are not modelled.
        """
        require_whole("users", users, at_least=1, at_most=LARGEST_COUNT)
        require_whole("trips", trips, at_least=1, at_most=LARGEST_COUNT)
        made, box = self.sample_trips(users * trips, seed=seed), self.box
        number = made.of_point
        step = np.arange(len(number)) - made.offsets[number]
        return GpsTraces(
            user_ids=np.arange(1, users + 1),
            offsets=made.offsets[::trips],
            time_ms=(number % trips) * _DAY_MS + step * STEP_S * 1000,
            latitude=np.round(box.south + made.y * (box.north - box.south), 6),
            longitude=np.round(box.west + made.x * (box.east - box.west), 6),
            trajectory=number.astype(np.int32),
            trajectory_ids=np.tile(np.arange(1, trips + 1), users),
        )

    def _read_tables(self, tables: Mapping[str, Any]) -> dict[str, Ints]:
        return {name: np.array(tables[name], np.int64).reshape(shape) for name, shape in _SHAPES.items()}
