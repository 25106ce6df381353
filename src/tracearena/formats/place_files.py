"""Files of places, whichever format they go with."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from tracearena.errors import FileError
from tracearena.formats import peopleflow, place_table, pwscup
from tracearena.intake.delimited import split_header, text_bytes
from tracearena.intake.tables import is_parquet
from tracearena.traces import Places

_REGIONS = "reg_id,y_id,x_id,y(center),x(center)"
_POIS = "poi_id,y,x,category"


def read_places(path: str | PathLike[str]) -> Places:
    """Read places: regions, POIs of the PPMTF tools, or a table of places.

    Regions without a column for hospitals get theirs from the ``POI_*.csv`` of the same city
    beside them, if there is one.
    """
    if is_parquet(path):
        return place_table.read(path)
    header, _ = split_header(text_bytes(path))
    if header == _REGIONS:
        return peopleflow.read_regions(path, _pois_beside(Path(path)))
    if header.startswith(_REGIONS):
        return pwscup.read_places(path)
    if header.startswith(_POIS):
        from tracearena.formats import ppmtf

        return ppmtf.read_places(path)
    return place_table.read(path)


def write_places(places: Places, path: str | PathLike[str], *, to: str = "table") -> None:
    """Write the file of places that goes with a format of traces."""
    if to in ("pwscup", "peopleflow"):
        pwscup.write_places(places, path)
    elif to == "ppmtf":
        from tracearena.formats import ppmtf

        ppmtf.write_places(places, path)
    else:
        place_table.write(places, path)


def places_beside(path: Path, format: str) -> Places:
    """Find and read the file of places in the folder of a file of traces."""
    city = path.name.partition(".")[0].rpartition("_")[2]
    names = {
        "pwscup": ["info_region.csv"],
        "peopleflow": [f"regions_{city}.csv", "info_region.csv"],
        "ppmtf": [f"POI_{city}.csv"],
    }[format]
    folder = sorted(path.parent.glob("POI_*.csv")) if format == "ppmtf" else []
    for candidate in [*(path.with_name(name) for name in names), *folder[: len(folder) == 1]]:
        if candidate.is_file():
            return read_places(candidate)
    if format == "peopleflow":
        return peopleflow.tokyo_regions()
    raise FileError.whole(
        path, f"needs its file of places: give it with --places or put {names[0]} beside it", "no-places"
    )


def _pois_beside(regions: Path) -> Path | None:
    pois = regions.with_name(regions.name.replace("regions_", "POI_", 1))
    return pois if pois.is_file() and pois != regions else None
