from .city import pois, regions
from .fleet import simulate_fleet
from .gps import simulate_gps
from .simulation import archetypes, simulate

__all__ = ["archetypes", "pois", "regions", "simulate", "simulate_fleet", "simulate_gps"]
