"""Inner loops of the Markov attacks: sparse sums over the users who made a transition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def find_likeliest_users(
    first: int,
    stop: int,
    chain_offsets: Array,
    steps: Array,
    owner_offsets: Array,
    owners: Array,
    gains: Array,
    n_users: int,
    tolerance: float,
    best: Array,
) -> None:
    """Write for chains first..stop, from ``best[0]`` on, the user under whom each is most likely.

    A user's log-likelihood is a constant plus the gains of the steps she made herself, none below
    0; within the tolerance the first user wins.
    """
    scores = np.zeros(n_users)
    touched = np.empty(n_users, np.int64)
    is_touched = np.zeros(n_users, np.bool_)
    for chain in range(first, stop):
        n_touched = _add_gains(
            chain, chain_offsets, steps, owner_offsets, owners, gains, scores, touched, is_touched
        )
        top = 0.0
        for k in range(n_touched):
            top = max(top, scores[touched[k]])
        winner = 0 if top <= tolerance else n_users
        for k in range(n_touched):
            user = touched[k]
            if scores[user] >= top - tolerance and user < winner:
                winner = user
            scores[user] = 0.0
            is_touched[user] = False
        best[chain - first] = winner


@njit(cache=True, nogil=True)
def raise_largest_ratios(
    first: int,
    stop: int,
    chain_offsets: Array,
    steps: Array,
    bases: Array,
    owner_offsets: Array,
    owners: Array,
    gains: Array,
    largest: Array,
) -> None:
    """Raise ``largest[n]`` to the largest log-likelihood ratio of user n over chains first..stop.

    The ratio of a chain is the sum of its steps' bases plus the gains, none below 0, of the steps
    that n made herself. So a chain without any such step counts for n with its base alone, and the
    largest base bounds everybody from below.
    """
    n_users = len(largest)
    scores = np.zeros(n_users)
    touched = np.empty(n_users, np.int64)
    is_touched = np.zeros(n_users, np.bool_)
    floor = -np.inf
    for chain in range(first, stop):
        base = 0.0
        for at in range(chain_offsets[chain], chain_offsets[chain + 1]):
            if steps[at] >= 0:
                base += bases[steps[at]]
        floor = max(floor, base)
        n_touched = _add_gains(
            chain, chain_offsets, steps, owner_offsets, owners, gains, scores, touched, is_touched
        )
        for k in range(n_touched):
            user = touched[k]
            largest[user] = max(largest[user], base + scores[user])
            scores[user] = 0.0
            is_touched[user] = False
    for user in range(n_users):
        largest[user] = max(largest[user], floor)


@njit(cache=True, nogil=True)
def _add_gains(
    chain: int,
    chain_offsets: Array,
    steps: Array,
    owner_offsets: Array,
    owners: Array,
    gains: Array,
    scores: Array,
    touched: Array,
    is_touched: Array,
) -> int:
    """Add a chain's gains to the scores, and list the users that had any."""
    n_touched = 0
    for at in range(chain_offsets[chain], chain_offsets[chain + 1]):
        step = steps[at]
        if step < 0:
            continue
        for k in range(owner_offsets[step], owner_offsets[step + 1]):
            user = owners[k]
            if not is_touched[user]:
                is_touched[user] = True
                touched[n_touched] = user
                n_touched += 1
            scores[user] += gains[k]
    return n_touched
