"""Geographic similarity: do two users visit the same places, and move between them alike?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice
from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError, ParameterError
from tracearena.mobility.profiles import MobilityProfiles

Order = Literal[0, 1]
PAIRS_PER_BLOCK = 4096


def geographic_similarity(
    a: MobilityProfiles,
    b: MobilityProfiles,
    pairs: Any = None,
    *,
    order: Order = 0,
    distance: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the geographic similarity of pairs of users, from 0 to 1.

    It is 1 minus the expected Mallows (earth mover's) distance of the places of both users: of
    their visit distributions (zeroth order), or of the places they go to next from a place drawn
    from the first user's profile (first order, so that it is not symmetric) ([1] section 3.3).

    Parameters
    ----------
    a, b
        Profiles of the first and of the second users.
    pairs
        Pairs (index in a, index in b), one a row; by default user i of both.
    order
        0 compares visits, 1 transitions.
    distance
        Places × places distances from 0 to 1, such as km over the largest; the earth mover's
        distance is then solved exactly, which needs the extra ``[emd]``. By default two places
        are either the same or not (Hamming), for which there is a closed form.

    References
    ----------
    .. [1] Bindschaedler and Shokri, IEEE S&P 2016 [sglt].

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
    >>> a = MobilityProfiles.of(Traces.from_dense([[0, 0, 0, 1]], places, clock))
    >>> b = MobilityProfiles.of(Traces.from_dense([[0, 0, 1, 1]], places, clock))
    >>> geographic_similarity(a, b).tolist()
    [0.75]
    """
    chosen = checked_pairs(a, b, pairs, order)
    if distance is not None:
        from tracearena.metrics.similarity.transport import transport_similarity

        return transport_similarity(a, b, chosen, order, distance)

    def work(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        from tracearena.metrics.similarity._kernels import geographic_first, geographic_zeroth

        values = np.zeros(len(some))
        if order == 1:
            geographic_first(some, a.periods.pair_shares, _arrays(a), _arrays(b), values)
        else:
            geographic_zeroth(some, a.periods.shares, _arrays(a), _arrays(b), values)
        return values

    return of_all_pairs(work, chosen, PAIRS_PER_BLOCK)


def of_all_pairs(
    work: Callable[..., NDArray[np.float64]], pairs: NDArray[np.int64], size: int, *, report: bool = False
) -> NDArray[np.float64]:
    """Have the pairs compared, `size` at a time, here or in a cluster; return what was found, in order."""
    ranges = block_ranges(len(pairs), size)
    return np.concatenate(
        [np.zeros(0), *run_blocks(work, ranges, rows=[pairs], anywhere=True, report=report)]
    )


def all_pairs(n_a: int, n_b: int | None = None) -> NDArray[np.int64]:
    """Return all pairs of n_a × n_b users, or all pairs u < v of n_a users if n_b is None.

    >>> all_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    if n_b is None:
        return np.column_stack(np.triu_indices(n_a, 1)).astype(np.int64)
    return np.column_stack(np.divmod(np.arange(n_a * n_b), max(n_b, 1))).astype(np.int64)


def checked_pairs(a: MobilityProfiles, b: MobilityProfiles, pairs: Any, order: int) -> NDArray[np.int64]:
    """Return the pairs as an array, refusing profiles that cannot be compared."""
    require_choice("order", order, (0, 1))
    if a.n_places != b.n_places or len(a.periods) != len(b.periods):
        raise DataError(
            f"profiles of {a.n_places} places and {len(a.periods)} periods cannot be compared with "
            f"{b.n_places} places and {len(b.periods)} periods"
        )
    if pairs is None:
        if a.n_users != b.n_users:
            raise DataError(f"{a.n_users} users cannot be paired one to one with {b.n_users}")
        return np.repeat(np.arange(a.n_users), 2).reshape(-1, 2)
    chosen = np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)
    if len(chosen) and (chosen.min() < 0 or (chosen.max(axis=0) >= (a.n_users, b.n_users)).any()):
        raise ParameterError("pairs name users that the profiles do not have")
    return chosen


def _arrays(profiles: MobilityProfiles) -> Any:
    return (
        profiles.visit_offsets,
        profiles.visit_places,
        profiles.visit_probabilities,
        profiles.move_offsets,
        profiles.move_places,
        profiles.move_probabilities,
    )
