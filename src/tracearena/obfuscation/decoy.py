"""Decoys: users who look like somebody else who exists, not like an average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracearena.algorithms.kinds import Obfuscator
from tracearena.checks import require_kind, require_number
from tracearena.engine import SeedLike, child_seed, seed_sequence, uniforms
from tracearena.obfuscation.imitation import moves_to_partners
from tracearena.obfuscation.moves import FARTHEST_KM, affordable, budget_of, sensitive_swaps
from tracearena.obfuscation.partners import partners
from tracearena.traces import ObfuscatedTraces, Traces

MOST_SLOTS = 48
"""Days with more instants are cut into so many slots."""
MOST_NOISE = 1e6


@dataclass(frozen=True, kw_only=True)
class Decoy(Obfuscator):
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
    units: ClassVar[Mapping[str, str]] = {"blur_km": "km", "limit_km": "km"}

    threshold: float
    noise: float = 0.5
    blur_km: float = 0.5
    limit_km: float = 2.0

    def __post_init__(self) -> None:
        require_number("threshold", self.threshold, at_least=0, at_most=1)
        require_number("noise", self.noise, at_least=0, at_most=MOST_NOISE)
        require_number("blur_km", self.blur_km, at_least=0, at_most=FARTHEST_KM)
        require_number("limit_km", self.limit_km, above=0, at_most=FARTHEST_KM)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with as many visits moved as the threshold allows."""
        require_kind(self, original, Traces)
        root = seed_sequence(seed)
        chance = uniforms(child_seed(root, 0), original.n_events)
        budget = budget_of(original, self.threshold)
        swaps = affordable(original, sensitive_swaps(original, self.limit_km), chance, budget)
        is_free = np.ones(original.n_events, bool)
        is_free[swaps.events] = False
        partner = partners(original, self.blur_km, self.noise, child_seed(root, 1))
        slots = min(original.clock.instants_per_day, MOST_SLOTS)
        moves = moves_to_partners(original, is_free, partner, slots, chance, self.limit_km)
        moves = affordable(original, moves, chance, budget - swaps.losses.sum())
        codes = original.place_index.copy()
        codes[swaps.events] = swaps.places
        codes[moves.events] = moves.places
        return ObfuscatedTraces.like(original, codes)
