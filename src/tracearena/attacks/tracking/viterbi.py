"""An attacker who looks for the most probable path through the sets that were sent."""

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
    """Guesses which place of each set is the real one ([sglt] section 5.4).

    The attacker knows how the population moves. He takes the most probable path through the sets
    of a day (Viterbi); between two sets that lie g instants apart stands the g-th power of the
    aggregate transition matrix.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, PlaceSets
    >>> places, clock = Places([0, 1, 2], [0, 0, 0]), Clock(instants_per_day=4)
    >>> known = Traces.from_dense([[0, 0, 0, 1]], places, clock)
    >>> sent = ObfuscatedTraces.like(known, [-2, -3, 0, 1], PlaceSets.of([[0, 2], [0, 1, 2]]))
    >>> ViterbiTracking().fit(known).track(sent).tolist()
    [0, 0, 0, 1]
    """

    def fit(self, reference: Traces) -> Self:
        """Learn how the population moves."""
        mobility = AggregateMobility.of(MobilityProfiles.of(reference), reference.places)
        visits = mobility.visits[0] + 1e-9
        self.visits_: NDArray[np.float64] = visits / visits.sum()
        powers = [mobility.moves[0]]
        while len(powers) < min(LONGEST_GAP, reference.clock.instants_per_day - 1):
            powers.append(powers[-1] @ mobility.moves[0])
        self.powers_: NDArray[np.float32] = np.stack(powers).astype(np.float32)
        return self

    def track(self, sent: ObfuscatedTraces) -> NDArray[np.int32]:
        """Return the guessed place of every event, `NOT_SENT` (-1) where nothing was sent."""
        from tracearena.attacks.tracking._kernels import decode

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
            decode(first, stop, chains, gaps, offsets, members, self.visits_, self.powers_, found)

        run_blocks(work, block_ranges(len(chains) - 1, _CHAINS_PER_BLOCK))
        guess = np.full(sent.n_events, NOT_SENT, np.int32)
        guess[events] = found
        return guess
