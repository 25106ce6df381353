"""A share of people, how sure it is, and what guessing gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracearena.results import Result

SURE = 0.95
"""How often an interval holds the truth."""

Colour = Literal["green", "amber", "red"]
Ranked = NDArray[np.int64]
"""Pseudonyms × users (indices), the likeliest first, -1 for nobody."""


@dataclass(frozen=True)
class Share(Result):
    """The share of people for whom an attack succeeds.

    Attributes
    ----------
    value
        Successes over people; a tie among n people counts 1/n.
    low, high
        The 95 % interval of Clopper and Pearson, which is never too short.
    people
        For how many people it was tried.
    chance
        What pure guessing gives.

    Examples
    --------
    >>> found = Share.of([1, 0, 1, 1], chance=0.25)
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
    def of(cls, successes: Any, chance: float) -> Share | None:
        """Return the share of one value from 0 to 1 for each person tried; None without people."""
        each = np.asarray(successes, np.float64)
        if not len(each):
            return None
        low, high = clopper_pearson(float(each.sum()), len(each))
        return cls(float(each.mean()), low, high, len(each), float(chance))

    @property
    def advantage(self) -> Share:
        """How much more than guessing: the same less the chance, at least 0."""
        value, low, high = (max(end - self.chance, 0.0) for end in (self.value, self.low, self.high))
        return Share(value, low, high, self.people, 0.0)

    def colour(self, limit: float) -> Colour:
        """Judge: green where all of the interval is at most `limit`, red where all of it is above."""
        if self.high <= limit:
            return "green"
        return "red" if self.low > limit else "amber"


def clopper_pearson(successes: float, people: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share; parts of successes are allowed.

    >>> tuple(round(end, 4) for end in clopper_pearson(0, 100))
    (0.0, 0.0362)
    """
    from scipy.special import betaincinv

    rest, failures = (1 - SURE) / 2, people - successes
    low = 0.0 if successes <= 0 else float(betaincinv(successes, failures + 1, rest))
    high = 1.0 if failures <= 0 else float(betaincinv(successes + 1, failures, 1 - rest))
    return low, high


def plain(value: Any) -> Any:
    """Return records, and what holds them, as values for JSON."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


class Record(Result):
    """A record whose fields are records, or mappings and lists of them."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: plain(value) for name, value in vars(self).items()}
