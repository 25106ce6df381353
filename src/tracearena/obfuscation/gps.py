"""Defences of GPS points: planar Laplace noise [geo-ind], snapping to a grid, and thinning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import GpsObfuscator, setting
from tracearena.algorithms.spec import format_parameter
from tracearena.checks import require_kind, require_number, require_whole
from tracearena.engine import SeedLike, block_ranges, run_blocks, seed_sequence, stream
from tracearena.errors import ParameterError
from tracearena.obfuscation.planar_laplace import PlanarLaplaceNoise
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import mark_readonly
from tracearena.traces.geodesy import forward_rounded, metres_per_degree, round_degrees
from tracearena.traces.time import LONGEST_S, find_piece_starts

Floats = NDArray[np.float64]

DIGITS = 6
"""Decimals of released degrees: 0.1 m."""

_POINTS_PER_BLOCK = 1 << 16
_LARGEST_NOISE_M = 1e6
_LARGEST = {"expected_noise": _LARGEST_NOISE_M, "window": LONGEST_S, "epsilon": 1e6}


def round_coordinates(traces: GpsTraces, digits: int = DIGITS) -> GpsTraces:
    """Return the same points with latitudes and longitudes of `digits` decimals, 0 to 9.

    A double has bits for a billionth of a metre. They are left over from the arithmetic that moved
    the point, and can tell apart ways to the same place; rounded, equal places are equal numbers.
    """
    check_digits(digits)
    return traces.with_positions(
        round_degrees(traces.latitude, digits), round_degrees(traces.longitude, digits)
    )


def check_digits(digits: object) -> None:
    """Refuse what is not a number of decimals."""
    require_whole("digits", digits, at_least=0, at_most=9)


@dataclass(kw_only=True)
class GeoInd(GpsObfuscator, PlanarLaplaceNoise):
    """Move each point by planar Laplace noise: ε-geo-indistinguishability of every point.

    The distance r has the density ε² r exp(-ε r), a Gamma distribution with shape 2 and scale 1/ε. The
    direction is uniform, and the move follows the geodesic on WGS84.

    Parameters
    ----------
    expected_noise
        E[r] = 2/ε in metres, above 0. In a name, a number below 1 needs its unit, because in ``GeoInd(0.02)``
        ε may have been meant; in Python, the number is always in metres.
    window
        T in seconds for time-dependent noise: each trajectory is divided into pieces of consecutive points
        that last less than T; noise is added to the first point of a piece, and all points of the piece get
        the result. Without it, noise is added to every point independently.
    epsilon
        ε per metre, instead of `expected_noise`.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.

    Notes
    -----
    The guarantee holds for single points: for n independently perturbed points together, it has n times the
    ε. A piece starts at its first point, and the next piece at the first point at least T later, so a gap in
    the recording does not shorten the piece after it.

    References
    ----------
    [geo-ind] section 4.

    Examples
    --------
    >>> str(GeoInd(expected_noise=100, window=300))
    'GeoInd(expected_noise=100m, window=300s)'
    >>> GeoInd(epsilon=0.02).expected_noise_m
    100.0
    >>> GeoInd(epsilon=0.02).noise_axis_variance() ** 0.5  # metres, east or north
    86.60254037844386
    """

    name: ClassVar[str] = "GeoInd"
    units: ClassVar[Mapping[str, str]] = {"expected_noise": "m", "window": "s"}
    instead_of_units: ClassVar[tuple[str, ...]] = ("epsilon",)
    by_user: ClassVar[bool] = True

    expected_noise: float | None = None
    window: float | None = None
    epsilon: float | None = None
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        if (self.expected_noise is None) == (self.epsilon is None):
            raise ParameterError("give either expected_noise (metres) or epsilon (per metre)")
        for name in ("expected_noise", "window", "epsilon"):
            value = getattr(self, name)
            if value is not None:
                require_number(name, value, above=0, at_most=_LARGEST[name])
        require_number("expected noise in metres", self.expected_noise_m, at_most=_LARGEST_NOISE_M)

    @property
    def expected_noise_m(self) -> float:
        """E[r] in metres."""
        return 2 / self.epsilon if self.epsilon is not None else float(self.expected_noise or 0)

    def noise_mean(self) -> float:
        """Return `expected_noise_m`, 2/ε in metres: that of all points, or of the first points of pieces.

        The other points of a piece get the released position of the first one, however far away they are.
        """
        return self.expected_noise_m

    def __str__(self) -> str:
        noise, unit = ("expected_noise", "m") if self.epsilon is None else ("epsilon", "")
        parts = [f"{noise}={format_parameter(getattr(self, noise))}{unit}"]
        if self.window is not None:
            parts.append(f"window={format_parameter(self.window)}s")
        return f"{self.name}({', '.join(parts)})"

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the same points, moved."""
        require_kind(self, original, GpsTraces)
        root = seed_sequence(seed)
        return self.transform_part(original, seed=root, first=0, total=self.draws(original))

    @property
    def counts_draws(self) -> bool:
        """Whether fewer points are perturbed than there are."""
        return self.window is not None

    def draws(self, part: GpsTraces) -> int:
        """Return the number of points that are perturbed independently."""
        return len(part) if self.window is None else len(self._find_pieces(part)[0])

    def transform_part(
        self, part: GpsTraces, *, seed: np.random.SeedSequence, first: int, total: int
    ) -> GpsTraces:
        """Return the points of some users, moved as if all users were given."""
        if self.window is None:
            return part.with_positions(*self._move_points(part.latitude, part.longitude, seed, first, total))
        chosen, piece = self._find_pieces(part)
        latitude, longitude = part.latitude[chosen], part.longitude[chosen]
        latitude, longitude = self._move_points(latitude, longitude, seed, first, total)
        return part.with_positions(latitude[piece], longitude[piece])

    def _find_pieces(self, part: GpsTraces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first points of all pieces, and the piece of every point."""
        starts = find_piece_starts(part, float(self.window or 0))
        is_start = starts == np.arange(len(starts))
        return np.flatnonzero(is_start), (np.cumsum(is_start) - 1)[starts]

    def _move_points(
        self, latitude: Floats, longitude: Floats, root: np.random.SeedSequence, first: int, total: int
    ) -> tuple[Floats, Floats]:
        """Move points, which are numbered from `first` among `total`, each by the noise of its number."""
        noisy_latitude, noisy_longitude = np.empty(len(latitude)), np.empty(len(longitude))
        before, size = divmod(first, _POINTS_PER_BLOCK)
        blocks = -(-(size + len(latitude)) // _POINTS_PER_BLOCK)

        def work(_: int, block: int, __: int) -> None:
            begin = (before + block) * _POINTS_PER_BLOCK
            count = min(_POINTS_PER_BLOCK, total - begin)
            noise = draw_polar_noise(stream(root, before + block), count, self.expected_noise_m)
            part = slice(max(begin - first, 0), begin + count - first)
            own = slice(max(first - begin, 0), min(first + len(latitude) - begin, count))
            distance, azimuth = (one[own] for one in noise)
            moved = forward_rounded(latitude[part], longitude[part], azimuth, distance, self.digits)
            noisy_latitude[part], noisy_longitude[part] = moved

        run_blocks(work, block_ranges(blocks, 1))
        return mark_readonly(noisy_latitude), mark_readonly(noisy_longitude)


def draw_polar_noise(rng: np.random.Generator, count: int, expected_noise_m: float) -> tuple[Floats, Floats]:
    """Draw distances in metres and azimuths in degrees of planar Laplace noise."""
    return rng.gamma(2.0, expected_noise_m / 2, count), rng.uniform(0.0, 360.0, count)


@dataclass(kw_only=True)
class Snapping(GpsObfuscator):
    """Move each point to the centre of its cell in a world-wide grid.

    All rows have the same height, and the number of cells in a row depends on the latitude, so that cells are
    about `side` wide everywhere and the date line cuts none of them.

    Parameters
    ----------
    side
        Side of a cell in metres, above 0, at most 1,000 km.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.
    """

    name: ClassVar[str] = "Snap"
    units: ClassVar[Mapping[str, str]] = {"side": "m"}
    by_user: ClassVar[bool] = True

    side: float
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        require_number("side", self.side, above=0, at_most=1e6)

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the same points at the centres of their cells; this uses no random numbers."""
        require_kind(self, original, GpsTraces)
        rows = max(1, round(180 * float(metres_per_degree(45.0)[0]) / self.side))
        height = 180 / rows
        row = np.minimum((original.latitude + 90) // height, rows - 1)
        latitude = (row + 0.5) * height - 90
        around = 360 * metres_per_degree(latitude)[1]
        columns = np.maximum(np.rint(around / self.side), 1)
        width = 360 / columns
        column = np.minimum((original.longitude + 180) // width, columns - 1)
        return round_coordinates(original.with_positions(latitude, (column + 0.5) * width - 180), self.digits)


@dataclass(kw_only=True)
class Thinning(GpsObfuscator):
    """Keep only the first point of each piece of `interval` seconds of a trajectory.

    Consecutive points of a trajectory are then at least `interval` apart ([geo-ind] section 2:
    the removal of intermediate points).

    Parameters
    ----------
    interval
        Time between the points that are kept, in seconds, above 0.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.

    Examples
    --------
    >>> str(Thinning(interval=60))
    'Thin(60)'
    """

    name: ClassVar[str] = "Thin"
    units: ClassVar[Mapping[str, str]] = {"interval": "s"}
    by_user: ClassVar[bool] = True

    interval: float
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        require_number("interval", self.interval, above=0, at_most=LONGEST_S)

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the points that are kept; this uses no random numbers."""
        require_kind(self, original, GpsTraces)
        kept = original.keep(find_piece_starts(original, self.interval) == np.arange(len(original)))
        return round_coordinates(kept, self.digits)
