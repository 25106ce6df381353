"""The data model: places, clocks and traces, as arrays that are checked once and never change.

A *place* is a region or a POI and is known by its index 0..n-1 in `Places`; an *instant* is a
discrete time, numbered from 0 through all days of a `Clock`. `Traces` holds events
(user, instant, place) sorted by user and time; `ObfuscatedTraces` holds a set of places for each
event; `GpsTraces` holds points (user, time, latitude, longitude). `IdTable` says which user has
which pseudonym.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
