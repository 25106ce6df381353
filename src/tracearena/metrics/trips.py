"""How alike two sets of trips are: the measures by which private synthesis of trips is compared.

All distances are Jensen–Shannon divergences in bits, from 0 (the same) to 1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.mobility.trips import Trips
from tracearena.traces.box import Box

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FINE, COARSE = 15, 6
_QUERIES, _QUERY_SEED = 500, 1
_QUERY_SIDES = 0.02, 0.15
"""Smallest and largest side of a square of a query, as a share of the box."""
_SANITY = 0.01
_BINS = 24
_PATTERNS, _LONGEST_PATTERN = 100, 5


@dataclass(frozen=True)
class TripUtility:
    """How far synthetic trips are from real ones.

    Attributes
    ----------
    query_error
        Mean relative error of the share of trips with a point in a square, over 500 random squares with
        sides of 2 to 15 % of the box; shares under 1 % count as 1 %.
    density, density_coarse
        Divergence of the points on 15 × 15 and on 6 × 6 cells.
    trip
        Divergence of the pairs (start, end) on 6 × 6 cells.
    diameter, length
        Divergence of the largest distance between two points of a trip, and of the distance travelled, in
        24 equal bins up to the largest of the reference.
    transition
        Divergence of the moves from cell to cell on 15 × 15 cells.
    kendall_tau
        Kendall's τ-b of the numbers of trips through each of 15 × 15 cells; 1 is best.
    pattern_f1
        Share of the 100 most frequent patterns (two to five cells in a row, on 15 × 15 cells) that both
        have; 1 is best.
    """

    query_error: float
    density: float
    density_coarse: float
    trip: float
    diameter: float
    length: float
    transition: float
    kendall_tau: float
    pattern_f1: float

    def to_dict(self) -> dict[str, float]:
        """Return the values by name."""
        return asdict(self)


class TripSummary(NamedTuple):
    """What is compared of trips in a box; `summarise_trips` computes it.

    Attributes
    ----------
    hits
        Share of trips with a point in each of 500 squares.
    density, density_coarse, ends, moves
        Numbers of points, of pairs (start, end), and of moves by cell.
    visits
        Numbers of trips with a point in each cell.
    diameters, lengths
        In metres, of each trip.
    patterns
        The most frequent runs of cells.
    """

    hits: Floats
    density: Floats
    density_coarse: Floats
    ends: Floats
    moves: Floats
    visits: Floats
    diameters: Floats
    lengths: Floats
    patterns: frozenset[tuple[int, int]]


def summarise_trips(trips: Trips, box: Box) -> TripSummary:
    """Compute what `compare_trips` compares."""
    if not len(trips):
        raise DataError(f"there is no trip of ten minutes or more in the box {box}")
    fine, coarse, of_point = trips.cells(FINE), trips.cells(COARSE), trips.of_point
    ends = coarse[trips.offsets[:-1]] * COARSE**2 + coarse[trips.offsets[1:] - 1]
    visited = np.unique(of_point * FINE**2 + fine) % FINE**2

    def count(cells: Ints, number: int) -> Floats:
        return np.bincount(cells, minlength=number).astype(np.float64)

    return TripSummary(
        hits=_count_hits(trips) / len(trips),
        density=count(fine, FINE**2),
        density_coarse=count(coarse, COARSE**2),
        ends=count(ends, COARSE**4),
        moves=count(_list_patterns(fine, of_point, 2), 256**2),
        visits=count(visited, FINE**2),
        diameters=measure_diameters(trips, box),
        lengths=measure_lengths(trips, box),
        patterns=_find_frequent_patterns(fine, of_point),
    )


def compare_trips(reference: TripSummary, trips: TripSummary) -> TripUtility:
    """Compare trips with those of a reference in the same box.

    References
    ----------
    M. Gursoy et al., Utility-aware synthesis of differentially private and attack-resilient location
    traces, CCS 2018.
    """
    from scipy.stats import kendalltau

    def compare_values(truth: Floats, values: Floats) -> float:
        width = max(float(truth.max()), 1e-9) / _BINS
        bins = (np.minimum((one / width).astype(np.int64), _BINS - 1) for one in (truth, values))
        return divergence(*(np.bincount(one, minlength=_BINS).astype(np.float64) for one in bins))

    common = len(reference.patterns & trips.patterns)
    return TripUtility(
        query_error=float(np.mean(np.abs(reference.hits - trips.hits) / np.maximum(reference.hits, _SANITY))),
        density=divergence(reference.density, trips.density),
        density_coarse=divergence(reference.density_coarse, trips.density_coarse),
        trip=divergence(reference.ends, trips.ends),
        diameter=compare_values(reference.diameters, trips.diameters),
        length=compare_values(reference.lengths, trips.lengths),
        transition=divergence(reference.moves, trips.moves),
        kendall_tau=float(np.nan_to_num(kendalltau(reference.visits, trips.visits).statistic)),
        pattern_f1=2 * common / max(len(reference.patterns) + len(trips.patterns), 1),
    )


def divergence(p: Floats, q: Floats) -> float:
    """Return the Jensen–Shannon divergence of two distributions in bits; an empty one is like no other.

    >>> divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    if not p.sum() or not q.sum():
        return float(bool(p.sum()) != bool(q.sum()))
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2

    def to_middle(one: Floats) -> float:
        here = one > 0
        return float(np.sum(one[here] * np.log2(one[here] / middle[here])))

    return max((to_middle(p) + to_middle(q)) / 2, 0.0)


def measure_lengths(trips: Trips, box: Box) -> Floats:
    """Return the distance that each trip travels, in metres."""
    height, width = box.size_m()
    steps = np.hypot(np.diff(trips.x) * width, np.diff(trips.y) * height)
    steps[trips.offsets[1:-1] - 1] = 0
    return np.add.reduceat(np.append(steps, 0.0), trips.offsets[:-1])


def measure_diameters(trips: Trips, box: Box) -> Floats:
    """Return the largest distance between two points of each trip, in metres."""
    height, width = box.size_m()
    x, y, first = trips.x * width, trips.y * height, trips.offsets
    pieces = ((x[i:j], y[i:j]) for i, j in pairwise(first))
    return np.array(
        [np.sqrt(np.max((a[:, None] - a) ** 2 + (b[:, None] - b) ** 2)) for a, b in pieces], np.float64
    )


def _count_hits(trips: Trips) -> Floats:
    """Return the number of trips with a point in each of the random squares."""
    rng = np.random.default_rng(_QUERY_SEED)
    sides = rng.uniform(*_QUERY_SIDES, _QUERIES)
    corners = rng.random((_QUERIES, 2)) * (1 - sides)[:, None]
    order = np.argsort(trips.x, kind="stable")
    x, y, of_point = trips.x[order], trips.y[order], trips.of_point[order]
    found = np.empty(_QUERIES)
    for number, ((west, south), side) in enumerate(zip(corners, sides, strict=True)):
        strip = slice(*np.searchsorted(x, (west, west + side)))
        inside = (y[strip] >= south) & (y[strip] < south + side)
        found[number] = np.count_nonzero(np.bincount(of_point[strip][inside]))
    return found


def _list_patterns(cells: Ints, of_point: Ints, length: int) -> Ints:
    """Return every run of different cells in a row, as one number to the base 256."""
    new = np.append(True, (np.diff(cells) != 0) | (np.diff(of_point) != 0))
    cells, of_point = cells[new], of_point[new]
    if len(cells) < length:
        return np.empty(0, np.int64)
    number = len(cells) - length + 1
    code = np.zeros(number, np.int64)
    for step in range(length):
        code = code * 256 + cells[step : step + number]
    return np.asarray(code[of_point[:number] == of_point[length - 1 :]])


def _find_frequent_patterns(cells: Ints, of_point: Ints) -> frozenset[tuple[int, int]]:
    """Return length and number of the most frequent patterns; of equals the shorter, then the smaller."""
    counted = []
    for length in range(2, _LONGEST_PATTERN + 1):
        codes, counts = np.unique(_list_patterns(cells, of_point, length), return_counts=True)
        top = np.argsort(-counts, kind="stable")[:_PATTERNS]
        counted += [(-int(counts[i]), length, int(codes[i])) for i in top]
    return frozenset(one[1:] for one in sorted(counted)[:_PATTERNS])
