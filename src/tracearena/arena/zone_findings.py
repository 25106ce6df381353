"""How many homes behind privacy zones an attacker finds who knows the mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracearena.attacks.zone_finding import homes_behind_zones
from tracearena.checks import require_number
from tracearena.errors import ParameterError
from tracearena.metrics.applications.homes import key_places
from tracearena.metrics.applications.identity import IdTable, with_true_ids
from tracearena.obfuscation.trim_ends import TrimEnds
from tracearena.obfuscation.zones import Zones
from tracearena.results import Result
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m
from tracearena.traces.ids import positions


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
    require_number("within_m", within_m, above=0)
    radius_m, shift_m = circle_of(mechanism)
    released = with_true_ids(original, released, id_table)
    truth = key_places(original, timezone=timezone)
    guess = homes_behind_zones(
        released, radius_m=radius_m, shift_m=shift_m, within_m=within_m, timezone=timezone
    )
    known = np.flatnonzero(~np.isnan(truth.home_latitude))
    at = positions(original.user_ids, released.user_ids)[known]
    told = (at >= 0) & ~np.isnan(guess.latitude[at])
    known_told, at_told = known[told], at[told]
    apart = distance_m(
        truth.home_latitude[known_told],
        truth.home_longitude[known_told],
        guess.latitude[at_told],
        guess.longitude[at_told],
    )
    return ZoneFindings(
        users_with_home=len(known),
        home_found=float((apart <= within_m).sum() / len(known)) if len(known) else None,
        home_error_m=float(np.median(apart)) if len(apart) else None,
        points_hidden=1 - len(released) / len(original) if len(original) else None,
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
