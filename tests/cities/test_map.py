"""The ground: regions, land use, venues, ways."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena import cities
from tracearena.cities.city import (
    GRID,
    HOSPITAL,
    KINDS,
    LAND_USES,
    build_land_use,
    build_routes,
    build_venues,
)
from tracearena.errors import ParameterError


def test_regions_are_as_large_as_the_contest_s() -> None:
    places = cities.regions()
    assert len(places) == 1024
    assert places.grid is not None
    assert places.grid.cell_height == pytest.approx(0.003125)
    assert places.grid.cell_width == pytest.approx(0.00375)
    assert places.distance_km([0, 0, 0], [1, 32, 1023]) == pytest.approx(
        [0.34125, 0.346875, 15.084], abs=1e-3
    )


def test_37_regions_are_hospitals_and_sensitive() -> None:
    places = cities.regions()
    assert places.sensitive.sum() == 37
    assert places.categories is not None
    assert set(places.categories[places.sensitive]) == {"hospitals"}


def test_every_land_use_has_its_share() -> None:
    share = np.bincount(build_land_use().use, minlength=len(LAND_USES)) / len(GRID)
    shares = dict(zip(LAND_USES, share, strict=True))
    assert 0.45 < shares["homes"] < 0.6
    assert shares["offices"] == pytest.approx(0.12, abs=0.001)
    assert shares["shops"] == pytest.approx(0.11, abs=0.001)
    assert all(value > 0.03 for value in shares.values())


def test_nobody_lives_in_a_park() -> None:
    ground = build_land_use()
    assert ground.residents.sum() == pytest.approx(1)
    assert ground.residents[ground.regions_of("parks")].sum() == 0


def test_pois_lie_in_their_regions_and_hospitals_in_hospital_regions() -> None:
    known = build_venues()
    assert len(known.cell) == sum(kind.number for kind in KINDS)
    assert np.array_equal(GRID.cell_of(known.latitude, known.longitude), known.cell)
    hospitals = known.cell[known.kind == HOSPITAL]
    assert set(hospitals) == set(build_land_use().regions_of("hospitals"))


def test_pois_have_large_and_small_categories() -> None:
    places = cities.pois()
    assert places.categories is not None
    large = {category.split("/")[0] for category in places.categories.tolist()}
    assert {"food", "shops", "building", "travel", "education", "nightlife"} <= large
    assert set(places.categories[places.sensitive]) == {"building/Hospital"}
    assert not any("," in category for category in places.categories.tolist())


def test_the_most_attractive_pois_keep_their_ids() -> None:
    every, few = cities.pois(), cities.pois(top=50)
    at = np.searchsorted(every.ids, few.ids)
    assert np.array_equal(every.latitude[at], few.latitude)
    worst = build_venues().attractiveness[at].min()
    assert (build_venues().attractiveness > worst).sum() == 49


@pytest.mark.parametrize("top", [0, -1, 6001])
def test_more_pois_than_there_are_cannot_be_asked_for(top: int) -> None:
    with pytest.raises(ParameterError, match="at most 6,000"):
        cities.pois(top=top)


def test_following_the_previous_regions_leads_back_step_by_step() -> None:
    ways, places = build_routes(), cities.regions()
    rng = np.random.default_rng(0)
    for start, end in rng.integers(0, 1024, (50, 2)).tolist():
        at = end
        while at != start:
            before = int(ways.previous[start, at])
            assert places.distance_km([before], [at])[0] < 0.5
            assert ways.minutes[start, before] < ways.minutes[start, at]
            at = before


def test_ways_are_as_long_in_both_directions_and_no_detour_is_quicker() -> None:
    minutes = build_routes().minutes
    assert np.allclose(minutes, minutes.T, atol=1e-3)
    assert np.all(np.diag(minutes) == 0)
    through = minutes[:40, :, None] + minutes[None, :, :40].transpose(0, 1, 2)
    assert (through.min(axis=1) >= minutes[:40, :40] - 1e-3).all()
