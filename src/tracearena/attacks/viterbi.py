"""Viterbi decoding of the most probable path through the sets of places that a person sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_fitted
from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.traces import ObfuscatedTraces, Traces

LONGEST_GAP = 8
"""Steps after which a person may be anywhere."""
NOT_SENT = -1
_CHAINS_PER_BLOCK = 64


@dataclass(kw_only=True)
class ViterbiTracking:
    """Finds the most probable real place in each set by Viterbi decoding ([sglt] section 5.4).

    The attacker knows how the population moves, and computes the most probable path through the sets of a day
    (Viterbi). For two sets that are g instants apart, the transition probabilities are those of the g-th
    power of the aggregate transition matrix. An attacker who also knows how fakes move divides by their
    probabilities: of several paths, the most likely real one is the one that people take and fakes do not.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, PlaceSets
    >>> places, clock = Places([0, 1, 2], [0, 0, 0]), Clock(instants_per_day=4)
    >>> known = Traces.from_dense([[0, 0, 0, 1]], places, clock)
    >>> sent = ObfuscatedTraces.like(known, [-2, -3, 0, 1], PlaceSets.of([[0, 2], [0, 1, 2]]))
    >>> ViterbiTracking().fit(known).track(sent).tolist()
    [0, 0, 0, 1]
    """

    def fit(self, reference: Traces, fakes: Traces | None = None) -> Self:
        """Learn how the population moves, and how fakes do if some are given.

        Notes
        -----
        Of one real and several independent fake paths, path i is the real one with a probability proportional
        to P(path i | real) / P(path i | fake). Both probabilities are those of the population, not of one
        person.
        """
        steps = min(LONGEST_GAP, reference.clock.instants_per_day - 1)
        visits, powers = _estimate_movement(reference, steps)
        if fakes is not None:
            of_fakes = _estimate_movement(fakes, steps)
            visits, powers = visits / of_fakes[0], powers / of_fakes[1]
        self.visits_: NDArray[np.float64] = visits
        self.powers_: NDArray[np.float32] = powers.astype(np.float32)
        return self

    def track(self, sent: ObfuscatedTraces) -> NDArray[np.int32]:
        """Return the guessed place of every event, `NOT_SENT` (-1) where nothing was sent."""
        from tracearena.attacks._kernels import decode_chains

        require_fitted(self, "visits_")
        if len(sent.places) != len(self.visits_):
            raise DataError("the sets and the reference traces must have the same places")
        event, members, _ = sent.pairs()
        events, first = np.unique(event, return_index=True)
        offsets = np.append(first, len(event)).astype(np.int64)
        day = sent.clock.day_of(sent.instants[events])
        owner = sent.user_index[events]
        begins = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(day, prepend=-1) != 0))
        chains = np.append(begins, len(events)).astype(np.int64)
        # Two events at one instant are one step apart for the decoder: it has no zeroth power.
        gaps = np.maximum(np.diff(sent.instants[events], prepend=0), 1).astype(np.int64)
        found = np.empty(len(events), np.int32)

        def work(block: int, first: int, stop: int) -> None:
            decode_chains(first, stop, chains, gaps, offsets, members, self.visits_, self.powers_, found)

        run_blocks(work, block_ranges(len(chains) - 1, _CHAINS_PER_BLOCK))
        guess = np.full(sent.n_events, NOT_SENT, np.int32)
        guess[events] = found
        return guess


def _estimate_movement(traces: Traces, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where people are and how they move in 1 to `steps` instants."""
    mobility = AggregateMobility.of(MobilityProfiles.of(traces), traces.places)
    visits = mobility.visits[0] + 1e-9
    powers = [mobility.moves[0]]
    while len(powers) < steps:
        powers.append(powers[-1] @ mobility.moves[0])
    return visits / visits.sum(), np.stack(powers)
