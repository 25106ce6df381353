"""Impostors: whole quarters of the day taken from somebody else's habits, sensitive visits first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracearena.algorithms.kinds import Obfuscator
from tracearena.checks import require_kind, require_number, require_whole
from tracearena.engine import SeedLike, child_seed, seed_sequence, uniforms
from tracearena.obfuscation.decoy import MOST_NOISE, MOST_SLOTS
from tracearena.obfuscation.imitation import moves_to_partners
from tracearena.obfuscation.moves import FARTHEST_KM, affordable, budget_of
from tracearena.obfuscation.partners import partners
from tracearena.traces import ObfuscatedTraces, Traces

SENSITIVE_GAIN = 10.0
"""A sensitive visit that is not found is worth ten others: the weight of the score s_T."""


@dataclass(frozen=True, kw_only=True)
class Impostor(Obfuscator):
    """Give each user the habits of another one, part of the day by part of the day.

    Like `Decoy`, she gets a random partner who lives much like her, and her visits move, at the least
    total distance, until she visits every place as often as he does. Three things are different.
    Visits are matched within long `parts` of the day instead of at each time of it: there are more of
    them to choose from, so the same disguise costs less. Sensitive places are no exception: a visit
    to a hospital becomes whatever the partner's habits have, since a hospital beside a hospital may
    tell whoever knows the first that she was there. And the budget goes to the moves that gain most for
    what they lose, where a sensitive visit gains ten times as much.

    Parameters
    ----------
    threshold
        Utility s_U, from 0 to 1, that the release keeps (a visit moved by d km loses d / `limit_km`,
        at most 1). It is never broken.
    parts
        Number of equally long parts of the day, at least 1; at most one for each instant of a day.
    noise
        Randomness of the partners, from 0 (always the best assignment, which an attacker can compute
        from other days of the same people) up; in differences to a usual sixth-nearest user.
    blur_km
        Two users are alike if they are within about this distance in each quarter of the day.
    limit_km
        Distance from which on a visit is worth nothing.

    Notes
    -----
    The disguise is the partner's habit and never his trace: which of his visits stands on which day
    is decided by her own visits. An attacker who takes her for him learns how often he was where, but
    not on which days.

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places
    >>> grid = Grid(rows=1, columns=3, south=0, west=0, north=0.01, east=0.03)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 1], [1, 2]], places, Clock(instants_per_day=2))
    >>> Impostor(threshold=0.5, parts=1).transform(original, seed=1).codes.tolist()
    [2, 1, 1, 2]
    """

    name: ClassVar[str] = "Impostor"
    units: ClassVar[Mapping[str, str]] = {"blur_km": "km", "limit_km": "km"}

    threshold: float
    parts: int = 4
    noise: float = 2.0
    blur_km: float = 1.0
    limit_km: float = 2.0

    def __post_init__(self) -> None:
        require_number("threshold", self.threshold, at_least=0, at_most=1)
        require_whole("parts", self.parts, at_least=1, at_most=MOST_SLOTS)
        require_number("noise", self.noise, at_least=0, at_most=MOST_NOISE)
        require_number("blur_km", self.blur_km, at_least=0, at_most=FARTHEST_KM)
        require_number("limit_km", self.limit_km, above=0, at_most=FARTHEST_KM)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with as many visits moved as the threshold allows."""
        require_kind(self, original, Traces)
        root = seed_sequence(seed)
        chance = uniforms(child_seed(root, 0), original.n_events)
        partner = partners(original, self.blur_km, self.noise, child_seed(root, 1))
        everything = np.ones(original.n_events, bool)
        parts = min(self.parts, original.clock.instants_per_day)
        moves = moves_to_partners(original, everything, partner, parts, chance, self.limit_km)
        sensitive = original.places.sensitive[original.place_index[moves.events]]
        gain = np.where(sensitive, SENSITIVE_GAIN, 1.0)
        moves = affordable(original, moves, chance, budget_of(original, self.threshold), gain)
        codes = original.place_index.copy()
        codes[moves.events] = moves.places
        return ObfuscatedTraces.like(original, codes)
