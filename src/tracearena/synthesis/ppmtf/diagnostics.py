"""Convergence diagnostics: agreement of several chains from different starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, child_seed, generator, one_library_thread, seed_sequence
from tracearena.errors import DataError
from tracearena.mobility.transitions import transition_counts, visit_counts
from tracearena.synthesis.ppmtf.gibbs import Factors
from tracearena.synthesis.ppmtf.tensors import default_zero_scales
from tracearena.synthesis.ppmtf.training import build_starting_factors, train
from tracearena.traces import Traces

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf.model import PPMTF


WatchedCells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
WATCHED = 100
MIXED_BELOW = 1.1


@dataclass(frozen=True, eq=False)
class ChainReport(Result):
    """Chains of the same data from different starts.

    Factors cannot be compared directly, because their columns can be permuted and change their signs. The
    report therefore compares predictions of the model: the error, reconstructed counts of some cells of
    single users, and the population of some places and slots.

    Attributes
    ----------
    names
        Names of the predictions.
    draws
        Predictions × chains × iterations.
    """

    names: tuple[str, ...]
    draws: NDArray[np.float64]

    def r_hat(self, iterations: int | None = None) -> NDArray[np.float64]:
        """Return R̂ of all predictions, over the later half of the iterations."""
        return np.array([split_r_hat(one) for one in self._later_half(iterations)])

    def effective(self, iterations: int | None = None) -> NDArray[np.float64]:
        """Return the effective sample size of all predictions, over the later half of the iterations."""
        return np.array([effective_draws(one) for one in self._later_half(iterations)])

    def mixing_share(self, iterations: int | None = None) -> float:
        """Return the share of the predictions on which the chains agree (R̂ below 1.1)."""
        return float((self.r_hat(iterations) < MIXED_BELOW).mean())

    def _later_half(self, iterations: int | None) -> NDArray[np.float64]:
        drawn = self.draws.shape[2]
        done = drawn if iterations is None else iterations
        if not 8 <= done <= drawn:
            raise DataError(f"R̂ needs from 8 to {drawn} iterations, the number drawn; got {done}")
        return self.draws[:, :, done // 2 : done]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values over all predictions, for the later half of the iterations."""
        r_hat, effective = self.r_hat(), self.effective()
        return {
            "chains": self.draws.shape[1],
            "iterations": self.draws.shape[2],
            "watched": len(self.names),
            "r_hat_error": float(r_hat[0]),
            "r_hat_median": float(np.median(r_hat)),
            "r_hat_largest": float(r_hat.max()),
            "mixed": self.mixing_share(),
            "effective_median": float(np.median(effective)),
            "effective_smallest": float(effective.min()),
        }


def run_chains(
    model: PPMTF, traces: Traces, *, chains: int = 4, watched: int = WATCHED, seed: SeedLike = None
) -> ChainReport:
    """Train several times from different starts on the same cells, and record predictions of the model.

    Parameters
    ----------
    model
        Defines the parameters; this object is not trained.
    traces
        Training traces.
    chains
        Number of chains, at least 2.
    watched
        Number of random positive cells of each tensor to record, and number of most visited places in a slot,
        summed over users.
    seed
        Seed of the kept and drawn cells, which all chains share, and of the chains.

    Examples
    --------
    >>> from tracearena.synthesis import PPMTF
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([0, 1, 2], [0, 0, 0])
    >>> people = Traces.from_dense([[0, 0, 1], [2, 1, 2]] * 5, places, Clock(instants_per_day=3))
    >>> report = run_chains(PPMTF(factors=2, iterations=20), people, chains=2, seed=1)
    >>> report.draws.shape[1:], report.names[:2]
    ((2, 20), ('error', 'transition 1'))
    """
    require_whole("chains", chains, at_least=2, at_most=1_000)
    require_whole("watched", watched, at_least=1)
    root = seed_sequence(seed)
    cells = _choose_watched_cells(traces, watched, child_seed(root, 0))
    names = ("error", *(f"transition {n + 1}" for n in range(len(cells[0]))))
    names += tuple(f"visit {n + 1}" for n in range(len(cells[1])))
    names += tuple(f"population {n + 1}" for n in range(len(cells[2])))
    draws = [
        _run_chain(model, traces, child_seed(root, 1), child_seed(root, 2, number), cells)
        for number in range(chains)
    ]
    return ChainReport(names, np.ascontiguousarray(np.transpose(draws, (2, 0, 1))))


def _choose_watched_cells(traces: Traces, watched: int, seed: np.random.SeedSequence) -> WatchedCells:
    """Choose seen cells of both tensors (user, place, and next place or slot), and places in a slot."""
    rng = generator(seed)
    found = []
    visits = visit_counts(traces)
    for counts in (transition_counts(traces), visits):
        every = np.stack([counts.users, counts.i, counts.j], axis=1).astype(np.int64)
        some = rng.permutation(len(every))[:watched]
        found.append(every[np.sort(some)])
    slots = visits.shape[2]
    visitors = np.bincount(visits.i.astype(np.int64) * slots + visits.j, weights=visits.counts)
    most = np.argsort(-visitors, kind="stable")[:watched]
    return found[0], found[1], np.stack(np.divmod(most, slots), axis=1)


def _run_chain(
    model: PPMTF,
    traces: Traces,
    cells_root: np.random.SeedSequence,
    root: np.random.SeedSequence,
    cells: WatchedCells,
) -> NDArray[np.float64]:
    """Run one chain; return iterations × watched."""
    one = type(model)(**model.get_params(deep=False))
    frame = one._set_frame(traces)
    one._root, one.error_, one.iteration_ = root, [], 0
    one._set_factors(build_starting_factors(one))
    seen: list[NDArray[np.float64]] = []
    (n, i, j), (m, k, t), (place, slot) = (chosen.T for chosen in cells)

    def watch(factors: Sequence[Factors]) -> None:
        moves, visits = factors[0], factors[-1]
        reconstructed = (moves.users[n] * moves.places[i] * moves.next_places[j]).sum(axis=1)
        visited = (visits.users[m] * visits.places[k] * visits.slots[t]).sum(axis=1)
        population = (visits.places[place] * visits.slots[slot]) @ visits.users.sum(axis=0)
        seen.append(np.concatenate([reconstructed, visited, population]))

    with one_library_thread():
        scales = default_zero_scales(frame.mostly_moves)
        train(one, traces, scales, cells_root=cells_root, watch=watch)
    return np.column_stack([one.error_, np.array(seen)])


# Whether Markov chains have mixed: R̂ and the effective number of draws.

Draws = NDArray[np.float64]


def split_r_hat(draws: Draws) -> float:
    """Return R̂ of a quantity, draws given as chains × iterations: 1 if all halves of chains are alike.

    Each chain is cut in two; R̂ is the root of the total variance over the mean variance within halves.
    Values are replaced by normal scores of their ranks, so that outliers do not hide a difference. Below
    1.01 chains have mixed [vehtari]; 1.1 was the older rule.

    >>> rng = np.random.default_rng(1)
    >>> round(split_r_hat(rng.normal(size=(4, 1000))), 2)
    1.0
    >>> split_r_hat(rng.normal(size=(4, 1000)) + [[0], [0], [0], [5]]) > 1.5
    True
    """
    from scipy.stats import norm, rankdata

    halves = _split_halves(draws)
    if np.ptp(halves) == 0:
        return 1.0
    ranks = rankdata(halves).reshape(halves.shape)
    scores = norm.ppf((ranks - 0.375) / (halves.size + 0.25))
    n = halves.shape[1]
    within = float(scores.var(axis=1, ddof=1).mean())
    between = n * float(scores.mean(axis=1).var(ddof=1))
    if within == 0:
        return float("inf")
    return float(np.sqrt((n - 1) / n + between / (n * within)))


def effective_draws(draws: Draws) -> float:
    """Return how many independent draws tell as much of the mean as these, chains × iterations, do.

    Autocorrelations of all halves of chains are summed in pairs until a pair is negative (Geyer). Chains
    that do not agree have almost none, however long they are.

    >>> rng = np.random.default_rng(1)
    >>> 3000 < effective_draws(rng.normal(size=(4, 1000))) < 5000
    True
    """
    halves = _split_halves(draws)
    chains, n = halves.shape
    total = float(chains * n)
    if np.ptp(halves) == 0:
        return total
    spectra = [np.abs(np.fft.rfft(one - one.mean(), 2 * n)) ** 2 for one in halves]
    # Autocovariance of each half at every lag.
    within_chain = np.array([np.fft.irfft(one, 2 * n)[:n] / n for one in spectra])
    within = float(within_chain[:, 0].mean()) * n / (n - 1)
    pooled = within * (n - 1) / n + float(halves.mean(axis=1).var(ddof=1))
    correlation = 1 - (within - within_chain.mean(axis=0)) / pooled
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    falling = np.minimum.accumulate(pairs[:stop]) if stop else np.zeros(0)
    length = max(2 * float(falling.sum()) - 1, 1 / float(np.log10(total)))
    return total / length


def _split_halves(draws: Draws) -> Draws:
    values = np.asarray(draws, np.float64)
    if values.ndim != 2 or values.shape[1] < 4:
        raise DataError("draws are chains × at least 4 iterations")
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])
