"""Teams for small contests."""

from __future__ import annotations

from tracearena import cities
from tracearena.engine import SeedLike
from tracearena.io.pwscup import PWS_CLOCK
from tracearena.traces import Traces


class Residents:
    """Makes teams of residents of the city themselves, which needs no training."""

    def sample_users(self, n: int, days: int, *, homes: bool, only_seen: bool, seed: SeedLike) -> Traces:
        """Return people as they are."""
        return cities.simulate(users=n, days=days, clock=PWS_CLOCK, seed=seed)
