from .box import Box
from .clock import Clock, SlotPlan
from .gps import GpsTraces
from .gridding import default_area, tessellation
from .obfuscated import DELETED, IdTable, ObfuscatedTraces, PlaceSets
from .places import Grid, Places
from .traces import Traces

__all__ = [
    "DELETED",
    "Box",
    "Clock",
    "GpsTraces",
    "Grid",
    "IdTable",
    "ObfuscatedTraces",
    "PlaceSets",
    "Places",
    "SlotPlan",
    "Traces",
    "default_area",
    "tessellation",
]
