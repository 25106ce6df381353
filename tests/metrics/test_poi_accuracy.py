"""POI accuracy against a slow obvious implementation, and at its limits."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import DataError
from tracearena.io.formats import checkins
from tracearena.metrics import poi_accuracy_score
from tracearena.obfuscation import MRLH, PlanarLaplace
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces


@pytest.fixture(scope="module")
def pois() -> Places:
    rng = np.random.default_rng(1)
    kinds = rng.choice(["food/Café", "food/Ramen", "shops/Mall"], 60)
    return Places(rng.uniform(34.64, 34.74, 60), rng.uniform(135.44, 135.56, 60), categories=kinds)


def slow(original: Traces, obfuscated: ObfuscatedTraces, pois: Places, category: str) -> float:
    places = original.places
    assert pois.categories is not None
    food = [n for n, kind in enumerate(pois.categories) if str(kind).startswith(category)]

    def within(place: int, radius: float) -> set[int]:
        north = (pois.latitude - places.latitude[place]) * 111
        east = (pois.longitude - places.longitude[place]) * 91
        return {n for n in food if np.hypot(north[n], east[n]) <= radius}

    shares = []
    for event, place in enumerate(original.place_index):
        near = within(int(place), 1)
        sent = set().union(*(within(one, 2) for one in obfuscated.cell(event)))
        if near:
            shares.append(len(near & sent) / len(near))
    return float(np.mean(shares))


@pytest.mark.parametrize("defence", [MRLH(mu_x=1, mu_y=1, deletion=0.3), PlanarLaplace(l=1, r=1)])
def test_it_is_the_mean_share_of_nearby_pois_that_are_sent(
    make_walks: Callable[..., Traces], pois: Places, defence: MRLH | PlanarLaplace
) -> None:
    original = make_walks(users=6, days=1, side=12)
    released = defence.transform(original, seed=1)
    found = poi_accuracy_score(original, released, pois)
    assert found.poi_accuracy == pytest.approx(slow(original, released, pois, "food/"))
    assert 0 < found.poi_accuracy < 1


def test_what_is_released_as_it_is_serves_everybody(make_walks: Callable[..., Traces], pois: Places) -> None:
    original = make_walks()
    assert poi_accuracy_score(original, ObfuscatedTraces.from_traces(original), pois).poi_accuracy == 1
    deleted = ObfuscatedTraces.like(original, np.full(original.n_events, -1))
    assert poi_accuracy_score(original, deleted, pois, category=None).poi_accuracy == 0


def test_what_cannot_be_measured_is_explained(make_walks: Callable[..., Traces], pois: Places) -> None:
    original = make_walks()
    released = ObfuscatedTraces.from_traces(original)
    with pytest.raises(DataError, match="'sport'; the categories are food, shops"):
        poi_accuracy_score(original, released, pois, category="sport")
    with pytest.raises(DataError, match="no categories"):
        poi_accuracy_score(original, released, Places([35], [139]))
    with pytest.raises(DataError, match="no event has a POI"):
        poi_accuracy_score(original, released, Places([35], [139]), category=None)
    with pytest.raises(DataError, match="not made from"):
        poi_accuracy_score(original, released.take_users([0]), pois)


def test_tokyo_has_4692_places_to_eat(shared_data: Path) -> None:
    folder = shared_data / "peopleflow-tokyo"
    pois = checkins.read_pois(folder / "POI_TK.csv")
    places = checkins.tokyo_regions()
    original = Traces.from_dense([[512]], places, Clock(instants_per_day=1))
    assert poi_accuracy_score(original, ObfuscatedTraces.from_traces(original), pois).pois == 4692
