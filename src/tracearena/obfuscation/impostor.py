"""Impostors: whole quarters of the day taken from somebody else's habits, sensitive visits first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.obfuscation.disguise import MOST_SLOTS, Disguise
from tracearena.obfuscation.imitation import moves_to_partners
from tracearena.obfuscation.moves import Moves, affordable
from tracearena.traces import Traces

SENSITIVE_GAIN = 10.0
"""A sensitive visit that is not found is worth ten others: the weight of the score s_T."""


@dataclass(frozen=True, kw_only=True)
class Impostor(Disguise):
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

    threshold: float
    parts: int = 4
    noise: float = 2.0
    blur_km: float = 1.0
    limit_km: float = 2.0

    def __post_init__(self) -> None:
        require_whole("parts", self.parts, at_least=1, at_most=MOST_SLOTS)
        super().__post_init__()

    def _moves(
        self, original: Traces, partner: NDArray[np.int64], chance: NDArray[np.float64], budget: float
    ) -> Iterable[Moves]:
        everything = np.ones(original.n_events, bool)
        parts = min(self.parts, original.clock.instants_per_day)
        moves = moves_to_partners(original, everything, partner, parts, chance, self.limit_km)
        sensitive = original.places.sensitive[original.place_index[moves.events]]
        gain = np.where(sensitive, SENSITIVE_GAIN, 1.0)
        return (affordable(original, moves, chance, budget, gain),)
