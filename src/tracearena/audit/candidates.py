"""Which defences `protect` tries: pipelines of the catalogue that suit a file."""

from __future__ import annotations

from tracearena.audit.material import Material

_SWAP = "SwapTimes(1km,month)"

CHECK_INS = (
    *("PL(4,1)", "PL(1,1)", f"PL(4,1)+{_SWAP}", f"PL(1,1)+{_SWAP}"),
    *(f"PL(0.5,1)+{_SWAP}", f"PL(0.2,1)+{_SWAP}"),
    *(f"ClusterAveraging(0.7,blur_km=0.5)+{_SWAP}", f"ClusterAveraging(0.3,blur_km=0.5)+{_SWAP}"),
    *("ClusterAveraging(0.3,blur_km=0.5)+RoundTime(day)", f"Decoy(0.7)+{_SWAP}", f"Decoy(0.3)+{_SWAP}"),
    *(f"RR(4)+{_SWAP}", f"RR(1)+{_SWAP}", "RR(1)+RoundTime(day)"),
)
"""For events at any times: places and times need a defence each."""

REGULAR = (
    *("PL(4,1)", "PL(2,1)", "PL(1,1)", "PL(0.5,1)", "PL(0.1,1)", "RR(8)", "RR(4)", "RR(1)", "RR(0.1)"),
    *("ClusterAveraging(0.7,blur_km=0.5)", "ClusterAveraging(0.3,blur_km=0.5)", "Decoy(0.7)", "Decoy(0.3)"),
)
"""For one event at every instant: times tell nobody apart, and swapped they would fit no such file."""

GRIDS = (
    *("MRLH(0,0,0.5)", "MRLH(0,0,0.8)", "MRLH(1,1,0.5)"),
    *("MRLH(2,2,0.5)", "MRLH(3,3,0.8)", "MRLH(4,4,0.95)"),
)
"""For regular traces on a grid, whose regions can be merged."""

POINTS = (
    *("GeoInd(100m)", "GeoInd(500m,10min)", "GeoInd(2km,30min)", "Thin(2h)", "Snap(500m)", "Snap(10km)"),
    *("Snap(1km)+PerDay(12)+SwapTimes(1km,day)", "Snap(2km)+PerDay(12)+SwapTimes(2km,day)"),
    *("Snap(4km)+PerDay(12)+SwapTimes(4km,day)", "Snap(10km)+PerDay(12)+SwapTimes(10km,day)"),
    *("Snap(4km)+PerDay(4)+SwapTimes(4km,day)", "Snap(10km)+PerDay(4)+SwapTimes(10km,day)"),
    *("Snap(10km)+PerDay(2)+SwapTimes(10km,week)", "Snap(10km)+PerDay(12)+RoundTime(part)"),
)
"""For GPS points: without a fixed number of points per day their number draws the hours of a person."""

SYNTHESIS = (
    "PPMTF(16,200,zeros=all,iterations=20)",
    "PPMTF(16,2,zeros=all,iterations=20)",
    "PPMTF(16,0.02,zeros=all,iterations=20)",
)
"""Synthetic days of the same people, where no defence holds and places are few."""

MOST_PLACES_OF_SYNTHESIS = 1200
MOST_PEOPLE_OF_DECOYS = 3000
"""`Decoy` compares everybody with everybody, and takes minutes for more people."""
_WHOLE_TRACES = ("ClusterAveraging", "Decoy", "Fakes", "PPMTF", "SGLT", "SGD")


def candidates(material: Material) -> list[str]:
    """Return the defences to try.

    `Cheat` and `Impostor` are left out: they make people look like others who exist, so that few are found
    again, which is all that the target asks for; whether owners want that of a release is for them to say.
    """
    if material.kind == "gps":
        return list(POINTS)
    names = list(CHECK_INS if material.kind == "check-ins" else REGULAR)
    if material.kind == "regular" and material.exact.places.grid is not None:
        names = [*GRIDS, *names]
    if material.exact.n_users > MOST_PEOPLE_OF_DECOYS:
        names = [name for name in names if not name.startswith("Decoy")]
    return names


def synthetic_candidates(material: Material) -> list[str]:
    """Return the synthesizers to try where no defence holds."""
    few = len(material.coarse.places) <= MOST_PLACES_OF_SYNTHESIS
    return list(SYNTHESIS) if few and material.kind != "gps" else []


def needs_cells(name: str) -> bool:
    """Whether a defence looks at whole traces, and takes too long at more places than heavy attacks do."""
    return name.startswith(_WHOLE_TRACES)
