"""People of the embedded city, from whom a contest's virtual users are learned."""

from __future__ import annotations

from dataclasses import dataclass

from tracearena.cities import simulate
from tracearena.engine import SeedLike
from tracearena.traces import Traces

RESIDENTS = 1_000


def residents(days: int, *, seed: SeedLike) -> Traces:
    """Return days in the lives of a thousand people of the city.

    >>> residents(1, seed=1).n_users
    1000
    """
    return simulate(users=RESIDENTS, days=days, seed=seed)


@dataclass(frozen=True)
class Neighbours:
    """People of the city as they are, others for every team: nothing is learned, so they are there at once.

    For contests that last as long as somebody looks at them. `tracearena.synthesis.PPMTF` makes the
    virtual users of all others.
    """

    def sample_users(self, n: int, days: int, *, homes: bool, only_seen: bool, seed: SeedLike) -> Traces:
        """Return `days` whole days of n people; they have homes, and nobody else has seen them.

        >>> Neighbours().sample_users(3, 2, homes=True, only_seen=True, seed=1).n_users
        3
        """
        return simulate(users=n, days=days, seed=seed)
