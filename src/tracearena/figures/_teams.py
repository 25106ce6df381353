"""The data of contest teams behind the figures: published files, or people of the simulated city."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracearena.cities import pois, simulate
from tracearena.engine import SeedLike
from tracearena.errors import DataError
from tracearena.formats import peopleflow, pwscup
from tracearena.traces import Places, Traces

USERS = 2_000
DAYS = 20
"""Size of a team in 2019: users, and days of reference and of original traces."""

DEFENCES = (
    *(f"ClusterAveraging({setting})" for setting in ("0.7", "0.7,50", "0.7,200", "0.8", "0.9")),
    *(f"PL({level},1)" for level in ("3.5", "4", "5", "6", "7")),
    *(f"MRLH(0,0,{deletion})" for deletion in ("0.1", "0.2", "0.25")),
    *(f"MRLH(1,1,{deletion})" for deletion in ("0", "0.1")),
    *(f"RR({epsilon})" for epsilon in ("8", "10")),
)
"""17 defences that stand for the 17 teams with valid traces of 2019."""


class Team(NamedTuple):
    """What everybody knows of a team's users, and what the team protects."""

    reference: Traces
    original: Traces


def teams(data: Path | None, count: int, seed: SeedLike) -> list[Team]:
    """Return the data of several teams.

    Parameters
    ----------
    data
        A folder of contest files: as many of its teams as there are, at most `count`. None makes
        teams of different people of the simulated city, `DAYS` reference and as many original days.
    """
    if data is not None:
        return published(data, count)
    city = simulate(count * USERS, 2 * DAYS, clock=pwscup.PWS_CLOCK, seed=seed)
    parts = [city.take_users(np.arange(USERS) + team * USERS) for team in range(count)]
    return [Team(*part.with_user_ids(np.arange(1, USERS + 1)).split_days(DAYS)) for part in parts]


def published(folder: Path, count: int) -> list[Team]:
    """Read the reference and original traces of the first teams in a folder of contest files."""
    places = pwscup.read_places(folder / "info_region.csv")
    files = [sorted(folder.glob(f"{kind}_*.csv*")) for kind in ("reftraces", "orgtraces")]
    if not files[0] or len(files[0]) != len(files[1]):
        raise DataError(f"{folder} does not hold a reftraces_*.csv and an orgtraces_*.csv of each team")
    pairs = list(zip(*files, strict=True))[:count]
    return [Team(*(pwscup.read_traces(path, places) for path in pair)) for pair in pairs]


def points_of_interest(data: Path | None) -> Places | None:
    """Return the POIs of the city, or those of a POI_*.csv in the folder, if there is one."""
    if data is None:
        return pois()
    found = sorted(data.glob("POI_*.csv"))
    return peopleflow.read_pois(found[0]) if found else None


def correlation_of(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the correlation coefficient, 0 where fewer than two pairs differ.

    >>> correlation_of([(1, 2), (2, 4), (3, 6)])
    1.0
    """
    values = np.array(pairs)
    if len(values) < 2 or (values.std(axis=0) < 1e-12).any():
        return 0.0
    return float(np.corrcoef(values.T)[0, 1].round(12))
