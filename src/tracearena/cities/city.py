"""The embedded city: a 32 × 32 grid with its land use, its venues, and the ways between regions.

The city lies on an island that no chart shows. Its box is as large as the contest's boxes (the same
cells, the same kilometres per degree), so that contest files and scores work on it unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
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
    latitude, longitude = GRID.centres()
    north, east = CONTEST_KM_PER_DEGREE
    x, y = (longitude - GRID.west) * east, (latitude - GRID.south) * north
    bustle = np.full(len(x), 0.02)
    for centre_x, centre_y, weight in _CENTRES:
        bustle += weight * np.exp(-np.hypot(x - centre_x, y - centre_y) / (0.5 + 0.7 * weight))
    bustle *= _draw_patches(rng, x, y)
    bustle /= bustle.max()
    river = np.abs(x - river_km(y)) < 0.2
    use = _assign_uses(rng, x, y, bustle, river)
    # The population is dense around the centre, thin at the rim, and nobody lives in parks.
    density = np.exp(-((np.hypot(x - 5.5, y - 5.5) / 5.2) ** 2)) * rng.lognormal(0, 0.5, len(x))
    density *= np.array([_LIVED_IN.get(name, 0.0) for name in LAND_USES])[use]
    return LandUse(use, density / density.sum(), bustle, river, x, y)


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


def river_km(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far east the river runs at each latitude."""
    return 4.1 + 0.9 * np.sin(0.75 * y) + 0.12 * (y - 5.5)


def _draw_patches(
    rng: np.random.Generator, x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a smooth random factor around 1: no two quarters are alike."""
    east, north = rng.random((2, 60)) * 11
    height = rng.normal(size=60)
    field = (np.exp(-((x[:, None] - east) ** 2 + (y[:, None] - north) ** 2) / 0.9) * height).sum(axis=1)
    factor: NDArray[np.float64] = np.exp(0.5 * field + 0.25 * rng.normal(size=len(x)))
    return factor


def _assign_uses(
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
        "parks": np.where(river, 2.0, 0) + _draw_patches(rng, x, y) * rng.random(m) ** 0.3,
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


# The points of interest: what kinds there are, where they stand, and how many people they draw.


class VenueKind(NamedTuple):
    """One kind of venue.

    Attributes
    ----------
    name
        The large category, as in the published POI files.
    number
        How many there are.
    centrality
        Exponent with which their number follows the bustle of a region; 0 spreads them evenly.
    draw
        How attractive a venue is, compared with a restaurant.
    stay_min
        Typical length of a visit in minutes.
    uses
        Land uses where they stand by preference.
    categories
        The small categories with their weights.
    """

    name: str
    number: int
    centrality: float
    draw: float
    stay_min: float
    uses: tuple[str, ...]
    categories: dict[str, float]


KINDS: tuple[VenueKind, ...] = (
    VenueKind("food", 2600, 0.35, 1.0, 50, ("shops", "offices", "leisure"), {
        "Japanese Restaurant": 20, "Ramen or Noodle House": 14, "Café": 13, "Chinese Restaurant": 8,
        "Coffee Shop": 8, "Italian Restaurant": 6, "Fast Food Restaurant": 6, "Indian Restaurant": 4,
        "Burger Joint": 4, "Bakery": 4, "Sushi Restaurant": 4, "BBQ Joint": 3, "Diner": 3,
        "Dessert Shop": 3,
    }),
    VenueKind("shops", 1300, 0.2, 1.3, 35, ("shops",), {
        "Convenience Store": 22, "Grocery or Supermarket": 18, "Bookstore": 9, "Clothing Store": 10,
        "Electronics Store": 6, "Drugstore": 9, "Mall": 5, "Department Store": 4, "Hobby Shop": 5,
        "Hairdresser": 7, "Sporting Goods Shop": 5,
    }),
    VenueKind("nightlife", 500, 0.9, 1.0, 110, ("leisure", "shops"), {
        "Bar": 10, "Sake Bar": 9, "Pub": 4, "Karaoke Bar": 4, "Nightclub": 2, "Music Bar": 2,
    }),
    VenueKind("arts_entertainment", 420, 0.3, 1.6, 100, ("leisure",), {
        "Gym": 8, "Movie Theater": 5, "Arcade": 5, "Art Gallery": 4, "Museum": 3, "Concert Hall": 3,
        "Stadium": 1, "Library": 4, "Bowling Alley": 2,
    }),
    VenueKind("parks_outdoors", 260, 0.0, 1.4, 65, ("parks",), {
        "Park": 10, "Playground": 5, "Riverside Walk": 4, "Garden": 3, "Sports Ground": 3, "Temple Ground": 3,
    }),
    VenueKind("travel", 180, 0.2, 4.0, 12, ("shops", "offices"), {
        "Train Station": 8, "Bus Station": 5, "Hotel": 3,
    }),
    VenueKind("education", 120, 0.0, 2.0, 240, ("schools",), {
        "High School": 5, "University": 5, "Elementary School": 4, "College Building": 2, "Cram School": 2,
    }),
    VenueKind("building", 560, 1.0, 1.2, 60, ("offices",), {
        "Office": 12, "Government Building": 1, "Co-working Space": 2, "Bank": 2, "Factory": 1,
    }),
    VenueKind("building", 60, 0.0, 2.0, 75, ("hospitals",), {"Hospital": 1}),
)  # fmt: skip
FOOD, SHOP, NIGHT, ARTS, PARK, TRAVEL, SCHOOL, OFFICE, HOSPITAL = range(len(KINDS))
_ELSEWHERE = 0.25
"""Weight of a region without the preferred use, compared with one that has it."""


@dataclass(frozen=True, eq=False)
class CityVenues:
    """Every venue of the city, sorted by kind and region.

    Attributes
    ----------
    kind, cell
        Index into `KINDS`; region (0 to 1023).
    latitude, longitude
        Degrees.
    category
        Such as ``food/Ramen or Noodle House``.
    attractiveness
        Weight with which people choose it among venues at the same distance.
    """

    kind: NDArray[np.int8]
    cell: NDArray[np.int32]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    category: NDArray[np.str_]
    attractiveness: NDArray[np.float64]

    def most_attractive(self, top: int | None) -> NDArray[np.int64]:
        """Return the indices of the `top` venues with the highest weight, in the city's order."""
        if top is None:
            return np.arange(len(self.cell))
        require_whole("top", top, at_least=1, at_most=len(self.cell))
        return np.sort(np.argsort(-self.attractiveness, kind="stable")[:top])


@cache
def build_venues() -> CityVenues:
    """Return the venues; they are the same for every simulation."""
    rng = stream(seed_sequence(MAP_SEED), 1)
    kind = np.repeat(np.arange(len(KINDS), dtype=np.int8), [each.number for each in KINDS])
    ground, cells, names = build_land_use(), [], []
    for each in KINDS:
        preferred = np.isin(ground.use, [LAND_USES.index(use) for use in each.uses])
        weight = ground.bustle**each.centrality * np.where(preferred, 1.0, _ELSEWHERE)
        if each is KINDS[HOSPITAL]:
            # No hospital region is left without a hospital.
            homes = ground.regions_of("hospitals")
            drawn = np.concatenate([homes, rng.choice(homes, each.number - len(homes))])
        else:
            drawn = rng.choice(len(weight), each.number, p=weight / weight.sum())
        cells.append(np.sort(drawn))
    cell = np.concatenate(cells).astype(np.int32)
    for each in KINDS:
        small = np.array([f"{each.name}/{name}" for name in each.categories])
        weight = np.array(list(each.categories.values()), float)
        names.append(rng.choice(small, each.number, p=weight / weight.sum()))
    draw = np.array([each.draw for each in KINDS])[kind] * rng.lognormal(0, 1.1, len(kind))
    row, column = np.divmod(cell, GRID.columns)
    return CityVenues(
        kind,
        cell,
        GRID.south + (row + rng.uniform(0.02, 0.98, len(cell))) * GRID.cell_height,
        GRID.west + (column + rng.uniform(0.02, 0.98, len(cell))) * GRID.cell_width,
        np.concatenate(names),
        draw,
    )


def pois(top: int | None = None) -> Places:
    """Return the points of interest, as free places with categories; hospitals are sensitive.

    Parameters
    ----------
    top
        Only this many, the most attractive ones; all 6,000 by default. A venue keeps its id.

    >>> places = pois()
    >>> len(places), places.categories[0].partition("/")[0]
    (6000, 'food')
    """
    known = build_venues()
    chosen = known.most_attractive(top)
    return Places(
        known.latitude[chosen],
        known.longitude[chosen],
        ids=chosen,
        categories=known.category[chosen],
        sensitive=known.kind[chosen] == HOSPITAL,
        km_per_degree=CONTEST_KM_PER_DEGREE,
    )


# Routes: the quickest way between regions over streets, avenues, rails and bridges.

STREET, AVENUE, RAIL, WATER = 6.5, 4.2, 2.2, 60.0
"""Minutes per kilometre, waiting included; crossing the river outside a bridge is not worth it."""
_AVENUE_EVERY = 5
RAIL_LINES = (
    ((2, 7), (7, 9), (15, 16), (23, 24), (29, 29)),
    ((29, 5), (23, 6), (15, 16), (7, 25), (2, 29)),
    ((15, 0), (15, 16), (15, 31)),
    ((7, 9), (23, 6), (23, 24), (7, 25), (7, 9)),
)
"""Lines as (row, column) of the regions where they bend; trains run straight in between."""


@dataclass(frozen=True, eq=False)
class Routes:
    """Quickest ways between all pairs of regions.

    Attributes
    ----------
    minutes
        Travel time from region to region.
    previous
        ``previous[a, b]`` is the region before ``b`` on the way from ``a``; ``a`` itself for ``b = a``.
    rail
        True for the regions with a railway.
    """

    minutes: NDArray[np.float32]
    previous: NDArray[np.int16]
    rail: NDArray[np.bool_]


@cache
def build_routes() -> Routes:
    """Return the ways of the city; they are the same for every simulation."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    on_rail = np.zeros((GRID.rows, GRID.columns), bool)
    for line in RAIL_LINES:
        for start, end in pairwise(line):
            steps = max(abs(end[0] - start[0]), abs(end[1] - start[1])) + 1
            along = np.linspace(start, end, steps).round().astype(int)
            on_rail[along[:, 0], along[:, 1]] = True
    rail = on_rail.ravel()
    row, column = np.divmod(np.arange(len(GRID)), GRID.columns)
    bridge = row % _AVENUE_EVERY == 2
    pace = np.where(bridge | (column % _AVENUE_EVERY == 2), AVENUE, STREET)
    pace = np.where(build_land_use().river & ~bridge, WATER, pace)
    pace = np.where(rail, RAIL, pace)
    a, b, km = _list_neighbours()
    cost = csr_array((km * np.maximum(pace[a], pace[b]), (a, b)), shape=(len(GRID), len(GRID)))
    minutes, previous = dijkstra(cost, return_predecessors=True)
    np.fill_diagonal(previous, np.arange(len(GRID)))
    return Routes(minutes.astype(np.float32), previous.astype(np.int16), rail)


def _list_neighbours() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return every pair of touching regions, both ways, with the distance of their centres."""
    ground = build_land_use()
    row, column = np.divmod(np.arange(len(GRID)), GRID.columns)
    pairs = []
    for d_row, d_column in ((0, 1), (1, 0), (1, 1), (1, -1)):
        inside = (row + d_row < GRID.rows) & (column + d_column < GRID.columns) & (column + d_column >= 0)
        here = np.flatnonzero(inside)
        pairs.append((here, here + d_row * GRID.columns + d_column))
    one = np.concatenate([pair[0] for pair in pairs])
    other = np.concatenate([pair[1] for pair in pairs])
    km = np.hypot(ground.x_km[one] - ground.x_km[other], ground.y_km[one] - ground.y_km[other])
    return np.concatenate([one, other]), np.concatenate([other, one]), np.concatenate([km, km])
