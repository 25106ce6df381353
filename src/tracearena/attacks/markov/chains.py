"""Synthetic traces as the transitions they are made of."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.mobility.transitions import departures
from tracearena.traces import Traces

UNSEEN = 1e-8
"""Probability of a transition that a user never made; nothing is renormalised for it."""


class Chains(NamedTuple):
    """One-day traces of synthetic users, as the transitions they are made of.

    Attributes
    ----------
    users, days
        Synthetic user (index) and day of each chain.
    offsets, cells
        Transitions of chain ``y`` are ``cells[offsets[y]:offsets[y + 1]]``, as from × places + to.
    """

    users: NDArray[np.int64]
    days: NDArray[np.int64]
    offsets: NDArray[np.int64]
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, synthetic: Traces, *, joined: bool = False) -> Self:
        """Cut traces into days, ordered by day and then by user.

        With `joined`, a day also has the step from the last event of the user's day before it.
        """
        user = synthetic.user_index.astype(np.int64)
        day = synthetic.clock.day_of(synthetic.instants)
        place = synthetic.place_index.astype(np.int64)
        begins = np.ones(len(user), bool)
        begins[departures(synthetic, adjacent=False) + 1] = False
        chain = np.cumsum(begins) - 1
        steps = departures(synthetic, adjacent=False, midnight=joined) + 1
        heads = np.flatnonzero(begins)
        order = np.lexsort([user[heads], day[heads]])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        by_rank = np.argsort(rank[chain[steps]], kind="stable")
        steps = steps[by_rank]
        lengths = np.bincount(rank[chain[steps]], minlength=len(order))
        cells = place[steps - 1] * max(len(synthetic.places), 1) + place[steps]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(user[heads][order], day[heads][order], offsets, cells)

    @property
    def n_chains(self) -> int:
        """Number of one-day traces."""
        return len(self.users)
