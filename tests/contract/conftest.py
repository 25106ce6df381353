"""Data of every awkward shape, for whatever algorithm comes along."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.cities import simulate_gps
from tracearena.traces import DELETED, GpsTraces, ObfuscatedTraces, PlaceSets, Traces

Shapes = dict[str, Traces]
Releases = dict[str, tuple[Traces, ObfuscatedTraces]]
Points = dict[str, GpsTraces]


@pytest.fixture(scope="session")
def shapes(make_walks: Callable[..., Traces]) -> Shapes:
    """Four days of traces by the name of what is awkward about them."""
    return {
        "ordinary": make_walks(users=30, days=4),
        "one user": make_walks(users=1, days=4),
        "one event": make_walks(users=1, days=4).keep(np.arange(80) == 41),
        "half missing": make_walks(users=30, days=4, missing=0.5),
        "nothing": make_walks(users=3, days=4, missing=1.0),
    }


@pytest.fixture(scope="session")
def releases(shapes: Shapes) -> Releases:
    """Reference traces and anonymized traces (pseudonyms from 1001) by the name of their shape."""

    def published(original: Traces, codes: object, sets: PlaceSets | None = None) -> ObfuscatedTraces:
        released = ObfuscatedTraces.like(original, codes, sets)
        return released.with_user_ids(np.arange(1001, 1001 + original.n_users))

    pairs = {}
    for name, walks in shapes.items():
        reference, original = walks.take_days(0, 2), walks.take_days(2, 4)
        pairs[name] = reference, published(original, original.place_index)
    reference, original = shapes["ordinary"].split_days(2)
    everywhere = PlaceSets.of([np.arange(len(original.places))])
    cells = original.n_events
    pairs["all deleted"] = reference, published(original, np.full(cells, DELETED))
    pairs["all one set"] = reference, published(original, np.full(cells, -2), everywhere)
    mixed = np.arange(cells) % 3 - 2
    pairs["mixed"] = reference, published(original, mixed, everywhere)
    pairs["fewer pseudonyms"] = reference, published(original, original.place_index).take_users(np.arange(9))
    return pairs


@pytest.fixture(scope="session")
def points() -> Points:
    """GPS traces by the name of what is awkward about them."""
    ordinary = simulate_gps(users=3, days=2, seed=1)
    number = np.arange(ordinary.n_points)
    return {
        "ordinary": ordinary,
        "one user": ordinary.take_users([0]),
        "one event": ordinary.take_users([0]).keep(np.arange(ordinary.take_users([0]).n_points) == 7),
        "half missing": ordinary.keep(number % 2 == 0),
        "nothing": ordinary.keep(number < 0),
    }
