"""Where crowds are: a map that shows no group smaller than the owner allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracearena.audit.shares import Record
from tracearena.traces import Places, Traces


@dataclass(frozen=True)
class Crowd(Record):
    """How many people were at each place.

    Attributes
    ----------
    latitude, longitude, people
        Of places with at least `smallest_group` people.
    hidden
        Places with fewer people, which are not listed.
    smallest_group
        The limit.
    """

    latitude: tuple[float, ...]
    longitude: tuple[float, ...]
    people: tuple[int, ...]
    hidden: int
    smallest_group: int

    def places(self) -> Places:
        """Return the places listed."""
        return Places(list(self.latitude), list(self.longitude))


def crowds(traces: Traces, smallest_group: int) -> Crowd:
    """Count different people at every place, of a grid with cells or at venues."""
    _, place, _ = traces.visit_counts()
    people = np.bincount(place, minlength=len(traces.places))
    shown = people >= smallest_group
    return Crowd(
        latitude=tuple(traces.places.latitude[shown].round(5).tolist()),
        longitude=tuple(traces.places.longitude[shown].round(5).tolist()),
        people=tuple(people[shown].tolist()),
        hidden=int(((people > 0) & ~shown).sum()),
        smallest_group=smallest_group,
    )
