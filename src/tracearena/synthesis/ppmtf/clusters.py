"""What the columns of the factors stand for: clusters of users, and where and when they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import ParameterError
from tracearena.metrics import ClusterPopulations, cluster_populations
from tracearena.synthesis.ppmtf.model import PPMTF
from tracearena.traces import Traces


@dataclass(frozen=True, eq=False)
class ClusterFeatures:
    """Clusters of a model; cluster c belongs to column c of the factor matrices.

    Attributes
    ----------
    populations
        Who is in each cluster, and where these people are in training and in synthetic traces.
    everybody
        Places: distribution of all training events.
    places, next_places, slots
        Clusters × places, places and slots: the columns of B, C and D with a square sum of 1.
    """

    populations: ClusterPopulations
    everybody: NDArray[np.float64]
    places: NDArray[np.float64]
    next_places: NDArray[np.float64]
    slots: NDArray[np.float64]

    def most_distinct(self, count: int) -> NDArray[np.int64]:
        """Return the clusters whose training users are farthest from where everybody is, farthest first."""
        distance = np.abs(self.populations.training - self.everybody).sum(axis=1)
        return np.argsort(-distance, kind="stable")[:count]


def cluster_features(
    model: PPMTF, training: Traces, synthetic: Traces, *, share: float = 0.1
) -> ClusterFeatures:
    """Return the clusters that a model found, with all that is known of them.

    Parameters
    ----------
    model
        Trained on the training traces, with shared factors.
    training, synthetic
        Traces of the training users, and traces made from them under their ids; users whose traces
        are not released may have no events.
    share
        Share of the users that form a cluster, those with the largest values in a column of A.

    References
    ----------
    [ppmtf] section 4.3 (d).

    Notes
    -----
    Changing the sign of a column in B, C and D together changes no reconstructed count. Here it is
    chosen so that the column of D has a sum of at least 0: a large value in B is then a place where
    the cluster is often.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=3)
    >>> training = Traces.from_dense([[0, 0, 0], [1, 1, 1]] * 10, places, clock)
    >>> model = PPMTF(factors=2, iterations=5).fit(training, seed=1)
    >>> found = cluster_features(model, training, model.synthesize(seed=2))
    >>> found.places.shape, found.slots.shape, found.populations.users.shape
    ((2, 2), (2, 3), (2, 2))
    """
    if not model.shared_factors:
        raise ParameterError("clusters need shared factors: otherwise no column of C belongs to one of D")
    factors = model.trace_model_
    populations = cluster_populations(factors.users, training, synthetic, share=share)
    visits = np.bincount(training.place_index, minlength=len(training.places))
    sign = np.where(factors.slots.sum(axis=0) < 0, -1.0, 1.0)
    columns = [_unit(sign * matrix).T for matrix in (factors.places, factors.next_places, factors.slots)]
    return ClusterFeatures(populations, visits / max(visits.sum(), 1), *columns)


def _unit(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each column to a square sum of 1."""
    return np.asarray(matrix / np.sqrt((matrix**2).sum(axis=0, keepdims=True)))
