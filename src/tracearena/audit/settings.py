"""Settings of an audit, and the records that its results are made of: proportions with their interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_switch, require_whole
from tracearena.dataframes import Result

Colour = Literal["green", "amber", "red"]
Ranked = NDArray[np.int64]
"""Pseudonyms × users (indices), the likeliest first, -1 for nobody."""


@dataclass(frozen=True)
class Proportion(Result):
    """The share of people for whom an attack succeeds.

    Attributes
    ----------
    value
        Share of successes; a tie among n people counts 1/n.
    low, high
        The 95 % interval of Clopper and Pearson, which is conservative.
    people
        Number of people that were tried.
    chance
        Success rate of guessing.

    Examples
    --------
    >>> found = Proportion.of([1, 0, 1, 1], chance=0.25)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.75, 0.194, 0.994)
    >>> found.advantage.value, found.colour(limit=0.05)
    (0.5, 'red')
    """

    value: float
    low: float
    high: float
    people: int
    chance: float

    @classmethod
    def of(cls, successes: Any, chance: float) -> Proportion | None:
        """Return the share of one value from 0 to 1 for each person tried; None without people."""
        each = np.asarray(successes, np.float64)
        if not len(each):
            return None
        low, high = clopper_pearson(float(each.sum()), len(each))
        return cls(float(each.mean()), low, high, len(each), float(chance))

    @property
    def advantage(self) -> Proportion:
        """The share above guessing, at least 0."""
        value, low, high = (max(end - self.chance, 0.0) for end in (self.value, self.low, self.high))
        return Proportion(value, low, high, self.people, 0.0)

    def colour(self, limit: float) -> Colour:
        """Return green if the whole interval is at most `limit`, red if all of it is above, else amber."""
        if self.high <= limit:
            return "green"
        return "red" if self.low > limit else "amber"


def clopper_pearson(successes: float, people: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share; parts of successes are allowed.

    >>> tuple(round(end, 4) for end in clopper_pearson(0, 100))
    (0.0, 0.0362)
    """
    from scipy.special import betaincinv

    rest, failures = (1 - 0.95) / 2, people - successes
    low = 0.0 if successes <= 0 else float(betaincinv(successes, failures + 1, rest))
    high = 1.0 if failures <= 0 else float(betaincinv(successes + 1, failures, 1 - rest))
    return low, high


def to_plain(value: Any) -> Any:
    """Return records, and what holds them, as values for JSON."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(one) for one in value]
    return value


class Record(Result):
    """A record whose fields are records, or mappings and lists of them."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: to_plain(value) for name, value in vars(self).items()}


LIMITS = {"linkability": "found_again", "singling_out": "singling_out", "inference": "inference"}
"""The setting that limits what each question may find."""


@dataclass(frozen=True)
class AuditChoice(Record):
    """A setting that was chosen for this file, with the reason."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Settings(Record):
    """Settings of an audit.

    Attributes
    ----------
    people
        Largest number of people to attack; of more people, a random sample is attacked.
    draws
        Number of random draws of the known points of a person.
    found_again
        Limit for the share of people found again.
    singling_out, inference
        Limits in excess of guessing: for people singled out by four sightings, and for homes, workplaces and
        visits that are learned. These limits are higher than `found_again`, because both attackers have
        information about the released days themselves.
    within_m
        Largest distance at which a home or workplace counts as found, in metres.
    cell_m, interval_min
        GPS points are converted to events for the attacks on places: side of the cells, and time between
        instants.
    most_places
        If a file has more places, attacks that use all evidence work on a grid.
    smallest_group
        Smallest number of people for whom a place is drawn on a map.
    quick
        Sample few people, to get a first page within a minute.
    show_people
        Draw the weeks of three people. Use it only with their consent.
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
        """Return the limit of a question (a key of `LIMITS`)."""
        return float(getattr(self, LIMITS[question]))

    def in_force(self) -> Settings:
        """Return the settings that apply: a quick audit takes fewer people and draws."""
        if not self.quick:
            return self
        return replace(self, people=min(self.people, 200), draws=min(self.draws, 10))
