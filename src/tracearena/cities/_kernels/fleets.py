"""Shifts of vehicles: from order to order along the quickest ways, and back to the depot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tracearena.cities._kernels.choice import draw
from tracearena.cities._kernels.trails import go, stay

_WAIT = 1.6
_WAIT_SPREAD = 0.9
"""Logarithm of the minutes spent at an address: typical, and spread."""


class Duty(NamedTuple):
    """What a vehicle has to do.

    Attributes
    ----------
    depot, district
        Regions from which it starts its shifts, and where some of its orders come from.
    loyalty
        Share of the orders that come from the district; the others come from where it is.
    kinds
        Cumulative probabilities of the kinds of venue that it is called to.
    starts, stops
        Minutes since the first midnight at which its shifts begin and end, ascending.
    """

    depot: int
    district: int
    loyalty: float
    kinds: Any
    starts: Any
    stops: Any


@njit(cache=True, nogil=True)
def drive(rng: Any, atlas: Any, duty: Any, doors: int, minutes: Any, region: Any, door: Any) -> None:
    """Write where every instant finds one vehicle; between shifts it is in the depot.

    Parameters
    ----------
    doors
        Number of addresses in a region.
    minutes
        Minutes of the instants since the first midnight.
    region, door
        Written for each instant: the region, and the address in it; 0 where the vehicle drives through.
    """
    door[:] = 0
    i = 0
    for shift in range(len(duty.starts)):
        now, here = duty.starts[shift], duty.depot
        i = stay(region, i, minutes, now, here)
        while True:
            origin = duty.district if rng.random() < duty.loyalty else here
            there = draw(rng, atlas.reach[draw(rng, duty.kinds), origin])
            wait = np.exp(_WAIT + _WAIT_SPREAD * rng.standard_normal())
            back = now + atlas.minutes[here, there] + wait + atlas.minutes[there, duty.depot]
            if back > duty.stops[shift]:
                break
            i, now = go(region, i, minutes, atlas, now, here, there)
            arrived, now, here = i, now + wait, there
            i = stay(region, i, minutes, now, here)
            door[arrived:i] = int(rng.random() * doors)
        i, now = go(region, i, minutes, atlas, now, here, duty.depot)
    stay(region, i, minutes, np.inf, duty.depot)
