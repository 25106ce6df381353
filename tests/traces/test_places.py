import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.traces import Grid, Places

OSAKA = Grid(rows=32, columns=32, south=34.64, west=135.44, north=34.74, east=135.56)


def test_contest_regions_have_the_published_distances() -> None:
    places = Places.of_grid(OSAKA, km_per_degree=(111, 91))
    east, north, diagonal = places.distance_km([0, 0, 0], [1, 32, 33])
    assert east == pytest.approx(0.34125)
    assert north == pytest.approx(0.346875)
    assert diagonal == pytest.approx(0.48659, abs=1e-5)
    assert places.distance_table_km.max() == pytest.approx(15.084, abs=1e-3)
    centre = 16 * 32 + 16
    assert (places.distance_table_km[centre] <= 2).sum() == 105


@pytest.mark.parametrize("grid", [None, Grid(rows=2, columns=2, south=-1, west=-1, north=1, east=1)])
def test_planar_distances_have_a_scale_to_the_north_and_one_to_the_east(grid: Grid | None) -> None:
    corners = np.array([-0.5, -0.5, 0.5, 0.5]), np.array([-0.5, 0.5, -0.5, 0.5])
    places = Places(*corners, grid=grid, km_per_degree=(30, 40))
    assert places.distance_km([0, 0, 0], [1, 2, 3]) == pytest.approx([40, 30, 50])


def test_free_places_are_measured_along_the_great_circle() -> None:
    tokyo_london_sydney = Places([35.6762, 51.5074, -33.8688], [139.6503, -0.1278, 151.2093])
    assert tokyo_london_sydney.distance_km(0, 1) == pytest.approx(9_559, rel=0.002)
    assert tokyo_london_sydney.distance_km(0, 2) == pytest.approx(7_823, rel=0.002)
    antipodes = Places([0, 0], [0, 180])
    assert antipodes.distance_km(0, 1) == pytest.approx(np.pi * 6371.0088)


def test_cells_are_half_open_and_the_last_takes_its_border() -> None:
    grid = Grid(rows=2, columns=2, south=0, west=0, north=2, east=2)
    latitude, longitude = [0, 0.99, 1, 2, 2.1, -0.1], [0, 1, 0, 2, 1, 1]
    assert grid.cell_of(latitude, longitude).tolist() == [0, 1, 2, 3, -1, -1]


def test_not_a_number_lies_in_no_cell() -> None:
    assert OSAKA.cell_of([np.nan, 34.7], [135.5, np.nan]).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("latitude", "longitude", "options", "told"),
    [
        ([400.17], [0], {}, "latitude[0] = 400.17"),
        ([0], [181], {}, "longitude[0] = 181.0"),
        ([np.nan], [0], {}, "latitude[0] = nan"),
        ([0, 1], [0], {}, "longitude"),
        ([0, 1], [0, 0], {"ids": [1, 1]}, "same id"),
        ([0, 1], [0, 0], {"sensitive": [True]}, "sensitive"),
        ([0, 1], [0, 0], {"grid": OSAKA}, "1024 cells"),
    ],
)
def test_contradictory_places_are_refused(latitude: list, longitude: list, options: dict, told: str) -> None:
    with pytest.raises(DataError) as error:
        Places(latitude, longitude, **options)
    assert told in str(error.value)


def test_a_grid_upside_down_is_refused() -> None:
    with pytest.raises(ParameterError):
        Grid(rows=2, columns=2, south=1, west=0, north=0, east=1)


def test_arrays_cannot_be_changed_from_outside_or_inside() -> None:
    latitude = np.array([1.0, 2.0])
    places = Places(latitude, [0, 0])
    latitude[0] = 50
    assert places.latitude[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        places.latitude[0] = 3
