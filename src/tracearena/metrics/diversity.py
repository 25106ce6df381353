"""Diversity of virtual users: do two teams get the same people?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError
from tracearena.results import Result
from tracearena.traces import Traces

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Diversity(Result):
    """Total variation between the populations of pairs of users from two teams.

    Attributes
    ----------
    same_tv, diff_tv
        Mean over the pairs with the same number, and over pairs with different numbers. A
        synthesizer without diversity has a smaller `same_tv`.
    same_sd, diff_sd
        Standard deviation over the pairs.
    pairs
        Number of pairs of each kind.
    """

    same_tv: float
    diff_tv: float
    same_sd: float
    diff_sd: float
    pairs: int

    @property
    def gap(self) -> float:
        """Diff minus same, in standard deviations of the pairs: about 0 where there is diversity."""
        spread = max(self.same_sd, self.diff_sd)
        return (self.diff_tv - self.same_tv) / spread if spread else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return asdict(self) | {"gap": self.gap}


def measure_diversity(
    first: Traces, second: Traces, *, pairs: int = 1_000, seed: SeedLike = None
) -> Diversity:
    """Compare user i of the first team with user i, and with another one, of the second.

    Parameters
    ----------
    first, second
        The traces of two teams of as many users each.
    pairs
        Pairs of each kind; fewer, half the users, if there are not twice as many users.
    seed
        Which users are compared.

    References
    ----------
    [contest] appendix B.1.

    Notes
    -----
    Total variation, with the other user in the second team, as the paper says. The published
    numbers are sums of squared differences, with the other user in the first team.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=1)
    >>> team = Traces.from_dense([[0, 0], [1, 1]], places, clock)
    >>> measure_diversity(team, team, seed=1)
    Diversity(same_tv=0.0, diff_tv=1.0, same_sd=0.0, diff_sd=0.0, pairs=1)
    """
    require_whole("pairs", pairs, at_least=1)
    users = first.n_users
    if users != second.n_users or len(first.places) != len(second.places):
        raise DataError("diversity needs two teams with as many users and the same places")
    if users < 2 or not (np.diff(first.offsets).all() and np.diff(second.offsets).all()):
        raise DataError("diversity needs at least two users, each with an event")
    count = min(pairs, users // 2)
    chosen = generator(seed).permutation(users)[: 2 * count]
    one, two = chosen[:count], chosen[count:]
    here, there = _populations(first), _populations(second)
    same, diff = (_variation(here[one], there[other]) for other in (one, two))
    return Diversity(float(same.mean()), float(diff.mean()), float(same.std()), float(diff.std()), count)


def _populations(traces: Traces) -> csr_array:
    """Return users × places: the share of each user's events at each place."""
    from scipy.sparse import csr_array

    offsets, place, counts = traces.visit_counts()
    shares = counts / np.repeat(np.diff(traces.offsets), np.diff(offsets))
    return csr_array((shares, place, offsets), shape=(traces.n_users, len(traces.places)))


def _variation(a: csr_array, b: csr_array) -> NDArray[np.float64]:
    return np.asarray(abs(a - b).sum(axis=1)).ravel() / 2
