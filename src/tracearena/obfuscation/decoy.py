"""Decoys: users who look like somebody else who exists, not like an average."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.obfuscation.disguise import MOST_SLOTS, Disguise
from tracearena.obfuscation.imitation import moves_to_partners
from tracearena.obfuscation.moves import Moves, affordable, sensitive_swaps
from tracearena.traces import Traces


@dataclass(frozen=True, kw_only=True)
class Decoy(Disguise):
    """Move the visits of each user to the places of another one, who lives much like her.

    Every user is given a partner, and everybody is the partner of one. At each time of the day her
    visits are matched to his at the least total distance, all days together: after all moves she is
    where he usually is, but on other days than he was. Visits to sensitive places go to the nearest
    other sensitive place. The utility threshold is one budget for all users: sensitive places are
    served first, then the cheapest moves.

    Parameters
    ----------
    threshold
        Utility s_U, from 0 to 1, that the release keeps (a visit moved by d km loses d / `limit_km`,
        at most 1). It is never broken.
    noise
        Randomness of the partners, from 0 (always the best assignment, which an attacker can compute
        from other days of the same people) up; in differences to a usual sixth-nearest user.
    blur_km
        Two users are alike if they are within about this distance in each quarter of the day.
    limit_km
        Distance from which on a visit is worth nothing.

    See Also
    --------
    Impostor : the same idea by parts of the day, without exceptions for sensitive places.

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places
    >>> grid = Grid(rows=1, columns=3, south=0, west=0, north=0.01, east=0.03)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 1], [1, 2]], places, Clock(instants_per_day=2))
    >>> Decoy(threshold=0.5).transform(original, seed=1).codes.tolist()
    [1, 2, 0, 2]
    """

    name: ClassVar[str] = "Decoy"

    threshold: float
    noise: float = 0.5
    blur_km: float = 0.5
    limit_km: float = 2.0

    def _moves(
        self, original: Traces, partner: NDArray[np.int64], chance: NDArray[np.float64], budget: float
    ) -> Iterable[Moves]:
        swaps = affordable(original, sensitive_swaps(original, self.limit_km), chance, budget)
        is_free = np.ones(original.n_events, bool)
        is_free[swaps.events] = False
        slots = min(original.clock.instants_per_day, MOST_SLOTS)
        moves = moves_to_partners(original, is_free, partner, slots, chance, self.limit_km)
        return swaps, affordable(original, moves, chance, budget - swaps.losses.sum())
