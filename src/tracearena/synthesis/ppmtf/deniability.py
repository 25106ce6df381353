"""Plausible deniability: could this synthetic trace have come from other people as well?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_fitted, require_number, require_whole
from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError, ParameterError
from tracearena.files import write_csv
from tracearena.results import Result
from tracearena.synthesis.ppmtf.tally import Tally
from tracearena.synthesis.ppmtf.verifying import Scan, is_bounded
from tracearena.traces import Traces

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf.model import PPMTF
    from tracearena.synthesis.ppmtf.sampling import TraceModel

_FARTHEST = 2**53
_ROOM = 1e-9
"""Far more than sums of logarithms in float64 round away, relative to the sum."""


@dataclass(frozen=True, eq=False)
class Deniability(Result):
    """How many people each synthetic trace could have come from.

    Attributes
    ----------
    k_prime
        For each trace, the users under whose model its likelihood is about that under the input
        user's: herself, and those of U* (k′).
    k, eta
        What was asked for: a trace passes if k′ ≥ k; likelihoods are alike in the same bucket of
        width η on the log scale.
    verifiers
        Number of users in U*.
    early_stop
        Whether scanning stopped at k, so that no k′ is larger.
    """

    k_prime: NDArray[np.int32]
    k: int
    eta: float
    verifiers: int
    early_stop: bool

    @property
    def passed(self) -> NDArray[np.bool_]:
        """Whether each trace passes."""
        return self.k_prime >= self.k

    @property
    def pass_rate(self) -> float:
        """Share of the traces that pass."""
        return float(self.passed.mean()) if len(self.k_prime) else 0.0

    def pass_rate_at(self, k: int) -> float:
        """Return the share that passes with another k, which an early stop does not tell beyond k."""
        if self.early_stop and k > self.k:
            raise ParameterError(f"scanning stopped at k = {self.k}: nothing is known of k = {k}")
        return float((self.k_prime >= k).mean()) if len(self.k_prime) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "pass_rate": self.pass_rate,
            "passed": int(self.passed.sum()),
            "traces": len(self.k_prime),
            "k": self.k,
            "eta": self.eta,
            "verifiers": self.verifiers,
            "early_stop": self.early_stop,
        }

    def write(self, path: str | PathLike[str]) -> None:
        """Write k′ and pass (0 or 1) of each trace, and the totals, as the PPMTF tools do."""
        rows: list[tuple[Any, ...]] = [(k, int(k >= self.k)) for k in self.k_prime.tolist()]
        totals = ("-", "-", int(self.passed.sum()), len(self.k_prime), f"{self.pass_rate:.6f}")
        write_csv(path, None, [*rows, totals])


def bucket_of(log_likelihood: Any, eta: float) -> NDArray[np.float64]:
    """Return the bucket of each log-likelihood: i for −(i + 1) η < L ≤ −i η.

    References
    ----------
    [ppmtf] equation 6.

    Examples
    --------
    >>> bucket_of([0.0, -0.5, -1.0, -1.5], eta=1).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    return np.asarray(np.floor(-np.asarray(log_likelihood, float) / eta) + 0.0)


def measure_deniability(
    model: PPMTF,
    synthetic: Traces,
    *,
    k: int = 10,
    eta: float = 1.0,
    verifiers: int | None = None,
    early_stop: bool = False,
    seed: SeedLike = None,
    tally: Tally | None = None,
) -> Deniability:
    """Test synthetic traces for (k, η)-plausible deniability.

    Parameters
    ----------
    model
        The model that made the traces.
    synthetic
        Whole days of training users; every day is a trace.
    k
        A trace passes if at least so many users could have made it, her own included.
    eta
        Width of a bucket of log-likelihoods, above 0.
    verifiers
        Size of U*, drawn at random among the training users; all of them by default, or if there
        are no more.
    early_stop
        Stop a trace's scan when it passes; its k′ is then k.
    seed
        Seed of U*.
    tally
        Keeps what finished verifiers have counted, and goes on with it.

    References
    ----------
    [ppmtf] section 3.5; V. Bindschaedler, R. Shokri and C. Gunter, Plausible deniability for
    privacy-preserving data synthesis, PVLDB 2017.

    Notes
    -----
    The authors' program takes the first users as U*; here U* is random, as in the paper.
    """
    require_whole("k", k, at_least=1)
    require_number("eta", eta, above=0)
    if verifiers is not None:
        require_whole("verifiers", verifiers, at_least=1)
    require_fitted(model, "transition_factors_")
    n_users = len(model.user_ids_)
    size = n_users if verifiers is None else min(verifiers, n_users)
    chosen = generator(seed).permutation(n_users)[:size]
    table, owner = model.days_of(synthetic)
    found = np.empty(len(table), np.int32)
    kept = Tally() if tally is None else tally
    for kind, (one, rows) in enumerate(model.trace_model_.by_kind(model.day_numbers(synthetic))):
        running, own = _weighed(one, table[rows], owner[rows], float(eta))
        if len(own) and not (-own / eta < _FARTHEST).all():
            raise DataError(f"eta = {eta} is too small for log-likelihoods down to {own.min():.3g}")
        scan = Scan(one, table[rows], owner[rows], running, bucket_of(own, eta), float(eta))
        found[rows] = scan.count(
            chosen,
            int(k) if early_stop else None,
            done=kept.done.get(kind, 0),
            counts=kept.counts(kind, len(rows)),
            finished=partial(kept.keep, kind),
        )
    return Deniability(found, int(k), float(eta), size, early_stop)


def _weighed(
    model: TraceModel, table: NDArray[np.int32], owner: NDArray[np.int64], eta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about the running log-likelihood of each trace under its own user, and one in its bucket.

    Bounds tell the bucket of nearly all; what lies at a border is weighed exactly.
    """
    if not is_bounded(model):
        running = model.log_likelihoods(table, owner)
        return running, running[:, -1]
    running, low, high = model.bounded_log_likelihoods(table, owner)
    room = _ROOM * (1 + np.abs(low))
    open_ = np.flatnonzero(bucket_of(low - room, eta) != bucket_of(high + room, eta))
    if len(open_):
        running[open_] = model.log_likelihoods(table[open_], owner[open_])
        low[open_] = running[open_, -1]
    return running, low
