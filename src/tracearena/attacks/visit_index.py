"""Who visits each place, and each set of places that a release names, as an index of likelihoods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.overlap import Index, Items
from tracearena.traces import ObfuscatedTraces, PlaceSets, Traces

UNSEEN = 1e-8
"""Probability of a place that a user never visited; nothing is renormalised for it."""

MOST_VISITORS = 1 << 24
"""Visitors of sets are listed for as many traces at a time as need no more entries than this."""


class Visitors(NamedTuple):
    """Who visited each place: an index from places to users."""

    offsets: NDArray[np.int64]
    users: NDArray[np.int32]
    probabilities: NDArray[np.float64]
    gains: NDArray[np.float64]


class Codes(NamedTuple):
    """The distinct codes of each pseudonym's trace, and how often each occurs."""

    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    counts: NDArray[np.float64]


def visitors_of(reference: Traces) -> Visitors:
    """Return who visits each place, how often, and what a visit says for her: log(probability / unseen)."""
    offsets, places, counts = reference.visit_counts()
    users = np.repeat(np.arange(reference.n_users, dtype=np.int32), np.diff(offsets))
    total = np.bincount(users, weights=counts, minlength=reference.n_users)
    by_place = np.argsort(places, kind="stable")
    probability = (counts / total[users])[by_place]
    return Visitors(
        np.searchsorted(places[by_place], np.arange(len(reference.places) + 1)),
        users[by_place],
        probability,
        np.log(probability / UNSEEN),
    )


def distinct_codes(traces: ObfuscatedTraces) -> Codes:
    """Count each distinct code of each pseudonym that says anything."""
    told = ~traces.is_deleted
    lowest = -2 - len(traces.sets)
    width = len(traces.places) - lowest
    keys = traces.user_index[told].astype(np.int64) * width + (traces.codes[told] - lowest)
    distinct, counts = np.unique(keys, return_counts=True)
    owner, shifted = np.divmod(distinct, width)
    offsets = np.searchsorted(owner, np.arange(traces.n_users + 1))
    return Codes(offsets, (shifted + lowest).astype(np.int32), counts.astype(np.float64))


def indexed(
    visitors: Visitors, n_users: int, codes: Codes, sets: PlaceSets, *, most: int = MOST_VISITORS
) -> Iterator[tuple[Index, Items]]:
    """Yield the traces in order, as many at a time as name sets of no more than `most` visitors.

    The score of a user is the log-likelihood of the trace under her visit probabilities, but for a
    constant. A set of k places has the mean probability of its members; those of its visitors are
    worked out once, and it is then a key like any place.
    """
    from tracearena.attacks._kernels import cut_by_sets, set_gains

    n_places = len(visitors.offsets) - 1
    sizes = np.concatenate([[0], np.cumsum(np.diff(visitors.offsets)[sets.members])])
    bounds = np.diff(sizes[sets.offsets])
    limits = cut_by_sets(codes.offsets, codes.codes, bounds, most)
    for first, stop in pairwise(limits):
        items = Items(codes.offsets, codes.codes.astype(np.int64), codes.counts).part(first, stop)
        named = np.unique(items.keys[items.keys < 0])
        offsets, users, gains = set_gains(
            -2 - named, bounds, *visitors[:3], sets.offsets, sets.members, UNSEEN, n_users
        )
        key = np.where(items.keys < 0, n_places + np.searchsorted(named, items.keys), items.keys)
        index = Index.of(
            np.zeros(n_users),
            np.concatenate([visitors.offsets, visitors.offsets[-1] + offsets[1:]]),
            np.concatenate([visitors.users, users]),
            np.concatenate([visitors.gains, gains]),
        )
        yield index, items._replace(keys=key)
