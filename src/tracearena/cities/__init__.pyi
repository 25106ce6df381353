from .fleet import simulate_fleet
from .gps import simulate_gps
from .land_use import regions
from .simulation import archetypes, simulate
from .venues import pois

__all__ = ["archetypes", "pois", "regions", "simulate", "simulate_fleet", "simulate_gps"]
