"""SGLT by the rules of the published program: how fakes, the semantic graph and mobility are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_switch
from tracearena.metrics.similarity import RankedPlaces
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis.sglt.fakes import FakeMaker
from tracearena.synthesis.sglt.semantics import DaySeeds, sum_pairs
from tracearena.traces import Places


@dataclass(frozen=True, kw_only=True)
class LegacyFakeMaker(FakeMaker):
    """How the program behind the published SGLT files makes a fake; parameters as in `FakeMaker`.

    It differs from the paper in four ways. Places of a class are dropped once per fake, not once per instant,
    and at least three are kept. par_c also drops the seed's own place, in addition to par_l. Of a class that
    is visited k instants away, the share par_m^(k²) of its places is added, rounded down, lowest numbers
    first; a class visited before counts as one instant nearer, unless it is the class of the last instant.
    And decoding can fail.

    Parameters
    ----------
    decoder_failure
        What happens if no place is left, as in a class of one place that par_l drops. True: the rest of the
        fake is at place 0, as in the program, whose scores fall below a floor there. False: every place may
        be chosen.
    """

    decoder_failure: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_switch("decoder_failure", self.decoder_failure)

    def _select_kernel(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        from tracearena.synthesis.sglt._kernels import make_legacy_fakes

        mobility = self.mobility
        moves = np.log(mobility.starts()), mobility.step_numbers, np.log(mobility.moves)
        return make_legacy_fakes, (*moves, *self._parameters(), self.decoder_failure)


def legacy_graph(profiles: MobilityProfiles, seeds: DaySeeds) -> NDArray[np.float64]:
    """Return the graph of places as the program behind the published SGLT files makes it.

    A pair of places that two users map on each other adds P(τ) · similarity(u, v) · min(π_u, π_v), while the
    paper adds P(τ) · similarity(u, v). Users are also compared with themselves.

    Parameters
    ----------
    profiles, seeds
        Profiles and days of the same users.

    Notes
    -----
    If places are visited equally often, the one that is visited first comes first, so no random numbers are
    needed. The order in the program is not known; of five orders, this one came closest to the published
    TP-TV.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1, 2, 3], [0, 0, 0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1], [2, 2, 2, 3]], places, clock)
    >>> legacy_graph(MobilityProfiles.of(traces), DaySeeds.of(traces))[0].tolist()
    [0.75, 0.0, 0.75, 0.0]
    """
    m = max(profiles.n_places, 1)
    visited, first = np.unique(seeds.users[:, None] * m + seeds.places, return_index=True)
    rows = np.repeat(np.arange(len(profiles.visit_offsets) - 1), np.diff(profiles.visit_offsets))
    user, period = np.divmod(rows, len(profiles.periods))
    first_visit = first[np.searchsorted(visited, user * m + profiles.visit_places)]
    order = np.lexsort([first_visit, -profiles.visit_probabilities, rows])
    ranked = RankedPlaces(
        profiles.visit_offsets, profiles.visit_places[order], profiles.visit_probabilities[order]
    )
    shares = profiles.periods.shares
    # A user is wholly like herself in the periods in which she is seen.
    own = ((profiles.place_counts > 0) * shares).sum(axis=1)
    loops = np.bincount(
        ranked.places, weights=shares[period] * own[user] * ranked.shares, minlength=profiles.n_places
    )
    return sum_pairs(profiles, ranked, weighted=True) + np.diag(loops)


def legacy_mobility(seeds: DaySeeds, profiles: MobilityProfiles, places: Places) -> AggregateMobility:
    """Return how the population moves: half counted, half by distance alone.

    One half of a row comes from the transitions of all seeds together, where the last instant of a day leads
    to its first, with 1 / places added to every count. The other half is proportional to the inverse square
    of the distance.

    Notes
    -----
    The probability of staying has only the counted half, because the distance is 0.

    Examples
    --------
    >>> from tracearena.traces import Clock, Traces
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1]], places, clock)
    >>> found = legacy_mobility(DaySeeds.of(traces), MobilityProfiles.of(traces), places)
    >>> found.moves[0].round(3).tolist()
    [[0.312, 0.688], [0.875, 0.125]]
    """
    usual = AggregateMobility.of(profiles, places)
    of_time, m = profiles.periods.of_time, len(places)
    number = usual.pairs[of_time, np.roll(of_time, -1)]
    counted = np.full(usual.moves.shape, 1 / m)
    here, there = seeds.places, np.roll(seeds.places, -1, axis=1)
    known = np.broadcast_to(number >= 0, here.shape)
    step = np.broadcast_to(number, here.shape)[known]
    np.add.at(counted, (step, here[known], there[known]), 1.0)
    counted /= counted.sum(axis=2, keepdims=True)
    # Rows that fall with the square of the distance and sum to 1; all 0 for a lone place.
    distance = places.distance_table_km
    apart = distance > 0
    near = np.where(apart, 1 / np.where(apart, distance, 1) ** 2, 0.0)
    total = near.sum(axis=1, keepdims=True)
    near = near / np.where(total > 0, total, 1)
    moves = (counted + near) / (1 + (near.sum(axis=1) > 0))[:, None]
    return AggregateMobility(usual.periods, usual.visits, usual.pairs, moves)
