"""Transitions: how likely each user makes them, and which ones a synthetic trace is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces import Traces

UNSEEN = 1e-8
"""Probability of a transition that a user never made; nothing is renormalised for it."""


class UserTransitions(NamedTuple):
    """Maximum-likelihood transition matrices of many users, listed by transition.

    Attributes
    ----------
    cells
        Every transition that anybody made, as from × places + to, ascending.
    offsets
        The users who made transition ``c`` are ``users[offsets[c]:offsets[c + 1]]``.
    users, probabilities
        Who made it, and with what probability she leaves its first place for its second.
    """

    n_users: int
    n_places: int
    cells: NDArray[np.int64]
    offsets: NDArray[np.int64]
    users: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, *groups: Traces) -> Self:
        """Learn from all consecutive events of each user; users of later groups are numbered on."""
        m = max(len(groups[0].places), 1)
        n_users = sum(traces.n_users for traces in groups)
        user, first, second = _transitions_of(groups)
        key, counts = np.unique((first * m + second) * n_users + user, return_counts=True)
        cell, owner = np.divmod(key, max(n_users, 1))
        row = (cell // m) * n_users + owner
        _, row_index = np.unique(row, return_inverse=True)
        leaving = np.bincount(row_index, weights=counts)
        cells, starts = np.unique(cell, return_index=True)
        return cls(
            n_users,
            m,
            cells,
            np.append(starts, len(cell)).astype(np.int64),
            owner.astype(np.int32),
            counts / leaving[row_index] if len(key) else np.zeros(0),
        )

    def find(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each transition, -1 where nobody made it."""
        if not len(self.cells):
            return np.full(len(cells), -1, np.int64)
        at = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[at] == cells, at, -1)

    def sums(self) -> NDArray[np.float64]:
        """Return for each transition the sum of its probabilities over all users."""
        if not len(self.cells):
            return np.zeros(0)
        return np.add.reduceat(self.probabilities, self.offsets[:-1])

    def owners(self) -> NDArray[np.int64]:
        """Return how many users made each transition."""
        return np.diff(self.offsets)


def _transitions_of(
    groups: Sequence[Traces],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    users, firsts, seconds = [], [], []
    before = 0
    for traces in groups:
        if len(traces.places) != len(groups[0].places):
            raise DataError(
                f"traces of {len(groups[0].places):,} and of {len(traces.places):,} places do not go together"
            )
        follows = np.flatnonzero(np.diff(traces.user_index) == 0)
        users.append(traces.user_index[follows].astype(np.int64) + before)
        firsts.append(traces.place_index[follows].astype(np.int64))
        seconds.append(traces.place_index[follows + 1].astype(np.int64))
        before += traces.n_users
    return np.concatenate(users), np.concatenate(firsts), np.concatenate(seconds)


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
        same_user = np.diff(user, prepend=-1) == 0
        begins = ~(same_user & (np.diff(day, prepend=-1) == 0))
        chain = np.cumsum(begins) - 1
        steps = np.flatnonzero(same_user if joined else ~begins)
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
