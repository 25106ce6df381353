"""What an audit may be told; every default has a reason."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tracearena.audit.shares import Record
from tracearena.checks import require_number, require_switch, require_whole

LIMITS = {"linkability": "found_again", "singling_out": "singling_out", "inference": "inference"}
"""The setting that limits what each question may find."""

_QUICK_PEOPLE = 200
_QUICK_DRAWS = 10


@dataclass(frozen=True)
class Choice(Record):
    """Something that was chosen for this file, and why."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Settings(Record):
    """How an audit measures.

    Attributes
    ----------
    people
        For how many people attacks are tried; of more a random sample is taken.
    draws
        How often the known points of a person are drawn.
    found_again
        The largest share of people who may be found again, by the upper end of the interval.
    singling_out, inference
        How much more than guessing may be found by four sightings of a person, and learned of homes,
        workplaces and visits. Both attackers know, or look at, the very days that are released, which is more
        than the one who finds people again from other days: so these limits are higher.
    within_m
        A home or workplace found this near is found.
    cell_m, interval_min
        GPS points become events for the attacks on places: cells of this side, instants this far apart.
    most_places
        Attacks that weigh all evidence work on a grid where a file has more places.
    smallest_group
        Nothing is drawn on a map of fewer people.
    quick
        Sample few people, so that a first page is there within a minute.
    show_people
        Draw three persons' weeks. They should have agreed to it.
    """

    people: int = 1000
    draws: int = 20
    found_again: float = 0.05
    singling_out: float = 0.2
    inference: float = 0.2
    within_m: float = 200.0
    cell_m: float = 500.0
    interval_min: float = 30.0
    most_places: int = 4096
    smallest_group: int = 10
    quick: bool = False
    show_people: bool = False

    def __post_init__(self) -> None:
        for name in ("people", "draws"):
            require_whole(name, getattr(self, name), at_least=1, at_most=1_000_000)
        require_whole("most_places", self.most_places, at_least=4, at_most=100_000)
        require_whole("smallest_group", self.smallest_group, at_least=1, at_most=1_000_000_000)
        for name in LIMITS.values():
            require_number(name, getattr(self, name), at_least=0, at_most=1)
        require_number("within_m", self.within_m, above=0, at_most=1e6)
        require_number("cell_m", self.cell_m, at_least=10, at_most=1e6)
        require_number("interval_min", self.interval_min, at_least=1, at_most=1440)
        for name in ("quick", "show_people"):
            require_switch(name, getattr(self, name))

    def limit(self, question: str) -> float:
        """Return what may be found of a question (a key of `LIMITS`)."""
        return float(getattr(self, LIMITS[question]))

    def in_force(self) -> Settings:
        """Return what is really measured with: a quick audit takes fewer people and draws."""
        if not self.quick:
            return self
        return replace(self, people=min(self.people, _QUICK_PEOPLE), draws=min(self.draws, _QUICK_DRAWS))
