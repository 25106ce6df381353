"""Classes by repeated bisection of the semantic graph, as in the published program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError
from tracearena.synthesis.sglt.classes import LocationClasses, candidates, separation

STARTS = 6
"""Random starts of a bisection, of which the best is kept."""


def bisect_graph(
    graph: NDArray[np.float64], classes: int | None = None, *, seed: SeedLike = None
) -> LocationClasses:
    """Cut the places in two, then always the part that gains most, until there are enough classes.

    A partition is worth Σ √(weight within a class); a cut is the best of several searches that move
    one place at a time. Weights are divided by the larger total weight of their two places first, so
    that places go together which are used alike and as much.

    Parameters
    ----------
    graph
        Places × places, not negative, symmetric.
    classes
        Number of classes, at least 1 and at most the places; None chooses the number with the best
        `separation` among about twelve.
    seed
        Of the starts.

    Notes
    -----
    Repeated bisection under this criterion is the default of the toolkit that [sglt] names. How the
    program scales its graph for it is not known. More than a hundred ways to cluster were looked at, about
    thirty of them by TP-TV, and this scaling kept because it comes nearest to the published table of
    people-flow data; agreement with that table is therefore no independent check.

    Examples
    --------
    >>> pairs = np.kron(np.eye(2), np.ones((2, 2)))
    >>> bisect_graph(pairs, 2, seed=1).class_of.tolist()
    [0, 0, 1, 1]
    """
    m = len(graph)
    if m == 0:
        raise DataError("there are no places to classify")
    if classes is not None:
        require_whole("classes", classes, at_least=1)
    wanted = [min(int(classes), m)] if classes is not None else list(candidates(m))
    total = graph.sum(axis=1)
    larger = np.maximum(total[:, None], total[None, :])
    weights = np.ascontiguousarray(graph / np.where(larger > 0, larger, 1))
    rng = generator(seed)
    parts = [_Part.of(weights, np.arange(m), rng)]
    found: list[LocationClasses] = []
    for count in wanted:
        while len(parts) < count:
            best = max(range(len(parts)), key=lambda number: parts[number].gain)
            part = parts[best]
            parts[best] = _Part.of(weights, part.places[part.side == 0], rng)
            parts.append(_Part.of(weights, part.places[part.side == 1], rng))
        found.append(_classes(parts, m))
    return max(found, key=lambda one: separation(graph, one))


@dataclass(frozen=True, eq=False)
class _Part:
    """A set of places, its best cut, and what the cut gains."""

    places: NDArray[np.int64]
    side: NDArray[np.int8]
    gain: float

    @classmethod
    def of(cls, weights: NDArray[np.float64], places: NDArray[np.int64], rng: np.random.Generator) -> _Part:
        from tracearena.synthesis.sglt._bisection_kernels import ROUNDS, improve_bisection

        n = len(places)
        if n == 1:
            return cls(places, np.zeros(1, np.int8), -np.inf)
        mine = np.ascontiguousarray(weights[np.ix_(places, places)])
        whole = np.sqrt(mine.sum())
        value, side = -np.inf, np.zeros(n, np.int8)
        for _ in range(STARTS):
            tried = rng.permutation(np.arange(n) % 2).astype(np.int8)
            orders = np.stack([rng.permutation(n) for _ in range(ROUNDS)])
            reached = improve_bisection(mine, orders, tried)
            if reached > value:
                value, side = reached, tried
        return cls(places, side, value - whole)


def _classes(parts: list[_Part], places: int) -> LocationClasses:
    labels = np.empty(places, np.int64)
    for number, part in enumerate(parts):
        labels[part.places] = number
    return LocationClasses.of(labels)
