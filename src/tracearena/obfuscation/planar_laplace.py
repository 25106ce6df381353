"""The planar Laplace mechanism on discrete places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import EventObfuscator, setting
from tracearena.checks import LARGEST_KM, require_number, require_switch
from tracearena.engine import SeedLike, block_ranges, run_blocks, seed_sequence, stream
from tracearena.obfuscation.samples_2019 import draw_event_uniforms
from tracearena.traces import ObfuscatedTraces, Places, Traces
from tracearena.traces.geodesy import KM_PER_DEGREE

_EVENTS_PER_BLOCK = 2**16


class PlanarLaplaceNoise(ABC):
    """What is known of planar Laplace noise before a position is drawn.

    The distance r between a true and a noisy position has the density ε² r e^(-εr), a Gamma distribution of
    shape 2 and scale 1/ε; its direction is uniform. So E[r] = 2/ε and E[r²] = 6/ε². All figures are those
    of the noise itself, before the result is rounded to a place or to the released decimals.
    """

    @abstractmethod
    def noise_mean(self) -> float:
        """Return the mean distance E[r] = 2/ε, in km for places and in metres for GPS points."""

    def noise_variance(self) -> float:
        """Return the variance of the distance, 2/ε², in the square of the unit of `noise_mean`."""
        return self.noise_mean() ** 2 / 2

    def noise_axis_variance(self) -> float:
        """Return the variance along each axis, E[r²] / 2 = 3/ε², east and north alike; the mean is 0."""
        return 0.75 * self.noise_mean() ** 2


@dataclass(kw_only=True)
class PlanarLaplace(EventObfuscator, PlanarLaplaceNoise):
    """Move each event by planar Laplace noise: l-privacy within r km ([samples] A4, Andrés et al. 2013).

    The radius has density ε² ρ e^(-ερ) with ε = l / r per km (mean 2 / ε), the angle is uniform. The noise is
    added to the point of the place (the centre of a region). On a grid, the region that contains the result
    is released (for a result outside, the nearest region at the border); otherwise the nearest place.

    Parameters
    ----------
    l
        Privacy level within the radius, greater than 0, at most 1,000,000.
    r
        Radius in km, greater than 0, at most around the earth.
    legacy_2019
        Use the draws of the organisers' program.

    Examples
    --------
    >>> defence = PlanarLaplace(l=4, r=1)
    >>> defence.noise_mean(), defence.noise_axis_variance()
    (0.5, 0.1875)
    """

    name: ClassVar[str] = "PL"
    units: ClassVar[Mapping[str, str]] = {"r": "km"}

    l: float  # noqa: E741  the papers write PL(l, r)
    r: float
    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        require_number("l", self.l, above=0, at_most=1e6)
        require_number("r", self.r, above=0, at_most=LARGEST_KM)
        require_number("l / r", self.epsilon, above=0)
        require_switch("legacy_2019", self.legacy_2019)

    @property
    def epsilon(self) -> float:
        """Privacy per km, l / r."""
        return self.l / self.r

    def noise_mean(self) -> float:
        """Return the mean distance between the point of a place and the noisy position, 2/ε in km."""
        return 2 / self.epsilon

    def _transform_events(self, part: Traces, seed: SeedLike, first: int, total: int) -> ObfuscatedTraces:
        if self.legacy_2019:
            from scipy.special import lambertw

            u = draw_event_uniforms(seed, part.n_events, 2, legacy_2019=True, first=first)
            angle = 2 * np.pi * u[:, 0]
            radius = -(lambertw((u[:, 1] - 1) / np.e, -1).real + 1) / self.epsilon
            east, north = radius * np.cos(angle), radius * np.sin(angle)
        else:
            east, north = self._draw_noise(part.n_events, seed_sequence(seed), first, total)
        return ObfuscatedTraces.like(part, add_noise_to_places(part.places, part.place_index, east, north))

    def _draw_noise(
        self, count: int, root: np.random.SeedSequence, first: int, total: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw the noise of events, which are numbered from `first` among `total`."""
        before, skipped = divmod(first, _EVENTS_PER_BLOCK)
        offsets = np.empty((2, skipped + count))

        def fill(block: int, begin: int, stop: int) -> None:
            rng = stream(root, before + block)
            # A block draws all its radii before its angles, also where only some of its events are here.
            size = min(_EVENTS_PER_BLOCK, total - (before + block) * _EVENTS_PER_BLOCK)
            radius = rng.gamma(2.0, 1 / self.epsilon, size)[: stop - begin]
            angle = rng.uniform(0, 2 * np.pi, size)[: stop - begin]
            offsets[0, begin:stop] = radius * np.cos(angle)
            offsets[1, begin:stop] = radius * np.sin(angle)

        run_blocks(fill, block_ranges(skipped + count, _EVENTS_PER_BLOCK))
        return offsets[0, skipped:], offsets[1, skipped:]


def add_noise_to_places(
    places: Places, index: NDArray[np.int32], east_km: NDArray[np.float64], north_km: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Return the places that are answered when noise is added to some places."""
    latitude, longitude = places.latitude[index], places.longitude[index]
    if places.km_per_degree is not None:
        per_latitude, per_longitude = places.km_per_degree
        latitude, longitude = latitude + north_km / per_latitude, longitude + east_km / per_longitude
    else:
        shrink = np.maximum(np.cos(np.radians(latitude)), 1e-9)
        latitude = latitude + north_km / KM_PER_DEGREE
        longitude = longitude + east_km / (KM_PER_DEGREE * shrink)
    if places.grid is not None:
        grid = places.grid
        row = np.clip((latitude - grid.south) / grid.cell_height, 0, grid.rows - 1).astype(np.int32)
        column = np.clip((longitude - grid.west) / grid.cell_width, 0, grid.columns - 1).astype(np.int32)
        return np.asarray(row * np.int32(grid.columns) + column)
    from scipy.spatial import KDTree

    wrapped = (longitude + 180) % 360 - 180
    noisy = Places(np.clip(latitude, -90, 90), wrapped, km_per_degree=places.km_per_degree)
    return np.asarray(KDTree(places.points_km).query(noisy.points_km)[1], dtype=np.int32)
