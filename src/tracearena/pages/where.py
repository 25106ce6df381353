"""How much happens where: the amounts that maps of traces show."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces.gridding import default_area, tessellation

_MAP_CELLS = 120
_FINEST_M = 88.6


class Amounts(NamedTuple):
    """An amount for every place.

    Attributes
    ----------
    what
        What is counted, in the plural.
    inside
        The share of all rows that lie at the places.
    """

    places: Places
    counts: NDArray[Any]
    what: str
    inside: float


def amounts_of(traces: Traces | GpsTraces | ObfuscatedTraces) -> Amounts:
    """Count events at their places, points on a grid of about 120 cells over their area.

    A released event counts in parts at each place of its set, and nowhere if it was deleted.
    """
    if isinstance(traces, GpsTraces):
        return _of_points(traces)
    if isinstance(traces, ObfuscatedTraces):
        _, place, weight = traces.pairs()
        counts = np.bincount(place, weights=weight, minlength=len(traces.places))
        return Amounts(
            traces.places, counts, "events", float((~traces.is_deleted).mean() if len(traces) else 1)
        )
    counts = np.bincount(traces.place_index, minlength=len(traces.places))
    return Amounts(traces.places, counts, "events", 1.0)


def _of_points(traces: GpsTraces) -> Amounts:
    area = default_area(traces, _FINEST_M)
    grid = tessellation(area, max(area.size_m()) / _MAP_CELLS)
    cell = grid.cell_of(traces.latitude, traces.longitude)
    counts = np.bincount(cell[cell >= 0], minlength=len(grid))
    return Amounts(Places.of_grid(grid), counts, "points", float(counts.sum() / len(traces)))
