from .area import Area, default_area, tessellation
from .clock import Clock
from .gps import GpsTraces
from .id_table import IdTable
from .obfuscated import DELETED, ObfuscatedTraces, PlaceSets
from .places import Grid, Places
from .traces import Traces

__all__ = [
    "DELETED",
    "Area",
    "Clock",
    "GpsTraces",
    "Grid",
    "IdTable",
    "ObfuscatedTraces",
    "PlaceSets",
    "Places",
    "Traces",
    "default_area",
    "tessellation",
]
