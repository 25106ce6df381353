"""The data model: places, clocks, traces. Arrays inside, checked at the border, immutable.

A *place* is a region or a POI and is known by its index 0..n-1 in `Places`; an *instant* is a
discrete time, numbered from 0 through all days of a `Clock`. `Traces` holds events
(user, instant, place) sorted by user and time; `ObfuscatedTraces` holds a set of places for each
event; `GpsTraces` holds points (user, time, latitude, longitude). `IdTable` says which user stands
behind which pseudonym.
"""

from tracearena.traces.clock import Clock
from tracearena.traces.gps import GpsTraces
from tracearena.traces.id_table import IdTable
from tracearena.traces.obfuscated import DELETED, ObfuscatedTraces, PlaceSets
from tracearena.traces.places import Grid, Places
from tracearena.traces.traces import Traces

__all__ = [
    "DELETED",
    "Clock",
    "GpsTraces",
    "Grid",
    "IdTable",
    "ObfuscatedTraces",
    "PlaceSets",
    "Places",
    "Traces",
]
