"""The points of interest: what kinds there are, where they stand, and how many people they draw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.cities.land_use import GRID, LAND_USES, MAP_SEED, build_land_use
from tracearena.engine import seed_sequence, stream
from tracearena.traces import Places
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE


class Kind(NamedTuple):
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


KINDS: tuple[Kind, ...] = (
    Kind("food", 2600, 0.35, 1.0, 50, ("shops", "offices", "leisure"), {
        "Japanese Restaurant": 20, "Ramen or Noodle House": 14, "Café": 13, "Chinese Restaurant": 8,
        "Coffee Shop": 8, "Italian Restaurant": 6, "Fast Food Restaurant": 6, "Indian Restaurant": 4,
        "Burger Joint": 4, "Bakery": 4, "Sushi Restaurant": 4, "BBQ Joint": 3, "Diner": 3,
        "Dessert Shop": 3,
    }),
    Kind("shops", 1300, 0.2, 1.3, 35, ("shops",), {
        "Convenience Store": 22, "Grocery or Supermarket": 18, "Bookstore": 9, "Clothing Store": 10,
        "Electronics Store": 6, "Drugstore": 9, "Mall": 5, "Department Store": 4, "Hobby Shop": 5,
        "Hairdresser": 7, "Sporting Goods Shop": 5,
    }),
    Kind("nightlife", 500, 0.9, 1.0, 110, ("leisure", "shops"), {
        "Bar": 10, "Sake Bar": 9, "Pub": 4, "Karaoke Bar": 4, "Nightclub": 2, "Music Bar": 2,
    }),
    Kind("arts_entertainment", 420, 0.3, 1.6, 100, ("leisure",), {
        "Gym": 8, "Movie Theater": 5, "Arcade": 5, "Art Gallery": 4, "Museum": 3, "Concert Hall": 3,
        "Stadium": 1, "Library": 4, "Bowling Alley": 2,
    }),
    Kind("parks_outdoors", 260, 0.0, 1.4, 65, ("parks",), {
        "Park": 10, "Playground": 5, "Riverside Walk": 4, "Garden": 3, "Sports Ground": 3, "Temple Ground": 3,
    }),
    Kind("travel", 180, 0.2, 4.0, 12, ("shops", "offices"), {
        "Train Station": 8, "Bus Station": 5, "Hotel": 3,
    }),
    Kind("education", 120, 0.0, 2.0, 240, ("schools",), {
        "High School": 5, "University": 5, "Elementary School": 4, "College Building": 2, "Cram School": 2,
    }),
    Kind("building", 560, 1.0, 1.2, 60, ("offices",), {
        "Office": 12, "Government Building": 1, "Co-working Space": 2, "Bank": 2, "Factory": 1,
    }),
    Kind("building", 60, 0.0, 2.0, 75, ("hospitals",), {"Hospital": 1}),
)  # fmt: skip
FOOD, SHOP, NIGHT, ARTS, PARK, TRAVEL, SCHOOL, OFFICE, HOSPITAL = range(len(KINDS))
_ELSEWHERE = 0.25
"""Weight of a region without the preferred use, compared with one that has it."""


@dataclass(frozen=True, eq=False)
class Venues:
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
def build_venues() -> Venues:
    """Return the venues; they are the same for every simulation."""
    rng = stream(seed_sequence(MAP_SEED), 1)
    kind = np.repeat(np.arange(len(KINDS), dtype=np.int8), [each.number for each in KINDS])
    cell = np.concatenate([np.sort(_cells(rng, each)) for each in KINDS]).astype(np.int32)
    names = [_names(rng, each) for each in KINDS]
    draw = np.array([each.draw for each in KINDS])[kind] * rng.lognormal(0, 1.1, len(kind))
    row, column = np.divmod(cell, GRID.columns)
    return Venues(
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
        Only so many, the most attractive ones; all 6,000 by default. A venue keeps its id.

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


def _cells(rng: np.random.Generator, kind: Kind) -> NDArray[np.int64]:
    """Draw a region for every venue of one kind; no hospital region is left without a hospital."""
    ground = build_land_use()
    preferred = np.isin(ground.use, [LAND_USES.index(use) for use in kind.uses])
    weight = ground.bustle**kind.centrality * np.where(preferred, 1.0, _ELSEWHERE)
    if kind is KINDS[HOSPITAL]:
        homes = ground.regions_of("hospitals")
        return np.concatenate([homes, rng.choice(homes, kind.number - len(homes))])
    return rng.choice(len(weight), kind.number, p=weight / weight.sum())


def _names(rng: np.random.Generator, kind: Kind) -> NDArray[np.str_]:
    small = [f"{kind.name}/{name}" for name in kind.categories]
    weight = np.array(list(kind.categories.values()), float)
    return rng.choice(np.array(small), kind.number, p=weight / weight.sum())
