"""Hotspots and the Bayesian update."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import examples

from tracearena.errors import DataError, ParameterError
from tracearena.io.formats import geolife
from tracearena.metrics.applications import bayesian_update, hotspots
from tracearena.metrics.applications.networks import count_released_points, share_served
from tracearena.obfuscation import GeoInd, Thinning
from tracearena.traces import Box, GpsTraces, default_area, tessellation

BEIJING = Box(39.85, 116.25, 40.05, 116.5)


def dense_update(
    counts: NDArray[np.float64], side_m: float, noise_m: float, rounds: int
) -> NDArray[np.float64]:
    """The update with the whole matrix, as the formula stands."""
    rows, columns = counts.shape
    cells = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), -1).reshape(-1, 2)
    distance = side_m * np.linalg.norm(cells[:, None] - cells[None], axis=-1)
    c = np.exp(-2 / noise_m * distance)
    c /= c.sum(axis=1, keepdims=True)
    q = counts.ravel() / counts.sum()
    p = np.full(len(q), 1 / len(q))
    for _ in range(rounds):
        seen = q > 0
        p = p * (c[:, seen] @ (q[seen] / (p @ c)[seen]))
    return p.reshape(counts.shape)


@examples(25)
@given(
    st.integers(1, 9), st.integers(1, 9), st.floats(60, 2000), st.integers(0, 30), st.integers(0, 2**32 - 1)
)
def test_the_update_by_fft_is_the_update_by_matrix(
    rows: int, columns: int, noise_m: float, rounds: int, seed: int
) -> None:
    counts = np.random.default_rng(seed).poisson(1.0, (rows, columns)).astype(float)
    counts[0, 0] += 1
    update = bayesian_update(counts, side_m=88.6, expected_noise_m=noise_m, rounds=rounds, threshold=0.0)
    assert update.rounds == rounds
    assert update.distribution == pytest.approx(dense_update(counts, 88.6, noise_m, rounds), abs=1e-9)


def test_the_update_stays_a_distribution_and_raises_the_likelihood() -> None:
    counts = np.random.default_rng(1).poisson(0.5, (12, 16))
    likelihood = []
    for rounds in (0, 1, 5, 20, 50):
        p = bayesian_update(counts, side_m=88.6, expected_noise_m=250, rounds=rounds).distribution
        assert p.sum() == pytest.approx(1)
        assert (p >= 0).all()
        cells = np.stack(np.meshgrid(np.arange(12), np.arange(16), indexing="ij"), -1).reshape(-1, 2)
        c = np.exp(-2 / 250 * 88.6 * np.linalg.norm(cells[:, None] - cells[None], axis=-1))
        expected = p.ravel() @ (c / c.sum(axis=1, keepdims=True))
        likelihood.append((counts.ravel() * np.log(expected)).sum())
    assert np.diff(likelihood).min() > 0


def test_a_settled_update_stops() -> None:
    update = bayesian_update(np.ones((1, 1)), side_m=1, expected_noise_m=1)
    assert (update.rounds, update.change) == (1, 0.0)


@pytest.mark.parametrize("counts", [np.zeros((3, 3)), [[1, -1]], [[np.nan]], [1, 2]])
def test_nothing_can_be_learnt_from_no_counts(counts: NDArray[np.float64]) -> None:
    with pytest.raises(DataError, match="counts"):
        bayesian_update(counts, side_m=1, expected_noise_m=1)
    with pytest.raises(ParameterError, match="expected_noise_m"):
        bayesian_update([[1]], side_m=1, expected_noise_m=0)


def test_beijing_has_as_many_cells_as_the_reference_says() -> None:
    grid = tessellation(BEIJING, 50 * np.sqrt(np.pi))
    assert (grid.rows, grid.columns, len(grid)) == (251, 241, 60_491)


def test_the_original_serves_everybody() -> None:
    rng = np.random.default_rng(1)
    original = GpsTraces.from_points(
        [1] * 500, range(500), rng.normal(40, 0.01, 500), rng.normal(116, 0.01, 500)
    )
    result = hotspots(original, original)
    assert result.offloaded == result.offloaded_after_update == 1.0
    assert result.rounds == 0


def test_ties_for_the_last_hotspots_are_shared() -> None:
    true = np.array([10, 6, 4, 0])
    assert share_served(true, np.array([5, 1, 1, 0]), 2) == pytest.approx((10 + 5) / 20)
    assert share_served(true, np.array([0, 0, 0, 0]), 2) == 0
    assert share_served(true, np.array([0, 0, 3, 0]), 2) == pytest.approx(4 / 20)


def test_points_that_left_the_area_count_at_its_border() -> None:
    original = GpsTraces.from_points([1, 1], [0, 1], [39.9, 39.0], [116.3, 116.3])
    released = original.with_positions([41.0, 39.9], [116.3, 116.3])
    counts = count_released_points(original, released, tessellation(BEIJING, 1000.0))
    assert counts.sum() == 1
    assert counts.reshape(22, 21)[-1].sum() == 1


def test_an_area_without_anybody_is_refused() -> None:
    original = GpsTraces.from_points([1], [0], [0.0], [0.0])
    with pytest.raises(DataError, match="no original point"):
        hotspots(original, original, area=BEIJING)


def test_far_travels_do_not_blow_up_the_area() -> None:
    rng = np.random.default_rng(1)
    latitude = np.concatenate([rng.normal(40, 0.02, 1000), [-30.0, 60.0]])
    longitude = np.concatenate([rng.normal(116.3, 0.02, 1000), [-70.0, 20.0]])
    traces = GpsTraces.from_points([1] * 1002, range(1002), latitude, longitude)
    area = default_area(traces, 88.6)
    assert area.size_m() == pytest.approx((22_000, 22_000), rel=0.01)
    assert traces.take_box(area).n_points >= 990


def test_thinned_traces_can_be_judged_too() -> None:
    rng = np.random.default_rng(1)
    original = GpsTraces.from_points(
        [1] * 500, range(0, 500_000, 1000), rng.normal(40, 0.01, 500), [116.0] * 500
    )
    result = hotspots(original, Thinning(interval=5).transform(original))
    assert 0 < result.offloaded < 1


@pytest.mark.slow
def test_geolife_has_the_shape_of_figure_3(shared_data: Path) -> None:
    """[geo-ind]: 96 % → 98 % at 250 m, 89 % → 93 % at 1,000 m on the whole; our sample is a tenth of it."""
    original = geolife.read(shared_data / "geolife-sample.tar.gz").traces.take_box(BEIJING)
    found = {
        noise: hotspots(original, GeoInd(expected_noise=noise).transform(original, seed=1), area=BEIJING)
        for noise in (50, 250, 1000)
    }
    assert found[50].offloaded > found[250].offloaded > found[1000].offloaded > 0.85
    gains = {noise: one.offloaded_after_update - one.offloaded for noise, one in found.items()}
    assert 0.01 < gains[250] < 0.03
    assert 0.025 < gains[1000] < 0.045


def test_noise_is_updated_for_as_many_rounds_as_asked() -> None:
    rng = np.random.default_rng(1)
    original = GpsTraces.from_points(
        [1] * 500, range(500), rng.normal(40, 0.01, 500), rng.normal(116, 0.01, 500)
    )
    assert hotspots(original, GeoInd(expected_noise=250).transform(original, seed=1), rounds=3).rounds == 3


def test_with_a_margin_what_leaves_the_area_is_no_longer_heaped_on_its_border() -> None:
    area = Box(35.0, 139.0, 35.02, 139.02)
    latitude = np.concatenate([np.full(5, 35.01), np.full(5, 35.0001)])
    times = np.arange(10) * 1000
    original = GpsTraces.from_points(["a"] * 10, times, latitude, np.full(10, 139.01))
    released = original.with_positions(np.where(latitude < 35.005, 34.99, latitude), original.longitude)
    clipped, wide = (
        hotspots(original, released, area=area, expected_noise_m=100, rounds=0, margin_km=margin)
        for margin in (0, 3)
    )
    assert (clipped.offloaded, clipped.cells_found) == (1.0, 1.0)
    assert (wide.offloaded, wide.cells_found) == (0.5, 0.5)
    assert (wide.rows, wide.columns, wide.points) == (clipped.rows, clipped.columns, 10)
    with pytest.raises(ParameterError, match="margin_km"):
        hotspots(original, released, area=area, margin_km=-1)


def test_parts_of_cells_add_up_to_the_cells() -> None:
    rng = np.random.default_rng(3)
    original = GpsTraces.from_points(
        [1] * 800, range(800), rng.normal(40, 0.01, 800), rng.normal(116, 0.01, 800)
    )
    released = GeoInd(expected_noise=200).transform(original, seed=1)
    whole, parted = (
        hotspots(original, released, expected_noise_m=200, rounds=20, parts=parts) for parts in (1, 3)
    )
    assert (parted.offloaded, parted.cells_found) == (whole.offloaded, whole.cells_found)
    assert parted.offloaded_after_update != whole.offloaded_after_update
    assert parted.offloaded_after_update == pytest.approx(whole.offloaded_after_update, abs=0.05)
    with pytest.raises(ParameterError, match="parts"):
        hotspots(original, released, parts=0)


@pytest.mark.parametrize("margin_km", [0.0, 0.2, 0.5, 0.6])
def test_the_update_covers_the_area_and_its_margin(margin_km: float) -> None:
    """Cells of 250 m: 500 m are two more on each side, and 600 m are three."""
    area, margin = Box(35.0, 139.0, 35.02, 139.02), {0.0: 0, 0.2: 1, 0.5: 2, 0.6: 3}[margin_km]
    rng = np.random.default_rng(4)
    spots = rng.random((2, 8)).repeat(125, axis=1) * 0.02
    latitude, longitude = np.clip(spots + rng.normal(0, 0.001, (2, 1000)), 0, 0.01999)
    latitude, longitude = 35 + latitude, 139 + longitude
    original = GpsTraces.from_points([1] * 1000, range(1000), latitude, longitude)
    released = GeoInd(expected_noise=800).transform(original, seed=1)
    range_m = 250 / np.sqrt(np.pi)
    found = hotspots(
        original, released, area=area, expected_noise_m=800, rounds=30, range_m=range_m, margin_km=margin_km
    )
    grid = tessellation(area, 250)
    rows, columns = grid.rows + 2 * margin, grid.columns + 2 * margin
    row = np.floor((released.latitude - grid.south) / grid.cell_height).astype(int) + margin
    column = np.floor((released.longitude - grid.west) / grid.cell_width).astype(int) + margin
    counts = np.zeros((rows, columns))
    np.add.at(counts, (row.clip(0, rows - 1), column.clip(0, columns - 1)), 1)
    inner = np.s_[margin : rows - margin, margin : columns - margin]
    updated = dense_update(counts, 250, 800, 30)[inner].ravel()
    true = np.bincount(grid.cell_of(latitude, longitude), minlength=len(grid))
    k = int((true > 0).sum())
    assert found.offloaded == pytest.approx(share_served(true, counts[inner].ravel(), k))
    assert found.offloaded_after_update == pytest.approx(share_served(true, updated, k))


def test_without_a_number_of_rounds_there_are_fifty_at_most() -> None:
    position = np.random.default_rng(1).uniform(0, 0.01, (2, 300))
    original = GpsTraces.from_points([1] * 300, range(300), 35 + position[0], 139 + position[1])
    released = GeoInd(expected_noise=500).transform(original, seed=1)
    assert hotspots(original, released, area=Box(35.0, 139.0, 35.01, 139.01), margin_km=0.2).rounds == 50


def test_points_in_the_first_cell_of_an_area_are_in_the_area() -> None:
    original = GpsTraces.from_points([1], [0], [BEIJING.south + 1e-4], [BEIJING.west + 1e-4])
    found = hotspots(original, original, area=BEIJING)
    assert (found.points, found.hotspots, found.offloaded) == (1, 1, 1)


def test_counts_that_are_next_to_nothing_do_not_blow_up_an_update() -> None:
    counts = np.zeros((30, 30))
    counts[0, 0], counts[-1, -1] = 1, 1e-20
    found = bayesian_update(counts, side_m=100, expected_noise_m=100).distribution
    assert found.sum() == pytest.approx(1)
    assert found[0, 0] == found.max()
