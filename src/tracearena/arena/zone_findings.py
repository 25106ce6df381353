"""How many homes behind privacy zones an attacker finds who knows the mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.privacy_zones import homes_behind_zones
from tracearena.checks import require_number
from tracearena.errors import ParameterError
from tracearena.metrics.applications.homes import key_places
from tracearena.metrics.applications.paired import AtOnce, IdTable, Part, Walk, with_true_ids
from tracearena.obfuscation.privacy_zones import TrimEnds, Zones
from tracearena.results import Result
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m


@dataclass(frozen=True)
class ZoneFindings(Result):
    """What `homes_behind_zones` finds in a release.

    Attributes
    ----------
    users_with_home
        Users whose home the original tells (`key_places`).
    home_found
        Share of these whose guessed home is within `within_m`; None without any.
    home_error_m
        Median distance of the guesses; None without any.
    points_hidden
        Share of the original's points that the release leaves out.
    within_m
        What counts as found, metres.
    mechanism
        What the attacker knows about the release.
    """

    users_with_home: int
    home_found: float | None
    home_error_m: float | None
    points_hidden: float | None
    within_m: float
    mechanism: str


def find_homes(
    original: GpsTraces,
    released: GpsTraces,
    *,
    mechanism: Zones | TrimEnds,
    within_m: float = 100.0,
    timezone: str | None = None,
    id_table: IdTable | None = None,
) -> ZoneFindings:
    """Attack a release by zones or trimmed ends, and compare the guesses with the homes of the original.

    Parameters
    ----------
    mechanism
        The defence, which the attacker knows.
    within_m
        A guess this near to the home has found it.
    timezone
        Zone of the hours; by default clocks follow the sun.
    id_table
        Pseudonym → user, where the release has other ids than the original; refused without it.
    """
    true = with_true_ids(original, released, id_table)
    return homes_found(AtOnce(original, true), mechanism=mechanism, within_m=within_m, timezone=timezone)


def homes_found(
    walk: Walk, *, mechanism: Zones | TrimEnds, within_m: float = 100.0, timezone: str | None = None
) -> ZoneFindings:
    """Return what `find_homes` does, of users who are walked through."""
    require_number("within_m", within_m, above=0)
    radius_m, shift_m = circle_of(mechanism)

    def work(part: Part) -> NDArray[np.float64]:
        home = key_places(part.original, timezone=timezone).home
        guess = homes_behind_zones(
            part.released, radius_m=radius_m, shift_m=shift_m, within_m=within_m, timezone=timezone
        )
        told = (np.append(degrees, np.nan)[part.same] for degrees in (guess.latitude, guess.longitude))
        return np.array([*home, *told])

    latitude, longitude, *told = np.concatenate(walk.visit(work), axis=1)
    known = ~np.isnan(latitude)
    both = known & ~np.isnan(told[0])
    apart = distance_m(*(degrees[both] for degrees in (latitude, longitude, *told)))
    users, points = int(known.sum()), int(walk.points.sum())
    return ZoneFindings(
        users_with_home=users,
        home_found=float((apart <= within_m).sum() / users) if users else None,
        home_error_m=float(np.median(apart)) if len(apart) else None,
        points_hidden=1 - walk.released_points / points if points else None,
        within_m=within_m,
        mechanism=str(mechanism),
    )


def circle_of(mechanism: object) -> tuple[float, float]:
    """Return radius and largest shift of the circles that a defence hides, metres."""
    if isinstance(mechanism, Zones):
        return float(mechanism.radius), mechanism.shift_m
    if isinstance(mechanism, TrimEnds):
        return float(mechanism.distance), 0.0
    raise ParameterError(f"{mechanism} hides no circles; this attack is told Zones or TrimEnds")
