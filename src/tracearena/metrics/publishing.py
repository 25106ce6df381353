"""What published fake traces keep of the real ones: where people are, and how they divide their time.

In every function 0 is perfect, and an array of shares may stand for a baseline.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import DataError
from tracearena.traces import Traces


def kullback_leibler(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Return Σ p ln(p/q) of two distributions, in nats.

    >>> kullback_leibler(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    0.0
    """
    positive = p > 0
    return float((p[positive] * np.log(p[positive] / q[positive])).sum())


def spatial_allocation(counts: NDArray[np.float64], top: int | None = None) -> NDArray[np.float64]:
    """Return the shares of visits of the most visited place, the second, and so on.

    Parameters
    ----------
    counts
        Visits of each place.
    top
        Look only at this number of the most visited places.

    Notes
    -----
    One visit is added to each place, so that places which one data set leaves out can be compared
    ([sglt] section 5.3).
    """
    if top is not None:
        require_whole("top", top, at_least=1)
    smooth = np.sort(np.asarray(counts, float))[::-1][:top] + 1
    return np.asarray(smooth / smooth.sum())


def visit_divergence(real: Traces, other: Traces | NDArray[np.float64], *, top: int | None = None) -> float:
    """Return the KL divergence of the visit shares of real traces from those of others.

    Places stand in order of popularity, each data set in its own ([sglt] Tables 2 and 3).

    Parameters
    ----------
    other
        Traces, or the visits of each place in a baseline.
    top
        Look only at this number of the most popular places.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1]], places, clock)
    >>> visit_divergence(traces, Traces.from_dense([[1, 1, 1, 0]], places, clock))
    0.0
    """
    counts = [_counts(one) if isinstance(one, Traces) else np.asarray(one, float) for one in (real, other)]
    # The added visit must weigh the same in both, whatever the number of traces.
    counts[1] = counts[1] * (counts[0].sum() / counts[1].sum())
    p, q = (spatial_allocation(one, top) for one in counts)
    return kullback_leibler(p, q)


def time_allocation(traces: Traces, rank: int) -> NDArray[np.float64]:
    """Return, for each user with events, the share of time at her `rank`-th most visited place.

    Parameters
    ----------
    rank
        1 is the most visited place; a user with fewer places has the share 0.
    """
    require_whole("rank", rank, at_least=1)
    offsets, _, counts = traces.visit_counts()
    users = np.repeat(np.arange(traces.n_users), np.diff(offsets))
    order = np.lexsort((-counts, users))
    place_rank = np.arange(len(order)) - offsets[users]
    chosen = order[place_rank == rank - 1]
    shares = np.zeros(traces.n_users)
    shares[users[chosen]] = counts[chosen]
    totals = np.diff(traces.offsets)
    return shares[totals > 0] / totals[totals > 0]


def time_divergence(real: Traces, other: Traces | NDArray[np.float64], rank: int) -> float:
    """Return the KL divergence of the users' time at their `rank`-th place ([sglt] Table 4).

    The shares of all users, from the largest to the smallest, are made to sum to 1; data sets of
    different size are compared at the same quantiles.

    Parameters
    ----------
    other
        Traces in which each user is one person, or the shares of a baseline.
    """
    mine = time_allocation(real, rank)
    theirs = time_allocation(other, rank) if isinstance(other, Traces) else np.asarray(other, float)
    if not len(mine) or not len(theirs):
        raise DataError("there are no users to compare")
    at = (np.arange(len(mine)) + 0.5) / len(mine)
    floor = 1e-6
    p, q = (np.quantile(shares, at) + floor for shares in (mine, theirs))
    return kullback_leibler(p / p.sum(), q / q.sum())


def _counts(traces: Traces) -> NDArray[np.float64]:
    if not traces.n_events:
        raise DataError("there are no events to compare")
    return np.bincount(traces.place_index, minlength=len(traces.places)).astype(np.float64)
