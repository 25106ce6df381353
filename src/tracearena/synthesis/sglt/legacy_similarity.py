"""The location semantic graph as the published program builds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.metrics.similarity import RankedPlaces
from tracearena.mobility import MobilityProfiles
from tracearena.synthesis.sglt.graph import pair_sums
from tracearena.synthesis.sglt.preparation import DaySeeds


def legacy_graph(profiles: MobilityProfiles, seeds: DaySeeds) -> NDArray[np.float64]:
    """Return the graph of places as the program behind the published SGLT files makes it.

    A pair of places that two users map on each other adds P(τ) · similarity(u, v) · min(π_u, π_v), where
    the paper adds P(τ) · similarity(u, v); and a user is mapped on herself too.

    Parameters
    ----------
    profiles, seeds
        Of the same users.

    Notes
    -----
    Of equally visited places the one that is visited first comes first, so nothing is drawn. The
    program's own order is not known; of five orders this one came nearest to the published TP-TV.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1, 2, 3], [0, 0, 0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1], [2, 2, 2, 3]], places, clock)
    >>> legacy_graph(MobilityProfiles.of(traces), DaySeeds.of(traces))[0].tolist()
    [0.75, 0.0, 0.75, 0.0]
    """
    ranked = _first_visited_first(profiles, seeds)
    rows = np.repeat(np.arange(len(ranked.offsets) - 1), np.diff(ranked.offsets))
    user, period = np.divmod(rows, len(profiles.periods))
    shares = profiles.periods.shares
    # A user is wholly like herself in the periods in which she is seen.
    own = ((profiles.visited > 0) * shares).sum(axis=1)
    loops = np.bincount(
        ranked.places, weights=shares[period] * own[user] * ranked.shares, minlength=profiles.n_places
    )
    return pair_sums(profiles, ranked, weighted=True) + np.diag(loops)


def _first_visited_first(profiles: MobilityProfiles, seeds: DaySeeds) -> RankedPlaces:
    m = max(profiles.n_places, 1)
    visited, first = np.unique(seeds.users[:, None] * m + seeds.places, return_index=True)
    rows = np.repeat(np.arange(len(profiles.visit_offsets) - 1), np.diff(profiles.visit_offsets))
    here = rows // len(profiles.periods) * m + profiles.visit_places
    order = np.lexsort([first[np.searchsorted(visited, here)], -profiles.visit_probabilities, rows])
    return RankedPlaces(
        profiles.visit_offsets, profiles.visit_places[order], profiles.visit_probabilities[order]
    )
