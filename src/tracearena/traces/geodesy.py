"""Distances, steps and square cells on the WGS84 ellipsoid, many at a time."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyproj import Geod


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEMI_MAJOR_M = 6_378_137.0
ECCENTRICITY_SQUARED = 0.0066943799901413165

_SMALLEST_RADIUS_M = SEMI_MAJOR_M * (1 - ECCENTRICITY_SQUARED)

KM_PER_DEGREE = 111.195
"""Kilometres of a degree of a great circle, on a sphere as large as the earth."""

CONTEST_KM_PER_DEGREE = (111.0, 91.0)
"""Kilometres per degree of latitude and of longitude of the PWS Cup, for both of its cities."""

MIDDLE_DEGREE_M = 111_132.0
"""Metres of a degree of latitude halfway to the pole."""

_CELL_COLUMNS = 2**31
"""More columns than any row of a world-wide grid has."""


@cache
def _geod() -> Geod:
    from pyproj import Geod

    return Geod(ellps="WGS84")


def _copy_columns(*values: Any) -> list[Floats]:
    """Copy to arrays of one length that pyproj may overwrite."""
    return [np.array(a, np.float64) for a in np.broadcast_arrays(*(np.atleast_1d(v) for v in values))]


def forward(latitude: Any, longitude: Any, azimuth: Any, distance_m: Any) -> tuple[Floats, Floats]:
    """Go `distance_m` metres along the geodesic that leaves each point at `azimuth` degrees.

    Right at the poles and across the date line; longitudes come back within ±180.

    >>> latitude, longitude = forward([0.0], [179.9999], [90.0], [100.0])
    >>> round(float(longitude[0]), 4)
    -179.9992
    """
    lat, lon, turn, step = _copy_columns(latitude, longitude, azimuth, distance_m)
    _geod().fwd(lon, lat, turn, step, inplace=True, return_back_azimuth=False)
    return lat, lon


def forward_rounded(
    latitude: Floats, longitude: Floats, azimuth: Floats, distance_m: Floats, digits: int
) -> tuple[Floats, Floats]:
    """Return what `forward` does, rounded to `digits` decimals of a degree; the same numbers, faster.

    A short step is one of Runge and Kutta, which errs by less than a micrometre. Where that could change
    the last decimal, and for long steps, `forward` decides.

    >>> latitude, longitude = forward_rounded(*np.array([[40.0], [116.3], [45.0], [100.0]]), 6)
    >>> float(latitude[0]), float(longitude[0])
    (40.000637, 116.300828)
    """
    from tracearena.traces._kernels import round_geodesic_steps

    given = tuple(np.ascontiguousarray(one, np.float64) for one in (latitude, longitude, azimuth, distance_m))
    lat, lon, unsure = np.empty(len(latitude)), np.empty(len(latitude)), np.empty(len(latitude), bool)
    if round_geodesic_steps(given, 10.0**digits, lat, lon, unsure):
        exact = forward(*(one[unsure] for one in given))
        lat[unsure], lon[unsure] = (round_degrees(one, digits) for one in exact)
    return lat, lon


def round_degrees(degrees: Floats, digits: int) -> Floats:
    """Return degrees with this many decimals."""
    # Whole numbers divided by a power of ten: the double that the decimals mean, and no negative zero.
    return np.rint(degrees * 10.0**digits) / 10.0**digits + 0.0


def distance_m(latitude_a: Any, longitude_a: Any, latitude_b: Any, longitude_b: Any) -> Floats:
    """Return the geodesic distance between points `a` and `b`, element by element.

    >>> int(distance_m([0.0], [0.0], [0.0], [1.0])[0])
    111319
    """
    lon_a, lat_a, lon_b, lat_b = _copy_columns(longitude_a, latitude_a, longitude_b, latitude_b)
    _geod().inv(lon_a, lat_a, lon_b, lat_b, inplace=True, return_back_azimuth=False)
    return lon_b  # overwritten with the distance


def interpolate_geodesic(
    latitude_a: Any, longitude_a: Any, latitude_b: Any, longitude_b: Any, share: Any
) -> tuple[Floats, Floats]:
    """Return the point at `share` (0..1) of the geodesic from each `a` to its `b`."""
    azimuth, back, length, lat_b = _copy_columns(longitude_a, latitude_a, longitude_b, latitude_b)
    _geod().inv(azimuth, back, length, lat_b, inplace=True)
    return forward(latitude_a, longitude_a, azimuth, length * np.asarray(share))


def distance_bounds_m(
    latitude: Floats, longitude: Floats, other_latitude: Floats, other_longitude: Floats
) -> tuple[Floats, Floats]:
    """Return bounds of `distance_m`, faster than the distance itself: from the straight line.

    No geodesic bends more than a circle of the ellipsoid's smallest radius of curvature b²/a, so that the
    arc of that circle over the same line is at least as long, up to half a turn. Margins exceed rounding.

    >>> ends = np.array([[35.0], [139.0], [35.0], [139.01]])
    >>> low, high = distance_bounds_m(*ends)
    >>> bool(low[0] <= distance_m(*ends)[0] <= high[0] < low[0] + 1e-3)
    True
    """
    apart = earth_centred(latitude, longitude) - earth_centred(other_latitude, other_longitude)
    line = np.sqrt((apart**2).sum(axis=-1))
    arc = 2 * _SMALLEST_RADIUS_M * np.arcsin(np.minimum(line / (2 * _SMALLEST_RADIUS_M), 1.0))
    farther = np.where(line < _SMALLEST_RADIUS_M, arc * (1 + 1e-9) + 1e-6, np.inf)
    return np.maximum(line * (1 - 1e-9) - 1e-6, 0.0), farther


def earth_centred(latitude: Any, longitude: Any) -> Floats:
    """Return x, y, z in metres, one row per point, on the ellipsoid.

    The straight line between two points at most 1 km apart is their geodesic distance to 1 µm,
    everywhere on earth.
    """
    lat, lon = np.radians(latitude), np.radians(longitude)
    normal = SEMI_MAJOR_M / np.sqrt(1 - ECCENTRICITY_SQUARED * np.sin(lat) ** 2)
    xyz = np.empty((len(lat), 3))
    xyz[:, 0] = normal * np.cos(lat) * np.cos(lon)
    xyz[:, 1] = normal * np.cos(lat) * np.sin(lon)
    xyz[:, 2] = normal * (1 - ECCENTRICITY_SQUARED) * np.sin(lat)
    return xyz


def metres_per_degree(latitude: Any) -> tuple[Floats, Floats]:
    """Return the length of a degree of latitude and of longitude at each latitude."""
    sine = np.sin(np.radians(np.asarray(latitude, np.float64)))
    curve = 1 - ECCENTRICITY_SQUARED * sine**2
    north = SEMI_MAJOR_M * (1 - ECCENTRICITY_SQUARED) / curve**1.5
    east = SEMI_MAJOR_M / np.sqrt(curve) * np.cos(np.radians(np.asarray(latitude, np.float64)))
    return np.radians(north), np.radians(east)


def cell_rows(latitude: Floats, longitude: Floats, side_m: float) -> tuple[Ints, Ints]:
    """Return row and column of the cell of each point, in a world-wide grid of cells of `side_m`."""
    row = np.floor(latitude * MIDDLE_DEGREE_M / side_m).astype(np.int64)
    south, north = (int(row.min()), int(row.max())) if len(row) else (0, 0)
    if north - south < len(row):
        width = _widths(np.arange(south, north + 1), side_m)[row - south]
    else:
        width = _widths(row, side_m)
    return row, np.floor(longitude * width / side_m).astype(np.int64)


def _widths(row: Ints, side_m: float) -> Floats:
    """Return the metres of a degree of longitude in the middle of rows."""
    return np.maximum(metres_per_degree((row + 0.5) * side_m / MIDDLE_DEGREE_M)[1], 1.0)


def cell_keys(latitude: Floats, longitude: Floats, side_m: float) -> Ints:
    """Return a number for the cell of each point, the same everywhere and always."""
    row, column = cell_rows(latitude, longitude, side_m)
    return np.asarray(row * _CELL_COLUMNS + column + _CELL_COLUMNS // 2)


def rows_of_keys(keys: Ints) -> tuple[Ints, Ints]:
    """Undo `cell_keys`: return row and column of each cell."""
    row, column = np.divmod(keys, _CELL_COLUMNS)
    return row, column - _CELL_COLUMNS // 2
