"""Semantic classes: places that mean the same, found by clustering the semantic graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.engine import SeedLike, generator, library_state, one_library_thread
from tracearena.errors import DataError


@dataclass(frozen=True, eq=False)
class LocationClasses:
    """A partition of the places.

    Attributes
    ----------
    class_of
        Class of each place, from 0.
    offsets, members
        Places of class c are ``members[offsets[c]:offsets[c + 1]]``, ascending.
    """

    class_of: NDArray[np.int32]
    offsets: NDArray[np.int64]
    members: NDArray[np.int32]

    @classmethod
    def of(cls, labels: NDArray[np.integer]) -> LocationClasses:
        """Build from a label for each place; classes are numbered by their first place.

        >>> LocationClasses.of(np.array([7, 3, 7])).class_of.tolist()
        [0, 1, 0]
        """
        _, first, label = np.unique(labels, return_index=True, return_inverse=True)
        renumbered = np.empty(len(first), np.int32)
        renumbered[np.argsort(first)] = np.arange(len(first))
        class_of = renumbered[label]
        members = np.argsort(class_of, kind="stable").astype(np.int32)
        offsets = np.searchsorted(class_of[members], np.arange(len(first) + 1)).astype(np.int64)
        return cls(class_of, offsets, members)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of places of each class."""
        return np.diff(self.offsets)


def find_classes(
    graph: NDArray[np.float64], classes: int | None = None, *, seed: SeedLike = None
) -> LocationClasses:
    """Group the places whose rows of the graph point the same way.

    Parameters
    ----------
    graph
        Places × places, not negative, symmetric.
    classes
        Number of classes, at least 1; at most as many are made as there are different rows. None
        chooses the number with the best `separation` among about twelve.
    seed
        Of the k-means starts.

    Notes
    -----
    Rows are scaled to length 1 before k-means, which makes it cluster by cosine similarity (the
    default of the program that the paper used): raw rows would be sorted by popularity first, and
    every popular place would be a class of its own. Raw, L1 and logarithmic rows were tried too, on
    people-flow data, and this scaling kept because its results come nearest to the published ones.
    """
    m = len(graph)
    if m == 0:
        raise DataError("there are no places to classify")
    length = np.sqrt((graph**2).sum(axis=1, keepdims=True))
    rows = graph / np.where(length > 0, length, 1)
    different = len(np.unique(rows.round(12), axis=0))
    rng = generator(seed)
    if classes is not None:
        require_whole("classes", classes, at_least=1)
        return _k_means(rows, min(int(classes), different), rng)
    tried = [_k_means(rows, count, rng) for count in candidates(different)]
    return max(tried, key=lambda found: separation(graph, found))


def candidates(different: int) -> Sequence[int]:
    """Return the numbers of classes to try: rising evenly in ratio from 4 to a quarter of the places.

    >>> candidates(400)
    [4, 6, 8, 11, 14, 20, 28, 38, 53, 72, 100]
    """
    top = max(different // 4, min(different, 4))
    steps = np.geomspace(min(4, top), top, 11)
    return sorted({round(float(step)) for step in steps})


def separation(graph: NDArray[np.float64], classes: LocationClasses) -> float:
    """Return the mean weight between places of one class over that between places of two classes.

    Notes
    -----
    The paper prints the ratio the other way round and maximises it, which would join what differs.
    """
    same = classes.class_of[:, None] == classes.class_of[None, :]
    np.fill_diagonal(same, False)
    apart = classes.class_of[:, None] != classes.class_of[None, :]
    within = graph[same].mean() if same.any() else 0.0
    between = graph[apart].mean() if apart.any() else 0.0
    if between == 0:
        return float("inf") if within > 0 else 0.0
    return float(within / between)


def _k_means(rows: NDArray[np.float64], count: int, rng: np.random.Generator) -> LocationClasses:
    from sklearn.cluster import KMeans

    state = library_state(rng)
    if count == 1:
        return LocationClasses.of(np.zeros(len(rows), np.int32))
    with one_library_thread():
        labels = KMeans(count, n_init=1, random_state=state).fit(rows).labels_
    return LocationClasses.of(labels)
