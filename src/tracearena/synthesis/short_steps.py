"""Short steps learned from long ones, and traces filled in with them.

Half-hourly traces say nothing of the five minutes between two instants. The chain of short steps whose
S-th power makes the observed long steps most likely is found by expectation maximisation, over all users
together; then every long step is filled in with a path drawn from that chain, given both its ends. No
parameter is chosen: the observed places stay as they are, and what is between them is as likely as the
training traces make it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import SeedLike, block_ranges, report, run_blocks, seed_sequence, stream
from tracearena.errors import DataError
from tracearena.mobility.transitions import departures
from tracearena.traces import Traces

ENDS_PER_BLOCK = 32
SETTLED_BELOW = 1e-4
"""The chain has converged when an iteration gains less log-likelihood than this per long step."""
MOST_ITERATIONS = 200
MOST_STEPS = 288


@dataclass(frozen=True, eq=False)
class ShortSteps:
    """A chain of short steps between places, `steps` of them from one instant to the next.

    Attributes
    ----------
    steps
        Short steps in a long one.
    offsets, targets, chances
        From place ``i`` a short step leads to ``targets[offsets[i]:offsets[i + 1]]``, ascending, with
        these probabilities.
    log_likelihood
        Mean over the observed long steps: one value per iteration, never falling.

    Notes
    -----
    A short step leads only to places to which a long one was seen to lead from there, or nowhere.
    Pairs alone cannot tell a person who stays from one who leaves and is back in time.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 0, 0, 0, 1]] * 8, places, Clock(instants_per_day=5))
    >>> chain = ShortSteps.of(traces, 2)
    >>> bool(abs(chain.matrix()[0, 0] - 0.75**0.5) < 1e-3)
    True
    """

    steps: int
    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    chances: NDArray[np.float64]
    log_likelihood: tuple[float, ...]

    @classmethod
    def of(cls, traces: Traces, steps: int) -> ShortSteps:
        """Learn the chain from all transitions of all users.

        Parameters
        ----------
        traces
            At least one of their events must be followed by one at the next instant.
        steps
            Short steps from one instant to the next, 1 to 288.
        """
        require_whole("steps", steps, at_least=1, at_most=MOST_STEPS)
        pairs = LongSteps.of(traces)
        chain = estimate_initial_chain(pairs, steps)
        history: list[float] = []
        while len(history) < MOST_ITERATIONS:
            expected, likelihood = chain.count_expected_steps(pairs)
            history.append(likelihood / pairs.total)
            report(len(history), MOST_ITERATIONS)
            if steps == 1 or (len(history) > 1 and history[-1] - history[-2] < SETTLED_BELOW):
                break
            sums = np.add.reduceat(expected, chain.offsets[:-1])
            each = np.repeat(sums, np.diff(chain.offsets))
            # A place that nobody passes keeps the probabilities that it had.
            chances = np.where(each > 0, expected / np.where(each > 0, each, 1), chain.chances)
            chain = replace(chain, chances=chances)
        report(MOST_ITERATIONS, MOST_ITERATIONS)
        return replace(chain, log_likelihood=tuple(history))

    def fill(self, traces: Traces, *, seed: SeedLike = None) -> Traces:
        """Return the traces with `steps` instants for one, the new ones drawn between those observed.

        Gaps of more than an instant, and nights, stay gaps.
        """
        start = departures(traces)
        between = self._draw_bridge_places(traces.place_index[start], traces.place_index[start + 1], seed)
        clock = traces.clock
        fine = replace(
            clock,
            instants_per_day=clock.instants_per_day * self.steps,
            interval_s=clock.interval_s // self.steps,
            instants_per_slot=clock.instants_per_slot * self.steps,
        )
        if fine.interval_s * self.steps != clock.interval_s:
            raise DataError(f"{clock.interval_s} seconds are not {self.steps} steps of whole seconds")
        copies = np.ones(traces.n_events, np.int64)
        copies[start] = self.steps
        at = np.concatenate([[0], np.cumsum(copies)])
        places = np.repeat(traces.place_index, copies)
        places[(at[start, None] + np.arange(1, self.steps)).ravel()] = between.ravel()
        within = np.arange(at[-1]) - np.repeat(at[:-1], copies)
        return traces.replace(
            clock=fine,
            offsets=at[traces.offsets],
            instants=np.repeat(traces.instants.astype(np.int64) * self.steps, copies) + within,
            place_index=places,
            timestamps=None,
            span=(traces.span[0] * self.steps, traces.span[1] * self.steps),
        )

    def matrix(self) -> NDArray[np.float64]:
        """Return the chain as a whole matrix, places × places, for inspection."""
        n = len(self.offsets) - 1
        table = np.zeros((n, n))
        table[np.repeat(np.arange(n), np.diff(self.offsets)), self.targets] = self.chances
        return table

    def count_expected_steps(self, pairs: LongSteps) -> tuple[NDArray[np.float64], float]:
        """Return how often each short step is expected, and the log-likelihood of the long ones (E step)."""

        def work(_block: int, first: int, stop: int) -> tuple[NDArray[np.float64], float]:
            from tracearena.synthesis._kernels import add_expected_steps

            out = np.zeros(len(self.chances))
            likelihood = add_expected_steps(
                self.offsets, self.targets, self.chances, self.steps, first, stop - first,
                pairs.offsets[first : stop + 1], pairs.starts, pairs.counts, out,
            )  # fmt: skip
            return out, likelihood

        found = run_blocks(work, block_ranges(len(self.offsets) - 1, ENDS_PER_BLOCK))
        return np.sum([counts for counts, _ in found], axis=0), sum(value for _, value in found)

    def _draw_bridge_places(
        self, starts: NDArray[np.int32], ends: NDArray[np.int32], seed: SeedLike
    ) -> NDArray[np.int32]:
        order = np.argsort(ends, kind="stable")
        place_of = ends[order]
        root = seed_sequence(seed)

        def work(block: int, first: int, stop: int) -> NDArray[np.int32]:
            from tracearena.synthesis._kernels import draw_bridges

            mine = order[slice(*np.searchsorted(place_of, (first, stop)))]
            out = np.empty((len(mine), self.steps - 1), np.int32)
            if out.size:
                draw_bridges(
                    self.offsets, self.targets, self.chances, self.steps, first, stop - first, starts[mine],
                    ends[mine] - np.int32(first), stream(root, block).random(out.shape), out,
                )  # fmt: skip
            return out

        found = run_blocks(work, block_ranges(len(self.offsets) - 1, ENDS_PER_BLOCK))
        between = np.empty((len(starts), self.steps - 1), np.int32)
        between[order] = np.concatenate(found)
        return between


@dataclass(frozen=True, eq=False)
class LongSteps:
    """How often each place followed each other one: those that end at ``j`` are ``offsets[j:j + 2]``."""

    n: int
    offsets: NDArray[np.int64]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, traces: Traces) -> LongSteps:
        """Count the steps from one instant to the next."""
        start, place, n = departures(traces), traces.place_index.astype(np.int64), len(traces.places)
        if not len(start):
            raise DataError(
                "no two events are at consecutive instants, so there are no steps to "
                "learn from; use a longer interval"
            )
        keys, counts = np.unique(place[start + 1] * n + place[start], return_counts=True)
        end, begin = np.divmod(keys, n)
        offsets = np.searchsorted(end, np.arange(n + 1)).astype(np.int64)
        return cls(n, offsets, begin.astype(np.int32), end.astype(np.int32), counts.astype(np.float64))

    @property
    def total(self) -> float:
        """All of them."""
        return float(self.counts.sum())


def estimate_initial_chain(pairs: LongSteps, steps: int) -> ShortSteps:
    """Leave a place at the constant rate that makes its observed share of stays; go where people went.

    Half a stay and half a move are added to those observed, so that no place is left for sure, or never.
    """
    n, starts, ends = pairs.n, pairs.starts.astype(np.int64), pairs.ends.astype(np.int64)
    every = np.arange(n, dtype=np.int64)
    moves = starts != ends
    left = np.bincount(starts[moves], pairs.counts[moves], minlength=n)
    stayed = np.bincount(starts[~moves], pairs.counts[~moves], minlength=n)
    stay = np.where(left > 0, ((stayed + 0.5) / (stayed + left + 1)) ** (1 / steps), 1.0)
    rows = np.concatenate([starts[moves], every])
    targets = np.concatenate([ends[moves], every])
    going = (1 - stay[starts[moves]]) * pairs.counts[moves] / left[starts[moves]]
    order = np.lexsort((targets, rows))
    return ShortSteps(
        steps,
        np.searchsorted(rows[order], np.arange(n + 1)).astype(np.int64),
        targets[order].astype(np.int32),
        np.concatenate([going, stay])[order],
        (),
    )
