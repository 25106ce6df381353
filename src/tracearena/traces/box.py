"""A box on the map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, ParameterError

_EXAMPLE = "south,west,north,east in degrees, such as 40.5,-74.28,41.0,-73.68"


class _HasCoordinates(Protocol):
    """Places or GPS traces: anything with coordinates."""

    @property
    def latitude(self) -> NDArray[np.float64]: ...
    @property
    def longitude(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle between two parallels and two meridians, borders included.

    A box does not cross the date line. It may be a line or a point; functions that need an area, such as a
    grid, check this themselves.

    Parameters
    ----------
    south, west, north, east
        Degrees, latitudes within ±90, longitudes within ±180.

    Examples
    --------
    >>> tokyo = Box(35.65, 139.68, 35.75, 139.80)
    >>> tokyo.contains([35.7, 34.7], [139.7, 135.5]).tolist()
    [True, False]
    >>> south, west, north, east = tokyo
    >>> str(tokyo)
    '35.65,139.68,35.75,139.8'
    """

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        if not (-90 <= self.south <= self.north <= 90 and -180 <= self.west <= self.east <= 180):
            raise ParameterError(
                f"a box with south {self.south}, west {self.west}, north {self.north}, east "
                f"{self.east} is not allowed; south must be at most north, west at most east, "
                "latitudes within ±90 and longitudes within ±180"
            )

    @classmethod
    def of(cls, what: _HasCoordinates) -> Box:
        """Return the box of the places' grid, or else the smallest box with all points.

        >>> from tracearena.traces import Places
        >>> Box.of(Places([35.0, 35.5, 35.1], [139.0, 139.0, 140.0]))
        Box(south=35.0, west=139.0, north=35.5, east=140.0)
        """
        grid = getattr(what, "grid", None)
        if grid is not None:
            box: Box = grid.box
            return box
        latitude, longitude = what.latitude, what.longitude
        if not len(latitude):
            raise DataError("there are no points, so there is no bounding box")
        return cls(
            float(latitude.min()), float(longitude.min()), float(latitude.max()), float(longitude.max())
        )

    @classmethod
    def parse(cls, text: str, name: str = "bounds") -> Box:
        """Read a box with an area from ``south,west,north,east``; `name` is its name in error messages.

        >>> Box.parse("40.5,-74.28,41.0,-73.68").north
        41.0
        >>> Box.parse("41.0,-74.28,40.5,-73.68")
        Traceback (most recent call last):
        tracearena.errors.ParameterError: bounds = '41.0,-74.28,40.5,-73.68' is not allowed; it must be
        south,west,north,east with south < north and west < east, within ±90 and ±180
        """
        try:
            south, west, north, east = (float(part) for part in text.split(","))
        except ValueError:
            raise ParameterError.of(name, text, _EXAMPLE) from None
        if not (-90 <= south < north <= 90 and -180 <= west < east <= 180):
            allowed = "south,west,north,east with south < north and west < east, within ±90 and ±180"
            raise ParameterError.of(name, text, allowed)
        return cls(south, west, north, east)

    def __iter__(self) -> Iterator[float]:
        return iter((self.south, self.west, self.north, self.east))

    def __str__(self) -> str:
        return ",".join(str(float(degrees)) for degrees in self)

    @property
    def middle(self) -> tuple[float, float]:
        """Latitude and longitude of the middle."""
        return (self.south + self.north) / 2, (self.west + self.east) / 2

    def contains(self, latitude: Any, longitude: Any) -> NDArray[np.bool_]:
        """Return which points lie inside or on the border."""
        latitude, longitude = np.asarray(latitude, float), np.asarray(longitude, float)
        inside = (latitude >= self.south) & (latitude <= self.north)
        return np.asarray(inside & (longitude >= self.west) & (longitude <= self.east))

    def with_margin(self, degrees: float, degrees_east: float | None = None) -> Box:
        """Return the box with a margin on every side, cut at the poles and at the date line.

        Parameters
        ----------
        degrees
            Margin in the south and north.
        degrees_east
            Margin in the west and east; the same if omitted.
        """
        aside = degrees if degrees_east is None else degrees_east
        return Box(
            max(self.south - degrees, -90.0),
            max(self.west - aside, -180.0),
            min(self.north + degrees, 90.0),
            min(self.east + aside, 180.0),
        )

    def size_m(self) -> tuple[float, float]:
        """Return height and width in metres, the width at the middle latitude."""
        from tracearena.traces.geodesy import metres_per_degree

        north, east = metres_per_degree(self.middle[0])
        return (self.north - self.south) * float(north), (self.east - self.west) * float(east)
