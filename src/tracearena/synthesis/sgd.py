"""SGD: one Markov chain for all users, and copied beginnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Synthesizer
from tracearena.checks import LARGEST_COUNT, require_fitted, require_whole
from tracearena.engine import SeedLike, block_ranges, run_blocks, seed_sequence, stream
from tracearena.mobility.transitions import departures
from tracearena.synthesis.days import traces_of_days, trainable
from tracearena.traces import Traces

_USERS_PER_BLOCK = 1024


@dataclass(kw_only=True)
class SGD(Synthesizer):
    """Synthetic data generator: a transition matrix for each slot, common to all users.

    Parameters
    ----------
    copied
        So many first instants of each trace are copied from the training user (ξ), from 0 to the
        instants of a day. Where she has several events at the instant the last is copied, where
        she has none the place is drawn.

    References
    ----------
    V. Bindschaedler, R. Shokri and C. Gunter, Plausible deniability for privacy-preserving data
    synthesis, VLDB 2017; for traces [ppmtf] appendix C.

    Notes
    -----
    The first place is drawn from the training events at a day's first instant, as the paper says
    (the authors' program takes the whole first slot); where there is none, from all events. A place
    that is never left in a slot leads to every place with the same probability.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 1, 0, 1]], places, Clock(instants_per_day=4))
    >>> SGD().fit(traces).synthesize(2, seed=1).dense().tolist()
    [[0, 1, 0, 1, 0, 1, 0, 1]]
    """

    name: ClassVar[str] = "SGD"

    copied: int = 0

    def __post_init__(self) -> None:
        require_whole("copied", self.copied, at_least=0, at_most=LARGEST_COUNT)

    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Count; nothing is random here."""
        trainable(self, traces)
        clock, place, n = traces.clock, traces.place_index, len(traces.places)
        require_whole("copied", self.copied, at_least=0, at_most=clock.instants_per_day)
        start = departures(traces)
        slot = clock.slot_of(traces.instants[start + 1])
        cells, counts = np.unique((slot * n + place[start]) * n + place[start + 1], return_counts=True)
        row, target = np.divmod(cells, n)
        self.rows_, first = np.unique(row, return_index=True)
        self.offsets_ = np.append(first, len(cells)).astype(np.int64)
        self.targets_ = target.astype(np.int64)
        self.cumulative_ = _running(counts, self.offsets_)
        opening = clock.time_of_day(traces.instants) == 0
        visits = np.bincount(place[opening] if opening.any() else place, minlength=n)
        self.first_cumulative_ = np.cumsum(visits).astype(np.float64)
        self.beginnings_ = _beginnings(traces, self.copied)
        self.user_ids_, self.places_, self.clock_ = traces.user_ids, traces.places, traces.clock
        return self

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users; day ``r`` is a user's trace number ``r``."""
        from tracearena.synthesis._kernels import chain_walk

        require_fitted(self, "rows_")
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        days, length = traces_per_user, self.clock_.instants_per_day
        slots_of_days = self.clock_.slots_of_days()
        root = seed_sequence(seed)
        table = np.empty((len(self.user_ids_), days, length), np.int32)

        def work(block: int, first: int, stop: int) -> None:
            uniforms = stream(root, block).random((stop - first, days, length))
            for day, slot_of in enumerate(slots_of_days):
                mine = slice(day, None, len(slots_of_days))
                walked = table[first:stop, mine]
                chain_walk(
                    self.rows_,
                    self.offsets_,
                    self.targets_,
                    self.cumulative_,
                    self.first_cumulative_,
                    slot_of,
                    len(self.places_),
                    self.beginnings_[first:stop],
                    uniforms[:, mine],
                    walked,
                )

        run_blocks(work, block_ranges(len(table), _USERS_PER_BLOCK))
        return traces_of_days(table, self.places_, self.clock_, self.user_ids_)


def _running(counts: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Running sums of the counts, starting anew at each offset."""
    total = np.concatenate([[0], np.cumsum(counts)])
    before = np.repeat(total[offsets[:-1]], np.diff(offsets))
    return np.asarray(total[1:] - before, np.float64)


def _beginnings(traces: Traces, copied: int) -> NDArray[np.int32]:
    """The place of each user at the first `copied` instants of a day, -1 where she has no event."""
    table = np.full((traces.n_users, copied), -1, np.int32)
    time = traces.clock.time_of_day(traces.instants)
    chosen = time < copied
    # Later events overwrite earlier ones: NumPy assigns in order.
    table[traces.user_index[chosen], time[chosen]] = traces.place_index[chosen]
    return table
