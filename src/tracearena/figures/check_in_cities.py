"""Check-ins of several cities: how [contest] appendix B and [ppmtf] section 4.1 look at a synthesizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tracearena.errors import DataError
from tracearena.figures.data import Source, check_ins, parted, people_flow
from tracearena.formats import read
from tracearena.traces import Traces

SIMULATED: dict[str, dict[str, Any]] = {
    "city": {},
    "quiet city": {"checkins_per_user": 12.0},
    "town": {"top": 200},
}
"""Name of a simulated city → how it differs from the usual one (30 check-ins a person, 1,000 places).

The map is always the same; the cities of the papers differ in how much their people tell as well.
"""
_FILES = ("gowalla*", "brightkite*", "*gowalla*totalCheckins*", "*brightkite*totalCheckins*")
_PLACES = 1_000


class City(NamedTuple):
    """A city's training and testing users."""

    name: str
    training: Traces
    testing: Traces


def check_in_cities(source: Source) -> list[City]:
    """Return the cities of a folder of published data, or three simulated ones.

    A city is a folder with the files of `people_flow`, the folder itself or a ``ppmtf-*`` within, or a file
    of check-ins of Gowalla or Brightkite, of which the 1,000 most visited places are taken, hours in slots
    of two, and a fifth of the people for testing.
    """
    data = source.data
    if data is None:
        return [City(name, *check_ins(source, **habits)) for name, habits in SIMULATED.items()]
    if data.is_file():
        return [_of_file(data, source.seed)]
    folders = [one for one in (data, *sorted(data.glob("ppmtf-*"))) if any(one.glob("traintraces_*.csv"))]
    found = [City(one.resolve().name, *people_flow(Source(one))) for one in folders]
    files = sorted({path for pattern in _FILES for path in data.glob(pattern) if path.is_file()})
    found += [_of_file(path, source.seed) for path in files]
    if not found:
        raise DataError(
            f"{data} holds no city: neither POI_*.csv with traintraces_*.csv and testtraces_*.csv, nor a "
            "folder ppmtf-* with them, nor check-ins of Gowalla or Brightkite"
        )
    return found


def _of_file(path: Path, seed: int) -> City:
    people = read(path, top=_PLACES, interval="1h", slot="2h").as_events().traces
    return City(path.name.partition(".")[0], *parted(people, seed))
