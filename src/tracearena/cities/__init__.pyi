from .city import pois, regions
from .gps import simulate_fleet, simulate_gps
from .simulation import archetypes, simulate

__all__ = ["archetypes", "pois", "regions", "simulate", "simulate_fleet", "simulate_gps"]
