"""Shifts of vehicles: from order to order along the quickest ways, and back to the garage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tracearena.cities._kernels.choice import draw
from tracearena.cities._kernels.trails import go, stay

_IN_DISTRICT = 0.35
"""Share of the orders that come from the vehicle's own district; the others start where it is."""
_WAIT = 1.6
_WAIT_SPREAD = 0.9
"""Logarithm of the minutes spent at an address: typical, and spread."""


@njit(cache=True, nogil=True)
def drive(
    rng: Any, atlas: Any, kinds: Any, garage: int, district: int, starts: Any, stops: Any, minutes: Any, row: Any
) -> None:
    """Write the region in which every instant finds one vehicle; between shifts it is in the garage.

    Parameters
    ----------
    kinds
        Cumulative probabilities of the kinds of venue that it is called to.
    starts, stops
        Minutes since the first midnight at which its shifts begin and end, ascending.
    minutes, row
        Minutes of the instants, and where the regions are written.
    """
    i = 0
    for shift in range(len(starts)):
        now, here = starts[shift], garage
        i = stay(row, i, minutes, now, garage)
        while True:
            origin = district if rng.random() < _IN_DISTRICT else here
            there = draw(rng, atlas.reach[draw(rng, kinds), origin])
            wait = np.exp(_WAIT + _WAIT_SPREAD * rng.standard_normal())
            back = now + atlas.minutes[here, there] + wait + atlas.minutes[there, garage]
            if back > stops[shift]:
                break
            i, now = go(row, i, minutes, atlas, now, here, there)
            now, here = now + wait, there
            i = stay(row, i, minutes, now, here)
        i, now = go(row, i, minutes, atlas, now, here, garage)
    stay(row, i, minutes, np.inf, garage)
