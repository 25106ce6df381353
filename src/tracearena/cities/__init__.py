"""The embedded city: believable people on a map of its own, so that everything runs with no download.

`simulate` makes `Traces` with their `Places` and `Clock`; `regions` and `pois` are the map, `laws`
measures how human any traces look.
"""

from tracearena.cities import laws
from tracearena.cities.gps import simulate_gps
from tracearena.cities.land_use import regions
from tracearena.cities.simulation import archetypes, simulate
from tracearena.cities.venues import pois

__all__ = ["archetypes", "laws", "pois", "regions", "simulate", "simulate_gps"]
