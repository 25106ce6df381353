"""Baseline synthesizers: places at random, the training traces themselves, and SGD, one Markov chain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Synthesizer
from tracearena.checks import LARGEST_COUNT, require_fitted, require_kind, require_whole
from tracearena.engine import SeedLike, block_ranges, generator, run_blocks, seed_sequence, stream
from tracearena.errors import DataError
from tracearena.mobility.transitions import departures
from tracearena.traces import Clock, Places, Traces


@dataclass(kw_only=True)
class Uniform(Synthesizer):
    """Draw every place independently from the uniform distribution.

    References
    ----------
    [ppmtf] section 4.4, "Uniform".

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 0, 1]], places, Clock(instants_per_day=3))
    >>> Uniform().fit(traces).synthesize(2, seed=1)
    <Traces: 1 users, 6 events, 2 places, instants 0 to 5>
    """

    name: ClassVar[str] = "Uniform"

    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Store only the users, places and instants."""
        check_trainable(self, traces)
        self.user_ids_, self.places_, self.clock_ = traces.user_ids, traces.places, traces.clock
        return self

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users."""
        require_fitted(self, "places_")
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        shape = (len(self.user_ids_), traces_per_user, self.clock_.instants_per_day)
        table = generator(seed).integers(0, len(self.places_), size=shape, dtype=np.int32)
        return build_day_traces(table, self.places_, self.clock_, self.user_ids_)


@dataclass(kw_only=True)
class Training(Synthesizer):
    """Return the training traces unchanged: the best possible utility, and no privacy.

    References
    ----------
    [ppmtf] section 4.4, "Training".

    Notes
    -----
    With several traces per user, the whole training trace is repeated, shifted by whole days.
    """

    name: ClassVar[str] = "Training"

    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Store the traces."""
        self.traces_ = check_trainable(self, traces)
        return self

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return the training traces, `traces_per_user` times."""
        require_fitted(self, "traces_")
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        copies, known = traces_per_user, self.traces_
        days = int(known.clock.day_of(known.span[1] - 1)) + 1
        shift = np.repeat(np.arange(copies) * days * known.clock.instants_per_day, known.n_events)
        return Traces.from_events(
            np.tile(known.user_index, copies),
            np.tile(known.instants, copies) + shift,
            np.tile(known.place_index, copies),
            known.places,
            replace(known.clock, first_day=None),
            user_ids=np.arange(known.n_users),
            span=(known.span[0], known.span[1] + (copies - 1) * days * known.clock.instants_per_day),
        ).with_user_ids(known.user_ids)


# What every synthesizer checks before training and makes of its days.


def check_trainable(synthesizer: Synthesizer, traces: Traces) -> Traces:
    """Refuse what is not traces, and traces from which nothing can be learned."""
    require_kind(synthesizer, traces, Traces)
    if traces.n_users == 0 or traces.n_events == 0:
        raise DataError("training needs at least one user and one event")
    return traces


def build_day_traces(
    table: NDArray[np.int32], places: Places, clock: Clock, user_ids: NDArray[np.generic]
) -> Traces:
    """Turn users × days × instants of a day into traces whose days are numbers, not dates."""
    users, days, length = table.shape
    if length != clock.instants_per_day:
        raise DataError(f"{length} instants per day, but the clock has {clock.instants_per_day}")
    dense = table.reshape(users, days * length)
    return Traces.from_dense(dense, places, replace(clock, first_day=None), user_ids=user_ids)


# SGD: one Markov chain for all users, and copied beginnings.

_USERS_PER_BLOCK = 1024


@dataclass(kw_only=True)
class SGD(Synthesizer):
    """Synthetic data generator: one transition matrix per slot, shared by all users.

    Parameters
    ----------
    copied
        Number of first instants that are copied from the training user (ξ), from 0 to the instants of a day.
        If the user has several events at an instant, the last one is copied; if there is none, the place is
        drawn.

    References
    ----------
    V. Bindschaedler, R. Shokri and C. Gunter, Plausible deniability for privacy-preserving data
    synthesis, VLDB 2017; for traces [ppmtf] appendix C.

    Notes
    -----
    The first place is drawn from the training events at the first instant of a day, as the paper says (the
    authors' program uses the whole first slot), or from all events if there are none. From a place that is
    never left in a slot, all places are equally likely.

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
        """Count the transitions; this uses no random numbers."""
        check_trainable(self, traces)
        clock, place, n = traces.clock, traces.place_index, len(traces.places)
        require_whole("copied", self.copied, at_least=0, at_most=clock.instants_per_day)
        start = departures(traces)
        slot = clock.slot_of(traces.instants[start + 1])
        cells, counts = np.unique((slot * n + place[start]) * n + place[start + 1], return_counts=True)
        row, target = np.divmod(cells, n)
        self.rows_, first = np.unique(row, return_index=True)
        self.offsets_ = np.append(first, len(cells)).astype(np.int64)
        self.targets_ = target.astype(np.int64)
        # Running sums of the counts, from 0 at each offset.
        total = np.concatenate([[0], np.cumsum(counts)])
        before = np.repeat(total[self.offsets_[:-1]], np.diff(self.offsets_))
        self.cumulative_ = np.asarray(total[1:] - before, np.float64)
        time = clock.time_of_day(traces.instants)
        opening = time == 0
        visits = np.bincount(place[opening] if opening.any() else place, minlength=n)
        self.first_cumulative_ = np.cumsum(visits).astype(np.float64)
        self.beginnings_ = np.full((traces.n_users, self.copied), -1, np.int32)
        chosen = time < self.copied
        # Later events overwrite earlier ones: NumPy assigns in order.
        self.beginnings_[traces.user_index[chosen], time[chosen]] = place[chosen]
        self.user_ids_, self.places_, self.clock_ = traces.user_ids, traces.places, traces.clock
        return self

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users; day ``r`` is a user's trace number ``r``."""
        from tracearena.synthesis._kernels import draw_chain_walks

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
                draw_chain_walks(
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
        return build_day_traces(table, self.places_, self.clock_, self.user_ids_)
