"""The planar Laplace mechanism on places: radius, angle, and kilometres east and north."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import Clock, Grid, Places, Traces

EVENTS = 100_000
CELL_KM = 0.05
CELLS = 801
KM_PER_DEGREE = math.pi * 6371.0 / 180


def draw_offsets(
    mechanism: PlanarLaplace, south: float, km_per_degree: tuple[float, float] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Release events at the middle of a grid of square cells; return kilometres east and north.

    A point of the cell is drawn for each event, so that the answers have no steps of a cell.
    """
    per_latitude, per_longitude = km_per_degree or (
        KM_PER_DEGREE,
        KM_PER_DEGREE * math.cos(math.radians(south)),
    )
    high, wide = CELLS * CELL_KM / per_latitude, CELLS * CELL_KM / per_longitude
    grid = Grid(
        rows=CELLS,
        columns=CELLS,
        south=south - high / 2,
        west=-wide / 2,
        north=south + high / 2,
        east=wide / 2,
    )
    middle = CELLS * CELLS // 2
    original = Traces.from_dense(
        np.full((1, EVENTS), middle),
        Places.of_grid(grid, km_per_degree=km_per_degree),
        Clock(instants_per_day=24),
    )
    released = mechanism.transform(original, seed=3).codes
    rows, columns = np.divmod(released, CELLS)
    within = np.random.default_rng(1).uniform(-0.5, 0.5, (2, EVENTS))
    return (columns - CELLS // 2 + within[0]) * CELL_KM, (rows - CELLS // 2 + within[1]) * CELL_KM


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(("south", "km_per_degree"), [(0.0, None), (60.0, None), (34.69, (111.0, 91.0))])
def test_the_radius_is_gamma_and_both_axes_are_in_kilometres(
    south: float, km_per_degree: tuple[float, float] | None, legacy: bool
) -> None:
    """At 60 degrees a degree east has half the kilometres of a degree north."""
    mechanism = PlanarLaplace(l=1, r=1, legacy_2019=legacy)
    east, north = draw_offsets(mechanism, south, km_per_degree)
    assert stats.kstest(np.hypot(east, north), stats.gamma(2).cdf).pvalue > 0.001
    angle = np.arctan2(north, east)
    assert stats.kstest(angle, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 0.001
    # The variance along an axis is 3 / ε², with a standard error of 0.7 % of it (kurtosis 6).
    for offsets in (east, north):
        assert offsets.var() == pytest.approx(3, rel=0.04)
        assert offsets.mean() == pytest.approx(0, abs=5 * math.sqrt(3 / EVENTS))


def test_a_wrong_shape_or_scale_of_the_radius_is_noticed() -> None:
    radius = np.hypot(*draw_offsets(PlanarLaplace(l=1, r=1), 0.0, None))
    assert stats.kstest(radius, stats.gamma(2, scale=1.02).cdf).pvalue < 1e-6
    assert stats.kstest(radius, stats.gamma(1.9, scale=2 / 1.9).cdf).pvalue < 1e-6


def test_epsilon_is_l_over_r() -> None:
    east, north = draw_offsets(PlanarLaplace(l=4, r=2), 0.0, None)
    assert stats.kstest(np.hypot(east, north), stats.gamma(2, scale=0.5).cdf).pvalue > 0.001
