"""Two applications of [geo-ind]: hotspots placed by released data, and messages between people who meet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import accepts, require_number, require_whole
from tracearena.dataframes import Result
from tracearena.errors import DataError
from tracearena.metrics.applications.error import bayesian_update, mean_error_m
from tracearena.metrics.applications.paired import (
    ComparisonChunk,
    ComparisonChunks,
    IdTable,
    WholeComparison,
    are_row_by_row,
    with_true_ids,
)
from tracearena.traces import GpsTraces, Grid
from tracearena.traces._arrays import mark_readonly
from tracearena.traces.box import Box
from tracearena.traces.geodesy import earth_centred
from tracearena.traces.gridding import find_default_area, tessellation

RANGE_M = 50.0
MARGIN_KM = 5.0
"""Hardly any point is carried further out of the area by 1,000 m of expected noise."""
MOST_MARGIN_KM = 100.0
MOST_PARTS = 100


@dataclass(frozen=True)
class Hotspots(Result):
    """Traffic served by hotspots that are placed by released data.

    Attributes
    ----------
    offloaded
        Share of the original points inside the chosen cells (1 for the original itself).
    offloaded_after_update
        The same when the cells are chosen after the Bayesian update.
    cells_found, cells_found_after_update
        Share of the cells of hotspots that contain an original point (`offloaded` counts points instead).
    hotspots
        Number of hotspots: the non-empty cells of the original.
    rounds
        Number of rounds of the update.
    expected_noise_m
        Noise that the update assumed, in metres.
    rows, columns
        Number of rows and columns of cells of the area.
    points
        Original points inside the area.
    area
        The area, degrees.
    margin_km
        Margin around the area in which released points were counted.
    parts
        Parts along the side of a cell for which the update had a probability of its own.
    """

    offloaded: float
    offloaded_after_update: float
    cells_found: float
    cells_found_after_update: float
    hotspots: int
    rounds: int
    expected_noise_m: float
    rows: int
    columns: int
    points: int
    area: Box
    margin_km: float
    parts: int


class HotspotOptions(TypedDict, total=False):
    """How hotspots are chosen; all may be omitted.

    Attributes
    ----------
    area
        The box to serve; by default see `find_default_area`.
    expected_noise_m
        Noise of the release in metres, which [geo-ind] assumes to be public; by default the mean distance
        between released and original points.
    rounds, threshold
        Limits of the Bayesian update: at most 50 rounds, or until a round changes less than 1e-8.
    range_m
        Range of a hotspot in metres.
    margin_km
        Extend the counts and the update by this margin around the area, at most 100; 5 if omitted. Without a
        margin, points that noise moves out of the area pile up at its border, and the update takes them for
        people.
    parts
        Update the probabilities of this many times this many parts of each cell, at most 100; 1 if omitted.
        With many parts this comes close to an update of coordinates, as in the paper, and takes time and
        memory.
    """

    area: Box | None
    expected_noise_m: float | None
    rounds: int
    threshold: float
    range_m: float
    margin_km: float
    parts: int


@accepts(HotspotOptions)
def hotspots(
    original: GpsTraces,
    released: GpsTraces,
    *,
    id_table: IdTable | None = None,
    **options: Unpack[HotspotOptions],
) -> Hotspots:
    """Choose as many cells as the original fills by released points, and count the points served.

    Cells are squares with the area of a circle of `range_m`. Original points outside the area do
    not count, nor do their released counterparts; released points that left it (and its margin) count
    for the cell at the border.

    Parameters
    ----------
    id_table
        Pseudonym → user, if the release has other ids than the original and its noise is measured.
    **options
        Keywords of `HotspotOptions`: ``area``, ``expected_noise_m``, ``rounds``, ``threshold``, ``range_m``,
        ``margin_km``, ``parts``.

    Notes
    -----
    If cells tie for the last hotspots, they share them evenly, which is the expectation of a random choice;
    empty cells are never chosen. If the points of the release do not correspond one to one to those of the
    original, points outside the area are left out.

    References
    ----------
    [geo-ind] section 5.1.
    """
    if id_table is not None or options.get("expected_noise_m") is None:
        released = with_true_ids(original, released, id_table)
    return measure_hotspots_in_chunks(WholeComparison(original, released), **options)


def measure_hotspots_in_chunks(
    walk: ComparisonChunks,
    *,
    area: Box | None = None,
    expected_noise_m: float | None = None,
    rounds: int = 50,
    threshold: float = 1e-8,
    range_m: float = RANGE_M,
    margin_km: float = MARGIN_KM,
    parts: int = 1,
) -> Hotspots:
    """Return what `hotspots` does, of users who are walked through."""
    require_number("range_m", range_m, above=0)
    require_number("margin_km", margin_km, at_least=0, at_most=MOST_MARGIN_KM)
    require_whole("parts", parts, at_least=1, at_most=MOST_PARTS)
    side_m = range_m * math.sqrt(math.pi)
    if area is None:
        area = find_default_area(lambda work: walk.visit(lambda part: work(part.original)), side_m)
    grid = tessellation(area, side_m)

    def count_original_points(part: ComparisonChunk) -> NDArray[np.int64]:
        cell = grid.cell_of(part.original.latitude, part.original.longitude)
        return np.bincount(cell[cell >= 0], minlength=len(grid))

    true_counts = walk.fold(count_original_points)
    if not true_counts.any():
        raise DataError(f"no original point is inside the area {area}")
    margin = math.ceil(margin_km * 1000 / side_m)
    north_south, east_west = margin * grid.cell_height, margin * grid.cell_width
    wide = Grid(
        rows=(grid.rows + 2 * margin) * parts,
        columns=(grid.columns + 2 * margin) * parts,
        south=grid.south - north_south,
        west=grid.west - east_west,
        north=grid.north + north_south,
        east=grid.east + east_west,
    )
    noisy_counts = walk.fold(lambda part: _count_noisy_points(part, grid, wide))
    noise = mean_error_m(walk) if expected_noise_m is None else expected_noise_m
    k = int((true_counts > 0).sum())
    update = None
    if noise > 0 and noisy_counts.any():
        table = noisy_counts.reshape(wide.rows, wide.columns)
        update = bayesian_update(
            table, side_m=side_m / parts, expected_noise_m=noise, rounds=rounds, threshold=threshold
        )
    noisy = _sum_parts(noisy_counts, grid, margin, parts)
    updated = noisy if update is None else _sum_parts(update.distribution, grid, margin, parts)
    return Hotspots(
        offloaded=share_served(true_counts, noisy, k),
        offloaded_after_update=share_served(true_counts, updated, k),
        cells_found=share_served(true_counts > 0, noisy, k),
        cells_found_after_update=share_served(true_counts > 0, updated, k),
        hotspots=k,
        rounds=0 if update is None else update.rounds,
        expected_noise_m=float(noise),
        rows=grid.rows,
        columns=grid.columns,
        points=int(true_counts.sum()),
        area=area,
        margin_km=float(margin_km),
        parts=parts,
    )


def _sum_parts(values: NDArray[Any], grid: Grid, margin: int, parts: int) -> NDArray[Any]:
    """Return the sum of the parts of each cell of the grid, without the cells around it."""
    rows, columns = grid.rows + 2 * margin, grid.columns + 2 * margin
    cells = values.reshape(rows, parts, columns, parts).sum(axis=(1, 3))
    return np.asarray(cells[margin : rows - margin, margin : columns - margin]).ravel()


def count_released_points(
    original: GpsTraces, released: GpsTraces, grid: Grid, wide: Grid | None = None
) -> NDArray[np.int64]:
    """Count the released points of people in the area in each cell.

    Parameters
    ----------
    grid
        The area.
    wide
        Where points are counted, the area itself by default; those outside count at its border.
    """
    part = ComparisonChunk(original, released, are_row_by_row(original, released))
    return _count_noisy_points(part, grid, grid if wide is None else wide)


def _count_noisy_points(part: ComparisonChunk, grid: Grid, wide: Grid) -> NDArray[np.int64]:
    latitude, longitude = part.released.latitude, part.released.longitude
    judged = part.original if part.row_by_row else part.released
    inside = grid.cell_of(judged.latitude, judged.longitude) >= 0
    cell = wide.cell_of(
        np.clip(latitude[inside], wide.south, wide.north), np.clip(longitude[inside], wide.west, wide.east)
    )
    return np.bincount(cell, minlength=len(wide))


def share_served(
    true_counts: NDArray[np.int64] | NDArray[np.bool_],
    popularity: NDArray[np.int64] | NDArray[np.float64],
    k: int,
) -> float:
    """Return the share of the true counts in the k most popular cells; ties for the last count in part."""
    k = min(k, int((popularity > 0).sum()))
    if k == 0:
        return 0.0
    least = np.partition(popularity, -k)[-k]
    above, tied = popularity > least, popularity == least
    share_of_tied = (k - int(above.sum())) / int(tied.sum())
    served = true_counts[above].sum() + share_of_tied * true_counts[tied].sum()
    return float(served / true_counts.sum())


# Gossip: a message that spreads among people who meet, from every source at once.

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Gossip(Result):
    """How far and how fast messages spread.

    Attributes
    ----------
    arrival_s
        Sources × users: seconds from the first slot until the user has the source's message, -1
        if never, 0 for the source.
    """

    arrival_s: NDArray[np.int64]

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of all users that each source's message reaches; the source counts too."""
        return np.asarray((self.arrival_s >= 0).mean(axis=1))

    @property
    def infection_rate(self) -> float | None:
        """Mean share over all sources; None if there are none."""
        return float(self.rates.mean()) if len(self.arrival_s) else None

    @property
    def others_reached(self) -> float | None:
        """Mean share of the users other than the source; None if there are no others.

        In a small population this is more informative than `infection_rate`, which counts the source itself.
        """
        n, rate = len(self.arrival_s), self.infection_rate
        return None if rate is None or n < 2 else (rate * n - 1) / (n - 1)

    def latency_s(self) -> dict[str, float | None]:
        """Quantiles of the seconds until a user other than the source is reached."""
        others = ~np.eye(len(self.arrival_s), dtype=bool) & (self.arrival_s >= 0)
        reached = self.arrival_s[others]
        return {f"{q:g}": float(np.quantile(reached, q)) if reached.size else None for q in QUANTILES}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "infection_rate": self.infection_rate,
            "others_reached": self.others_reached,
            "latency_s": self.latency_s(),
            "users": len(self.arrival_s),
        }


def gossip(traces: GpsTraces, *, slot_s: float = 5.0, range_m: float = 50.0) -> Gossip:
    """Spread a message from each user; two users meet if they are within range in the same slot.

    All sources are computed exactly and together: each user has the set of received sources as bits, and a
    meeting joins the sets.

    Parameters
    ----------
    slot_s
        Length of a time slot in seconds.
    range_m
        Range of communication in metres.

    Notes
    -----
    [geo-ind] section 5.2 draws 1,000 random sources; here every user is a source once. Every message starts
    in the first slot of the traces. Within a slot, a message spreads along chains of people in range, so the
    order of meetings does not matter.

    Examples
    --------
    >>> traces = GpsTraces.from_points([1, 2, 2, 3], [0, 0, 60_000, 60_000], [0] * 4, [0, 0.0003, 1, 1])
    >>> gossip(traces).arrival_s.tolist()
    [[0, 0, 60], [0, 0, 60], [-1, 60, 0]]
    """
    require_number("slot_s", slot_s, above=0)
    require_number("range_m", range_m, above=0)
    from tracearena.metrics._kernels import spread_messages

    n = traces.n_users
    arrival = np.full((n, n), -1, np.int64)
    np.fill_diagonal(arrival, 0)
    if len(traces):
        slot = traces.time_ms // round(slot_s * 1000)
        slot = slot - slot.min()
        xyz = earth_centred(traces.latitude, traces.longitude)
        widest = int(np.argmax(np.ptp(xyz, axis=0)))
        order = np.lexsort((xyz[:, widest], slot))
        spread_messages(slot[order], traces.user_index[order], xyz[order], widest, float(range_m), arrival)
    arrival[arrival > 0] = np.rint(arrival[arrival > 0] * slot_s).astype(np.int64)
    return Gossip(mark_readonly(arrival))
