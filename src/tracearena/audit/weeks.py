"""Three people's weeks as an attacker sees them; drawn only where the owner asks for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.material import Material, Published
from tracearena.audit.shares import Record
from tracearena.traces import Traces
from tracearena.traces._arrays import different

DAYS = 7
WHO = ("most exposed", "median", "safest")


@dataclass(frozen=True)
class Week(Record):
    """What is released of one person's first week.

    Attributes
    ----------
    who
        One of `WHO`.
    exposure
        How surely one sighting of the person leads to her: the mean of 1 over the people who were at the
        same place at the same instant.
    latitude, longitude, events
        The released places, and how often each is.
    """

    who: str
    exposure: float
    latitude: tuple[float, ...]
    longitude: tuple[float, ...]
    events: tuple[int, ...]


def weeks(material: Material, published: Published) -> tuple[Week, ...]:
    """Choose three people who are released by their exposure, and show their places."""
    exposure = exposures(material.exact)
    there = np.flatnonzero((published.at >= 0) & np.isfinite(exposure))
    if len(there) < len(WHO):
        return ()
    ranked = there[np.argsort(-exposure[there], kind="stable")]
    chosen = (ranked[0], ranked[len(ranked) // 2], ranked[-1])
    return tuple(
        _week(who, float(exposure[user]), published, int(published.at[user]))
        for who, user in zip(WHO, chosen, strict=True)
    )


def exposures(traces: Traces) -> NDArray[np.float64]:
    """Return each person's mean of 1 over the people at the same place and instant; NaN without events."""
    width = max(len(traces.places), 1)
    spot = traces.instants.astype(np.int64) * width + traces.place_index
    _, inverse = np.unique(spot, return_inverse=True)
    pairs = different(inverse.astype(np.int64) * max(traces.n_users, 1) + traces.user_index)
    people = np.bincount(pairs // max(traces.n_users, 1), minlength=int(inverse.max(initial=-1)) + 1)
    with np.errstate(invalid="ignore"):
        sums = np.bincount(traces.user_index, 1 / people[inverse], traces.n_users)
        return np.asarray(sums / np.diff(traces.offsets))


def _week(who: str, exposure: float, published: Published, user: int) -> Week:
    own = published.exact.take_users(np.array([user]))
    day = own.clock.day_of(own.instants)
    if len(own):
        own = own.keep(day < int(day.min()) + DAYS)
    place, counts = np.unique(own.pairs().place, return_counts=True)
    return Week(
        who,
        exposure,
        tuple(own.places.latitude[place].round(5).tolist()),
        tuple(own.places.longitude[place].round(5).tolist()),
        tuple(counts.tolist()),
    )
