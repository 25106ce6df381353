"""People of the embedded city, from whom a contest's virtual users are learned."""

from __future__ import annotations

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
