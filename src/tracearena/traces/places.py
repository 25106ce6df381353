"""Places of events, and grids of cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import DataError, ParameterError
from tracearena.traces._arrays import (
    are_equal_arrays,
    check_values,
    mark_readonly,
    to_id_array,
    to_readonly_array,
)

if TYPE_CHECKING:
    from tracearena.traces.box import Box

EARTH_RADIUS_KM = 6371.0088


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A box of rows × columns equal cells, numbered row by row from the south-west corner."""

    rows: int
    columns: int
    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise ParameterError(f"a grid of {self.rows} × {self.columns} cells has no cell")
        if not (-90 <= self.south < self.north <= 90 and -180 <= self.west < self.east <= 180):
            raise ParameterError(
                f"bounds south {self.south}, west {self.west}, north {self.north}, east {self.east}: "
                "south must be less than north, west less than east, latitudes "
                "within ±90, longitudes within ±180"
            )

    @classmethod
    def over(cls, box: Box, rows: int, columns: int) -> Grid:
        """Return a grid of rows × columns cells in a box."""
        return cls(rows=rows, columns=columns, south=box.south, west=box.west, north=box.north, east=box.east)

    @property
    def box(self) -> Box:
        """The box that the cells fill."""
        from tracearena.traces.box import Box

        return Box(self.south, self.west, self.north, self.east)

    def __len__(self) -> int:
        return self.rows * self.columns

    @property
    def cell_height(self) -> float:
        """Degrees of latitude of a cell."""
        return (self.north - self.south) / self.rows

    @property
    def cell_width(self) -> float:
        """Degrees of longitude of a cell."""
        return (self.east - self.west) / self.columns

    def centres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return latitude and longitude of every cell's centre."""
        latitude = self.south + (np.arange(self.rows) + 0.5) * self.cell_height
        longitude = self.west + (np.arange(self.columns) + 0.5) * self.cell_width
        return np.repeat(latitude, self.columns), np.tile(longitude, self.rows)

    def cell_of(self, latitude: Any, longitude: Any) -> NDArray[np.int32]:
        """Return the cell of each point, -1 outside the box.

        Cells are half-open; the last row and column include the upper border.
        """
        latitude, longitude = np.asarray(latitude, float), np.asarray(longitude, float)
        inside = self.box.contains(latitude, longitude)
        row = np.where(inside, (latitude - self.south) / self.cell_height, 0).astype(np.int64)
        column = np.where(inside, (longitude - self.west) / self.cell_width, 0).astype(np.int64)
        cell = np.minimum(row, self.rows - 1) * self.columns + np.minimum(column, self.columns - 1)
        return np.where(inside, cell, -1).astype(np.int32)


class Places:
    """Regions or POIs with coordinates and attributes.

    Parameters
    ----------
    latitude, longitude
        Degrees; of a region, its centre.
    ids
        Ids of the places in files, whole numbers or text; by default 0, 1, ….
    sensitive
        True where a visit is sensitive (hospitals).
    categories
        Text such as ``food/Ramen``.
    grid
        The grid whose cells these places are, in its order.
    km_per_degree
        Kilometres per degree of latitude and of longitude: distances are then planar. Without it
        they are great-circle distances.

    Examples
    --------
    >>> grid = Grid(rows=32, columns=32, south=34.64, west=135.44, north=34.74, east=135.56)
    >>> places = Places.of_grid(grid, km_per_degree=(111, 91))
    >>> places.distance_km([0, 0], [1, 33]).round(5).tolist()
    [0.34125, 0.48659]
    """

    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    ids: NDArray[Any]
    sensitive: NDArray[np.bool_]
    categories: NDArray[np.str_] | None
    grid: Grid | None
    km_per_degree: tuple[float, float] | None

    def __init__(
        self,
        latitude: Any,
        longitude: Any,
        *,
        ids: Any = None,
        sensitive: Any = None,
        categories: Any = None,
        grid: Grid | None = None,
        km_per_degree: tuple[float, float] | None = None,
    ) -> None:
        self.latitude = to_readonly_array(latitude, np.float64, "latitude")
        self.longitude = to_readonly_array(longitude, np.float64, "longitude")
        n = len(self.latitude)
        self.ids = to_id_array(np.arange(n) if ids is None else ids, "ids")
        self.sensitive = to_readonly_array(
            np.zeros(n, bool) if sensitive is None else sensitive, np.bool_, "sensitive"
        )
        self.categories = (
            None if categories is None else to_id_array(np.asarray(categories, np.str_), "categories")
        )
        self.grid = grid
        self.km_per_degree = (
            None if km_per_degree is None else (float(km_per_degree[0]), float(km_per_degree[1]))
        )
        for name in ("longitude", "ids", "sensitive", "categories"):
            array = getattr(self, name)
            if array is not None and len(array) != n:
                raise DataError(f"{n} latitudes but {len(array)} values in {name}")
        check_values(self.latitude, lambda a: np.abs(a) <= 90, "latitude", "from -90 to 90")
        check_values(self.longitude, lambda a: np.abs(a) <= 180, "longitude", "from -180 to 180")
        # Ids of a grid ascend: nothing is sorted then, nor hashed, which takes a minute for 16 million.
        ids = self.ids if (self.ids[:-1] < self.ids[1:]).all() else np.sort(self.ids)
        if (ids[:-1] == ids[1:]).any():
            raise DataError("two places have the same id")
        if self.grid is not None and len(self.grid) != n:
            raise DataError(f"a grid of {len(self.grid)} cells cannot have {n} places")

    @classmethod
    def of_grid(
        cls,
        grid: Grid,
        *,
        first_id: int = 1,
        sensitive: Any = None,
        categories: Any = None,
        km_per_degree: tuple[float, float] | None = None,
    ) -> Places:
        """Return one place per cell, with ids counted from `first_id`."""
        latitude, longitude = grid.centres()
        return cls(
            latitude,
            longitude,
            ids=np.arange(first_id, first_id + len(grid)),
            sensitive=sensitive,
            categories=categories,
            grid=grid,
            km_per_degree=km_per_degree,
        )

    def __len__(self) -> int:
        return len(self.latitude)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Places):
            return NotImplemented
        return (
            self.grid == other.grid
            and self.km_per_degree == other.km_per_degree
            and all(
                are_equal_arrays(getattr(self, name), getattr(other, name))
                for name in ("latitude", "longitude", "ids", "sensitive", "categories")
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shape = f", grid {self.grid.rows} × {self.grid.columns}" if self.grid else ""
        return f"<Places: {len(self):,}{shape}, {int(self.sensitive.sum())} sensitive>"

    def take(self, chosen: Any) -> Places:
        """Return some of the places, by index, without a grid."""
        at = np.asarray(chosen)
        return Places(
            self.latitude[at],
            self.longitude[at],
            ids=self.ids[at],
            sensitive=self.sensitive[at],
            categories=None if self.categories is None else self.categories[at],
            km_per_degree=self.km_per_degree,
        )

    def head(self, n: int = 5, library: str = "polars") -> Any:
        """Return a data frame of the first `n` places, as `to_frame` makes it of all."""
        require_whole("n", n, at_least=0)
        return self.to_frame(library)[:n]

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row per place.

        Columns ``place``, ``lat``, ``lng``, ``category`` if there is one, ``sensitive``, and of a grid
        ``row`` and ``column``, counted from 1 in the south-west.

        `library` is ``polars``, ``pandas``, ``arrow`` or ``geopandas``, the last with a column of points
        instead of ``lat`` and ``lng``.
        """
        from tracearena.dataframes import export_frame
        from tracearena.traces.exports import build_place_frame

        return export_frame(build_place_frame(self), library, position=("lat", "lng"))

    def _repr_html_(self) -> str:
        from tracearena.dataframes import load_view

        html: str = load_view("places_html")(self)
        return html

    @cached_property
    def points_km(self) -> NDArray[np.float64]:
        """Coordinates in km, such that the straight-line distance is the distance between two places.

        Two columns where distances are planar. Otherwise three, on the sphere: the chord, from
        which `distance_km` gets the arc.
        """
        if self.km_per_degree is None:
            lat, lon = np.radians(self.latitude), np.radians(self.longitude)
            xyz = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
            return mark_readonly(EARTH_RADIUS_KM * xyz)
        per_latitude, per_longitude = self.km_per_degree
        if self.grid is None:
            return mark_readonly(
                np.column_stack([self.longitude * per_longitude, self.latitude * per_latitude])
            )
        # From row and column numbers, so that equal displacements have equal distances to the last bit.
        row, column = np.divmod(np.arange(len(self)), self.grid.columns)
        width, height = self.grid.cell_width * per_longitude, self.grid.cell_height * per_latitude
        return mark_readonly(np.column_stack([column * width, row * height]))

    def distance_km(self, a: Any, b: Any) -> NDArray[np.float64]:
        """Return the distance between places `a` and `b`, element by element.

        Planar with `km_per_degree`, great-circle (sphere of radius 6371.0088 km) without.
        """
        straight = np.sqrt(((self.points_km[a] - self.points_km[b]) ** 2).sum(axis=-1))
        if self.km_per_degree is not None:
            return np.asarray(straight)
        return np.asarray(2 * EARTH_RADIUS_KM * np.arcsin(np.minimum(straight / (2 * EARTH_RADIUS_KM), 1)))

    @cached_property
    def distance_table_km(self) -> NDArray[np.float64]:
        """All distances, places × places; for at most a few thousand places."""
        everywhere = np.arange(len(self))
        return mark_readonly(self.distance_km(everywhere[:, None], everywhere[None, :]))
