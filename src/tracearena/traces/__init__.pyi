from .area import default_area, tessellation
from .box import Box
from .clock import Clock
from .gps import GpsTraces
from .id_table import IdTable
from .obfuscated import DELETED, ObfuscatedTraces, PlaceSets
from .places import Grid, Places
from .slot_plan import SlotPlan
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
