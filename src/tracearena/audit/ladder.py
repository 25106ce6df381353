"""Which defences are tried: names of the catalogue, each with a ladder of parameters from mild to strong."""

from __future__ import annotations

from tracearena.algorithms import catalogue

EVENTS = (
    *("MRLH(0,0,0.5)", "MRLH(0,0,0.8)", "MRLH(1,1,0.5)", "MRLH(2,2,0.5)", "MRLH(3,3,0.8)", "MRLH(4,4,0.95)"),
    *("PL(4,1)", "PL(2,1)", "PL(1,1)", "PL(0.5,1)", "PL(0.1,1)"),
    *("RR(8)", "RR(4)", "RR(1)", "RR(0.1)"),
    *("ClusterAveraging(0.7,blur_km=0.5)", "ClusterAveraging(0.3,blur_km=0.5)", "Decoy(0.7)", "Decoy(0.3)"),
    *("Fakes(aggregate,10)", "Fakes(aggregate,100)", "Fakes(walk,10)"),
)
"""For events at places.

`Cheat` and `Impostor` are left out: they make people look like others who exist, so that few are found again,
which is all that the target asks for; whether owners want that of a release is for them to say. `Fakes` of
the method ``sglt`` hide people better (of 150 people of the city ten leave 32 % to be found, and
ten others all), but take half a minute of work for so few: who wants them names them.
"""

SYNTHESIS = (
    "PPMTF(16,200,zeros=all,iterations=20)",
    "PPMTF(16,2,zeros=all,iterations=20)",
    "PPMTF(16,0.02,zeros=all,iterations=20)",
)
"""Synthetic days of the same people, for events with few places."""

POINTS = (
    *("GeoInd(100m)", "GeoInd(500m,10min)", "GeoInd(2km,30min)", "GeoInd(10km,2h)"),
    *("Thin(10min)", "Thin(2h)", "Snap(500m)", "Snap(2km)", "Snap(10km)", "Snap(50km)"),
    *("Zones(300m)", "Zones(1km)", "TrimEnds(500m)"),
)
"""For GPS points."""

MOST_PLACES_OF_SYNTHESIS = 1200


def suits_synthesis(kind: str, places: int) -> bool:
    """Whether a file of a kind, with so many places, is small enough for synthesis."""
    return kind != "gps" and places <= MOST_PLACES_OF_SYNTHESIS


def ladder(kind: str, places: int) -> list[str]:
    """Return the defences to try for a kind of file (a key of `words.KINDS`), if the catalogue has them."""
    if kind == "gps":
        return [name for name in POINTS if name.partition("(")[0] in catalogue.entries()]
    return [*EVENTS, *(SYNTHESIS if suits_synthesis(kind, places) else ())]
