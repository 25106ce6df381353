"""Files that a page may take for granted, made once for all pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.conftest import SHARED_DATA

import tracearena as ta
from tracearena.io import pwscup


def contest(folder: Path) -> None:
    """Write the files of a small contest: 40 people, two days known to the attacker and two released."""
    city = ta.simulate(users=40, days=4, clock=pwscup.PWS_CLOCK, seed=1)
    reference, original = city.split_days(2)
    obfuscated = ta.obfuscation.PlanarLaplace(l=4, r=1).transform(original, seed=2)
    release = ta.pseudonymise(obfuscated, seed=3)
    pwscup.write_places(original.places, folder / "info_region.csv")
    pwscup.write_traces(reference, folder / "reftraces.csv")
    pwscup.write_traces(original, folder / "orgtraces.csv")
    pwscup.write_times(pwscup.ContestTimes(city.clock, 2, 2), folder / "info_time.csv")
    pwscup.write_obfuscated(obfuscated, folder / "anotraces.csv")
    pwscup.write_anonymized(release.anonymized, folder / "pubtraces.csv")
    pwscup.write_id_table(release.id_table, folder / "ptable.csv")


def people(folder: Path) -> None:
    """Write GPS points of eight people, three days, one row a point: ``original.csv``."""
    ta.write(ta.cities.simulate_gps(users=8, days=3, seed=1), folder / "original.csv")


def checkins(folder: Path) -> None:
    """Write half a year of check-ins of 200 people as a table: ``checkins.csv``."""
    ta.write(ta.simulate(users=200, days=180, mode="checkins", seed=1), folder / "checkins.csv")


def _shared(name: str) -> Callable[[Path], None]:
    def copy(folder: Path) -> None:
        shutil.copytree(SHARED_DATA / name, folder, dirs_exist_ok=True)

    return copy


INPUTS: Mapping[str, Callable[[Path], None]] = {
    "contest": contest,
    "people": people,
    "checkins": checkins,
    "ppmtf-tokyo": _shared("ppmtf-tokyo"),
    "pwscup2019-osaka": _shared("pwscup2019-osaka"),
    "pwscup2019-results": _shared("pwscup2019-results"),
}
"""Name → what writes the files into a folder."""
PUBLISHED = {"ppmtf-tokyo", "pwscup2019-osaka", "pwscup2019-results"}
"""Those that lie with the published data, which is not everywhere."""
