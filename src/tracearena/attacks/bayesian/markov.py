"""Markov-R: where one goes from here, in both directions; it helps where there are few days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.candidates import CandidatePairs
from tracearena.attacks.bayesian.habits import OTHERS, TimeProfiles
from tracearena.attacks.bayesian.symbols import NOTHING, ObservationAlphabet
from tracearena.engine import block_ranges, run_blocks
from tracearena.traces import Clock

SHARE = 0.6
"""γ: share of what is expected of a user's next step that all others' steps from there say."""
WEIGHT = 15.0
"""β: steps that the expectation is worth, beside the user's own from that place."""

_USERS_PER_BLOCK = 16


class ObservationSteps(NamedTuple):
    """The events of every trace that say something, each with the one an instant before it, if any.

    Attributes
    ----------
    offsets
        Trace ``p`` has steps ``offsets[p]:offsets[p + 1]``.
    origins, targets, times
        Symbol before (-1 where there is none), symbol now, time of day now.
    """

    offsets: NDArray[np.int64]
    origins: NDArray[np.int32]
    targets: NDArray[np.int32]
    times: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        owner: NDArray[np.int32],
        instants: NDArray[np.int32],
        symbols: NDArray[np.int32],
        clock: Clock,
        n_traces: int,
    ) -> ObservationSteps:
        """Join successive events of a day."""
        told = np.flatnonzero(symbols != NOTHING)
        owner, instants, said = owner[told], instants[told], symbols[told]
        follows = np.zeros(len(told), bool)
        follows[1:] = (
            (np.diff(owner) == 0) & (np.diff(instants) == 1) & (np.diff(clock.day_of(instants)) == 0)
        )
        origins = np.where(follows, np.concatenate([[-1], said[:-1]])[: len(said)], -1)
        offsets = np.searchsorted(owner, np.arange(n_traces + 1))
        times = clock.time_of_day(instants)
        return cls(
            offsets.astype(np.int64), origins.astype(np.int32), said.astype(np.int32), times.astype(np.int32)
        )

    @property
    def owner(self) -> NDArray[np.int64]:
        """The trace of each step."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class TransitionCounts(NamedTuple):
    """How often each user went from one symbol to another, sorted by user, origin and target."""

    offsets: NDArray[np.int64]
    origins: NDArray[np.int32]
    targets: NDArray[np.int32]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, steps: ObservationSteps, n_symbols: int) -> TransitionCounts:
        """Count the steps that have an origin."""
        led = steps.origins >= 0
        n = np.int64(n_symbols)
        keys = (steps.owner[led] * n + steps.origins[led]) * n + steps.targets[led]
        distinct, counts = np.unique(keys, return_counts=True)
        rest, targets = np.divmod(distinct, n)
        users, origins = np.divmod(rest, n)
        offsets = np.searchsorted(users, np.arange(len(steps.offsets)))
        return cls(
            offsets.astype(np.int64),
            origins.astype(np.int32),
            targets.astype(np.int32),
            counts.astype(np.float64),
        )


@dataclass(frozen=True, eq=False)
class PopulationTransitions:
    """Q(y|x): where everybody goes from a symbol, as sorted keys with their probabilities."""

    n_symbols: int
    keys: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, moves: TransitionCounts, n_symbols: int) -> PopulationTransitions:
        """Sum the moves of all users."""
        keys = moves.origins.astype(np.int64) * n_symbols + moves.targets
        distinct, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, moves.counts, len(distinct))
        origin = distinct // max(n_symbols, 1)
        leaving = np.bincount(origin, counts, n_symbols)
        return cls(n_symbols, distinct, counts / leaving[origin])

    def __call__(self, origins: NDArray[np.int32], targets: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return Q of each step; 0 for what nobody did, and without an origin."""
        wanted = origins.astype(np.int64) * self.n_symbols + targets
        at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.zeros(len(wanted))
        return np.where((self.keys[at] == wanted) & (origins >= 0), self.values[at], 0.0)


def compute_markov_scores(
    pairs: CandidatePairs,
    symbols: ObservationAlphabet,
    steps: ObservationSteps,
    model: ObservationSteps,
    habits: TimeProfiles,
    population: PopulationTransitions,
) -> NDArray[np.float64]:
    """Return for each pair how much likelier its trace's steps are for its user than for anybody.

    Parameters
    ----------
    steps, model
        Steps of the traces (rows of the pairs) and of the users.
    habits
        Of the users.
    """
    from tracearena.attacks.bayesian._matching_kernels import score_markov_pairs

    offsets, order = pairs.by_user()
    rows = pairs.traces[order]
    ordered = np.empty(len(order))
    n = len(symbols)
    begins = steps.origins < 0
    origins = np.where(begins, n, steps.origins)
    keys = origins * np.int64(n) + steps.targets
    usual = SHARE * population(steps.origins, steps.targets)
    ends, end_of = _list_step_ends(steps, symbols, habits.clock.instants_per_day)
    anybody = _compute_population_likelihood(ends, habits)[end_of]
    # Where a chain begins nothing is known of steps: habits alone are compared.
    ordinary = (1 - SHARE) * anybody + np.where(begins, 0.0, usual)
    moves = TransitionCounts.of(model, n)
    own = moves.offsets, moves.origins, moves.origins * np.int64(n) + moves.targets, moves.counts

    def work(block: int, first: int, stop: int) -> None:
        score_markov_pairs(
            first,
            stop,
            offsets,
            rows,
            steps.offsets,
            origins,
            keys,
            end_of,
            WEIGHT * usual,
            1 / ordinary,
            *ends,
            *own,
            n,
            *habits.arrays,
            OTHERS,
            SHARE,
            WEIGHT,
            ordered,
        )

    run_blocks(work, block_ranges(pairs.n_users, _USERS_PER_BLOCK))
    scores = np.empty(len(order))
    scores[order] = ordered
    return scores


class StepEnds(NamedTuple):
    """Where and when steps end, each symbol at each time of day once: the places it names, and the time."""

    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    times: NDArray[np.int32]


def _list_step_ends(
    steps: ObservationSteps, symbols: ObservationAlphabet, length: int
) -> tuple[StepEnds, NDArray[np.int64]]:
    """Return where steps end, and which of these is the end of each step."""
    distinct, end_of = np.unique(steps.targets * np.int64(length) + steps.times, return_inverse=True)
    said, times = np.divmod(distinct, length)
    sizes = np.diff(symbols.offsets)[said]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    member = np.repeat(symbols.offsets[said] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return StepEnds(offsets, symbols.members[member], times.astype(np.int32)), end_of


def _compute_population_likelihood(ends: StepEnds, habits: TimeProfiles) -> NDArray[np.float64]:
    """Return how likely anybody is at each end."""
    times = np.repeat(ends.times, np.diff(ends.offsets))
    owner = np.repeat(np.arange(len(ends.times)), np.diff(ends.offsets))
    return np.asarray(np.bincount(owner, habits.population[ends.places, times], len(ends.times)), np.float64)
