"""The ground of the embedded city: a 32 × 32 grid, its river, its centres, and what each region is for.

The city lies on an island that no chart shows. Its box is as large as the contest's boxes (the same
cells, the same kilometres per degree), so that contest files and scores work on it unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import seed_sequence, stream
from tracearena.traces import Grid, Places
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

GRID = Grid(rows=32, columns=32, south=34.9, west=150.0, north=35.0, east=150.12)
LAND_USES = ("homes", "offices", "shops", "leisure", "schools", "parks", "hospitals")
HOSPITAL_REGIONS = 37
MAP_SEED = 20190921

_CENTRES = ((5.7, 5.4, 1.0), (8.6, 8.2, 0.45), (2.3, 8.0, 0.35), (2.9, 2.2, 0.4), (8.7, 2.5, 0.3))
"""Kilometres east and north of the south-west corner, and weight; the first is the centre proper."""
_SHARES = {"schools": 0.05, "parks": 0.09, "offices": 0.12, "shops": 0.11, "leisure": 0.06}
"""Share of all regions with each use; hospitals have a fixed number and homes take the rest."""
_LIVED_IN = {"homes": 1.0, "shops": 0.25, "leisure": 0.15, "schools": 0.15, "hospitals": 0.15, "offices": 0.1}


@dataclass(frozen=True, eq=False)
class LandUse:
    """What every region is for.

    Attributes
    ----------
    use
        Main use of each region, an index into `LAND_USES`.
    residents
        Share of the population that lives in each region; adds up to 1.
    bustle
        How central each region is, from 0 to 1: offices, shops and nightlife follow it.
    river
        True for the regions of the river.
    x_km, y_km
        Centre of each region, from the south-west corner of the city.
    """

    use: NDArray[np.int8]
    residents: NDArray[np.float64]
    bustle: NDArray[np.float64]
    river: NDArray[np.bool_]
    x_km: NDArray[np.float64]
    y_km: NDArray[np.float64]

    def regions_of(self, use: str) -> NDArray[np.int64]:
        """Return the regions whose main use is the one named."""
        return np.flatnonzero(self.use == LAND_USES.index(use))


@cache
def build_land_use() -> LandUse:
    """Return the land use of the city; it is the same for every simulation."""
    rng = stream(seed_sequence(MAP_SEED), 0)
    x, y = _centres_km()
    bustle = _bustle(x, y) * _patches(rng, x, y)
    bustle /= bustle.max()
    river = np.abs(x - river_km(y)) < 0.2
    use = _assign(rng, x, y, bustle, river)
    return LandUse(use, _residents(rng, x, y, use), bustle, river, x, y)


def regions() -> Places:
    """Return the 1,024 regions, with their land use as category and 37 hospital regions as sensitive.

    >>> regions()
    <Places: 1,024, grid 32 × 32, 37 sensitive>
    """
    use = build_land_use().use
    return Places.of_grid(
        GRID,
        sensitive=use == LAND_USES.index("hospitals"),
        categories=np.array(LAND_USES)[use],
        km_per_degree=CONTEST_KM_PER_DEGREE,
    )


def _centres_km() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    latitude, longitude = GRID.centres()
    north, east = CONTEST_KM_PER_DEGREE
    return (longitude - GRID.west) * east, (latitude - GRID.south) * north


def river_km(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far east the river runs at each latitude."""
    return 4.1 + 0.9 * np.sin(0.75 * y) + 0.12 * (y - 5.5)


def _bustle(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.full(len(x), 0.02)
    for east, north, weight in _CENTRES:
        total += weight * np.exp(-np.hypot(x - east, y - north) / (0.5 + 0.7 * weight))
    return total


def _patches(rng: np.random.Generator, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a smooth random factor around 1: no two quarters are alike."""
    east, north = rng.random((2, 60)) * 11
    height = rng.normal(size=60)
    field = (np.exp(-((x[:, None] - east) ** 2 + (y[:, None] - north) ** 2) / 0.9) * height).sum(axis=1)
    factor: NDArray[np.float64] = np.exp(0.5 * field + 0.25 * rng.normal(size=len(x)))
    return factor


def _assign(
    rng: np.random.Generator,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    bustle: NDArray[np.float64],
    river: NDArray[np.bool_],
) -> NDArray[np.int8]:
    """Give every region its main use: those that need the most particular ground choose first."""
    m = len(x)
    quiet = np.exp(-bustle / 0.15)
    wishes = {
        "hospitals": rng.random(m) * np.exp(-((np.hypot(x - 5.5, y - 5.5) / 7) ** 2)),
        "parks": np.where(river, 2.0, 0) + _patches(rng, x, y) * rng.random(m) ** 0.3,
        "schools": rng.random(m) * (0.5 + quiet),
        "offices": bustle * rng.lognormal(0, 0.6, m),
        "shops": bustle**0.5 * rng.lognormal(0, 0.4, m),
        "leisure": bustle**0.4 * rng.lognormal(0, 0.5, m),
    }
    wishes["hospitals"][river] = 0
    use = np.zeros(m, np.int8)
    for name, wish in wishes.items():
        number = HOSPITAL_REGIONS if name == "hospitals" else round(_SHARES[name] * m)
        free = np.flatnonzero(use == 0)
        use[free[np.argsort(-wish[free], kind="stable")[:number]]] = LAND_USES.index(name)
    return use


def _residents(
    rng: np.random.Generator, x: NDArray[np.float64], y: NDArray[np.float64], use: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Spread the population: dense around the centre, thin at the rim, none in parks."""
    density = np.exp(-((np.hypot(x - 5.5, y - 5.5) / 5.2) ** 2)) * rng.lognormal(0, 0.5, len(x))
    density *= np.array([_LIVED_IN.get(name, 0.0) for name in LAND_USES])[use]
    shares: NDArray[np.float64] = density / density.sum()
    return shares
